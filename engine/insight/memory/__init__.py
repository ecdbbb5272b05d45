"""Insights into memory: latency, near-data compute, caches and working sets.

There are two insights on latency: that of the CXL link, and that of each memory under load.
"""
