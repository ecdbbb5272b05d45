"""The verdict: the cheapest machine that can be built and meets a requirement.

Read `requirement` (limits), `allowed` (parts), `space` (the stops of each system's knobs), `candidates` (time and cost of a
machine), `search` (the best of a system), `decide` (rows of all systems and the verdict) and `sentences`.
"""
