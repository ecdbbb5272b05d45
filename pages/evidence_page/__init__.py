"""Parts of the page Evidence, which compares published numbers with simulated ones.

The page is `pages/evidence.py`.
"""
