"""Traffic of a run's batches: expected for an estimate, counted for a full run.

Expected amounts are computed from the popularity of rows, counted amounts from the ids.
"""
