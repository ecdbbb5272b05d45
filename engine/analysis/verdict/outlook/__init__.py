"""The outlook of a verdict: bands over draws, tipping points, and a map of winners.

Read `bands`, `tipping` and `territory`.
"""
