"""Row caches in front of the tables: `row_index`, `batch_lru`, `policies`, then `replay`; `stack_distance` for all sizes."""
