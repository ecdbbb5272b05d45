"""Numbers and words beside the knobs: workers, targets of `enough`, samplings; each is refused in a sentence of its own."""

from __future__ import annotations

import warnings
from decimal import Decimal
from fractions import Fraction
from operator import index
from typing import Any

import numpy as np

from ..analysis.enough.question import Target
from ..core import figures
from ..errors import BadInput, nearest
from ..registry import names
from ..sweep.sweep import Sampling, sampling
from .knob_values import shown

MOST_WORKERS, EVERY_CORE = 1024, -1
USUAL_PERCENT = 10.0


def workers(jobs: Any) -> int:
    """Return how many processes compute at once, -1 for one per core; raises BadInput."""
    try:
        count = index(1 if jobs is None else jobs)
    except TypeError:
        count = 0
    if isinstance(jobs, bool) or not (count == EVERY_CORE or 1 <= count <= MOST_WORKERS):
        raise BadInput(
            f"jobs={shown(jobs)} is no number of workers; write one from 1 to {figures.count(MOST_WORKERS)}, "
            "or -1 for one per core."
        )
    return count


def target(within_percent: Any, within: Any, step_ms: Any, stacklevel: int = 3) -> Target:
    """Return the target of `enough`: percent of the baseline's step time, or milliseconds; raises BadInput."""
    asked = {"within_percent": within_percent, "within": within, "step_ms": step_ms}
    given = [name for name, value in asked.items() if value is not None]
    if len(given) > 1:
        raise BadInput(f"{' and '.join(given)} are two targets; give one of them.")
    if step_ms is not None:
        return Target(milliseconds=number("step_ms", step_ms, "milliseconds, such as step_ms=2.5"))
    if within is None:
        percent = USUAL_PERCENT if within_percent is None else within_percent
        return Target(number("within_percent", percent, "percent, such as within_percent=10", percent=1.0) / 100)
    share = number("within", within, "a share, or better within_percent=10", percent=100.0)
    warnings.warn(
        f"within={shown(within)} is a share, {figures.exact(100 * share)} %, and goes in the next minor version; "
        f"write within_percent={100 * share:.6g}.",
        DeprecationWarning,
        stacklevel=stacklevel,
    )
    return Target(share)


def switch(name: str, value: Any) -> bool:
    """Return True or False as it stands; raises BadInput for a word or number that only counts as one."""
    if not isinstance(value, bool | np.bool_):
        raise BadInput(f"{name}={shown(value)} is neither True nor False; write one of them.")
    return bool(value)


def system(name: str, value: Any) -> str:
    """Return the name of a system; raises BadInput."""
    if not isinstance(value, str) or value not in names("systems"):
        raise BadInput(f"{name}={shown(value)} is no system; {nearest(str(value), names('systems'), 'systems')}")
    return str(value)


def number(name: str, value: Any, unit: str, percent: float | None = None) -> float:
    """Return a number of something; a text with % is read where `percent` says how many of its unit make one percent's."""
    written = value.strip().removesuffix("%") if isinstance(value, str) and value.strip().endswith("%") else None
    if written is not None and percent is not None:
        try:
            return float(written) / percent
        except ValueError:
            pass
    if np.ma.is_masked(value):
        raise BadInput(f"{name}={shown(value)} is masked, and no number; write {unit}.")
    found = value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value
    if isinstance(found, bool) or not isinstance(found, int | float | Decimal | Fraction):
        raise BadInput(f"{name}={shown(value)} is no number; write {unit}.")
    try:
        return float(found)
    except OverflowError:
        raise BadInput(f"{name}={shown(value)} is too large; write {unit}.") from None
    except ValueError:  # a NaN that signals
        raise BadInput(f"{name}={shown(value)} is no number; write {unit}.") from None


def sampled(sample: Any) -> Sampling:
    """Return which points of the axes' box are computed; raises BadInput."""
    if sample is None:
        return Sampling()
    if isinstance(sample, str):
        return sampling(sample.strip())
    try:
        count = 0 if isinstance(sample, bool) else index(sample)
    except TypeError:
        raise BadInput(
            f"sample={shown(sample)} is no sampling; write a number of points, or a kind with it, such as sobol:64."
        ) from None
    return Sampling("grid", count)
