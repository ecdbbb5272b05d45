"""The GPU: layer times from a GEMM model with sourced constants, or the paper's replayed times, fitted."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ...core.catalog import Catalogue, quantity
from ...core.constants import Constant
from ...core.work import BottomMLP, Pool, RowReads, RowUpdates, Stream, TopPart, mlp_parameters
from ...scenario.machine import MachineKnobs
from ...units import FLOAT32, GB, US
from ..device import Device, DeviceKind, assumed, assumed_value, fields_of, gpus, some

SECTOR = 32  # bytes of a memory transaction
HELPS = "a faster GPU or smaller MLPs would shorten it"


REMOTE = quantity(
    "remote lines in flight",
    "lines",
    default=Constant("", 1024, "", 256, 4096, "unsourced", "reads of host memory that a GPU's PCIe port keeps track of"),
)


@dataclass(frozen=True)
class Accelerator:
    """One GPU whose layers are computed from first principles."""

    peak: Constant = quantity("fp32 peak", "TFLOPS")
    tensor: Constant = quantity("tf32 peak", "TFLOPS")
    bandwidth: Constant = quantity("memory bandwidth", "GB/s")
    flop_share: Constant = quantity("GEMM share of peak", "of peak")
    byte_share: Constant = quantity("GEMM share of bandwidth", "of bandwidth")
    fixed: Constant = quantity("GEMM fixed time", "us")
    rows: Constant = quantity("GEMM extra rows", "rows")
    idle: Constant = quantity("power with a context held", "W")
    limit: Constant = quantity("board limit", "W")
    memory: Constant = quantity("memory", "GB")
    price: Constant = quantity("price", "USD")
    launch: Constant = quantity("kernel launch", "us")
    flop_energy: Constant = quantity("fp32 energy", "pJ/FLOP")
    byte_energy: Constant = quantity("memory path energy", "pJ/B", switch="gpu_memory_energy_source", choices=("device", "board"))
    remote: Constant = REMOTE


@dataclass(frozen=True)
class ReplayedTimes:
    """A GPU that replays measured times, as the TrainingCXL prototype's soft one does."""

    bottom: Constant = quantity("bottom MLP per parameter", "ps")
    forward: Constant = quantity("bottom MLP forward share", "of both")
    top: Constant = quantity("top part fixed time", "ms")
    rate: Constant = quantity("top part per parameter", "ps", zero=True)
    samples: Constant = quantity("batch of the replay", "samples")
    idle: Constant = quantity("power with a context held", "W")
    busy: Constant = quantity("power in small layers", "W")
    bandwidth: Constant = quantity("memory bandwidth", "GB/s")
    memory: Constant = quantity("memory", "GB")
    price: Constant = quantity("price", "USD")
    remote: Constant = REMOTE


ACCELERATORS = Catalogue("gpu", Accelerator, uses=("fabric",))
REPLAYS = Catalogue("gpu-replay", ReplayedTimes, uses=("fabric",))


def memory_bytes(machine: MachineKnobs) -> float:
    """Return the GPU's memory in bytes."""
    return assumed_value(machine, "gpu", _part(machine).memory) * GB


def remote_lines(machine: MachineKnobs) -> float:
    """Return how many 64 B lines outside its memory a GPU waits for at a time."""
    return assumed_value(machine, "gpu", _part(machine).remote)


def _part(machine: MachineKnobs) -> Accelerator | ReplayedTimes:
    return REPLAYS[machine.gpu] if machine.gpu in REPLAYS else ACCELERATORS[machine.gpu]


@dataclass(frozen=True)
class LayerCost:
    """Operations, memory traffic and kernel launches of a piece of GPU work; `fixed` counts GEMMs."""

    seconds: Any
    flop: Any
    nbytes: Any


def _gemm(gpu: Accelerator, m: Any, k: Any, n: int) -> LayerCost:
    """Cost an m×k by k×n product in fp32, for an output of m rows and n columns."""
    flop, nbytes = 2.0 * m * k * n, 1.0 * FLOAT32 * (m * k + k * n + m * n)
    padded = 2.0 * (m + gpu.rows.value) * k * n / (gpu.flop_share.value * gpu.peak.value * 1e12)
    moved = nbytes / (gpu.byte_share.value * gpu.bandwidth.value * GB)
    return LayerCost(gpu.fixed.value * US + np.maximum(padded, moved), flop, nbytes)


def _elementwise(gpu: Accelerator, nbytes: Any) -> LayerCost:
    return LayerCost(gpu.launch.value * US + nbytes / (gpu.byte_share.value * gpu.bandwidth.value * GB), 0.0, nbytes)


def _total(costs: list[LayerCost], samples: Any) -> LayerCost:
    """Return the sum; without samples nothing is launched."""
    return LayerCost(*(some(samples) * sum(part) for part in zip(*((c.seconds, c.flop, c.nbytes) for c in costs), strict=True)))


def _forward(gpu: Accelerator, samples: Any, widths: tuple[int, ...]) -> list[LayerCost]:
    layers = list(pairwise(widths))
    return [_gemm(gpu, samples, k, n) for k, n in layers] + [_elementwise(gpu, 2.0 * FLOAT32 * samples * n) for _, n in layers]


def _backward(gpu: Accelerator, samples: Any, widths: tuple[int, ...], input_gradient: bool) -> list[LayerCost]:
    """Activation, weight gradient, input gradient and update of each layer; the update moves 3 words a weight."""
    costs: list[LayerCost] = []
    for layer, (k, n) in enumerate(pairwise(widths)):
        costs += [_elementwise(gpu, 3.0 * FLOAT32 * samples * n), _gemm(gpu, k, samples, n)]
        costs += [_gemm(gpu, samples, n, k)] if layer or input_gradient else []
        costs += [_elementwise(gpu, 3.0 * FLOAT32 * (k + 1) * n)]
    return costs


def _bottom(gpu: Accelerator, work: BottomMLP) -> LayerCost:
    if work.direction == "forward":
        return _total(_forward(gpu, work.samples, work.widths), work.samples)
    return _total(_backward(gpu, work.samples, work.widths, input_gradient=False), work.samples)


def _top(gpu: Accelerator, work: TopPart) -> LayerCost:
    """Interaction forward and backward (4 and 6 kernels over its vectors), loss (3 kernels), top MLP."""
    vectors = 1.0 * FLOAT32 * work.samples * work.vectors * work.dim
    outputs = 1.0 * FLOAT32 * work.samples * work.widths[0]
    interaction = [_elementwise(gpu, vectors + outputs)] * 10
    loss = [_elementwise(gpu, 1.0 * FLOAT32 * work.samples)] * 3
    forward = _forward(gpu, work.samples, work.widths)
    return _total(interaction + loss + forward + _backward(gpu, work.samples, work.widths, input_gradient=True), work.samples)


def _moved(work: Pool | Stream | RowReads | RowUpdates) -> Any:
    """Return the bytes that cross the memory path: rows move in whole sectors; a copy and an update read and write theirs."""
    times = 2 if isinstance(work, Stream | RowUpdates) else 1
    if isinstance(work, Pool | Stream):
        return times * work.nbytes
    return times * work.rows * SECTOR * np.ceil(work.row_bytes / SECTOR)


MOVES = (Pool, Stream, RowReads, RowUpdates)


def _computed(name: str, gpu: Accelerator) -> Device:

    def joules(cost: LayerCost) -> Any:
        return (cost.flop * gpu.flop_energy.value + cost.nbytes * gpu.byte_energy.value) * 1e-12

    def move(work: Pool | Stream | RowReads | RowUpdates) -> Any:
        nbytes = _moved(work)
        return (nbytes > 0) * gpu.launch.value * US + nbytes / (gpu.byte_share.value * gpu.bandwidth.value * GB)

    return Device(
        name="gpu",
        title=f"GPU, {name}",
        helps=HELPS,
        seconds={
            BottomMLP: lambda work: _bottom(gpu, work).seconds,
            TopPart: lambda work: _top(gpu, work).seconds,
            **dict.fromkeys(MOVES, move),
        },
        joules={
            BottomMLP: lambda work: joules(_bottom(gpu, work)),
            TopPart: lambda work: joules(_top(gpu, work)),
            **dict.fromkeys(MOVES, lambda work: _moved(work) * gpu.byte_energy.value * 1e-12),
        },
        idle_watts=gpu.idle.value,
        full_watts=gpu.limit.value,
        price=gpu.price.value,
        constants=tuple(dict.fromkeys(fields_of(gpu))),  # in tf32 its peak is the peak
    )


def _replayed(gpu: ReplayedTimes) -> Device:
    """The prototype's soft GPU: times of a batch of 128, assumed linear in the batch beyond it."""

    def replays(samples: Any) -> Any:
        return some(samples) * np.maximum(1.0, samples / gpu.samples.value)

    def bottom(work: BottomMLP) -> Any:
        share = gpu.forward.value if work.direction == "forward" else 1 - gpu.forward.value
        return share * gpu.bottom.value * 1e-12 * mlp_parameters(work.widths) * replays(work.samples)

    def top(work: TopPart) -> Any:
        one = gpu.top.value * 1e-3 + gpu.rate.value * 1e-12 * mlp_parameters(work.widths)
        return one * replays(work.samples)

    def move(work: Pool | Stream | RowReads | RowUpdates) -> Any:
        return _moved(work) / (gpu.bandwidth.value * GB)

    return Device(
        name="gpu",
        title="GPU, the TrainingCXL prototype's",
        helps=HELPS,
        seconds={BottomMLP: bottom, TopPart: top, **dict.fromkeys(MOVES, move)},
        idle_watts=gpu.idle.value,
        busy_watts=gpu.busy.value - gpu.idle.value,
        price=gpu.price.value,
        constants=fields_of(gpu),
    )


def build(machine: MachineKnobs) -> Device:
    """Build the GPU of `machine`."""
    part = assumed(machine, "gpu", _part(machine))
    if isinstance(part, ReplayedTimes):
        return _replayed(part)
    return _computed(machine.gpu, replace(part, peak=part.tensor) if machine.matrix_precision == "tf32" else part)


def parts() -> dict[str, tuple[Constant, ...]]:
    """Return the constants of every GPU."""
    return {name: fields_of(gpu) for name, gpu in (*ACCELERATORS.items(), *REPLAYS.items())}


DEVICE = DeviceKind("GPU", build, parts, reads=("gpu", "matrix_precision", "gpu_memory_energy_source"), copies=gpus)
