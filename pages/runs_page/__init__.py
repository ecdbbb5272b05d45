"""Runs: what was run; the page is `pages/runs.py`."""
