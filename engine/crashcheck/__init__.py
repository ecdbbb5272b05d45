"""The crash check: every state that power losses can leave of the log protocol, and a verdict on each recovery from it.

Reading order: `reference_run` (a small run and its oracle), `budget` (what a run or recovery may take), `states` (what can be
left, point by point), `judge` (recovery, and what is asked of it), `visit`, `second_crash` and `exploration` (one
configuration, then all of them), `replay_line` (one line, one state), `bugs` (the checker checked), `far_rows` (what is too
large to explore).
"""
