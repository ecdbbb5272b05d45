"""Caches of embedding rows: one index of rows, one replay loop, one file a policy that a knob can choose."""
