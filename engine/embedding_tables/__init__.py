"""Embedding tables one by one: their list as in a spreadsheet, their sizes, and a row of results for each."""
