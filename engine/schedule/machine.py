"""A machine: a settled scenario with its built devices; and the schedule of its batches."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod
from typing import Any

from ..amounts.expected import deal_batches, expected_amounts, expected_traffic, unlike_batch_shares
from ..core import figures
from ..core.graph import check_graph
from ..core.memo import memoised, refuse_points
from ..errors import CannotRun
from ..hardware.device import Device, apply_power_knobs, check_assumptions, name_of
from ..registry import all_variants
from ..scenario.machine import MachineKnobs
from ..scenario.scenario import KNOBS, Scenario, with_checked_values, with_values
from ..systems.capacity import fit, place_and_size, with_sizes
from ..systems.kernels.in_force import system_in_force
from ..systems.parts import EVEN_SHARES
from ..systems.system import LogPolicy, Settled, Sizes, System, build_device, machine_around, powered_devices
from ..systems.table_placement import TablePlacement
from ..systems.traffic import Traffic
from .timeline import SlowBatches, Timeline, timeline
from .window import run_window, steady_window

MAX_NODES = 128
PATIENCE = 2  # node counts are tried up to this multiple of the best count


@dataclass(frozen=True)
class Machine:
    """A settled scenario with its devices by name; power knobs are applied to the devices."""

    settled: Settled
    devices: Mapping[str, Device]

    @property
    def scenario(self) -> Scenario:
        """The scenario, with its automatic nodes and capacity chosen."""
        return self.settled.scenario

    @property
    def system(self) -> System:
        """The training system."""
        return self.settled.system

    @property
    def log_policy(self) -> LogPolicy:
        """The log policy that the run uses."""
        return self.settled.log_policy


def machine_of(settled: Settled) -> Machine:
    """Return a machine: a settled scenario with its devices, built and with power knobs applied."""
    machine = settled.scenario.machine
    parts = powered_devices(settled.scenario.system, machine)
    if machine.assume:
        check_assumptions(machine, parts.values(), _constant_names)
    factor = prod([device.drawn_per_joule for device in parts.values()])
    is_unchanged = factor == 1 and not machine.constant_power
    around = {name: machine_around(settled.scenario.system, machine, name) for name in parts}
    devices = {name: part if is_unchanged else _powered(around[name], name, factor) for name, part in parts.items()}
    return Machine(settled, devices)


def ready_machine(scenario: Scenario) -> Machine:
    """Settle a scenario and build its machine; raises CannotRun if the scenario does not fit."""
    m = machine_of(settle(scenario))
    if m.settled.problems:
        raise CannotRun(" ".join(m.settled.problems))
    return m


@memoised()
def _powered(machine: MachineKnobs, name: str, factor: float) -> Device:
    return apply_power_knobs(machine, build_device(machine, name), factor)


@lru_cache(maxsize=64)  # a name of a user can be any
def _constant_names(device: str) -> tuple[str, ...]:
    """Return the names of a device's constants as `machine.assume` spells them, over all parts that the device can be.

    Without a device of this name these are the constants of all devices, for which the files of all parts are read.
    """
    kinds = all_variants("devices")
    parts = [(name, part) for name in ([device] if device in kinds else kinds) for part in kinds[name].parts().values()]
    return tuple(sorted({name_of(name, constant) for name, part in parts for constant in part}))


def schedule(m: Machine, traffic: Traffic, reference: Timeline | None = None, slow: SlowBatches | None = None) -> Timeline:
    """Return the timeline of the batches of `traffic` on a machine.

    reference: the timeline of the whole run, if `traffic` is a part of the run; the log waits for the same device as there.
    slow: the batches that run on slowed devices, and these devices.
    """
    graph = m.system.graph(m.settled, traffic)
    if reference is None:
        check_graph(graph, frozenset(m.devices), m.log_policy.log)
    return timeline(graph, m.devices, traffic.batches, reference, slow)


def settle(scenario: Scenario) -> Settled:
    """Return a scenario with nodes, capacity and table placement chosen.

    The result's `problems` say why the scenario does not fit its machine.
    Raises BadKnob for a policy that the system cannot have.
    """
    system = system_in_force(scenario)
    return with_sizes(scenario, system, *_size(scenario, system))


def sized_scenario(scenario: Scenario) -> Scenario:
    """Return a scenario with its automatic nodes and capacity chosen; its policies are not checked."""
    knobs = _size(scenario, system_in_force(scenario))[1].knobs
    return with_checked_values(scenario, knobs) if knobs else scenario


def expected_timeline(m: Machine, batches: int | None = None) -> Timeline:
    """Return the timeline of `batches` batches of expected accesses.

    By default these are as many batches as the steady state needs. The scenario must fit its machine.
    """
    return schedule(m, expected_traffic(m.settled, batches or steady_window(m.log_policy)))


def run_timeline(m: Machine) -> Timeline:
    """Return the timeline of the batches that represent a scenario's run, with expected accesses.

    Its averages are the figures of an estimate.
    """
    s, amounts = m.scenario, expected_amounts(m.settled)
    batches, stretch = run_window(m.log_policy, s.run.batches, unlike_batch_shares(amounts, s.data.batch_size))
    traffic = deal_batches(amounts, s.data.batch_size, batches)
    return timeline(m.system.graph(m.settled, traffic), m.devices, batches, stretch=stretch)


def with_nodes(scenario: Scenario, count: int) -> Scenario:
    """Return the scenario with `count` nodes, all GPUs of each, and no target throughput."""
    return with_values(scenario, _node_knobs(scenario, count))


def _node_knobs(scenario: Scenario, count: int) -> dict[str, Any]:
    return {"machine.num_gpus": count * scenario.machine.gpus_per_node, "machine.target_throughput": None}


@memoised()
def fewest_nodes(scenario: Scenario, system: System, max_nodes: int = MAX_NODES) -> int | None:
    """Return the fewest nodes whose memories hold the model, or None for more than `max_nodes`.

    The fullest part of any table plan holds at least an even share. So the search begins with even shares, which need no planner.
    """
    evenly = with_values(scenario, {"policy.sharding": EVEN_SHARES, "policy.plan": ""})
    low = _first_count(evenly, system, 1, max_nodes)
    return low and _first_count(scenario, system, low, max_nodes)


def _first_count(scenario: Scenario, system: System, low: int, max_nodes: int) -> int | None:
    """Return the fewest nodes from `low` that hold the model, or None for more than `max_nodes`.

    Most models need few nodes, so counts are tried upwards in steps that double.
    """

    def holds(count: int) -> bool:
        return not place_and_size(with_nodes(scenario, count), system)[1].problems

    for high in _doubling(low, max_nodes):
        if holds(high):
            return low + bisect_left(range(low, high), True, key=holds)
        low = high + 1
    return None


def _doubling(first_count: int, max_count: int) -> Iterator[int]:
    """Yield counts from `first_count` to `max_count`, in steps that double."""
    step = 1
    while first_count <= max_count:
        yield first_count
        first_count, step = first_count + step if first_count == max_count else min(first_count + step, max_count), 2 * step


@memoised(each_point_alone=True)
def _size(scenario: Scenario, system: System) -> tuple[TablePlacement, Sizes]:
    """Fit a scenario on the fewest nodes that hold the model and reach the target throughput.

    Two nodes can be slower than one, because they communicate. So counts are tried upwards, one by one at first, later in
    steps of a quarter; within a step more nodes are assumed to be faster.
    """
    target = scenario.machine.target_throughput
    if target is None or not system.can_use_many_nodes:
        return place_and_size(scenario, system)
    refuse_points(scenario)
    max_nodes = max(1, min(MAX_NODES, int(KNOBS["machine.num_gpus"].high or 1) // scenario.machine.gpus_per_node))
    min_nodes = fewest_nodes(scenario, system, max_nodes)
    if min_nodes is None:
        return _size_on(scenario, system, max_nodes)

    def reached(count: int) -> float:
        m = machine_of(fit(with_nodes(scenario, count)))
        return float(scenario.data.batch_size / run_timeline(m).steady.step)

    low, high, best_count, fastest = min_nodes - 1, min_nodes, min_nodes, 0.0
    while high <= min(max_nodes, PATIENCE * best_count + 1):
        rate = reached(high)
        if rate >= target:
            num_nodes = low + 1 + bisect_left(range(low + 1, high), target, key=reached)
            return _size_on(scenario, system, num_nodes)
        best_count, fastest = (high, rate) if rate > fastest else (best_count, fastest)
        if high == max_nodes:
            break
        low, high = high, min(high + max(1, high // 4), max_nodes)
    placement, sizes = _size_on(scenario, system, best_count)
    return placement, replace(sizes, problems=(_too_much(scenario, best_count, fastest),))


def _size_on(scenario: Scenario, system: System, count: int) -> tuple[TablePlacement, Sizes]:
    placement, sizes = place_and_size(with_nodes(scenario, count), system)
    return placement, replace(sizes, knobs={**_node_knobs(scenario, count), **sizes.knobs})


def _too_much(scenario: Scenario, nodes: int, fastest: float) -> str:
    return (
        f"machine.target_throughput={scenario.machine.target_throughput:g} samples/s is out of reach: "
        f"system={scenario.system} trains {figures.figure(fastest, 'samples/s')} on {figures.count(nodes, 'node')}, and "
        "more nodes do not help; lower it, or choose a faster network."
    )
