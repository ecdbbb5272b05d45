"""Traffic of a run's batches: expected for an estimate, counted for a full run.

Expected amounts follow from the popularity, counted amounts from the ids.
"""
