"""A machine: a scenario settled, on as many nodes as it needs, with its devices built and its batches scheduled on them."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from typing import Any

from ..amounts.expected import dealt, expected_amounts, expected_traffic, unlike
from ..core.graph import check
from ..core.memo import Recorder, remembered
from ..errors import CannotRun
from ..hardware.device import Device, check_assumptions, counted, name_of, within_host
from ..registry import every, load
from ..scenario.machine import MachineKnobs
from ..scenario.scenario import KNOBS, Scenario, with_checked, with_values
from ..systems import system
from ..systems.capacity import Fit, fit
from ..systems.parts import EVEN
from ..systems.system import LogPolicy, System, built, medium_cache, powered
from ..systems.traffic import Traffic
from .timeline import Slow, Timeline, timeline
from .window import run_window, steady_window

MOST_NODES = 128
PATIENCE = 2  # nodes are added until this many times the best count has brought no more


@dataclass(frozen=True)
class Machine:
    """A scenario made ready to run: its system, policies in force, and devices by name."""

    scenario: Scenario
    system: System
    log_policy: LogPolicy
    devices: Mapping[str, Device]


def machine_of(scenario: Scenario) -> Machine:
    """Build the devices of a settled scenario; raises BadKnob for a policy that its system cannot have."""
    chosen: System = load("systems", scenario.system)
    parts = powered(scenario.system, scenario.machine)
    if scenario.machine.assume:
        check_assumptions(scenario.machine, parts.values(), _catalogue)
    behind_link = chosen.memory == "dram" and "cxl" in chosen.devices
    factor = prod([device.drawn_per_joule for device in parts.values()])
    in_host = {"dram"} if not behind_link and "host" in parts else set()
    same = factor == 1 and not scenario.machine.constant_power
    devices = {
        name: part if same and name not in in_host else _powered(scenario.machine, name, name in in_host, factor)
        for name, part in parts.items()
    }
    return Machine(scenario, chosen, system.log_policy(scenario, chosen), devices)


def ready(scenario: Scenario) -> Machine:
    """Settle a scenario and build its machine; raises CannotRun where it does not fit."""
    settled = settle(scenario)
    m = machine_of(settled.scenario)
    if settled.problems:
        raise CannotRun(" ".join(settled.problems))
    return m


@remembered()
def _powered(machine: MachineKnobs, name: str, in_host: bool, factor: float) -> Device:
    device = built(machine, name)
    return counted(machine, within_host(device) if in_host else device, factor)


@cache
def _catalogue() -> tuple[str, ...]:
    """Return the names of all constants of all devices, as `machine.assume` knows them."""
    kinds = every("devices").items()
    return tuple(sorted({name_of(device, one) for device, kind in kinds for part in kind.parts().values() for one in part}))


def schedule(m: Machine, traffic: Traffic, like: Timeline | None = None, slow: Slow | None = None) -> Timeline:
    """Plan the batches of `traffic` and schedule them, some perhaps slowly; queues are as in the timeline `like`."""
    graph = m.system.graph(m.scenario, m.log_policy, traffic)
    if like is None:
        check(graph, frozenset(m.devices), m.log_policy.log)
    return timeline(graph, m.devices, traffic.batches, like, slow)


def settle(scenario: Scenario) -> Fit:
    """Choose what is automatic, nodes included where a throughput is asked for, and check that everything fits."""
    changes, problems, automatic = _settled(scenario, scenario.system)
    return Fit(with_checked(scenario, changes) if changes else scenario, problems, automatic)


@remembered()
def _settled(s: Scenario, system: str) -> tuple[Mapping[str, Any], tuple[str, ...], bool]:
    found = _sized(s)
    changes = found.scenario.changes if isinstance(found.scenario, Recorder) else {}
    return changes, found.problems, found.capacity_is_automatic


def expected_line(m: Machine, batches: int | None = None) -> Timeline:
    """Schedule batches of expected accesses, as many as the steady state takes; the scenario must fit its machine."""
    return schedule(m, expected_traffic(m.scenario, m.scenario.system, batches or steady_window(m.log_policy)))


def run_line(m: Machine) -> Timeline:
    """Schedule what shows the scenario's run by expected accesses: its averages are those of an estimate."""
    s, one = m.scenario, expected_amounts(m.scenario, m.scenario.system, medium_cache(m.scenario, m.scenario.system))
    batches, stretch = run_window(m.log_policy, s.run.batches, unlike(one, s.data.batch_size))
    traffic = dealt(one, s.data.batch_size, batches)
    return timeline(m.system.graph(s, m.log_policy, traffic), m.devices, batches, stretch=stretch)


def on(scenario: Scenario, count: int) -> Scenario:
    """Return the scenario on `count` whole nodes, with no throughput to reach."""
    gpus = count * scenario.machine.gpus_per_node
    return with_values(scenario, {"machine.num_gpus": gpus, "machine.target_throughput": None})


@remembered()
def for_capacity(scenario: Scenario, most: int = MOST_NODES) -> int | None:
    """Return the fewest nodes whose memories hold the model; None if it takes more than `most`.

    No plan needs less of its fullest part than an even share, which takes no planner to tell: plans are made from there on.
    """
    evenly = with_values(scenario, {"policy.sharding": EVEN, "policy.plan": ""})
    low = bisect_left(range(1, most + 1), True, key=lambda count: _holds(evenly, count))
    for high in _doubling(low + 1, most):
        if _holds(scenario, high):
            return low + 1 + bisect_left(range(low + 1, high), True, key=lambda count: _holds(scenario, count))
        low = high
    return None


def _holds(scenario: Scenario, count: int) -> bool:
    return not fit(on(scenario, count)).problems


def _doubling(first: int, most: int) -> Iterator[int]:
    """Yield counts from `first` to `most`, in steps that double."""
    step = 1
    while first <= most:
        yield first
        first, step = first + step if first == most else min(first + step, most), 2 * step


def _sized(scenario: Scenario) -> Fit:
    """Fit a scenario on the fewest nodes that hold it and reach its target.

    A second node can be slower than one alone, because the two have to talk: so counts are tried upwards, one by one
    at first, later in steps of a quarter, within which more nodes are taken to be faster.
    """
    target = scenario.machine.target_throughput
    if target is None or not load("systems", scenario.system).scales:
        return fit(scenario)
    most = max(1, min(MOST_NODES, int(KNOBS["machine.num_gpus"].high or 1) // scenario.machine.gpus_per_node))
    first = for_capacity(scenario, most)
    if first is None:
        return fit(on(scenario, most))

    def reached(count: int) -> float:
        m = machine_of(fit(on(scenario, count)).scenario)
        return float(scenario.data.batch_size / run_line(m).steady.step)

    low, high, best, fastest = first - 1, first, first, 0.0
    while high <= min(most, PATIENCE * best + 1):
        rate = reached(high)
        if rate >= target:
            least = low + 1 + bisect_left(range(low + 1, high), target, key=reached)
            return fit(on(scenario, least))
        best, fastest = (high, rate) if rate > fastest else (best, fastest)
        if high == most:
            break
        low, high = high, min(high + max(1, high // 4), most)
    return replace(fit(on(scenario, best)), problems=(_too_much(scenario, best, fastest),))


def _too_much(scenario: Scenario, nodes: int, fastest: float) -> str:
    return (
        f"machine.target_throughput={scenario.machine.target_throughput:g} samples/s is out of reach: system={scenario.system} "
        f"trains {fastest:.3g} samples/s on {nodes} node{'s' if nodes > 1 else ''}, and more do not help; lower it, or choose "
        "a faster network."
    )
