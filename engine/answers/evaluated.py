"""Numbers of points, the one place where answers ask for estimates."""

from engine.many import estimates as evaluated
from engine.result import Result
from engine.scenario import KNOBS, values

__all__ = ["evaluated", "number"]


def number(result: Result, name: str) -> float | None:
    """Return one of a result's numbers, or of its scenario's knobs by path; None where it has none."""
    if name in KNOBS:
        found = values(result.scenario)[name]
        return None if found is None else float(found)
    return result.results.get(name)
