"""Kernels of the schedule: `template` (arrays), `events` (the loop), `periodic` and `leap` (cycles), `lanes`, `in_order`,
`critical_path` and `walk` (many machines at once), `totals`."""
