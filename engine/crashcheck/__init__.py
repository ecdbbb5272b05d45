"""The crash check: log states after power losses, and a verdict on each recovery.

Reading order: `reference_run` (a small run with known states), `budget` (limits of a run or recovery), `states` (the states at
each crash point), `judge` (recovery and its verdict), `visit`, `second_crash` and `exploration` (one configuration, then all of
them), `replay_line` (a text that names one state), `bugs` (tests of the checker), `far_rows` (tables too large to explore),
`statement` (medium and recovery stated once more), `probes` (formatting, the medium itself, the simulator's writer, misuse).
The invariants: recovery succeeds (I1); it restores the exact embeddings, at or after the acknowledged batch (I2); training that
resumes ends like a run without a crash (I3); the MLP is exact and within the staleness bound (I4); damage is reported (I5);
recovery may lose power anywhere (I6); no batch has two intact logs of one kind (I7); the medium holds the stated bytes (I9); the
explorer's medium loses what its model states (I10); misuse is refused (I11).
"""
