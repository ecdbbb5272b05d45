"""The decomposition of the speed-up from system pmem to system cxl into single changes.

The changes are made one after another, so the saving of a change depends on the changes before it. Where a machine can be
built with two neighbouring changes in the other order too, both orders are estimated. The mean of a change's two savings is its
Shapley value within that pair.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..errors import EmberpoolError
from ..registry import load_variant
from ..scenario.scenario import Scenario, with_values
from ..systems.system import System
from .cost import BatchCost, cost

BOUND, RELAXED, NEAR_DATA = "policy.mlp_staleness_bound_batches", "policy.relaxed_lookup", "machine.near_data_compute"
PMEM_KNOBS: Mapping[str, Any] = {"system": "pmem", "policy.log": None, BOUND: 0, RELAXED: False}
Changes = Mapping[str, Any]
SWAPPABLE_STEPS = (0, 3)  # steps that could come after their successor instead of before it


@dataclass(frozen=True)
class Change:
    """One change from pmem to cxl, with the batch costs before and after.

    name, description: the change's title, and its description.
    scenario: the scenario after the change.
    cost_before, cost_after: costs of a batch; equal where the change cannot be made.
    refused: why the change cannot be made; "" where it can.
    swapped: the same change, estimated in the other order with its neighbour; None where there is no such order.
    """

    name: str
    description: str
    scenario: Scenario
    cost_before: BatchCost
    cost_after: BatchCost
    refused: str = ""
    swapped: "Change | None" = None

    @property
    def saved(self) -> BatchCost:
        """The cost of a batch before the change, less the cost after.

        Fields are negative where the change costs more.
        """
        return self.cost_before.saving_with(self.cost_after)

    @property
    def factor(self) -> float:
        """Step time before over step time after."""
        return self.cost_before.seconds / self.cost_after.seconds

    @property
    def mean_seconds(self) -> float:
        """Seconds of a batch that the change saves, as the mean over both orders."""
        return (self.saved.seconds + (self.swapped or self).saved.seconds) / 2

    @property
    def order_gap(self) -> float:
        """Difference between the seconds that the change saves in its two orders; 0 without two."""
        return abs(self.saved.seconds - (self.swapped or self).saved.seconds)


@dataclass(frozen=True)
class Decomposition:
    """All changes from pmem to cxl, with the batch costs at both ends.

    `start_cost` is the cost before the first change, `end_cost` the cost after the last change.
    """

    steps: tuple[Change, ...]
    start_cost: BatchCost
    end_cost: BatchCost

    @property
    def speedup(self) -> float:
        """Step time of pmem over that of cxl."""
        return self.start_cost.seconds / self.end_cost.seconds


def cxl_policies(scenario: Scenario) -> tuple[int, bool]:
    """Return the MLP log's staleness bound and whether lookups are relaxed, for system cxl.

    Both are the scenario's knobs, or the defaults of cxl where a knob is automatic.
    """
    system: System = load_variant("systems", "cxl")
    bound, relaxed = scenario.policy.mlp_staleness_bound_batches, scenario.policy.relaxed_lookup
    return (
        system.log_policy.mlp_staleness_bound if bound is None else bound,
        system.log_policy.relaxed_lookup if relaxed is None else relaxed,
    )


def decompose(scenario: Scenario) -> Decomposition:
    """Return the steps from pmem to cxl with the scenario's policies.

    Raises CannotRun where not even pmem runs.
    """
    start = cost(with_values(scenario, PMEM_KNOBS))
    steps: list[Change] = []
    changes = dict(PMEM_KNOBS)
    for name, description, change, refused in _rungs(scenario):
        target = with_values(scenario, {**changes, **change})
        cost_before = cost_after = steps[-1].cost_after if steps else start
        try:
            cost_after = cost_before if refused else cost(target)
        except EmberpoolError as error:
            refused = str(error)
        changes.update({} if refused else change)
        steps.append(Change(name, description, target, cost_before, cost_after, refused))
    middles = ({"system": "cxl-d", NEAR_DATA: False}, {**changes, RELAXED: False})
    for position, middle in zip(SWAPPABLE_STEPS, middles, strict=True):
        if position or scenario.machine.near_data_compute:
            steps = _swap(steps, position, with_values(scenario, {**PMEM_KNOBS, **middle}))
    return Decomposition(tuple(steps), start, steps[-1].cost_after)


def _rungs(scenario: Scenario) -> tuple[tuple[str, str, Changes, str], ...]:
    """Return each step's name, description, changes, and the reason why it is not asked for, or ""."""
    bound, relaxed = cxl_policies(scenario)
    near_data = scenario.machine.near_data_compute
    card = "Near-data processing" if near_data else "Pooling on the GPU"
    tables = "tables move from the host to a card, "
    pooling_text = (
        "whose logic looks up, pools and updates" if near_data else "near-data compute is off: rows cross the link, the GPU pools"
    )
    batches = "batch" if bound == 1 else "batches"
    return (
        (card, tables + pooling_text, {"system": "pcie"}, ""),
        (
            "Hardware hand-offs",
            ("CXL moves lines in hardware: no synchronising, copying and dispatching"),
            {"system": "cxl-d"},
            "",
        ),
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
            "" if relaxed else f"{RELAXED}=off rules it out; set it to on or auto.",
        ),
        (
            "Relaxed MLP log",
            f"the MLP log may span batches and be {bound} {batches} old",
            {"system": "cxl", BOUND: bound},
            "" if bound else f"{BOUND}=0 rules it out; raise it or set it to auto.",
        ),
    )


def _swap(steps: list[Change], position: int, middle: Scenario) -> list[Change]:
    """Add their swapped order, by way of the scenario `middle`, to a step and its successor."""
    step, successor = steps[position], steps[position + 1]
    if step.refused or successor.refused:
        return steps
    try:
        middle_cost = cost(middle)
    except EmberpoolError:
        return steps
    swapped_successor = replace(successor, scenario=middle, cost_before=step.cost_before, cost_after=middle_cost)
    swapped_step = replace(step, scenario=successor.scenario, cost_before=middle_cost, cost_after=successor.cost_after)
    return [
        *steps[:position],
        replace(step, swapped=swapped_step),
        replace(successor, swapped=swapped_successor),
        *steps[position + 2 :],
    ]


def in_other_order(forward: Decomposition) -> Decomposition:
    """Return the decomposition with every swappable pair of steps in its other order."""
    steps = list(forward.steps)
    for position in SWAPPABLE_STEPS:
        step, successor = steps[position], steps[position + 1]
        if step.swapped and successor.swapped:
            swapped_successor, swapped_step = (
                replace(change.swapped, swapped=replace(change, swapped=None)) for change in (successor, step) if change.swapped
            )
            steps[position : position + 2] = [swapped_successor, swapped_step]
    return replace(forward, steps=tuple(steps))
