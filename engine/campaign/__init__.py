"""Campaigns: training for days to weeks under faults and a protection, from the estimate of one batch.

Read in this order: `batch_costs` (a batch with and without its log), `site` (where state lies and where it can go),
`protection`, `closed_form` (periods, and training without a fault), `fold` (the faults), `accounts`, `fault_stream` (when faults
strike), `simulate`, `expectation` (the same without simulating), `compare`.
"""
