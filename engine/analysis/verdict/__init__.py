"""The verdict: which machine, of all that can be built, trains a model for the least money while it meets a requirement.

Read `requirement` (what is asked), `allowed` (which parts), `space` (the stops of each system's knobs), `candidates` (what one
machine takes and costs), `search` (the best of a system), `decide` (rows of all systems and the verdict) and `sentences`.
"""
