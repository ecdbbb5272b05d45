"""Numbers of results on pages: `engine.core.figures` for a name, a unit, and a change against a baseline."""

import re
from collections.abc import Mapping

import pandas as pd

from engine.analysis.over_weeks import WEEKS
from engine.core.figures import count, decimals, duration, factor, figure, percent, with_error
from engine.results.metrics import ERRORS, metrics

__all__ = [
    "better",
    "change",
    "duration",
    "error_formats",
    "grouped",
    "label",
    "milliseconds",
    "percent",
    "readable",
    "size",
    "unit",
]
MOST_WHOLE = 1000
ALIKE = 5e-4  # a smaller change is "same"


def unit(name: str) -> str:
    """Return the unit that a result's name carries in brackets, or ""."""
    return name[name.index("[") + 1 : -1] if name.endswith("]") else ""


def label(name: str) -> str:
    """Return a result's name without its unit."""
    return name.split(" [")[0]


def readable(value: float | None, unit: str = "", error: float | None = None) -> str:
    """Return a result in three significant digits with the unit that fits, a count of things whole; "n/a" for None.

    With a standard `error` it has the digits that this justifies: "0.7645 ± 0.0012".
    """
    if error:
        return with_error(value, error)
    if value is not None and not unit and abs(value) < MOST_WHOLE and value == round(value):
        return count(value)
    return percent(None if value is None else value / 100) if unit == "%" else figure(value, unit)


def error_formats(frame: pd.DataFrame) -> Mapping[str, str]:
    """Return the printf formats of a table's AUCs and their errors, in the digits that the smallest error justifies."""
    found: dict[str, str] = {}
    for name, error in ERRORS.items():
        known = frame[error].dropna().astype(float) if error in frame and name in frame else ()
        if len(known):
            found |= dict.fromkeys((name, error), f"%.{max(decimals(min(known)), 0)}f")
    return found


def size(nbytes: float) -> str:
    """Return a number of bytes: "1.94 GB", "21.6 MB"."""
    return figure(nbytes, "B")


def change(ours: float | None, other: float | None) -> str:
    """Return the change against another value: "+0.53 %", from double on "4.28 ×", or "same"; "" without one."""
    if ours is None or not other:
        return ""
    ratio = ours / other
    if abs(ratio - 1) < ALIKE:
        return "same"
    return factor(ratio) if ratio >= 2 else f"{'+' * (ratio > 1)}{percent(ratio - 1)}"


def better(name: str) -> str:
    """Return "lower", "higher" or "neither", as the metric or the number over weeks of that name declares."""
    if name in WEEKS:
        return "higher" if WEEKS[name].highest else "lower"
    return next((metric.better for metric in metrics() if metric.name == name), "neither")


def grouped(text: str) -> str:
    """Return a text with its long whole numbers in groups of three digits: "5,000,000"."""
    return re.sub(r"\b\d{5,15}\b", lambda found: count(int(found[0])), text)


def milliseconds(seconds: float) -> str:
    """Return seconds as a time of a batch is told: in ms, or what fits."""
    return figure(seconds * 1e3, "ms")
