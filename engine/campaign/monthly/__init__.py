"""Failures by the month: `failure_row` (failure numbers and their knobs), `losses` (hours and USD lost)."""
