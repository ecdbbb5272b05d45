"""What batches ask for, as traffic: the only difference between an estimate (expected) and a full run (counted)."""
