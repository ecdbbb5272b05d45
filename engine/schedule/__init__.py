"""Schedules: from a task graph and devices to times, energies and averages.

Read `machine` (a scenario ready to run), `timeline` (one schedule), `kernels/events` (its event loop), `steady_state`; then
`layout`, `averages` and `evaluate`, which schedule many design points at once.
"""
