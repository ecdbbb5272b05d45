"""Near-data logic: adders and multipliers beside the memory, lanes × width × clock wide."""

from dataclasses import dataclass

from ...core.catalog import Catalogue, quantity
from ...core.constants import Constant
from ...core.work import Pool
from ...scenario.machine import MachineKnobs
from ..device import Device, DeviceKind, assumed, fields_of

SOFT_LOGIC_MHZ = 350.0


@dataclass(frozen=True)
class Logic:
    """How the logic is made."""

    active: Constant = quantity("active power", "W")
    idle: Constant = quantity("idle power", "W")
    price: Constant = quantity("price", "USD")


LOGIC = Catalogue("near-data", Logic)


def build(machine: MachineKnobs) -> Device:
    """Build the logic; clocks up to 350 MHz are an FPGA's, faster ones an ASIC's."""
    rate = machine.near_data_lanes * machine.near_data_width_bytes * machine.near_data_clock_MHz * 1e6
    logic = assumed(machine, "near-data", LOGIC["fpga" if machine.near_data_clock_MHz <= SOFT_LOGIC_MHZ else "asic"])
    return Device(
        name="near-data",
        title=f"Near-data logic, {rate / 1e9:g} GB/s",
        helps="wider or faster near-data logic would shorten it",
        seconds={Pool: lambda work: work.nbytes / rate},
        idle_watts=logic.idle.value,
        busy_watts=max(logic.active.value - logic.idle.value, 0.0),
        price=logic.price.value,
        constants=fields_of(logic),
    )


DEVICE = DeviceKind(
    "Near-data logic",
    build,
    lambda: {name: fields_of(logic) for name, logic in LOGIC.items()},
    reads=("near_data_compute", "near_data_lanes", "near_data_width_bytes", "near_data_clock_MHz"),
)
