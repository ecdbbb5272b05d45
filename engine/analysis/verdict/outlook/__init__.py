"""How far a verdict holds: `bands` (in which share of draws), `tipping` (where it changes) and `territory` (a map of winners)."""
