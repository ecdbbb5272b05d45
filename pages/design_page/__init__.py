"""Parts of the page Design: one machine for one model; the page is `pages/design.py`."""
