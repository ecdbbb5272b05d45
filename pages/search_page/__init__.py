"""Parts of the page Search: many design points, and the best of them.

The page is `pages/search.py`.
"""
