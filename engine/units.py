"""Conversions between human units and SI; used where a device or a metric meets the outside."""

KB, MB, GB, TB = 1e3, 1e6, 1e9, 1e12
KiB, MiB, GiB = 2**10, 2**20, 2**30
US, NS, MS = 1e-6, 1e-9, 1e-3
HOUR = 3600.0
FLOAT32 = 4
