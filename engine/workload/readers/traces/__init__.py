"""Traces of lookups without labels: PyTorch's saves with one batch a file, and libCacheSim's requests."""
