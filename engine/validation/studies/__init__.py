"""Studies: many paired runs whose results are kept in a file, as they take hours.

Read `accuracy` (one seed: the loss from a stale MLP) and `protections` (the loss from lossy recoveries), then `paired`
(differences with their intervals), `study_file` (the file of finished seeds, and the run that fills it) and `findings`
(the tables).
"""
