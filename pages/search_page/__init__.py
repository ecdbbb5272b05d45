"""Search: many design points, and which of them is best; the page is `pages/search.py`."""
