"""Predictions for this machine, written before real training on it, and their errors."""
