"""Traffic of a run's batches: expected from the popularity for an estimate, counted from the ids for a full run."""
