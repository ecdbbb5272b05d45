"""A fault: when it strikes, as instants of simulated time; what it destroys is what was volatile then."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from engine.scenario import Scenario


@dataclass(frozen=True)
class Fault:
    """What a fault file exports: `strikes` yields its instants in seconds, in rising order, maybe without end."""

    title: str
    summary: str
    strikes: Callable[[Scenario], Iterator[float]]
