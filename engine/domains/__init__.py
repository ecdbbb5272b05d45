"""Persistence models, one file each: which crash states are possible, given the writes so far."""
