"""The compiled loops of the schedule."""
