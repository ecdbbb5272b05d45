"""A metric: one number of a report, with its unit and the direction in which it is better."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from engine.registry import load, names
from engine.report import Report


@dataclass(frozen=True)
class Metric:
    """What a metric file exports: `of` returns the number in `unit`, or None where it does not apply."""

    title: str
    unit: str
    better: Literal["lower", "higher", "neither"]
    help: str
    of: Callable[[Report], float | None]
    order: int

    @property
    def name(self) -> str:
        """The title with its unit in brackets, as in results and tables."""
        return f"{self.title} [{self.unit}]" if self.unit else self.title


def metrics() -> tuple[Metric, ...]:
    """Return all metrics in the order in which they are shown."""
    return tuple(metric for _, metric in _named(names("metrics")))


@lru_cache(maxsize=8)
def _named(found: tuple[str, ...]) -> tuple[tuple[str, Metric], ...]:
    every: list[Metric] = [load("metrics", name) for name in found]
    return tuple((metric.name, metric) for metric in sorted(every, key=lambda metric: metric.order))


def measure(report: Report) -> dict[str, float | None]:
    """Return every metric of a report by name."""
    return {name: metric.of(report) for name, metric in _named(names("metrics"))}
