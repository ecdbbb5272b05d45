"""Plans of many design points at once, with values of all points as columns.

The points differ only in numbers of the model, the data, the policies and the run. Their machines are built one by one. Points
that cannot be planned together are planned one by one.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, cast

import numpy as np

from ..core.points.answers import points_together
from ..core.points.parts import each_point, number_of_points
from ..core.points.per_point import Differ, NotTogether, together
from ..errors import Cancelled
from ..hardware.device import Device
from ..scenario.scenario import GROUPS, Scenario, changed_copy, with_checked_values
from ..systems.system import Settled
from .evaluate import DesignPoint, NotScheduled, PlannedBatches, design_point
from .machine import Machine, machine_of, settle

FEWEST_POINTS, MOST_POINTS = 12, 512  # fewer points are planned one by one as fast; more take much memory at once
TOGETHER = ("model", "data", "policy", "run")  # groups whose numbers may differ
PlanBatches = Callable[[Settled], PlannedBatches]


def design_points(scenarios: Iterable[Scenario], plan_batches: PlanBatches) -> Iterator[DesignPoint | NotScheduled]:
    """Yield a design point for each scenario in order, or the reason for its absence."""
    scenarios = list(scenarios)
    planned: dict[int, DesignPoint] = {}
    for numbers in _alike(scenarios):
        for low in range(0, len(numbers), MOST_POINTS):
            planned |= _planned_together(scenarios, numbers[low : low + MOST_POINTS], plan_batches)
    return (planned.get(i) or design_point(scenario, plan_batches) for i, scenario in enumerate(scenarios))


def _alike(scenarios: Sequence[Scenario]) -> list[list[int]]:
    """Return groups of scenarios, by number, that differ in the same numbers of the groups TOGETHER, and in nothing else."""
    members: dict[Hashable, list[int]] = defaultdict(list)
    others = [name for name in GROUPS if name not in TOGETHER]
    equal_groups: dict[Any, Any] = {}
    representatives: dict[int, Any] = {}  # by identity, as the hash of a group takes long
    for i, scenario in enumerate(scenarios):
        groups = vars(scenario)
        for name in others:
            if id(groups[name]) not in representatives:
                representatives[id(groups[name])] = equal_groups.setdefault(groups[name], groups[name])
        members[scenario.system, *[id(representatives[id(groups[name])]) for name in others]].append(i)
    return [group for numbers in members.values() if len(numbers) >= FEWEST_POINTS for group in _by_changes(scenarios, numbers)]


def _by_changes(scenarios: Sequence[Scenario], numbers: list[int]) -> Iterator[list[int]]:
    """Yield groups of scenarios by what differs from the first scenario, which joins the largest group if only numbers do."""
    first, changed = scenarios[numbers[0]], defaultdict[tuple[Hashable, ...], list[int]](list)
    for i in numbers[1:]:
        changed[_changes(first, scenarios[i])].append(i)
    same = [numbers[0], *changed.pop((), [])]
    largest = max(changed, key=lambda changes: len(changed[changes]), default=())
    if changed and all(is_number for *_, is_number in cast(Any, largest)):
        changed[largest] = [*same, *changed[largest]]
    yield from changed.values()


def _changes(first: Scenario, scenario: Scenario) -> tuple[Hashable, ...]:
    """Return the group, name and form of each value that differs, and whether it differs only in numbers."""
    changes = []
    for group in TOGETHER:
        old, new = vars(getattr(first, group)), vars(getattr(scenario, group))
        for name in () if new is old else new:
            if new[name] is not old[name] and new[name] != old[name]:
                form = _without_numbers(new[name])
                changes.append((group, name, form, form == _without_numbers(old[name])))
    return tuple(changes)


def _without_numbers(value: Any) -> Hashable:
    """Return the form of a value: types in place of numbers."""
    if type(value) is int or type(value) is float:
        return cast(Hashable, type(value))
    return tuple(map(_without_numbers, value)) if isinstance(value, tuple) else value


def _planned_together(scenarios: Sequence[Scenario], numbers: list[int], plan_batches: PlanBatches) -> dict[int, DesignPoint]:
    """Return the design points of those scenarios, by number, that can be planned together."""
    if len(numbers) < FEWEST_POINTS:
        return {}
    chosen = [scenarios[i] for i in numbers]
    try:
        with points_together():
            settled = settle(scenario_of_points(chosen))
            if settled.problems:
                return {}
            plan = plan_batches(settled)
            if not plan.layout.points or number_of_points(plan.layout.stretch):
                return {}
            points = [*_points_of(chosen, settled, plan)]
    except Differ as differ:
        groups = [[numbers[place] for place in np.flatnonzero(differ.group == group)] for group in range(differ.group.max() + 1)]
        parts = [_planned_together(scenarios, group, plan_batches) for group in groups]
        return {i: point for part in parts for i, point in part.items()}
    except Cancelled:
        raise
    except Exception:  # whatever columns cannot do, each point can do alone, or is refused alone with its reason
        return {}
    return dict(zip(numbers, points, strict=True))


def scenario_of_points(scenarios: Sequence[Scenario]) -> Scenario:
    """Return scenarios as one; a number that differs becomes a value of all of them.

    Raises NotTogether for scenarios that differ in more than numbers.
    """
    first = scenarios[0]
    groups: dict[str, Any] = {}
    for name in TOGETHER:
        parts = [getattr(scenario, name) for scenario in scenarios]
        columns = {knob: together([*map(attrgetter(knob), parts)]) for knob in vars(parts[0])}
        groups[name] = changed_copy(parts[0], columns)
    points: Scenario = changed_copy(first, groups)
    if not number_of_points(points):
        raise NotTogether("scenarios that do not differ.")
    return points


def _points_of(scenarios: Sequence[Scenario], settled: Settled, plan: PlannedBatches) -> Iterator[DesignPoint]:
    """Yield each scenario as a design point of their common plan, which gets the costs of all of them."""
    devices: dict[Hashable, Mapping[str, Device]] = {}
    common = {name: part for name, part in vars(settled).items() if name not in ("scenario", "system")}
    machines: list[Machine] = []
    for scenario, own in zip(scenarios, each_point(common, len(scenarios)), strict=True):
        knobs = own["sizes"].knobs
        sized = with_checked_values(scenario, knobs) if knobs else scenario
        point, sizes = Settled(scenario=sized, system=settled.system, **own), (id(scenario.machine), *knobs.values())
        if sizes not in devices:
            devices[sizes] = machine_of(point).devices
        machines.append(Machine(point, devices[sizes]))
    costs, _ = plan.layout.demand_costs([m.devices for m in machines])
    plan = replace(plan, costs=costs)
    return (DesignPoint(scenario, m, plan, i) for i, (scenario, m) in enumerate(zip(scenarios, machines, strict=True)))
