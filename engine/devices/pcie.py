"""PCIe copies by software: synchronise, call, dispatch, then bytes at the pinned-copy rate."""

from dataclasses import dataclass
from typing import Any

from engine.assumptions import assumed, fields_of
from engine.cluster import gpus
from engine.constants import Constant
from engine.device import Device, Kind
from engine.machine import Machine
from engine.units import GB, US
from engine.work import Copy, Direct

FIT = "fitted to TrainingCXL RM1 and RM4 by scripts/calibrate_trainingcxl.py"
PHY = Constant("link energy", 7.5, "pJ/bit", 4, 10, "stated", "XHarvest, CXL/PCIe PHY", "counted at both ends")


@dataclass(frozen=True)
class Path:
    """The software path of a host's copies."""

    handoff: Constant
    phy: Constant = PHY
    pageable: Constant = Constant(
        "unpinned copy rate",
        4,
        "GB/s",
        2.4,
        6.4,
        "measured",
        "hpcaitech/CachedEmbedding run logs, A100",
        "GPU to unpinned memory",
    )
    direct: Constant = Constant(
        "zero-copy share", 0.7, "of copy rate", 0.3, 0.9, "unsourced", "GPU threads reading rows of some 512 B in host memory"
    )


PATHS = {
    "server": Path(
        Constant("software hand-off", 40, "us", 20, 100, "derived", "te42kyfo/gpu-benches", "sync, copy call, dispatch")
    ),
    "trainingcxl": Path(
        Constant("software hand-off", 372.4, "us", 300, 420, "calibrated", FIT, "outside the range of real systems")
    ),
}


def build(machine: Machine) -> Device:
    """Build the PCIe path between host memory or a card and the GPU."""
    path = assumed(machine, "pcie", PATHS[machine.host])
    rate = machine.pcie_bandwidth_GBps * GB
    unpinned = min(rate, path.pageable.value * GB)

    def energy(nbytes: Any) -> Any:
        return nbytes * 8 * 2 * path.phy.value * 1e-12

    return Device(
        name="pcie",
        title=f"PCIe, {machine.pcie_bandwidth_GBps:g} GB/s copies",
        helps="fewer hand-offs or a faster copy path would shorten it",
        seconds={
            Direct: lambda work: work.nbytes / (path.direct.value * rate),
            Copy: lambda work: work.handoffs * path.handoff.value * US + work.nbytes / (rate if work.pinned else unpinned),
        },
        joules=dict.fromkeys((Copy, Direct), lambda work: energy(work.nbytes)),
        full_watts=energy(2 * rate),
        constants=fields_of(path),
    )


DEVICE = Kind(
    "PCIe link",
    build,
    lambda: {name: fields_of(path) for name, path in PATHS.items()},
    knobs=("machine.host", "machine.pcie_bandwidth_GBps"),
    copies=gpus,
)
