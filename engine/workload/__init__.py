"""What a run trains on: batches of real ids, and the statistics of their accesses.

Read in this order: `popularity` (how lookups spread over rows), `sampling`, `locality` and `correlation` (ids of a batch),
`generator` and `readers` (the two origins of batches), `source` (either of them behind one value); then `spectrum`, `expected`
and `expected_cache` (what to expect of the accesses), `accesses` and `touched` (what really happened).
"""
