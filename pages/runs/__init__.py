"""Runs: what was run; the page is `pages/scripts/runs.py`."""
