"""Runs: all past requests; the page is `pages/runs.py`."""
