"""The aim of a search: how candidates are ranked, by the requirement first and by what is to be least then."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from ...insight.running_costs import BILLION, paid_while_training
from ...scenario.machine import MachineKnobs
from .candidates import Estimated
from .protected import Protected
from .requirement import Objective, Requirement

ROUNDING = 1e-9  # so that a machine is as fast as itself
TINY = 1e-12  # of samples that count: less is none
SOME = 2.0
UNGUARDED = Protected()
Rank = tuple[float, ...]
CANNOT_RUN, NO_PRICE, MISSES, MEETS = 3.0, 2.0, 1.0, 0.0


class Cost(NamedTuple):
    """USD of a billion samples that count: capital written off, electricity, and what failures make of both."""

    capital: float
    electricity: float
    lost: float

    @property
    def total(self) -> float:
        """The sum of all three."""
        return self.capital + self.electricity + self.lost


@dataclass(frozen=True)
class Aim:
    """What candidates are ranked by; `throughput` is the least of any candidate in samples/s, "as fast as" included."""

    requirement: Requirement
    objective: Objective
    machine: MachineKnobs
    batch_size: int
    throughput: float = 0.0

    @property
    def needs_prices(self) -> bool:
        """Whether a candidate without a price has no rank."""
        return self.objective in ("cost", "capital") or self.requirement.budget is not None

    def rank(self, candidate: Estimated, guard: Protected = UNGUARDED) -> Rank:
        """Return the rank of a candidate under a protection: the least is the best."""
        if candidate.problem:
            return (CANNOT_RUN,)
        one = guard.added_to(candidate)
        if one.capital is None and self.needs_prices:
            return (NO_PRICE, one.step)
        short, values = (
            max(self.shortfalls(candidate, guard).values()),
            self._values(one, guard.share, self.cost(candidate, guard)),
        )
        if short > 1 + ROUNDING:
            return (MISSES, short, *values)
        return (MEETS, *values)

    def shortfalls(self, candidate: Estimated, guard: Protected = UNGUARDED) -> Mapping[str, float]:
        """Return by limit how many times too slow, too dear or too lossy a candidate is; up to 1 it meets the requirement."""
        one, asked = guard.added_to(candidate), self.requirement
        own = self.batch_size / one.step
        return {
            "throughput": self.throughput / own,
            "days": asked.least_kept / (own * max(guard.share, TINY)),
            "budget": 0.0 if asked.budget is None or one.capital is None else one.capital / asked.budget,
            "lose": max(_excess(guard.lost_batches, asked.lost_batches), _excess(guard.lost_minutes, asked.lost_minutes)),
        }

    def cost(self, candidate: Estimated, guard: Protected = UNGUARDED) -> Cost | None:
        """Return what a billion samples that count cost; None without a price."""
        one, share = guard.added_to(candidate), guard.share
        paid = paid_while_training(self.machine, one.capital, one.watts, BILLION * one.step / self.batch_size)
        if paid.capital is None:
            return None
        return Cost(paid.capital, paid.electricity, (paid.capital + paid.electricity) * (1 / max(share, TINY) - 1))

    def value(self, candidate: Estimated, guard: Protected = UNGUARDED) -> float:
        """Return what is to be least: USD a billion samples, USD, joules a sample, or seconds a sample that counts."""
        one, cost = guard.added_to(candidate), self.cost(candidate, guard)
        return self._values(one, guard.share, cost)[0]

    def _values(self, one: Estimated, share: float, cost: Cost | None) -> tuple[float, ...]:
        each, total = one.step / self.batch_size / max(share, TINY), cost.total if cost else inf
        capital = inf if one.capital is None else one.capital
        first = {"cost": total, "capital": capital, "energy": one.watts * each, "time": each}[self.objective]
        return first, total, each


def _excess(lost: float, most: float | None) -> float:
    """Return how many times more is lost than may be; where nothing may be, all that lose something are alike."""
    if most is None:
        return 0.0
    return lost / most if most else SOME if lost else 0.0
