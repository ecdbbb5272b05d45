"""A machine: a scenario settled, on as many nodes as it needs, with its devices built and its batches scheduled on them."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from typing import Any

from ..amounts.expected import dealt, expected_amounts, expected_traffic, unlike
from ..core import figures
from ..core.graph import check
from ..core.memo import remembered
from ..errors import CannotRun
from ..hardware.device import Device, check_assumptions, counted, name_of
from ..registry import every
from ..scenario.machine import MachineKnobs
from ..scenario.scenario import KNOBS, Scenario, with_checked, with_values
from ..systems.capacity import fit, place_and_size, with_sizes
from ..systems.kernels.in_force import system_in_force
from ..systems.parts import EVEN
from ..systems.system import LogPolicy, Settled, Sizes, System, built, powered
from ..systems.table_placement import TablePlacement
from ..systems.traffic import Traffic
from .timeline import Slow, Timeline, timeline
from .window import run_window, steady_window

MOST_NODES = 128
PATIENCE = 2  # nodes are added until this many times the best count has brought no more


@dataclass(frozen=True)
class Machine:
    """A settled scenario with its devices by name, built and powered."""

    settled: Settled
    devices: Mapping[str, Device]

    @property
    def scenario(self) -> Scenario:
        """The settled scenario."""
        return self.settled.scenario

    @property
    def system(self) -> System:
        """The training system."""
        return self.settled.system

    @property
    def log_policy(self) -> LogPolicy:
        """The log policy in force."""
        return self.settled.log_policy


def machine_of(settled: Settled) -> Machine:
    """Build the devices of a settled scenario."""
    machine = settled.scenario.machine
    parts = powered(settled.scenario.system, machine)
    if machine.assume:
        check_assumptions(machine, parts.values(), _catalogue)
    factor = prod([device.drawn_per_joule for device in parts.values()])
    same = factor == 1 and not machine.constant_power
    devices = {name: part if same else _powered(machine, name, factor) for name, part in parts.items()}
    return Machine(settled, devices)


def ready(scenario: Scenario) -> Machine:
    """Settle a scenario and build its machine; raises CannotRun where it does not fit."""
    m = machine_of(settle(scenario))
    if m.settled.problems:
        raise CannotRun(" ".join(m.settled.problems))
    return m


@remembered()
def _powered(machine: MachineKnobs, name: str, factor: float) -> Device:
    return counted(machine, built(machine, name), factor)


@cache
def _catalogue() -> tuple[str, ...]:
    """Return the names of all constants of all devices, as `machine.assume` knows them."""
    kinds = every("devices").items()
    return tuple(sorted({name_of(device, one) for device, kind in kinds for part in kind.parts().values() for one in part}))


def schedule(m: Machine, traffic: Traffic, like: Timeline | None = None, slow: Slow | None = None) -> Timeline:
    """Plan the batches of `traffic` and schedule them, some perhaps slowly; queues are as in the timeline `like`."""
    graph = m.system.graph(m.settled, traffic)
    if like is None:
        check(graph, frozenset(m.devices), m.log_policy.log)
    return timeline(graph, m.devices, traffic.batches, like, slow)


def settle(scenario: Scenario) -> Settled:
    """Choose automatic nodes and capacity, place tables, and check that everything fits.

    Raises BadKnob for a policy that the system cannot have.
    """
    system = system_in_force(scenario)
    return with_sizes(scenario, system, *_size(scenario, system))


def sized_scenario(scenario: Scenario) -> Scenario:
    """Return a scenario with its automatic nodes and capacity chosen, whatever its policies are."""
    knobs = _size(scenario, system_in_force(scenario))[1].knobs
    return with_checked(scenario, knobs) if knobs else scenario


def expected_line(m: Machine, batches: int | None = None) -> Timeline:
    """Schedule batches of expected accesses, as many as the steady state takes; the scenario must fit its machine."""
    return schedule(m, expected_traffic(m.settled, batches or steady_window(m.log_policy)))


def run_line(m: Machine) -> Timeline:
    """Schedule what shows the scenario's run by expected accesses: its averages are those of an estimate."""
    s, one = m.scenario, expected_amounts(m.settled)
    batches, stretch = run_window(m.log_policy, s.run.batches, unlike(one, s.data.batch_size))
    traffic = dealt(one, s.data.batch_size, batches)
    return timeline(m.system.graph(m.settled, traffic), m.devices, batches, stretch=stretch)


def with_nodes(scenario: Scenario, count: int) -> Scenario:
    """Return the scenario on `count` whole nodes, with no throughput to reach."""
    return with_values(scenario, _node_knobs(scenario, count))


def _node_knobs(scenario: Scenario, count: int) -> dict[str, Any]:
    return {"machine.num_gpus": count * scenario.machine.gpus_per_node, "machine.target_throughput": None}


@remembered()
def fewest_nodes(scenario: Scenario, system: System, most: int = MOST_NODES) -> int | None:
    """Return the fewest nodes whose memories hold the model; None if it takes more than `most`.

    No plan needs less of its fullest part than an even share, which takes no planner to tell: plans are made from there on.
    """
    evenly = with_values(scenario, {"policy.sharding": EVEN, "policy.plan": ""})
    low = bisect_left(range(1, most + 1), True, key=lambda count: _holds(evenly, system, count))
    for high in _doubling(low + 1, most):
        if _holds(scenario, system, high):
            return low + 1 + bisect_left(range(low + 1, high), True, key=lambda count: _holds(scenario, system, count))
        low = high
    return None


def _holds(scenario: Scenario, system: System, count: int) -> bool:
    return not place_and_size(with_nodes(scenario, count), system)[1].problems


def _doubling(first: int, most: int) -> Iterator[int]:
    """Yield counts from `first` to `most`, in steps that double."""
    step = 1
    while first <= most:
        yield first
        first, step = first + step if first == most else min(first + step, most), 2 * step


@remembered()
def _size(scenario: Scenario, system: System) -> tuple[TablePlacement, Sizes]:
    """Fit a scenario on the fewest nodes that hold it and reach its target.

    A second node can be slower than one alone, because the two have to talk: so counts are tried upwards, one by one
    at first, later in steps of a quarter, within which more nodes are taken to be faster.
    """
    target = scenario.machine.target_throughput
    if target is None or not system.scales:
        return place_and_size(scenario, system)
    most = max(1, min(MOST_NODES, int(KNOBS["machine.num_gpus"].high or 1) // scenario.machine.gpus_per_node))
    first = fewest_nodes(scenario, system, most)
    if first is None:
        return _size_on(scenario, system, most)

    def reached(count: int) -> float:
        m = machine_of(fit(with_nodes(scenario, count)))
        return float(scenario.data.batch_size / run_line(m).steady.step)

    low, high, best, fastest = first - 1, first, first, 0.0
    while high <= min(most, PATIENCE * best + 1):
        rate = reached(high)
        if rate >= target:
            least = low + 1 + bisect_left(range(low + 1, high), target, key=reached)
            return _size_on(scenario, system, least)
        best, fastest = (high, rate) if rate > fastest else (best, fastest)
        if high == most:
            break
        low, high = high, min(high + max(1, high // 4), most)
    placement, sizes = _size_on(scenario, system, best)
    return placement, replace(sizes, problems=(_too_much(scenario, best, fastest),))


def _size_on(scenario: Scenario, system: System, count: int) -> tuple[TablePlacement, Sizes]:
    placement, sizes = place_and_size(with_nodes(scenario, count), system)
    return placement, replace(sizes, knobs={**_node_knobs(scenario, count), **sizes.knobs})


def _too_much(scenario: Scenario, nodes: int, fastest: float) -> str:
    return (
        f"machine.target_throughput={scenario.machine.target_throughput:g} samples/s is out of reach: system={scenario.system} "
        f"trains {figures.figure(fastest, 'samples/s')} on {figures.count(nodes, 'node')}, and more do not help; "
        "lower it, or choose "
        "a faster network."
    )
