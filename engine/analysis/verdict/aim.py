"""The aim of a search: to meet the requirement first, then the best objective."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from ...insight.running_costs import BILLION, training_cost
from ...scenario.machine import MachineKnobs
from .candidates import CandidateEstimate
from .protected import CandidateProtection
from .requirement import Objective, Requirement

ROUNDING = 1e-9  # so that a machine is as fast as itself
MIN_SHARE = 1e-12  # of samples that count: less is none
ANY_LOSS_EXCESS = 2.0
UNGUARDED = CandidateProtection()
Rank = tuple[float, ...]
CANNOT_RUN, NO_PRICE, MISSES, MEETS = 3.0, 2.0, 1.0, 0.0


class SampleCost(NamedTuple):
    """USD of a billion samples that count.

    capital: the written-off price of the machine. electricity: electricity. failures: the cost of samples lost to failures.
    """

    capital: float
    electricity: float
    failures: float

    @property
    def total(self) -> float:
        """The sum of capital, electricity and failures."""
        return self.capital + self.electricity + self.failures


@dataclass(frozen=True)
class Aim:
    """The requirement and objective by which candidates are ranked.

    requirement: limits that a machine must keep.
    objective: cost, capital, energy or time, to be least.
    machine: the knobs of the base's machine, for running costs.
    batch_size: samples of a batch.
    throughput: required samples/s; it includes a requirement to be as fast as another system.
    """

    requirement: Requirement
    objective: Objective
    machine: MachineKnobs
    batch_size: int
    throughput: float = 0.0

    @property
    def needs_prices(self) -> bool:
        """Whether candidates need a price to be ranked."""
        return self.objective in ("cost", "capital") or self.requirement.budget is not None

    def rank(self, candidate: CandidateEstimate, guard: CandidateProtection = UNGUARDED) -> Rank:
        """Return the rank of a candidate under a protection; the lowest rank is the best."""
        if candidate.problem:
            return (CANNOT_RUN,)
        protected_candidate = guard.add_to(candidate)
        if protected_candidate.capital is None and self.needs_prices:
            return (NO_PRICE, protected_candidate.step)
        worst_shortfall, objective_values = (
            max(self.shortfalls(candidate, guard).values()),
            self._values(protected_candidate, guard.share, self.cost(candidate, guard)),
        )
        if worst_shortfall > 1 + ROUNDING:
            return (MISSES, worst_shortfall, *objective_values)
        return (MEETS, *objective_values)

    def shortfalls(self, candidate: CandidateEstimate, guard: CandidateProtection = UNGUARDED) -> Mapping[str, float]:
        """Return by how much a candidate misses each limit, as a factor by limit.

        A factor up to 1 meets the limit; above 1 the candidate is too slow, too expensive, or loses too much in a failure.
        """
        protected_candidate, requirement = guard.add_to(candidate), self.requirement
        throughput = self.batch_size / protected_candidate.step
        return {
            "throughput": self.throughput / throughput,
            "days": requirement.min_useful_throughput / (throughput * max(guard.share, MIN_SHARE)),
            "budget": 0.0
            if requirement.budget is None or protected_candidate.capital is None
            else protected_candidate.capital / requirement.budget,
            "lose": max(
                _excess(guard.lost_batches, requirement.lost_batches), _excess(guard.lost_minutes, requirement.lost_minutes)
            ),
        }

    def cost(self, candidate: CandidateEstimate, guard: CandidateProtection = UNGUARDED) -> SampleCost | None:
        """Return the cost of a billion samples that count; None without a price.

        guard: the candidate's protection.
        """
        protected_candidate, share = guard.add_to(candidate), guard.share
        paid = training_cost(
            self.machine,
            protected_candidate.capital,
            protected_candidate.watts,
            BILLION * protected_candidate.step / self.batch_size,
        )
        if paid.capital is None:
            return None
        return SampleCost(paid.capital, paid.electricity, (paid.capital + paid.electricity) * (1 / max(share, MIN_SHARE) - 1))

    def objective_value(self, candidate: CandidateEstimate, guard: CandidateProtection = UNGUARDED) -> float:
        """Return the objective's value for a candidate.

        Its unit is USD a billion samples, USD, joules a sample, or seconds a sample that counts, by the objective.
        """
        protected_candidate, cost = guard.add_to(candidate), self.cost(candidate, guard)
        return self._values(protected_candidate, guard.share, cost)[0]

    def _values(self, protected_candidate: CandidateEstimate, share: float, cost: SampleCost | None) -> tuple[float, ...]:
        sample_seconds, total_cost = (
            protected_candidate.step / self.batch_size / max(share, MIN_SHARE),
            cost.total if cost else inf,
        )
        capital = inf if protected_candidate.capital is None else protected_candidate.capital
        objective_value = {
            "cost": total_cost,
            "capital": capital,
            "energy": protected_candidate.watts * sample_seconds,
            "time": sample_seconds,
        }[self.objective]
        return objective_value, total_cost, sample_seconds


def _excess(loss: float, limit: float | None) -> float:
    """Return a loss divided by its limit; any loss is SOME where the limit is 0."""
    if limit is None:
        return 0.0
    return loss / limit if limit else ANY_LOSS_EXCESS if loss else 0.0
