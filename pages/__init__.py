"""The explorer's pages: one script for each page, and a folder with its parts.

Other folders have parts that several pages use. `shell` draws the frame around every page.
"""
