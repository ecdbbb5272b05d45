"""Numbers of points, the one place where answers ask for estimates."""

from ..estimates import estimates as evaluated
from ..results.result import Result
from ..scenario.scenario import KNOBS, values
from .over_weeks import WEEKS, over_weeks

__all__ = ["evaluated", "number"]


def number(result: Result, name: str) -> float | None:
    """Return one of a result's numbers, of its scenario's knobs by path, or of its campaign; None where it has none."""
    if name in KNOBS:
        found = values(result.scenario)[name]
        return None if found is None else float(found)
    if name in WEEKS:
        return over_weeks(result.scenario, name) if result.ran else None
    return result.results.get(name)
