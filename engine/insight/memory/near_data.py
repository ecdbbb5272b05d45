"""Step time with near-data compute and without, by number of controllers and by medium.

Near-data compute is logic in each memory controller.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...core.figures import figure
from ...estimates import steady_states
from ...hardware.devices.pmem import MEDIA, module_bytes
from ...registry import load_variant
from ...scenario.scenario import Scenario, with_values
from ...schedule.evaluate import NotScheduled
from ...schedule.steady_state import Steady
from ...units import GB, MS
from ..decomposition import NEAR_DATA
from ..knobs.stops import CAPACITY

CONTROLLERS = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True)
class NearDataPair:
    """One machine with near-data compute and without; times are seconds of a batch.

    memory: the medium.
    controllers: the number of modules or channels.
    step_with, step_without: step time with near-data compute and without [s].
    logic_busy: busy time of the near-data logic [s].
    link_busy: time of the link's work with near-data compute and without, both directions added [s].
    """

    memory: str
    controllers: int
    step_with: float
    step_without: float
    logic_busy: float
    link_busy: tuple[float, float]

    @property
    def added_share(self) -> float:
        """The time that near-data compute adds, as a share of the step without.

        It is negative where near-data compute saves time.
        """
        return self.step_with / self.step_without - 1

    @property
    def crosses_more(self) -> bool:
        """Whether more bytes cross the link with near-data compute, as without pooling."""
        return self.link_busy[0] > self.link_busy[1]


def near_data(scenario: Scenario) -> tuple[NearDataPair, ...]:
    """Return a pair for each medium of PMEM by modules, and expander DRAM by channels.

    Machines that cannot run are left out.
    PMEM belongs to the scenario's system, or to `cxl` if that system has no PMEM behind a link. Expander DRAM belongs to system
    dram.
    """
    system = load_variant("systems", scenario.system)
    name = scenario.system if "cxl" in system.devices and system.memory == "pmem" else "cxl"
    memories = (*MEDIA, "expander-dram")
    machines = [(memory, count, _machine_with(scenario, name, memory, count)) for memory in memories for count in CONTROLLERS]
    states = iter(
        steady_states(with_values(machine, {NEAR_DATA: is_near}) for *_, machine in machines for is_near in (True, False))
    )
    state_pairs = [(memory, count, next(states), next(states)) for memory, count, _ in machines]
    return tuple(
        NearDataPair(
            memory,
            count,
            near_state.step,
            far_state.step,
            _busy(near_state, "near-data"),
            (near_state.device_seconds("cxl"), far_state.device_seconds("cxl")),
        )
        for memory, count, near_state, far_state in state_pairs
        if not isinstance(near_state, NotScheduled) and not isinstance(far_state, NotScheduled)
    )


def _machine_with(scenario: Scenario, system: str, memory: str, count: int) -> Scenario:
    if memory == "expander-dram":
        return with_values(scenario, {"system": "dram", "machine.expander_dram_channels": count})
    changes: Mapping[str, Any] = {"system": system, "machine.pmem": memory}
    media = with_values(scenario, changes)
    return with_values(media, {CAPACITY: count * module_bytes(media.machine) / GB})


def _busy(steady: Steady, device: str) -> float:
    return float(steady.busy.get(device, 0.0))


def slower_reason(scenario: Scenario) -> str:
    """Return a sentence on why near-data compute slows a scenario's step down.

    Return "" if it does not, or if the machine cannot run.
    """
    states = steady_states(with_values(scenario, {NEAR_DATA: is_near}) for is_near in (True, False))
    near_state, far_state = states
    if isinstance(near_state, NotScheduled) or isinstance(far_state, NotScheduled) or near_state.step <= far_state.step:
        return ""
    logic, links = _busy(near_state, "near-data"), [float(state.device_seconds("cxl")) for state in (near_state, far_state)]
    if links[0] > links[1]:
        return (
            f"Slower when on: more crosses the links, {figure(links[0] / MS, 'ms')} a batch for {figure(links[1] / MS, 'ms')}, "
            "as a repeated row is pooled for each of its samples."
        )
    return (
        f"Slower when on: the logic works {figure(logic / MS, 'ms')} a batch; when off, rows need "
        f"{figure(links[1] / MS, 'ms')} of the links, and the GPU pools them."
    )
