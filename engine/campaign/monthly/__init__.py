"""Failures by the month: their number as knobs, and their cost in hours and USD.

Read `failure_row` (number and knobs) and `losses` (cost).
"""
