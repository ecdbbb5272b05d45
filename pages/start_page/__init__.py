"""Start: the questions people come with, and the models to ask them about; the page is `pages/start.py`."""
