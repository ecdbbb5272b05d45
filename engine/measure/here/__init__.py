"""Predictions for this machine, written down first, beside real training on it."""
