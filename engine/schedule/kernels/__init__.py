"""Compiled functions of the schedule.

Read `template` (the arrays), `events` (the event loop), then `totals` (averages and totals).
"""
