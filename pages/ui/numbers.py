"""Numbers for reading: three digits, a unit that fits, and a change against a baseline."""

import re

from engine.analysis.over_weeks import WEEKS
from engine.results.metrics import metrics

NOISE = 1e-6
PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def unit(name: str) -> str:
    """Return the unit that a result's name carries in brackets, or ""."""
    return name[name.index("[") + 1 : -1] if name.endswith("]") else ""


def label(name: str) -> str:
    """Return a result's name without its unit."""
    return name.split(" [")[0]


def readable(value: float | None, unit: str = "") -> str:
    """Return three significant digits with a prefix where the number is large; "n/a" for None."""
    if value is None:
        return "n/a"
    for size, prefix in PREFIXES:
        if abs(value) >= size:
            return f"{value / size:.3g}{prefix} {unit}".rstrip()
    return f"{value:.3g} {unit}".rstrip()


def size(nbytes: float) -> str:
    """Return a number of bytes in three digits: "1.94 GB", "21.6 MB"."""
    value, prefix = next(((nbytes / by, prefix) for by, prefix in PREFIXES if nbytes >= by), (nbytes, ""))
    return f"{value:.3g} {prefix}B"


def change(ours: float | None, other: float | None) -> str:
    """Return the change against another value in percent, or as a factor from double on, or "same"; "" without one."""
    if ours is None or not other:
        return ""
    ratio = ours / other
    if abs(ratio - 1) < 5e-4:
        return "same"
    off = (ratio - 1) * 100
    return f"{ratio:.3g}×" if ratio >= 2 else f"{off:+.0f} %" if abs(off) >= 10 else f"{off:+.2g} %"


def percent(share: float) -> str:
    """Return a share in percent in two digits; less than a ten-thousandth of one is noise of rounding: "0 %"."""
    return f"{float(f'{100 * share:.2g}') if abs(share) >= NOISE else 0:,.10g} %"


def better(name: str) -> str:
    """Return "lower", "higher" or "neither", as the metric or the number over weeks of that name declares."""
    if name in WEEKS:
        return "higher" if WEEKS[name].highest else "lower"
    return next((metric.better for metric in metrics() if metric.name == name), "neither")


def duration(seconds: float) -> str:
    """Return a time to wait for, coarse enough to be true: "a moment", "12 s", "3 min", "2.5 h"."""
    if seconds < 1.5:
        return "a moment"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def grouped(text: str) -> str:
    """Return a text with its long whole numbers in groups of three digits: "5,000,000"."""
    return re.sub(r"\b\d{5,15}\b", lambda found: f"{int(found[0]):,}", text)


def milliseconds(seconds: float) -> str:
    """Return a time for a sentence: three digits, in ms, or in µs below 0.1 ms."""
    return f"{seconds * 1e3:.3g} ms" if abs(seconds) >= 1e-4 or not seconds else f"{seconds * 1e6:.3g} µs"
