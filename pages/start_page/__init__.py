"""Parts of the page Start: common questions, and models to ask them about.

The page is `pages/start.py`.
"""
