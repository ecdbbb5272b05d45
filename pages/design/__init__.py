"""Design: one machine for one model; the page is `pages/scripts/design.py`."""
