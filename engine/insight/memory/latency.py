"""Step time over the CXL link's latency: from where on each system loses, and what hides the link until then."""

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
from ...registry import load, names
from ...scenario.scenario import Scenario, with_values
from ...schedule.machine import Machine, expected_line, ready
from ...units import NS
from ..saturation import Carried, carried

LATENCY, ASSUME = "machine.cxl_latency_ns", "machine.assume"
LATENCIES = tuple(float(ns) for ns in np.geomspace(50, 5000, 41))
LOSS = 0.05  # of the step at the lowest latency
TAGS = "cxl.lines-in-flight"
LIMITS = TAGS, "near-data.accesses-in-flight-a-lane"


@dataclass(frozen=True)
class Curve:
    """Step seconds at each of LATENCIES, and the latency in ns from which on they are LOSS longer than at the first, if any."""

    seconds: tuple[float, ...]
    loses: float | None


NONE = Curve((), None)


@dataclass(frozen=True)
class Sensitivity:
    """One system: its curve, and those with the fewest and the most requests in flight that their ranges allow.

    `in_flight` lines of one link fill it while an answer takes at most `fills` ns, by Little's law. `work` is what the link
    does at the highest latency, the task first that waits longest for it. A system that cannot run says why in `refused`.
    """

    system: str
    own: Curve = NONE
    fewest: Curve = NONE
    most: Curve = NONE
    in_flight: float = nan
    fills: float = nan
    work: tuple[Carried, ...] = ()
    refused: str = ""


def latency(scenario: Scenario) -> tuple[Sensitivity, ...]:
    """Return it for every system with a CXL link, at the machine's own latency and at others."""
    asked = [replace(scenario, system=name) for name in names("systems") if "cxl" in load("systems", name).devices]
    machines = {one.system: _ready(one) for one in asked}
    ran = {name: m for name, m in machines.items() if isinstance(m, Machine)}
    points = [
        with_values(one, {LATENCY: ns, ASSUME: tuple({**dict(one.machine.assume), **limits}.items())})
        for one in asked
        if one.system in ran
        for limits in _ends(ran[one.system])
        for ns in LATENCIES
    ]
    steps = iter(np.reshape(step_seconds(points), (len(ran), 3, len(LATENCIES))))
    return tuple(
        Sensitivity(name, refused=m) if isinstance(m, str) else _sensitivity(m, next(steps)) for name, m in machines.items()
    )


def _ready(scenario: Scenario) -> Machine | str:
    try:
        return ready(scenario)
    except EmberpoolError as error:
        return str(error)


def _limits(m: Machine) -> Mapping[str, Constant]:
    found = {name_of(device.name, one): one for device in m.devices.values() for one in device.constants}
    return {name: found[name] for name in LIMITS if name in found}


def _ends(m: Machine) -> tuple[dict[str, float], ...]:
    limits = _limits(m)
    return {}, {name: one.low for name, one in limits.items()}, {name: one.high for name, one in limits.items()}


def _sensitivity(m: Machine, steps: np.ndarray) -> Sensitivity:
    own, fewest, most = (Curve(tuple(row.tolist()), _loses(row)) for row in steps)
    slow = ready(with_values(m.scenario, {LATENCY: LATENCIES[-1]}))
    work = sorted(carried(slow, expected_line(slow)), key=lambda one: -one.exposed)
    in_flight = _limits(m)[TAGS].value
    fills = in_flight * LINE / payload_rate(m.scenario.machine) / NS
    return Sensitivity(m.scenario.system, own, fewest, most, in_flight, fills, tuple(work))


def _loses(steps: np.ndarray) -> float | None:
    """Return where a curve, straight between two latencies, first crosses the loss."""
    crossed = np.flatnonzero(steps >= (1 + LOSS) * steps[0])
    if not len(crossed):
        return None
    after = int(crossed[0])
    return float(np.interp((1 + LOSS) * steps[0], steps[after - 1 : after + 1], LATENCIES[after - 1 : after + 1]))
