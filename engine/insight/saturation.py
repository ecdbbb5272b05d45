"""Saturation of the CXL link: step time against bandwidth, and what then sets the pace and hides the link."""

from dataclasses import dataclass

import numpy as np

from ..core.graph import Task
from ..hardware.device import seconds
from ..scenario.scenario import Scenario, with_values
from ..schedule.machine import Machine, expected_line, ready
from ..schedule.timeline import Timeline
from .cost import cost
from .decomposition import BOUND, START, asked_of_cxl
from .relaxation import LINK, WIDEST, relaxable

SYSTEMS = ("cxl-d", "cxl-b", "cxl")
GAIN = 0.01  # of the step time: a doubling that saves less has stopped helping
LOWEST, STEPS, CLOSE = 0.25, 2, 1.02  # GB/s; points to a doubling; to which ratio the bandwidth is found
TOLD = 0.02  # of the link's busy time: hidden parts below it are not worth a clause


@dataclass(frozen=True)
class Carried:
    """What one task does on the link in a batch: `busy` seconds, `exposed` ones among them, and what hides the rest."""

    task: str
    busy: float
    exposed: float
    hidden_by: str


@dataclass(frozen=True)
class Saturation:
    """One system's step time, as (GB/s, seconds), and the bandwidth in GB/s beyond which doubling it saves less than 1 %.

    `enough` is None where even the widest link is too narrow, `at_enough` the seconds there. The rest describes the machine
    with twice that link, or the widest: its step, the stage and device with the largest exposed part, and the link's work.
    """

    system: str
    curve: tuple[tuple[float, float], ...]
    enough: float | None
    at_enough: float
    step: float
    stage: str
    device: str
    exposed: float
    carried: tuple[Carried, ...]

    @property
    def busy(self) -> float:
        """Seconds of a batch for which the link carries data, both directions added."""
        return sum(one.busy for one in self.carried)

    @property
    def waits(self) -> float:
        """Seconds of a batch that wait for the link."""
        return sum(one.exposed for one in self.carried)

    @property
    def hidden(self) -> tuple[Carried, ...]:
        """The link's work that something hides, the longest first, without what is hardly worth a word."""
        parts = (one for one in self.carried if one.busy - one.exposed > TOLD * self.busy)
        return tuple(sorted(parts, key=lambda one: one.exposed - one.busy))


def saturation(scenario: Scenario) -> tuple[Saturation, ...]:
    """Find it for every system with a CXL link and PMEM behind it; raises CannotRun or BadKnob where they cannot run."""
    relaxed = with_values(relaxable(scenario), {BOUND: asked_of_cxl(scenario)[0]})
    strict = with_values(relaxed, START)
    return tuple(_saturation(relaxed if name == "cxl" else with_values(strict, {"system": name})) for name in SYSTEMS)


def _saturation(base: Scenario) -> Saturation:
    def step(bandwidth: float) -> float:
        return cost(with_values(base, {LINK: bandwidth})).seconds

    grid = [LOWEST * 2 ** (k / STEPS) for k in range(int(STEPS * np.log2(WIDEST / LOWEST)) + 1)]
    curve = tuple((bandwidth, step(bandwidth)) for bandwidth in grid)
    helps = [b for (b, now), (_, then) in zip(curve, curve[STEPS:], strict=False) if now - then >= GAIN * now]
    enough: float | None = LOWEST
    if helps and helps[-1] == grid[-1 - STEPS]:
        enough = None
    elif helps:
        low, high = helps[-1], helps[-1] * 2 ** (1 / STEPS)
        while high > CLOSE * low:
            middle = (low * high) ** 0.5
            low, high = (middle, high) if step(middle) - step(2 * middle) >= GAIN * step(middle) else (low, middle)
        enough = high
    m = ready(with_values(base, {LINK: min(2 * enough, WIDEST) if enough else WIDEST}))
    line = expected_line(m)
    most = max(line.steady.rows, key=lambda row: row["Exposed [s]"])
    device = _short(m, most["Device"])
    return Saturation(
        system=base.system,
        curve=curve,
        enough=enough,
        at_enough=step(enough or WIDEST),
        step=line.steady.step,
        stage=most["Stage"],
        device=device,
        exposed=most["Exposed [s]"],
        carried=carried(m, line),
    )


def _short(m: Machine, device: str) -> str:
    return m.devices[device].title.split(",")[0]


def carried(m: Machine, line: Timeline) -> tuple[Carried, ...]:
    """Return the link's work by task, the longest first."""
    tasks = enumerate(line.graph.tasks)
    rows = [_one(m, line, k, task) for k, task in tasks if any(one.device == "cxl" for one in task.demands)]
    return tuple(sorted((row for row in rows if row.busy > 0), key=lambda row: -row.busy))


def _one(m: Machine, line: Timeline, k: int, task: Task) -> Carried:
    """Tell a task's work on the link apart: exposed only if the link sets the task's pace."""
    mean = [(float(np.mean(seconds(m.devices[d.device], d.work))), d.device) for d in task.demands]
    busy = float(line.ran[k]) * next(spent for spent, device in mean if device == "cxl")
    slowest = max(mean)[1]
    exposed = line.steady.exposed[k] if slowest == "cxl" else 0.0
    by = f"beside {task.during}" if task.during else "beside other work"
    return Carried(task.name, busy, min(exposed, busy), by if slowest == "cxl" else f"at the pace of {_short(m, slowest)}")
