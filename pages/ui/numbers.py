"""Numbers of results on pages: their format by name and unit, and changes against a baseline."""

from collections.abc import Mapping

import pandas as pd

from engine.analysis.over_weeks import CAMPAIGN_METRICS
from engine.core.figures import count, decimals, duration, factor, figure, percent, with_error
from engine.insight import quantities
from engine.results.metrics import ERRORS, all_metrics, error_of
from engine.results.result import Result

__all__ = [
    "better_direction",
    "change",
    "duration",
    "error_formats",
    "label",
    "milliseconds",
    "named_text",
    "percent",
    "quantity",
    "quantity_text",
    "result_text",
    "size",
    "unit",
]
MOST_WHOLE = 1000
SAME_SHARE = 5e-4  # a smaller change is "same"


def unit(name: str) -> str:
    """Return the unit that a result's name carries in brackets, or ""."""
    return name[name.index("[") + 1 : -1] if name.endswith("]") else ""


def label(name: str) -> str:
    """Return a result's name without its unit."""
    return name.split(" [")[0]


def result_text(number: float | None, unit: str = "", error: float | None = None) -> str:
    """Return a result as text with its unit, in three digits; "n/a" for None.

    Counts have all digits. With a standard `error` the text has the digits that the error justifies: "0.7645 ± 0.0012".
    """
    if error:
        return with_error(number, error)
    if number is not None and not unit and abs(number) < MOST_WHOLE and number == round(number):
        return count(number)
    return percent(None if number is None else number / 100) if unit == "%" else figure(number, unit)


def quantity(name: str, result: Result) -> float | None:
    """Return a result's number of the named quantity, None where it does not apply; pages show such numbers by this function."""
    return quantities.number(name, result)


def quantity_text(name: str, result: Result) -> str:
    """Return a result's number of the named quantity as text, in its unit; "n/a" where it does not apply."""
    number, error = quantity(name, result), error_of(name, result.results)
    return result_text(number, quantities.shown_unit(name, result.scenario), error)


def named_text(name: str, result: Result) -> str:
    """Return a quantity's name and number for use inside a sentence: "cache hit rate of 46.4 %"."""
    title = label(name)
    return f"{title[0].lower()}{title[1:]} of {quantity_text(name, result)}"


def error_formats(frame: pd.DataFrame) -> Mapping[str, str]:
    """Return printf formats of a table's AUCs and errors, by the smallest error."""
    formats: dict[str, str] = {}
    for name, error in ERRORS.items():
        errors = frame[error].dropna().astype(float) if error in frame and name in frame else ()
        if len(errors):
            formats |= dict.fromkeys((name, error), f"%.{max(decimals(min(errors)), 0)}f")
    return formats


def size(nbytes: float) -> str:
    """Return a number of bytes as text: "1.94 GB", "21.6 MB"."""
    return figure(nbytes, "B")


def change(number: float | None, baseline: float | None) -> str:
    """Return the change against a baseline: "+0.53 %", "4.28 ×" from twofold on, "same", or ""."""
    if number is None or not baseline:
        return ""
    ratio = number / baseline
    if abs(ratio - 1) < SAME_SHARE:
        return "same"
    return factor(ratio) if ratio >= 2 else f"{'+' * (ratio > 1)}{percent(ratio - 1)}"


def better_direction(name: str) -> str:
    """Return "lower", "higher" or "neither": the better direction of the metric of that name.

    Metrics over weeks of faults are known, too.
    """
    if name in CAMPAIGN_METRICS:
        return "higher" if CAMPAIGN_METRICS[name].highest else "lower"
    return next((metric.better for metric in all_metrics() if metric.name == name), "neither")


def milliseconds(seconds: float) -> str:
    """Return the seconds of a batch as text, in ms or another suitable unit."""
    return figure(seconds * 1e3, "ms")
