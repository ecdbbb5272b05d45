"""A Global Persistent Flush, or ADR itself, that fails: lines still in the device's buffer are lost though they were fenced.

The device counts such a shutdown as dirty; nothing else tells. The buffer is that of one Optane module, 16 KiB, as
Yang et al. (FAST'20) measured it: 16 to 18 KiB.
"""

from engine.domain import LINE, Domain, each_line

BUFFER = 16 * 1024

DOMAIN = Domain(
    "Global Persistent Flush fails",
    "Of the newest 16 KiB also fenced lines may be lost; only the dirty-shutdown counter tells.",
    each_line,
    buffered_lines=BUFFER // LINE,
    announced=True,
)
