"""Measure this machine: parts in the catalogue's format, and predictions tested by real training."""
