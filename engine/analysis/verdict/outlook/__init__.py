"""The reach of a verdict: `bands` (its share of draws), `tipping` (where it changes) and `territory` (a map of winners)."""
