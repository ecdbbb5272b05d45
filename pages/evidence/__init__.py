"""Evidence: published numbers beside ours; the page is `pages/scripts/evidence.py`."""
