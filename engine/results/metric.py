"""A metric: one number of a report, with its unit and the direction in which it is better."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ..registry import rows
from .report import Report


@dataclass(frozen=True)
class Metric:
    """A row of the table of metrics: `of` returns the number in `unit`, or None where it does not apply."""

    title: str
    unit: str
    better: Literal["lower", "higher", "neither"]
    help: str
    of: Callable[[Report], float | None]

    @cached_property
    def name(self) -> str:
        """The title with its unit in brackets, as in results and tables."""
        return f"{self.title} [{self.unit}]" if self.unit else self.title


def metrics() -> tuple[Metric, ...]:
    """Return all metrics in the order in which they are shown, which is the table's."""
    return tuple(rows("metrics").values())


def measure(report: Report) -> dict[str, float | None]:
    """Return every metric of a report by name."""
    return {metric.name: metric.of(report) for metric in metrics()}
