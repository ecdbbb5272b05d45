"""Measuring this machine, and predictions held to training."""
