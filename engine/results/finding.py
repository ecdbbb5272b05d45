"""The finding in words: which device or wait sets the pace of a batch, and what would and would not help."""

from collections.abc import Mapping

from .report import Report


def finding(report: Report) -> str:
    """Return two sentences: the largest exposed part of a step, and how busy the CXL link is, if there is one."""
    steady = report.steady
    stage, name, _, exposed, _ = max(steady.cells, key=lambda cell: cell[3])
    device = report.machine.devices[name]
    first = (
        f"{stage} on {device.title} is exposed for {_milliseconds(exposed)} of the "
        f"{_milliseconds(steady.step)} step ({exposed / steady.step:.0%}); {device.helps}."
    )
    return f"{first} {_link(steady.busy, steady.step, name)}".strip()


def _link(busy: Mapping[str, float], step: float, largest: str) -> str:
    if "cxl" not in busy or largest == "cxl":
        return ""
    share = busy["cxl"] / step
    hint = "more CXL bandwidth would change little" if share < 0.3 else "a slower link would soon show"
    return f"The CXL link carries data for {share:.0%} of the time: {hint}."


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-4 else f"{seconds * 1e6:.3g} µs"
