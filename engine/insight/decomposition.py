"""The decomposition of the speed-up: single changes, one after the other, turn system pmem into system cxl.

What a change saves depends on what was changed before it. Where a machine could be built in the other order too, both
orders are estimated, and the mean of the two is that pair's Shapley value.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..errors import EmberpoolError
from ..registry import load
from ..scenario.scenario import Scenario, with_values
from ..systems.system import System
from .cost import BatchCost, cost

BOUND, RELAXED, NEAR = "policy.mlp_staleness_bound_batches", "policy.relaxed_lookup", "machine.near_data_compute"
START: Mapping[str, Any] = {"system": "pmem", "policy.log": None, BOUND: 0, RELAXED: False}
Changes = Mapping[str, Any]
SWAPPED = (0, 3)  # steps that could come after their successor instead of before it


@dataclass(frozen=True)
class Change:
    """One change on the way: the scenario it leads to, what a batch cost before it and costs after it.

    A step that cannot be taken has its sentence in `refused`, and costs nothing. `swapped` is the same change in the other
    order, where there is one.
    """

    name: str
    says: str
    scenario: Scenario
    before: BatchCost
    after: BatchCost
    refused: str = ""
    swapped: "Change | None" = None

    @property
    def saved(self) -> BatchCost:
        """What the step saves; negative where it costs."""
        return self.before.less(self.after)

    @property
    def factor(self) -> float:
        """Step time before over step time after."""
        return self.before.seconds / self.after.seconds

    @property
    def mean_seconds(self) -> float:
        """Seconds that the step saves on the mean of both orders."""
        return (self.saved.seconds + (self.swapped or self).saved.seconds) / 2

    @property
    def apart(self) -> float:
        """By how many seconds the two orders disagree about what the step saves."""
        return abs(self.saved.seconds - (self.swapped or self).saved.seconds)


@dataclass(frozen=True)
class Decomposition:
    """The steps from pmem to cxl; before the first, `start`, and after the last, `end`."""

    steps: tuple[Change, ...]
    start: BatchCost
    end: BatchCost

    @property
    def speedup(self) -> float:
        """Step time of pmem over that of cxl."""
        return self.start.seconds / self.end.seconds


def asked_of_cxl(scenario: Scenario) -> tuple[int, bool]:
    """Return the staleness bound and the relaxed lookup that the scenario means for system cxl."""
    system: System = load("systems", "cxl")
    bound, relaxed = scenario.policy.mlp_staleness_bound_batches, scenario.policy.relaxed_lookup
    return (
        system.log_policy.mlp_staleness_bound if bound is None else bound,
        system.log_policy.relaxed_lookup if relaxed is None else relaxed,
    )


def decomposition(scenario: Scenario) -> Decomposition:
    """Take the steps from pmem to cxl, its policies as asked; raises CannotRun where not even pmem runs."""
    start = cost(with_values(scenario, START))
    steps: list[Change] = []
    changes = dict(START)
    for name, says, change, refused in _rungs(scenario):
        target = with_values(scenario, {**changes, **change})
        before = after = steps[-1].after if steps else start
        try:
            after = before if refused else cost(target)
        except EmberpoolError as error:
            refused = str(error)
        changes.update({} if refused else change)
        steps.append(Change(name, says, target, before, after, refused))
    middles = ({"system": "cxl-d", NEAR: False}, {**changes, RELAXED: False})
    for first, middle in zip(SWAPPED, middles, strict=True):
        if first or scenario.machine.near_data_compute:
            steps = _swap(steps, first, with_values(scenario, {**START, **middle}))
    return Decomposition(tuple(steps), start, steps[-1].after)


def _rungs(scenario: Scenario) -> tuple[tuple[str, str, Changes, str], ...]:
    """Return each step's name, what it does, its changes, and why it is not asked for, if it is not."""
    bound, relaxed = asked_of_cxl(scenario)
    near = scenario.machine.near_data_compute
    card = "Near-data processing" if near else "Pooling on the GPU"
    tables = "tables move from the host to a card, "
    who = "whose logic looks up, pools and updates" if near else "near-data compute is off: rows cross the link, the GPU pools"
    batches = "batch" if bound == 1 else "batches"
    return (
        (card, tables + who, {"system": "pcie"}, ""),
        ("Hardware hand-offs", "CXL moves lines by itself: no synchronising, copying and dispatching", {"system": "cxl-d"}, ""),
        (
            "Undo log beside top MLP",
            "old values are logged while the top MLP runs, not new ones at the end",
            {"system": "cxl-b"},
            "",
        ),
        (
            "Relaxed lookup",
            "the next batch's rows are read before this one's update",
            {"system": "cxl", RELAXED: True},
            "" if relaxed else f"{RELAXED}=off does not ask for it; set it to on or auto.",
        ),
        (
            "Relaxed MLP log",
            f"the MLP log may span batches and be {bound} {batches} old",
            {"system": "cxl", BOUND: bound},
            "" if bound else f"{BOUND}=0 does not ask for it; raise it or set it to auto.",
        ),
    )


def _swap(steps: list[Change], first: int, middle: Scenario) -> list[Change]:
    """Add to a step and its successor the same changes the other way round, by way of `middle`."""
    one, two = steps[first], steps[first + 1]
    if one.refused or two.refused:
        return steps
    try:
        between = cost(middle)
    except EmberpoolError:
        return steps
    early = replace(two, scenario=middle, before=one.before, after=between)
    late = replace(one, scenario=two.scenario, before=between, after=two.after)
    return [*steps[:first], replace(one, swapped=late), replace(two, swapped=early), *steps[first + 2 :]]


def other_way(found: Decomposition) -> Decomposition:
    """Return the same way with every pair that can be swapped in its other order."""
    steps = list(found.steps)
    for first in SWAPPED:
        one, two = steps[first], steps[first + 1]
        if one.swapped and two.swapped:
            early, late = (replace(x.swapped, swapped=replace(x, swapped=None)) for x in (two, one) if x.swapped)
            steps[first : first + 2] = [early, late]
    return replace(found, steps=tuple(steps))
