"""Near-data compute on against off: step time over memory controllers, each with logic of its own, and over media."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...estimates import steady_states
from ...hardware.devices.pmem import MEDIA, module_bytes
from ...registry import load
from ...scenario.scenario import Scenario, with_values
from ...schedule.evaluate import NotScheduled
from ...schedule.steady_state import Steady
from ...units import GB
from ..decomposition import NEAR
from ..knob_stops import CAPACITY

CONTROLLERS = (1, 2, 4, 8, 16, 32)


@dataclass(frozen=True)
class Pair:
    """One machine in seconds of a batch, with near-data compute and without: its step, and how long devices are busy."""

    memory: str
    controllers: int
    on: float
    off: float
    logic: float
    link: tuple[float, float]

    @property
    def costs(self) -> float:
        """What near-data compute adds to the step without it, as a share; negative where it saves."""
        return self.on / self.off - 1

    @property
    def crosses(self) -> bool:
        """Whether more crosses the link with it than without, as where nothing is pooled."""
        return self.link[0] > self.link[1]


def near_data(scenario: Scenario) -> tuple[Pair, ...]:
    """Return both settings for each medium by modules, and for system dram by channels; without machines that cannot run.

    Media are those of the scenario's system, or of `cxl` if that has no PMEM behind a link.
    """
    system = load("systems", scenario.system)
    name = scenario.system if "cxl" in system.devices and system.memory == "pmem" else "cxl"
    memories = (*MEDIA, "expander-dram")
    machines = [(memory, count, _with(scenario, name, memory, count)) for memory in memories for count in CONTROLLERS]
    found = iter(steady_states(with_values(one, {NEAR: near}) for *_, one in machines for near in (True, False)))
    both = [(memory, count, next(found), next(found)) for memory, count, _ in machines]
    return tuple(
        Pair(memory, count, on.step, off.step, _busy(on, "near-data"), (_busy(on, "cxl"), _busy(off, "cxl")))
        for memory, count, on, off in both
        if not isinstance(on, NotScheduled) and not isinstance(off, NotScheduled)
    )


def _with(scenario: Scenario, system: str, memory: str, count: int) -> Scenario:
    if memory == "expander-dram":
        return with_values(scenario, {"system": "dram", "machine.expander_dram_channels": count})
    of: Mapping[str, Any] = {"system": system, "machine.pmem": memory}
    media = with_values(scenario, of)
    return with_values(media, {CAPACITY: count * module_bytes(media.machine) / GB})


def _busy(one: Steady, device: str) -> float:
    return float(one.busy.get(device, 0.0))
