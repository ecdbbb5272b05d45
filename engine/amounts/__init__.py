"""What batches ask for, the only difference between an estimate and a full run: expected, or counted from ids."""
