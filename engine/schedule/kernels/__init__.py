"""Kernels of the schedule: `template` (arrays), `events` (the loop), `periodic` and `leap` (cycles), `in_order`, `totals`."""
