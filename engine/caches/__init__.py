"""Row caches in front of the tables: `row_index`, `policies`, then `replay`; `stack_distance` for all sizes."""
