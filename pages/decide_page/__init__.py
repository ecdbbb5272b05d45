"""Decide: the machine to buy, the next best, tipping points, and confidence."""
