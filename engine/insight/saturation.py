"""Saturation of the CXL link: step time over bandwidth, and hidden work of the link.

Beyond saturation, other devices limit the step.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..core.arithmetic import total
from ..core.graph import Task
from ..hardware.device import seconds
from ..scenario.scenario import Scenario, with_values
from ..schedule.machine import Machine, expected_timeline, ready_machine
from ..schedule.timeline import Timeline
from .cost import cost
from .decomposition import BOUND, PMEM_KNOBS, cxl_policies
from .relaxation import LINK, WIDEST_LINK, relaxable

SYSTEMS = ("cxl-d", "cxl-b", "cxl")
GAIN = 0.01  # of the step time: a doubling that saves less has stopped helping
LOWEST, STEPS, CLOSE_RATIO = 0.25, 2, 1.02  # GB/s; points to a doubling; to which ratio the bandwidth is found
LEAST_HIDDEN = 0.02  # of the link's busy time: hidden parts below it are not worth a clause


@dataclass(frozen=True)
class LinkTask:
    """One task's work on the link in a batch, and the cause that hides it.

    task: the task's name.
    busy_seconds: seconds in which the link works for the task.
    exposed_seconds: the part of these seconds for which the step waits.
    hidden_by: a clause on the cause: other work at the same time, or a slower device.
    direction: the direction in which the link carries the task's data.
    """

    task: str
    busy_seconds: float
    exposed_seconds: float
    hidden_by: str
    direction: str


@dataclass(frozen=True)
class Saturation:
    """One system's step time over link bandwidth, and the bandwidth that is enough.

    curve: step time by bandwidth, as (GB/s, seconds).
    sufficient_bandwidth: bandwidth beyond which doubling saves less than 1 % [GB/s]; None where the widest link is too narrow.
    step_at_sufficient: step time at that bandwidth [s].
    The other fields describe the machine with twice that bandwidth, or with the widest link:
    step: step time [s].
    stage, device, exposed_seconds: stage and device with the largest exposed part of the step, and that part [s].
    link_tasks: the link's work by task.
    """

    system: str
    curve: tuple[tuple[float, float], ...]
    sufficient_bandwidth: float | None
    step_at_sufficient: float
    step: float
    stage: str
    device: str
    exposed_seconds: float
    link_tasks: tuple[LinkTask, ...]

    @property
    def busy_seconds(self) -> float:
        """Seconds of a batch for which the link's busier direction carries data."""
        return busier_direction_seconds(self.link_tasks)

    @property
    def wait_seconds(self) -> float:
        """Seconds of a batch in which training waits for the link."""
        return total(link_task.exposed_seconds for link_task in self.link_tasks)

    @property
    def hidden_tasks(self) -> tuple[LinkTask, ...]:
        """The link's tasks with hidden work, the longest hidden time first.

        Tasks with a very short hidden time are left out.
        """
        parts = (
            link_task
            for link_task in self.link_tasks
            if link_task.busy_seconds - link_task.exposed_seconds > LEAST_HIDDEN * self.busy_seconds
        )
        return tuple(sorted(parts, key=lambda link_task: link_task.exposed_seconds - link_task.busy_seconds))


def saturation(scenario: Scenario) -> tuple[Saturation, ...]:
    """Return the saturation of every system with PMEM behind a CXL link.

    Raises CannotRun or BadKnob where one of these systems cannot run.
    """
    relaxed = with_values(relaxable(scenario), {BOUND: cxl_policies(scenario)[0]})
    strict = with_values(relaxed, PMEM_KNOBS)
    return tuple(_saturation(relaxed if name == "cxl" else with_values(strict, {"system": name})) for name in SYSTEMS)


def _saturation(base: Scenario) -> Saturation:
    def step(bandwidth: float) -> float:
        return cost(with_values(base, {LINK: bandwidth})).seconds

    grid = [LOWEST * 2 ** (k / STEPS) for k in range(int(STEPS * np.log2(WIDEST_LINK / LOWEST)) + 1)]
    curve = tuple((bandwidth, step(bandwidth)) for bandwidth in grid)
    helps = [
        b
        for (b, narrow_step), (_, wide_step) in zip(curve, curve[STEPS:], strict=False)
        if narrow_step - wide_step >= GAIN * narrow_step
    ]
    enough_bandwidth: float | None = LOWEST
    if helps and helps[-1] == grid[-1 - STEPS]:
        enough_bandwidth = None
    elif helps:
        low, high = helps[-1], helps[-1] * 2 ** (1 / STEPS)
        while high > CLOSE_RATIO * low:
            middle = (low * high) ** 0.5
            low, high = (middle, high) if step(middle) - step(2 * middle) >= GAIN * step(middle) else (low, middle)
        enough_bandwidth = high
    m = ready_machine(with_values(base, {LINK: min(2 * enough_bandwidth, WIDEST_LINK) if enough_bandwidth else WIDEST_LINK}))
    line = expected_timeline(m)
    longest_row = max(line.steady.rows, key=lambda row: row["Exposed [s]"])
    device = _short_title(m, longest_row["Device"])
    return Saturation(
        system=base.system,
        curve=curve,
        sufficient_bandwidth=enough_bandwidth,
        step_at_sufficient=step(enough_bandwidth or WIDEST_LINK),
        step=line.steady.step,
        stage=longest_row["Stage"],
        device=device,
        exposed_seconds=longest_row["Exposed [s]"],
        link_tasks=link_tasks(m, line),
    )


def _short_title(m: Machine, device: str) -> str:
    return m.devices[device].title.split(",")[0]


def busier_direction_seconds(tasks: Iterable[LinkTask]) -> float:
    """Return the seconds for which the busier direction of a link works.

    Both directions can work at the same time.
    """
    by_direction: dict[str, float] = {}
    for task in tasks:
        by_direction[task.direction] = by_direction.get(task.direction, 0.0) + task.busy_seconds
    return max(by_direction.values(), default=0.0)


def link_tasks(m: Machine, line: Timeline) -> tuple[LinkTask, ...]:
    """Return the link's work by task, the longest busy time first."""
    tasks = enumerate(line.graph.tasks)
    rows = [_carried_task(m, line, k, task) for k, task in tasks if any(demand.device == "cxl" for demand in task.demands)]
    return tuple(sorted((row for row in rows if row.busy_seconds > 0), key=lambda row: -row.busy_seconds))


def _carried_task(m: Machine, line: Timeline, k: int, task: Task) -> LinkTask:
    """Return a task's work on the link, exposed only if the link sets the task's pace."""
    mean = [(float(np.mean(seconds(m.devices[d.device], d.work))), d.device) for d in task.demands]
    busy = float(line.ran_shares[k]) * next(spent for spent, device in mean if device == "cxl")
    direction = next(demand.lane for demand in task.demands if demand.device == "cxl")
    slowest = max(mean)[1]
    exposed = line.steady.exposed[k] if slowest == "cxl" else 0.0
    hidden_by = f"beside {task.gate_task}" if task.gate_task else "beside other work"
    pace = hidden_by if slowest == "cxl" else f"at the pace of {_short_title(m, slowest)}"
    return LinkTask(task.name, busy, min(exposed, busy), pace, direction)
