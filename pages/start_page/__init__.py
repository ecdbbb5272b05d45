"""Start: common questions, and models to ask them about; the page is `pages/start.py`."""
