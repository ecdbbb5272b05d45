"""Failures: what failures cost under each protection; the page is `pages/failures.py`."""
