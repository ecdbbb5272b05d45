"""Evidence: published numbers beside ours; the page is `pages/evidence.py`."""
