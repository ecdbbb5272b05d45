"""Embedding tables one by one: their list as a spreadsheet has it, their sizes, and a row of results for each."""
