"""Arguments of API functions that are not knobs: workers, targets of `enough`, samplings.

Each is checked, and refused in a sentence of its own.
"""

from __future__ import annotations

import warnings
from decimal import Decimal
from fractions import Fraction
from operator import index
from typing import Any

import numpy as np

from ..analysis.enough.question import Target
from ..core import figures
from ..errors import BadInput, nearest_hint
from ..registry import variant_names
from ..sweep.sweep import Sampling, sampling
from .knob_values import short_text

MOST_WORKERS, EVERY_CORE = 1024, -1
USUAL_PERCENT = 10.0


def workers(jobs: Any) -> int:
    """Return the number of worker processes, -1 for one per core; raises BadInput."""
    try:
        count = index(1 if jobs is None else jobs)
    except TypeError:
        count = 0
    if isinstance(jobs, bool) or not (count == EVERY_CORE or 1 <= count <= MOST_WORKERS):
        raise BadInput(
            f"jobs={short_text(jobs)} is not a number of workers; write a whole number from 1 to {figures.count(MOST_WORKERS)}, "
            "or -1 for one per core."
        )
    return count


def target(within_percent: Any, within_share: Any, step_ms: Any, stacklevel: int = 3) -> Target:
    """Return the target of `enough`; raises BadInput.

    It is percent of the baseline's step time, or milliseconds.
    """
    targets = {"within_percent": within_percent, "within": within_share, "step_ms": step_ms}
    given_names = [name for name, argument in targets.items() if argument is not None]
    if len(given_names) > 1:
        raise BadInput(f"{' and '.join(given_names)} are two targets for one question; give only one of them.")
    if step_ms is not None:
        return Target(milliseconds=number("step_ms", step_ms, "milliseconds, such as step_ms=2.5"))
    if within_share is None:
        percent = USUAL_PERCENT if within_percent is None else within_percent
        return Target(number("within_percent", percent, "percent, such as within_percent=10", percent=1.0) / 100)
    share = number("within", within_share, "a share, or better within_percent=10", percent=100.0)
    warnings.warn(
        f"within={short_text(within_share)} is a share, {figures.exact(100 * share)} %, and will be removed in the next minor "
        f"version; write within_percent={100 * share:.6g}.",
        DeprecationWarning,
        stacklevel=stacklevel,
    )
    return Target(share)


def switch_of(name: str, argument: Any) -> bool:
    """Return an argument that is True or False; raises BadInput for any other type."""
    if not isinstance(argument, bool | np.bool_):
        raise BadInput(f"{name}={short_text(argument)} is neither True nor False; write one of them.")
    return bool(argument)


def system(name: str, argument: Any) -> str:
    """Return the name of a training system; raises BadInput for other arguments."""
    if not isinstance(argument, str) or argument not in variant_names("systems"):
        raise BadInput(
            f"{name}={short_text(argument)} is not a system; {nearest_hint(str(argument), variant_names('systems'), 'systems')}"
        )
    return str(argument)


def number(name: str, argument: Any, unit: str, percent: float | None = None) -> float:
    """Return an argument as a number; raises BadInput.

    unit: the unit in words, for the sentence that refuses an argument.
    percent: the percents in one unit, by which a text such as "10 %" is divided; None to refuse such texts.
    """
    percent_text = argument.strip().removesuffix("%") if isinstance(argument, str) and argument.strip().endswith("%") else None
    if percent_text is not None and percent is not None:
        try:
            return float(percent_text) / percent
        except ValueError:
            pass
    if np.ma.is_masked(argument):
        raise BadInput(f"{name}={short_text(argument)} is masked, so it has no number; write {unit}.")
    scalar = argument.item() if hasattr(argument, "item") and getattr(argument, "ndim", 1) == 0 else argument
    if isinstance(scalar, bool) or not isinstance(scalar, int | float | Decimal | Fraction):
        raise BadInput(f"{name}={short_text(argument)} is not a number; write {unit}.")
    try:
        return float(scalar)
    except OverflowError:
        raise BadInput(f"{name}={short_text(argument)} is too large; write {unit}.") from None
    except ValueError:  # a signalling NaN
        raise BadInput(f"{name}={short_text(argument)} is not a number; write {unit}.") from None


def sampling_of(sample: Any) -> Sampling:
    """Return the sampling of the axes' grid that `sample` states; raises BadInput."""
    if sample is None:
        return Sampling()
    if isinstance(sample, str):
        return sampling(sample.strip())
    try:
        count = 0 if isinstance(sample, bool) else index(sample)
    except TypeError:
        raise BadInput(
            f"sample={short_text(sample)} is not a sampling; write a number of points, or a kind and a number, such as sobol:64."
        ) from None
    return Sampling("grid", count)
