"""Parts of the page Failures: the costs of failures by protection; the page is `pages/failures.py`."""
