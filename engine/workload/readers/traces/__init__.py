"""Traces of lookups without labels: PyTorch saves of one batch, and libCacheSim's requests."""
