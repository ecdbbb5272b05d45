"""Measuring this machine: its parts in the catalogue's format, and predictions held to real training."""
