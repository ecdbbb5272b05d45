"""Step time over CXL link latency, and the latency from which each system is slower.

The tasks whose work hides the link's time are listed too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import nan

import numpy as np

from ...core.constants import Constant
from ...errors import EmberpoolError
from ...estimates import step_seconds
from ...hardware.concurrency import LINE
from ...hardware.device import name_of
from ...hardware.devices.cxl import payload_rate
from ...registry import load_variant, variant_names
from ...scenario.scenario import Scenario, with_values
from ...schedule.machine import Machine, expected_timeline, ready_machine
from ...units import NS
from ..saturation import LinkTask, link_tasks

LATENCY, ASSUME = "machine.cxl_latency_ns", "machine.assume"
LATENCIES = tuple(float(ns) for ns in np.geomspace(50, 5000, 41))
LOSS = 0.05  # of the step at the lowest latency
LINES_IN_FLIGHT = "cxl.lines-in-flight"
LIMITS = LINES_IN_FLIGHT, "near-data.accesses-in-flight-a-lane"


@dataclass(frozen=True)
class LatencyCurve:
    """Step time over the latency of the link.

    seconds: step seconds at each of LATENCIES.
    losing_latency: latency [ns] from which the step is 5 % (LOSS) longer than at the lowest latency; None if that never happens.
    """

    seconds: tuple[float, ...]
    losing_latency: float | None


NO_CURVE = LatencyCurve((), None)


@dataclass(frozen=True)
class Sensitivity:
    """One system's step time over the latency of the link.

    own_curve, fewest_curve, most_curve: curves with the machine's requests in flight, and with the fewest and most that
        their ranges allow.
    in_flight: cache lines in flight on one link.
    filling_latency: latency up to which these lines fill the link, by Little's law [ns].
    link_tasks: the link's tasks at the highest latency, the longest wait first.
    refused: why the system cannot run; "" where it can.
    """

    system: str
    own_curve: LatencyCurve = NO_CURVE
    fewest_curve: LatencyCurve = NO_CURVE
    most_curve: LatencyCurve = NO_CURVE
    in_flight: float = nan
    filling_latency: float = nan
    link_tasks: tuple[LinkTask, ...] = ()
    refused: str = ""


def latency_sensitivity(scenario: Scenario) -> tuple[Sensitivity, ...]:
    """Return the latency sensitivity of every system with a CXL link."""
    scenarios = [
        replace(scenario, system=name) for name in variant_names("systems") if "cxl" in load_variant("systems", name).devices
    ]
    machines = {s.system: _ready(s) for s in scenarios}
    ready_machines = {name: m for name, m in machines.items() if isinstance(m, Machine)}
    points = [
        with_values(s, {LATENCY: ns, ASSUME: tuple({**dict(s.machine.assume), **limits}.items())})
        for s in scenarios
        if s.system in ready_machines
        for limits in _ends(ready_machines[s.system])
        for ns in LATENCIES
    ]
    steps = iter(np.reshape(step_seconds(points), (len(ready_machines), 3, len(LATENCIES))))
    return tuple(
        Sensitivity(name, refused=m) if isinstance(m, str) else _sensitivity(m, next(steps)) for name, m in machines.items()
    )


def _ready(scenario: Scenario) -> Machine | str:
    try:
        return ready_machine(scenario)
    except EmberpoolError as error:
        return str(error)


def _limits(m: Machine) -> Mapping[str, Constant]:
    constants = {name_of(device.name, constant): constant for device in m.devices.values() for constant in device.constants}
    return {name: constants[name] for name in LIMITS if name in constants}


def _ends(m: Machine) -> tuple[dict[str, float], ...]:
    limits = _limits(m)
    return (
        {},
        {name: constant.low for name, constant in limits.items()},
        {name: constant.high for name, constant in limits.items()},
    )


def _sensitivity(m: Machine, steps: np.ndarray) -> Sensitivity:
    own_curve, fewest_curve, most_curve = (LatencyCurve(tuple(row.tolist()), _loses(row)) for row in steps)
    slow = ready_machine(with_values(m.scenario, {LATENCY: LATENCIES[-1]}))
    work = sorted(link_tasks(slow, expected_timeline(slow)), key=lambda link_task: -link_task.exposed_seconds)
    in_flight = _limits(m)[LINES_IN_FLIGHT].value
    fills = in_flight * LINE / payload_rate(m.scenario.machine) / NS
    return Sensitivity(m.scenario.system, own_curve, fewest_curve, most_curve, in_flight, fills, tuple(work))


def _loses(steps: np.ndarray) -> float | None:
    """Return the latency in ns where a curve, straight between two latencies, first crosses the loss."""
    crossed = np.flatnonzero(steps >= (1 + LOSS) * steps[0])
    if not len(crossed):
        return None
    index = int(crossed[0])
    return float(np.interp((1 + LOSS) * steps[0], steps[index - 1 : index + 1], LATENCIES[index - 1 : index + 1]))
