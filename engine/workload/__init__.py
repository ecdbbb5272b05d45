"""The workload of a run: the row ids of each batch.

Ids are generated, read from a data file, or replaced by expected numbers of accesses.
Read `popularity` (how lookups spread over rows), `sampling` and `locality` (the ids of a batch), `generator` and `readers` (the
two origins of batches), `batch` and `source` (both origins behind one interface); then `spectrum`, `expected`, `accesses` and
`caching` (expected accesses).
"""
