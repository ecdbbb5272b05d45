"""Collectives between GPUs over their number: simulated all-reduce, all-to-all and step, beside published numbers.

A comparison has a curve for each kind of network, all in one set-up, and published points, each simulated in its own set-up.
Bus bandwidth is counted as by nccl-tests: bytes of one GPU over seconds, times 2 (P - 1) / P, with P the number of GPUs.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...core.catalog import part_names_of
from ...core.work import AllReduce
from ...estimates import step_seconds
from ...hardware.device import Device, seconds
from ...registry import load_variant
from ...scenario.machine import MachineKnobs
from ...scenario.presets import preset
from ...scenario.scenario import Scenario, with_values
from ...systems.exchange.crossing import vector_crossing
from ...systems.row_kinds import vector_bytes
from ...systems.sharding import Parts, plan_over_runs
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
HOST_OF_CARD = ("host.PCIe-generation", 5.0)  # 16 lanes of an older host are slower than a card of 400 Gb/s
AssumedConstants = tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class NetworkCurve:
    """Simulated numbers over one kind of network, for each number of GPUs.

    The values are in the unit of the comparison.
    """

    network: str
    gpus: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class CollectivePoint:
    """A published number and the simulated one in the same set-up.

    gpus: the number of GPUs.
    network: the kind of network that the set-up has, or is taken to have.
    published, simulated_value: the published number and the simulated one.
    source: where the number was published.
    fitted: whether a constant was fitted to the number.
    assumed: whether the source, as far as we know, does not name the network.
    """

    gpus: int
    network: str
    published: float
    simulated_value: float
    source: str
    fitted: bool = False
    assumed: bool = False

    @property
    def relative_error(self) -> float:
        """The simulated number divided by the published number, less 1."""
        return self.simulated_value / self.published - 1


@dataclass(frozen=True)
class CollectiveComparison:
    """A collective or a step: simulated curves by kind of network, and published points.

    All numbers are in `unit`.
    """

    name: str
    unit: str
    curves: tuple[NetworkCurve, ...]
    points: tuple[CollectivePoint, ...]

    def other_errors(self, point: CollectivePoint) -> dict[str, float]:
        """Return the relative error that each other network would have at a point.

        Empty unless the point's network is assumed.
        """
        numbers = {curve.network: dict(zip(curve.gpus, curve.values, strict=True)).get(point.gpus) for curve in self.curves}
        other_numbers = {name: number for name, number in numbers.items() if number is not None and name != point.network}
        return {name: number / point.published - 1 for name, number in other_numbers.items()} if point.assumed else {}


def collectives(assume: AssumedConstants = ()) -> tuple[CollectiveComparison, ...]:
    """Return the comparisons of all-reduce, all-to-all and step with published numbers.

    assume: constants to use in place of the catalogue's.
    """
    return _all_reduces(assume), _all_to_alls(assume), _steps(assume)


def bus_bandwidth(machine: MachineKnobs, nbytes: float) -> float:
    """Return the bus bandwidth [bytes/s] of an all-reduce of `nbytes` on each GPU."""
    count = machine.num_gpus
    return 2 * (count - 1) / count * nbytes / float(seconds(_links(machine), AllReduce(nbytes)))


def card_share(machine: MachineKnobs, samples: int) -> float:
    """Return the share of a network card's bandwidth that TorchRec's exchange reaches.

    The exchange carries pooled vectors, with all tables cut by rows.
    Each GPU has `samples` samples of a batch. Without a second node the share is 0.
    """
    scenario, parts = preset(MODEL).scenario, Parts(machine.num_gpus, machine.gpus_per_node)
    tables = np.zeros(scenario.model.num_tables, dtype=np.int64)
    plan = plan_over_runs([tuple(range(parts.number))], tables)
    exchange = vector_crossing(parts, plan, float(samples * parts.number * vector_bytes(scenario)))
    return exchange.network / float(seconds(_links(machine), exchange.work())) / (machine.network_bandwidth_GBps * GB)


def dcnv2(gpus: int, network: str, assume: AssumedConstants = ()) -> Scenario:
    """Return the scenario of MLPerf v3.0's DCNv2 on `gpus` H100, with 400 Gb/s for each GPU."""
    machine_knobs = {"machine.num_gpus": gpus, "machine.network": network, "machine.assume": (HOST_OF_CARD, *assume)}
    return with_values(preset(DCNV2_PRESET).scenario, {**DCNV2, **machine_knobs})


def _links(machine: MachineKnobs) -> Device:
    device: Device = load_variant("devices", "network").build(machine)
    return device


def _all_reduces(assume: AssumedConstants) -> CollectiveComparison:
    def rate(gpus: int, network: str) -> float:
        return bus_bandwidth(_p4d(gpus, network, assume), GiB) / GB

    source = "NVIDIA/nccl, issue 527: 1 GiB on nodes of 8 A100"
    points = (
        CollectivePoint(8, "efa", 231.0, rate(8, "efa"), source),
        CollectivePoint(16, "efa", 57.0, rate(16, "efa"), f"{source}; 400 Gb/s a node over EFA are assumed", assumed=True),
    )
    return CollectiveComparison(ALL_REDUCE, "GB/s", _curves((2, 4, 8, 16, 32, 64, 128), rate), points)


def _all_to_alls(assume: AssumedConstants) -> CollectiveComparison:
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


def _steps(assume: AssumedConstants) -> CollectiveComparison:
    counts, kinds = (8, 16, 32, 64, 128), part_names_of("network")
    scenarios = [dcnv2(count, kind, assume) for kind in kinds for count in counts]
    rates = iter([s.data.batch_size / step / 1e6 for s, step in zip(scenarios, step_seconds(scenarios), strict=True)])
    rate_by_case = {(kind, count): next(rates) for kind in kinds for count in counts}
    curves = tuple(NetworkCurve(kind, counts, tuple(rate_by_case[kind, count] for count in counts)) for kind in kinds)
    source = "MLPerf Training v3.0, public result logs: DCNv2, 135,168 samples a batch"
    published = ((64, 45.6, source), (128, 46.2, f"{source}, taken as that of 64"))
    points = tuple(
        CollectivePoint(count, "infiniband", rate, rate_by_case["infiniband", count], source_text, fitted=True)
        for count, rate, source_text in published
    )
    return CollectiveComparison(STEP, "M samples/s", curves, points)


def _p4d(gpus: int, network: str, assume: AssumedConstants) -> MachineKnobs:
    return MachineKnobs(
        gpu="a100-40", num_gpus=gpus, network=network, network_bandwidth_GBps=P4D_CARD, gpus_per_node=NODE, assume=assume
    )


def _curves(gpus: tuple[int, ...], number_of: Callable[[int, str], float]) -> tuple[NetworkCurve, ...]:
    return tuple(NetworkCurve(kind, gpus, tuple(number_of(count, kind) for count in gpus)) for kind in part_names_of("network"))
