"""Kernels of the schedule: `template` (arrays), `events` (the loop), `periodic` and `leap` (cycles), `lanes`, `in_order`,
`interrupted`, `critical_path`, `walk` and `entering` (many machines at once), `totals`."""
