"""Traces of lookups alone, as PyTorch saves them: no labels, one file a batch."""
