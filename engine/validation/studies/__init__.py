"""Studies: many paired runs whose result is kept in a file, because nobody can wait for it.

Read `accuracy` (one seed: what a stale MLP costs) and `protections` (what lossy recoveries cost), then `paired` (differences
with their intervals), `kept` (the file of finished seeds, and the run that fills it) and `findings` (what they found).
"""
