"""Fits: from a file of lookups to the generator's knobs, and how well the generated lookups follow."""
