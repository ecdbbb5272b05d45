"""Formulas of whole campaigns: expected useful time, and the best period."""
