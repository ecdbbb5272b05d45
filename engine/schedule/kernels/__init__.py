"""Kernels of the schedule: `template` (arrays), `events` (the loop), `periodic` and `leap` (cycles), `lanes`, `in_order` and
`critical_path` (many machines at once), `totals`."""
