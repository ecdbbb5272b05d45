"""Kernels of the schedule: arrays, event loop, averages and totals.

They are in `template`, `events` and `totals`.
"""
