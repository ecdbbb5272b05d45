"""Kernels of the schedule: `template` (its arrays), `events` (the event loop), `totals` (averages and totals of runs)."""
