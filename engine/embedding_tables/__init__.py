"""Embedding tables one by one: their list, their sizes, and their results."""
