"""Failures by the month: `failure_row` (a sentence's numbers and the knobs that hold them), `losses` (hours and USD lost)."""
