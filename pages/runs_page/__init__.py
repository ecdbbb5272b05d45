"""Parts of the page Runs, which shows all past requests; the page is `pages/runs.py`."""
