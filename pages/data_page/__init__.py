"""Parts of the page Data, which shows how the data is accessed; the page is `pages/data.py`."""
