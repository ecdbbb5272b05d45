"""Near-data logic: vector adders at each memory controller, which pool and update rows.

Its rate is lanes × width × clock frequency.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ...core.figures import exact
from ...core.work import Pool
from ...scenario.machine import MachineKnobs
from ..device import Cost, Device, DeviceKind, assumed_part, expanders, fields_of
from ..money.bill import BillItem
from ..requesters import LOGIC
from .expander_dram import dram_controllers
from .pmem import modules


def controllers(machine: MachineKnobs, memory: str) -> int:
    """Return the number of controllers of `memory` with near-data logic, over all expanders.

    Each PMEM module, or each DRAM channel, has a controller. The memory's capacity must be chosen.
    """
    return modules(machine) if memory == "pmem" else dram_controllers(machine)


class LogicRates(NamedTuple):
    """Rates of the adders at the controllers of each memory [B/s], by memory."""

    rate_by_memory: Mapping[str, float]


SECONDS: Mapping[type, Cost] = {Pool: lambda logic, work: work.nbytes / logic.rate_by_memory[work.memory]}


def build(machine: MachineKnobs) -> Device:
    """Return the near-data logic of all expanders as a device.

    Its work is spread evenly over the controllers. The controllers of one expander share a chip, its power and its price.
    """
    rate = machine.near_data_lanes * machine.near_data_width_bytes * machine.near_data_clock_MHz * 1e6
    by_controller = machine.near_data_lanes_per == "controller"
    rates = {memory: rate * (controllers(machine, memory) if by_controller else 1) for memory in ("pmem", "expander-dram")}
    logic_name, chips = machine.near_data_logic, expanders(machine)
    logic = assumed_part(machine, "near-data", LOGIC[logic_name], LOGIC.kind, logic_name)
    room = machine.near_data_scratchpad_MB
    return Device(
        name="near-data",
        title=f"Near-data logic, {exact(rate / 1e9)} GB/s{' at each controller' * by_controller}, {exact(room)} MB scratchpad",
        helps="wider or faster near-data logic would shorten it",
        rates=LogicRates(rates),
        seconds=SECONDS,
        idle_watts=chips * logic.idle.value,
        busy_watts=chips * max(logic.active.value - logic.idle.value, 0.0),
        bill=(BillItem(LOGIC.kind, logic_name, chips, logic.price),),
        constants=fields_of(logic),
    )


DEVICE = DeviceKind(
    "Near-data logic",
    build,
    lambda: {name: fields_of(logic) for name, logic in LOGIC.items()},
    knob_names=(
        "near_data_compute",
        "near_data_logic",
        "near_data_lanes",
        "near_data_lanes_per",
        "near_data_width_bytes",
        "near_data_clock_MHz",
        "near_data_scratchpad_MB",
        "num_expanders",
        "prices",
    ),
    kinds=("near-data",),
)
