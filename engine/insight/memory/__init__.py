"""Insights into memory: latency under load, the CXL link's latency, near-data compute, caches and working sets."""
