"""Devices: `device` (seconds, joules, dollars), a file each in `devices`, their parts in `catalog`."""
