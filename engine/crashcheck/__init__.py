"""The crash check: log states after power losses, and a verdict on each recovery.

Reading order: `reference_run` (a small run and its oracle), `budget` (limits of a run or recovery), `states` (the states at each
crash point), `judge` (recovery and its verdict), `visit`, `second_crash` and `exploration` (one configuration, then all of
them), `replay_line` (one line, one state), `bugs` (tests of the checker), `far_rows` (tables too large to explore).
"""
