"""Decide: which machine to buy, what the next best is, when that changes and how sure it is."""
