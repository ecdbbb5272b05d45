"""The aim of a search: how candidates are ranked, by the requirement first and by what is to be least then."""

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from ...hardware import prices
from ...insight.running_costs import BILLION, KWH, YEAR
from ...scenario.machine import MachineKnobs
from .candidates import Estimated
from .requirement import Objective, Requirement

ROUNDING = 1e-9  # so that a machine is as fast as itself
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

    def rank(self, one: Estimated, share: float = 1.0) -> Rank:
        """Return the rank of a candidate whose failures leave a `share` of its samples: the least is the best."""
        if one.problem:
            return (CANNOT_RUN,)
        if one.capital is None and self.needs_prices:
            return (NO_PRICE, one.step)
        short = self.shortfall(one, share)
        if short > 1 + ROUNDING:
            return (MISSES, short)
        return (MEETS, *self._values(one, share))

    def shortfall(self, one: Estimated, share: float = 1.0) -> float:
        """Return how many times too slow or too dear a candidate is; up to 1 it meets the requirement."""
        own = self.batch_size / one.step
        budget = self.requirement.budget
        return max(
            self.throughput / own,
            self.requirement.least_kept / (own * share) if share else inf if self.requirement.least_kept else 0.0,
            0.0 if budget is None or one.capital is None else one.capital / budget,
        )

    def cost(self, one: Estimated, share: float = 1.0) -> Cost | None:
        """Return what a billion samples that count cost; None without a price."""
        if one.capital is None:
            return None
        seconds = BILLION * one.step / self.batch_size
        capital = one.capital * seconds / (self.machine.service_life_years * YEAR)
        electricity = one.watts * seconds / KWH * prices.electricity(self.machine).value
        return Cost(capital, electricity, (capital + electricity) * (1 / share - 1) if share else inf)

    def value(self, one: Estimated, share: float = 1.0) -> float:
        """Return what is to be least: USD a billion samples, USD, joules a sample, or seconds a sample that counts."""
        return self._values(one, share)[0]

    def _values(self, one: Estimated, share: float) -> tuple[float, ...]:
        cost, each = self.cost(one, share), one.step / self.batch_size / share if share else inf
        total = cost.total if cost else inf
        capital = inf if one.capital is None else one.capital
        first = {"cost": total, "capital": capital, "energy": one.watts * each, "time": each}[self.objective]
        return first, total, each
