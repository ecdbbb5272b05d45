"""What a run trains on: batches of ids, drawn, read or expected.

Read `popularity` (how lookups spread over rows), `sampling` and `locality` (ids of a batch), `generator` and `readers` (the two
origins of batches), `batch` and `source` (either behind one value); then `spectrum`, `expected`, `accesses` and `caching`
(what to expect of the accesses).
"""
