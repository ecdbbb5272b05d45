"""Collectives between GPUs over their number: our all-reduce, all-to-all and step, beside published numbers.

Each comparison has a curve for each kind of network, in one set-up, and the published points, each with ours in its own set-up.
An all-reduce counts as nccl-tests count its bus bandwidth: bytes of a GPU over seconds, times 2 (P - 1) / P.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...core.catalog import names
from ...core.work import AllReduce
from ...estimates import step_seconds
from ...hardware.device import Device, seconds
from ...registry import load
from ...scenario.machine import MachineKnobs
from ...scenario.presets import preset
from ...scenario.scenario import Scenario, with_values
from ...systems.exchange.crossing import vectors
from ...systems.row_kinds import vector_bytes
from ...systems.sharding import Parts, over
from ...units import GB, GiB

ALL_REDUCE, ALL_TO_ALL, STEP = "all-reduce", "all-to-all", "step"
NODE = 8  # GPUs
P4D_CARD, ONE_CARD, H100_CARD = 5.6, 1.40625, 45.0  # GB/s a GPU: 400 and 100 Gb/s for eight, 400 Gb/s for one
MODEL = "dlrm-terabyte"  # whose vectors TorchRec exchanges
DCNV2_PRESET = "torchrec-terabyte"
DCNV2 = {
    "system": "all-hbm",
    "machine.gpu": "h100-sxm",
    "machine.framework": "cuda-graph",
    "machine.matrix_precision": "fp16",
    "machine.exchange_precision": "fp16",
    "data.batch_size": 135168,
    "model.name": "dlrm-dcnv2",
    "machine.network_bandwidth_GBps": H100_CARD,
    "policy.replicated_rows": None,
}
Assumed = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class NetworkCurve:
    """Ours over a kind of network, a value for each number of GPUs, in the unit of its comparison."""

    network: str
    gpus: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class CollectivePoint:
    """A published number on so many GPUs, and ours in its set-up over the kind of network that it has or is taken to have.

    `fitted`: a constant was fitted to it. `assumed`: the source, as we know it, does not say which network it has.
    """

    gpus: int
    network: str
    published: float
    ours: float
    source: str
    fitted: bool = False
    assumed: bool = False

    @property
    def miss(self) -> float:
        """Ours over the published number, less 1."""
        return self.ours / self.published - 1


@dataclass(frozen=True)
class CollectiveComparison:
    """A collective, or a step, in `unit`: ours over each kind of network, and what was published."""

    name: str
    unit: str
    curves: tuple[NetworkCurve, ...]
    points: tuple[CollectivePoint, ...]

    def others(self, point: CollectivePoint) -> dict[str, float]:
        """Return by network how far its curve is off a point, as a share, where the point's network is assumed."""
        found = {curve.network: dict(zip(curve.gpus, curve.values, strict=True)).get(point.gpus) for curve in self.curves}
        known = {name: value for name, value in found.items() if value is not None and name != point.network}
        return {name: value / point.published - 1 for name, value in known.items()} if point.assumed else {}


def collectives(assume: Assumed = ()) -> tuple[CollectiveComparison, ...]:
    """Return the all-reduce, the all-to-all and the step beside what is published, with constants assumed."""
    return _all_reduces(assume), _all_to_alls(assume), _steps(assume)


def bus_bandwidth(machine: MachineKnobs, nbytes: float) -> float:
    """Return the bus bandwidth in bytes/s of an all-reduce of so many bytes on each GPU."""
    count = machine.num_gpus
    return 2 * (count - 1) / count * nbytes / float(seconds(_links(machine), AllReduce(nbytes)))


def card_share(machine: MachineKnobs, samples: int) -> float:
    """Return the share of a card's bandwidth that TorchRec's exchange of pooled vectors reaches, all tables cut by rows.

    Each GPU has so many samples of a batch; without a second node the share is 0.
    """
    scenario, parts = preset(MODEL).scenario, Parts(machine.num_gpus, machine.gpus_per_node)
    tables = np.zeros(scenario.model.num_tables, dtype=np.int64)
    plan = over([tuple(range(parts.number))], tables)
    sent = vectors(parts, plan, float(samples * parts.number * vector_bytes(scenario)))
    return sent.network / float(seconds(_links(machine), sent.work())) / (machine.network_bandwidth_GBps * GB)


def dcnv2(gpus: int, network: str, assume: Assumed = ()) -> Scenario:
    """Return MLPerf v3.0's DCNv2 on so many H100, with 400 Gb/s for each."""
    more = {"machine.num_gpus": gpus, "machine.network": network, "machine.assume": assume}
    return with_values(preset(DCNV2_PRESET).scenario, {**DCNV2, **more})


def _links(machine: MachineKnobs) -> Device:
    device: Device = load("devices", "network").build(machine)
    return device


def _all_reduces(assume: Assumed) -> CollectiveComparison:
    def rate(gpus: int, network: str) -> float:
        return bus_bandwidth(_p4d(gpus, network, assume), GiB) / GB

    source = "NVIDIA/nccl, issue 527: 1 GiB on nodes of 8 A100"
    points = (
        CollectivePoint(8, "efa", 231.0, rate(8, "efa"), source),
        CollectivePoint(16, "efa", 57.0, rate(16, "efa"), f"{source}; 400 Gb/s a node over EFA are assumed", assumed=True),
    )
    return CollectiveComparison(ALL_REDUCE, "GB/s", _curves((2, 4, 8, 16, 32, 64, 128), rate), points)


def _all_to_alls(assume: Assumed) -> CollectiveComparison:
    def share(gpus: int, network: str) -> float:
        return 100 * card_share(_p4d(gpus, network, assume), 819)

    card = MachineKnobs(
        gpu="a100-40", num_gpus=16, network="roce", network_bandwidth_GBps=ONE_CARD, gpus_per_node=NODE, assume=assume
    )
    points = (
        CollectivePoint(
            16,
            "roce",
            65.0,
            100 * card_share(card, 2048),
            "facebookresearch/dlrm, issue 356: the share that TorchRec's speed needs with one 100 Gb/s card a node, "
            "2,048 samples a GPU; RoCE, as in the preset's claim",
        ),
        CollectivePoint(
            80,
            "efa",
            25.0,
            share(80, "efa"),
            "pytorch/torchrec, examples/dlrm: the share that its speed needs on ten p4d.24xlarge, 819 samples a GPU",
        ),
    )
    return CollectiveComparison(ALL_TO_ALL, "% of a card", _curves((16, 32, 48, 64, 80, 96, 128), share), points)


def _steps(assume: Assumed) -> CollectiveComparison:
    counts, kinds = (8, 16, 32, 64, 128), names("network")
    asked = [dcnv2(count, kind, assume) for kind in kinds for count in counts]
    rates = iter([one.data.batch_size / step / 1e6 for one, step in zip(asked, step_seconds(asked), strict=True)])
    found = {(kind, count): next(rates) for kind in kinds for count in counts}
    curves = tuple(NetworkCurve(kind, counts, tuple(found[kind, count] for count in counts)) for kind in kinds)
    source = "MLPerf Training v3.0, public result logs: DCNv2, 135,168 samples a batch"
    published = ((64, 45.6, source), (128, 46.2, f"{source}, taken as that of 64"))
    points = tuple(
        CollectivePoint(count, "infiniband", rate, found["infiniband", count], said, fitted=True)
        for count, rate, said in published
    )
    return CollectiveComparison(STEP, "M samples/s", curves, points)


def _p4d(gpus: int, network: str, assume: Assumed) -> MachineKnobs:
    return MachineKnobs(
        gpu="a100-40", num_gpus=gpus, network=network, network_bandwidth_GBps=P4D_CARD, gpus_per_node=NODE, assume=assume
    )


def _curves(gpus: tuple[int, ...], value: Callable[[int, str], float]) -> tuple[NetworkCurve, ...]:
    return tuple(NetworkCurve(kind, gpus, tuple(value(count, kind) for count in gpus)) for kind in names("network"))
