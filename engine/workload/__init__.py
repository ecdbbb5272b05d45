"""The workload of a run: batches of ids, drawn by the generator, read from a file, or expected.

Read `popularity` (how lookups spread over rows), `sampling` and `locality` (ids of a batch), `generator` and `readers` (the two
origins of batches), `batch` and `source` (both origins behind one interface); then `spectrum`, `expected`, `accesses` and
`caching` (expected accesses).
"""
