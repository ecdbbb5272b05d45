"""Sweeps: axes, the box of points that they span, and links, which carry a scenario or a sweep."""
