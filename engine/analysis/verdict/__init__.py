"""The verdict: the machine, of all that can be built, that meets a requirement for the least money.

Read `requirement` (limits), `allowed` (parts), `space` (the stops of each system's knobs), `candidates` (time and cost of a
machine), `search` (the best of a system), `decide` (rows of all systems and the verdict) and `sentences`.
"""
