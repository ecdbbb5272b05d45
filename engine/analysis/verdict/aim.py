"""The aim of a search: to meet the requirement first, then the best objective."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import NamedTuple

from ...insight.running_costs import BILLION, training_cost
from ...scenario.machine import MachineKnobs
from ...units import HOUR
from .candidates import CandidateEstimate
from .delivery import delay
from .protected import CandidateProtection
from .question import VerdictQuestion
from .requirement import Objective, Requirement

ROUNDING = 1e-9  # so that a machine is as fast as itself
MIN_SHARE = 1e-12  # of samples that count: less is none
ANY_LOSS_EXCESS = 2.0
UNGUARDED = CandidateProtection()
Rank = tuple[float, ...]
CANNOT_RUN, NO_PRICE, MISSES, MEETS = 3.0, 2.0, 1.0, 0.0


class SplitCost(NamedTuple):
    """USD of a billion samples that count, or of a month.

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
    objective: the quantity to be least.
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
        return self.objective in ("cost", "month", "capital") or self.requirement.budget is not None

    def rank(self, candidate: CandidateEstimate, guard: CandidateProtection = UNGUARDED) -> Rank:
        """Return the rank of a candidate under a protection; the lowest rank is the best."""
        if candidate.problem:
            return (CANNOT_RUN,)
        protected_candidate = guard.add_to(candidate)
        if protected_candidate.capital is None and self.needs_prices:
            return (NO_PRICE, protected_candidate.step)
        worst_shortfall, objective_values = (
            max(self.shortfalls(candidate, guard).values()),
            self._values(candidate, guard),
        )
        if worst_shortfall > 1 + ROUNDING:
            return (MISSES, worst_shortfall, *objective_values)
        return (MEETS, *objective_values)

    def shortfalls(self, candidate: CandidateEstimate, guard: CandidateProtection = UNGUARDED) -> Mapping[str, float]:
        """Return by how much a candidate misses each limit, as a factor by limit.

        A factor up to 1 meets the limit; above 1 the candidate is too slow, too expensive or too late, or loses too much in a
        failure. It is too late if even its soonest delivery is; an unknown delivery is never too late.
        """
        protected_candidate, requirement = guard.add_to(candidate), self.requirement
        throughput = self.batch_size / protected_candidate.step
        useful_throughput = throughput * min(max(guard.share, MIN_SHARE), 1.0)
        return {
            "throughput": max(self.throughput / throughput, requirement.min_throughput(self.batch_size) / useful_throughput),
            "days": requirement.min_useful_throughput / useful_throughput,
            "budget": 0.0
            if requirement.budget is None or protected_candidate.capital is None
            else protected_candidate.capital / requirement.budget,
            "weeks": delay(candidate.settled.scenario, requirement.weeks) if candidate.settled else 0.0,
            "lose": max(
                _excess(guard.lost_batches, requirement.lost_batches), _excess(guard.lost_minutes, requirement.lost_minutes)
            ),
        }

    def cost(self, candidate: CandidateEstimate, guard: CandidateProtection = UNGUARDED) -> SplitCost | None:
        """Return the cost of a billion samples that count; None without a price.

        guard: the candidate's protection.
        """
        return self._paid(candidate, guard, BILLION * candidate.step / self.batch_size)

    def month(self, candidate: CandidateEstimate, guard: CandidateProtection = UNGUARDED) -> SplitCost | None:
        """Return what a month costs in which the machine trains; None without a price.

        Samples that failures undo cost nothing more: the machine must make up for them.
        """
        paid = self._paid(candidate, guard, self.machine.training_hours_a_month * HOUR)
        return paid and paid._replace(failures=0.0)

    def money(self, candidate: CandidateEstimate, guard: CandidateProtection = UNGUARDED) -> SplitCost | None:
        """Return the cost in the objective's unit: a month, or a billion samples."""
        return self.month(candidate, guard) if self.objective == "month" else self.cost(candidate, guard)

    def dearer_by_a_dollar(self, step: float, share: float) -> float:
        """Return by how much the objective rises with one USD of a machine's price.

        step: seconds of a batch. share: share of samples that count. Return 0 where the objective is no money.
        """
        seconds = {"cost": BILLION * step / self.batch_size, "month": self.machine.training_hours_a_month * HOUR}
        if self.objective in seconds:
            rise = training_cost(self.machine, 1.0, 0.0, seconds[self.objective]).capital or 0.0
            return rise / max(share, MIN_SHARE) if self.objective == "cost" else rise
        return 1.0 if self.objective == "capital" else 0.0

    def _paid(self, candidate: CandidateEstimate, guard: CandidateProtection, seconds: float) -> SplitCost | None:
        """Return the cost of `seconds` of training, and of as much again as failures undo."""
        protected_candidate = guard.add_to(candidate)
        paid = training_cost(self.machine, protected_candidate.capital, protected_candidate.watts, seconds)
        if paid.capital is None:
            return None
        lost = (paid.capital + paid.electricity) * (1 / max(guard.share, MIN_SHARE) - 1)
        return SplitCost(paid.capital, paid.electricity, lost)

    def objective_value(self, candidate: CandidateEstimate, guard: CandidateProtection = UNGUARDED) -> float:
        """Return the objective's value for a candidate.

        Its unit is USD a billion samples, USD a month, USD, joules a sample, or seconds a sample that counts, by the objective.
        """
        return self._values(candidate, guard)[0]

    def _values(self, candidate: CandidateEstimate, guard: CandidateProtection) -> tuple[float, ...]:
        protected_candidate, cost = guard.add_to(candidate), self.cost(candidate, guard)
        sample_seconds = protected_candidate.step / self.batch_size / max(guard.share, MIN_SHARE)
        total_cost = cost.total if cost else inf
        if self.objective == "month":
            month = self.month(candidate, guard)
            return month.total if month else inf, total_cost, sample_seconds
        objective_value = {
            "cost": total_cost,
            "capital": inf if protected_candidate.capital is None else protected_candidate.capital,
            "energy": protected_candidate.watts * sample_seconds,
            "time": sample_seconds,
        }[self.objective]
        return objective_value, total_cost, sample_seconds


def plain_aim(question: VerdictQuestion) -> Aim:
    """Return the aim of a question, without the throughput of an "as fast as" system."""
    requirement, base = question.requirement, question.base
    batch = base.data.batch_size
    return Aim(requirement, question.objective_in_force, base.machine, batch, requirement.min_throughput(batch))


def _excess(loss: float, limit: float | None) -> float:
    """Return a loss divided by its limit; any loss is SOME where the limit is 0."""
    if limit is None:
        return 0.0
    return loss / limit if limit else ANY_LOSS_EXCESS if loss else 0.0
