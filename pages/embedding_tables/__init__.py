"""Embedding tables one by one: a list to edit, paste and save, and a row of results for each table."""
