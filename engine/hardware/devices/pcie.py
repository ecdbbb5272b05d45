"""PCIe link: copies between host and GPU that software starts.

A copy takes the time to synchronise, call and dispatch, and then its bytes' time at the rate of pinned memory. GPU threads that
access rows of host memory themselves ask for sectors of 32 B, in requests of at most 128 B. A smaller request uses less of the
copy rate, and a GPU has a limited number of requests in flight.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ...core.figures import figure
from ...core.row_sizes import granule_bytes, mean_over_rows
from ...core.work import Copy, Direct
from ...scenario.machine import MachineKnobs
from ...units import GB, US
from ..copy_paths import PATHS
from ..device import Cost, Device, DeviceKind, assumed_part, fields_of, gpus_in_node, over_link
from .chassis import chassis
from .gpu import SECTOR, host_read_pace
from .gpu_port import copy_rate, host_port, is_superchip

REQUEST = 128  # bytes of the largest request of a GPU


class CopyRates(NamedTuple):
    """Rates of copies between a host and a GPU.

    pinned: rate of copies from pinned memory [B/s].
    unpinned: rate of copies from pageable memory [B/s].
    direct: rate at which GPU threads access host memory in requests of 128 B [B/s].
    request_64, request_32: time of a request of 64 B, and of 32 B [s].
    pace: time from one request to the next with as many in flight as a GPU has [s].
    handoff: time of a software hand-off (synchronise, call, dispatch) [us].
    bit: energy at either end of the link [pJ/bit].
    """

    pinned: float
    unpinned: float
    direct: float
    request_64: float
    request_32: float
    pace: float
    handoff: float
    bit: float


def copy_seconds(path: CopyRates, work: Copy) -> Any:
    """Return the seconds of a copy: its software hand-offs, then its bytes."""
    return work.handoffs * path.handoff * US + work.nbytes / (path.pinned if work.pinned else path.unpinned)


def direct_seconds(path: CopyRates, work: Direct) -> Any:
    """Return the seconds of rows that GPU threads access in host memory.

    The link's time or the time of the requests in flight decides, whichever is longer.
    """
    on_link = mean_over_rows(work.row_bytes, lambda size: _row_seconds(path, size))
    return work.rows * np.maximum(on_link, path.pace * granule_bytes(work.row_bytes, REQUEST) / REQUEST)


def _row_seconds(path: CopyRates, size: Any) -> Any:
    """Return the seconds of a row on the link; below 128 B it is one small request.

    The time of a request of 96 B is the mean of those of 64 and 128 B.
    """
    nbytes = granule_bytes(size, SECTOR)
    sectors, request_128 = nbytes / SECTOR, REQUEST / path.direct
    small = np.where(sectors == 3, (path.request_64 + request_128) / 2, np.where(sectors == 2, path.request_64, path.request_32))
    return np.where(nbytes < REQUEST, small, nbytes / path.direct)


SECONDS: Mapping[type, Cost] = {Direct: direct_seconds, Copy: copy_seconds}
JOULES: Mapping[type, Cost] = {
    Copy: lambda path, work: over_link(work.nbytes, path.bit),
    Direct: lambda path, work: over_link(work.rows * granule_bytes(work.row_bytes, SECTOR), path.bit),
}


def uplink_rate(machine: MachineKnobs) -> float:
    """Return the rate of a GPU's copies while all GPUs of a node copy [GB/s].

    GPUs behind one PCIe switch share its uplink to the CPU, whose 16 lanes are of the host's generation.
    """
    sharers = min(gpus_in_node(machine), chassis(machine).uplink.value)
    if is_superchip(machine) or sharers <= 1:
        return copy_rate(machine)
    return min(copy_rate(machine), host_port(machine) / sharers)


def build(machine: MachineKnobs) -> Device:
    """Return the PCIe path between host memory or a memory card and the GPU."""
    path = assumed_part(machine, "pcie", PATHS[machine.host])
    rate = uplink_rate(machine) * GB
    direct = path.direct.value * rate
    request_64 = min(64 / (path.direct_64.value * rate), REQUEST / direct)  # a smaller request never takes longer
    rates = CopyRates(
        pinned=rate,
        unpinned=min(rate, path.pageable.value * GB),
        direct=direct,
        request_64=request_64,
        request_32=min(32 / (path.direct_32.value * rate), request_64),
        pace=host_read_pace(machine),
        handoff=path.handoff.value,
        bit=path.phy.value,
    )
    return Device(
        name="pcie",
        title=f"PCIe, {figure(rate / GB, 'GB/s')} copies",
        helps="fewer hand-offs or a faster copy path would shorten it",
        rates=rates,
        seconds=SECONDS,
        joules=JOULES,
        full_watts=over_link(2 * rate, path.phy.value),
        constants=fields_of(path),
    )


DEVICE = DeviceKind(
    "PCIe link",
    build,
    lambda: {name: fields_of(path) for name, path in PATHS.items()},
    knob_names=("gpu", "host", "pcie_bandwidth_GBps", "chassis"),
    copies=lambda machine: machine.num_gpus,
)
