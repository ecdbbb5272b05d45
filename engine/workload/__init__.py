"""The workload of a run: batches of ids.

The generator draws them, a file has them, or they are expected values.
Read `popularity` (how lookups spread over rows), `sampling` and `locality` (ids of a batch), `generator` and `readers` (the two
origins of batches), `batch` and `source` (both origins behind one interface); then `spectrum`, `expected`, `accesses` and
`caching` (expected accesses).
"""
