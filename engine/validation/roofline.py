"""The roofline: a claim's number from peak rates only, to compare with this model.

A batch takes the bytes of its plan over the bandwidths of the devices that they cross, one after another, and the operations
of its layers over the peak of the device that computes them. Amounts are the scenario's own, rates the catalogue's peaks: no
work overlaps, starts late, waits or runs below a peak, and the training loop takes no time.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from ..amounts.expected import deal_batches, expected_amounts
from ..core.arithmetic import total
from ..core.row_sizes import mean_bytes
from ..core.work import (
    AllReduce,
    AllToAll,
    Copy,
    Direct,
    Fetch,
    HostRows,
    LayerWork,
    Pool,
    RowReads,
    RowUpdates,
    Stream,
    Work,
)
from ..errors import CannotRun
from ..hardware.device import Device
from ..hardware.devices.expander_dram import dram_controllers
from ..hardware.devices.gpu import word_bytes
from ..hardware.devices.gpu_port import copy_rate
from ..hardware.hosts import host_channels
from ..hardware.layer_kernels import COUNTING_ARITHMETIC
from ..hardware.layers import layer_cost
from ..results.result import Result
from ..scenario.machine import MachineKnobs
from ..scenario.presets import preset
from ..scenario.scenario import Scenario, with_values
from ..schedule.machine import ready_machine
from ..systems.steps.wires import is_passed_again
from ..units import GB
from .claims import Claim

STEP, THROUGHPUT = "Step time [ms]", "Throughput [samples/s]"
BATCHES = 100  # unlike batches are averaged over so many
TERA, GIGA = 1e12, 1e9
# Bytes that cross a device, by kind of work: rows are read; updated rows are written too.
WORK_BYTES: Mapping[type, Callable[[Any], Any]] = {
    RowReads: lambda work: work.rows * mean_bytes(work.row_bytes),
    RowUpdates: lambda work: 2 * work.rows * mean_bytes(work.row_bytes),
    HostRows: lambda work: 2 * work.rows * mean_bytes(work.row_bytes),
    Direct: lambda work: work.rows * mean_bytes(work.row_bytes),
    **dict.fromkeys((Stream, Copy, Pool, Fetch), lambda work: work.nbytes),
}
Rates = Mapping[str, float]  # bytes a second of one copy of a device


def roofline(claim: Claim, measure: Callable[[Claim, Callable[[Any], Result]], float]) -> float | None:
    """Return a claim's number by the roofline.

    Return None for a metric that the roofline lacks, or without a catalogue peak.
    """
    if claim.published is None or claim.metric not in (STEP, THROUGHPUT):
        return None
    try:
        return measure(claim, _result)
    except LookupError:
        return None


def _result(point: Any) -> Result:
    scenario = with_values(preset(point.preset).scenario, {"system": point.system, **dict(point.knobs)})
    step = roofline_seconds(scenario)
    return Result(scenario, True, "", {STEP: 1e3 * step, THROUGHPUT: scenario.data.batch_size / step})


@lru_cache(maxsize=256)
def roofline_seconds(scenario: Scenario) -> float:
    """Return a batch's seconds by the roofline.

    Raises LookupError where a device has no peak in the catalogue, and CannotRun where the scenario does not fit.
    """
    machine = ready_machine(with_values(scenario, {"machine.framework": "none"}))
    s = machine.scenario
    graph = machine.system.graph(machine.settled, deal_batches(expected_amounts(machine.settled), s.data.batch_size, BATCHES))
    rates = _bandwidths(s.machine, machine.devices)
    every = (demand for task in graph.tasks for demand in task.demands if not is_passed_again(demand))
    demands = ((machine.devices[demand.device], demand.work) for demand in every)
    seconds = total(float(np.mean(_work_seconds(device, work, s.machine, rates))) for device, work in demands)
    if not seconds > 0:
        raise CannotRun("This plan has no bytes and operations, so it has no roofline.")
    return seconds


def _bandwidths(machine: MachineKnobs, devices: Mapping[str, Device]) -> Rates:
    """Return the bytes a second of one copy of each device that has a peak."""
    peaks = {name: _constants(device) for name, device in devices.items()}
    link, network = copy_rate(machine) * GB, machine.network_bandwidth_GBps * GB
    rates = {"pcie": link, "gatherer": link, "network": network * machine.num_gpus}
    rates |= {"gpu": peaks["gpu"]["memory bandwidth"] * GB} if "gpu" in devices else {}
    rates |= {"remote": peaks["remote"]["network card"] * GB} if "remote" in devices else {}
    if "dram" in devices:
        rates |= dict.fromkeys(("dram", "host"), host_channels(machine) * peaks["dram"]["channel peak"] * GB)
    if "expander-dram" in devices:
        rates["expander-dram"] = dram_controllers(machine) * peaks["expander-dram"]["channel peak"] * GB
    return rates


def _constants(device: Device) -> Mapping[str, float]:
    return {constant.name: constant.value for constant in device.constants}


def _work_seconds(device: Device, work: Work, machine: MachineKnobs, rates: Rates) -> Any:
    """Return the seconds of a piece of work; 0 for software. Raises LookupError for a device without a peak."""
    if isinstance(work, LayerWork):
        return _layers(device, work, machine, rates)
    if isinstance(work, AllToAll):
        fabric = _constants(device)["fabric bandwidth"] * GB
        return np.maximum(work.fabric / fabric, work.network / (machine.network_bandwidth_GBps * GB))
    if isinstance(work, AllReduce):
        crosses_nodes = machine.num_gpus > machine.gpus_per_node
        slowest = machine.network_bandwidth_GBps if crosses_nodes else _constants(device)["fabric bandwidth"]
        return 2 * work.nbytes * (1 - 1 / machine.num_gpus) / (slowest * GB)
    if type(work) not in WORK_BYTES or (device.name == "remote" and isinstance(work, HostRows)):
        return 0.0
    if device.name == "host" and "host" not in rates:
        return 0.0
    return WORK_BYTES[type(work)](work) / device.copies / rates[device.name]


def _layers(device: Device, work: LayerWork, machine: MachineKnobs, rates: Rates) -> Any:
    cost = layer_cost(
        replace(work, samples=np.ceil(work.samples / device.copies)), COUNTING_ARITHMETIC._replace(word=word_bytes(machine))
    )
    return cost.flop / _peak(device, machine.matrix_precision) + cost.nbytes / rates[device.name]


def _peak(device: Device, precision: str) -> float:
    """Return the operations a second of a GPU, or of all cores of a host."""
    peaks = _constants(device)
    if device.name == "host":
        return peaks["physical cores"] * peaks[f"{precision} peak a core"] * GIGA
    return peaks[f"{precision} peak"] * TERA
