"""A measured machine and the predictions for it."""
