"""Conversions between SI and the units of people, used by devices and metrics.

All other modules of the engine have amounts in SI.
"""

GB = 1e9
MiB, GiB = 2**20, 2**30
US, NS, MS = 1e-6, 1e-9, 1e-3
MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
FLOAT32 = 4
