"""Campaigns: training for weeks under faults and a protection, from the estimate of one batch.

Read in this order: `batch_costs` (a batch with and without its log), `site` (the machine's memories, storage and links),
`protection`, `closed_form` (periods, and training without a fault), `fold` (the faults), `accounts`, `fault_stream` (times of
faults), `simulate`, `expectation` (means without a simulation), `compare`.
"""
