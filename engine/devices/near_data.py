"""Near-data logic: adders and multipliers beside the memory, lanes × width × clock wide."""

from engine.constants import Constant
from engine.device import Device, Kind
from engine.groups import Machine
from engine.work import Pool

SOFT_LOGIC_MHZ = 350.0
FPGA = Constant("FPGA card power", 75, "W", 30, 225, "unsourced", "Alveo-class card")
FPGA_IDLE = Constant("FPGA card idle power", 30, "W", 20, 60, "unsourced", "Alveo-class card")
ASIC = Constant("ASIC logic power", 5, "W", 1, 30, "unsourced", "adders, multipliers, scratchpad, DMA")
ASIC_IDLE = Constant("ASIC logic idle power", 1, "W", 0.2, 5, "unsourced", "leakage and clock")
PRICE = Constant("logic price", 1000, "USD", 100, 8000, "unsourced", "FPGA card or its share of a controller")


def build(machine: Machine) -> Device:
    """Build the logic; clocks up to 350 MHz are an FPGA's, faster ones an ASIC's."""
    rate = machine.near_data_lanes * machine.near_data_width_bytes * machine.near_data_clock_MHz * 1e6
    soft = machine.near_data_clock_MHz <= SOFT_LOGIC_MHZ
    busy, idle = (FPGA, FPGA_IDLE) if soft else (ASIC, ASIC_IDLE)
    return Device(
        name="near-data",
        title=f"Near-data logic, {rate / 1e9:g} GB/s",
        helps="wider or faster near-data logic would shorten it",
        seconds={Pool: lambda work: work.nbytes / rate},
        idle_watts=idle.value,
        busy_watts=busy.value - idle.value,
        price=PRICE.value,
        constants=(busy, idle, PRICE),
    )


DEVICE = Kind("Near-data logic", build, lambda: (FPGA, FPGA_IDLE, ASIC, ASIC_IDLE, PRICE))
