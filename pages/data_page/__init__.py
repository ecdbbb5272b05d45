"""Data: how the data is accessed; the page is `pages/data.py`."""
