"""What a run trains on: batches of real ids, and the statistics of their accesses.

Read in this order: `popularity` (how lookups spread over rows), `cells` (that, cut small enough to draw from),
`draw` and `locality` (ids of a batch), `teacher` (labels), `generator` and `criteo` (the two origins of batches),
`source` (either of them behind one value); then `spectrum` and `expectation` (what to expect of the accesses),
`accesses`, `recent` and `lru` (what really happened).
"""
