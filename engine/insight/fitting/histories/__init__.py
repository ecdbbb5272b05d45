"""Fits of users' histories: lengths, users in a batch, duplicates of a batch."""
