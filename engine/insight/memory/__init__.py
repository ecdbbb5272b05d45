"""Insights into memory: latency, near-data compute, caches and working sets.

Latency is that under load and that of the CXL link.
"""
