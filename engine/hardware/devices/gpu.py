"""GPU: layer times computed from sourced constants of GEMMs, or replayed measured times.

The replayed times are those of the TrainingCXL paper, with fitted constants.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np

from ...core.catalog import Catalogue
from ...core.constants import Constant
from ...core.part_files.tables import FORMS, optional_price, quantity
from ...core.row_sizes import granule_bytes
from ...core.work import (
    BottomMLP,
    HistoryPart,
    LayerWork,
    Pool,
    RowReads,
    RowUpdates,
    Stream,
    TopPart,
    Work,
    cross_parameters,
    mlp_parameters,
)
from ...scenario.machine import MachineKnobs
from ...units import GB, US
from ..device import Cost, Device, DeviceKind, assumed_part, assumed_value, fields_of, gpus_in_node, is_positive, nodes
from ..framework import CAPTURED, FRAMEWORKS, has_trait
from ..gpu_defaults import FLOOR, GRAPH, NO_UNIT, PORT, REMOTE, TRIP, attention_share, operation_energy
from ..layer_kernels import Arithmetic
from ..layers import joules, layer_cost
from ..money.bill import BillItem
from ..software import GPU_PLATFORMS, PLATFORM_LIST
from .chassis import bought_gpus

SECTOR = 32  # bytes of a memory transaction
HELPS = "a faster GPU or smaller MLPs would shorten it"


class Precision(NamedTuple):
    """A precision in which a GPU computes layers.

    peak, energy: the names of the fields of `Accelerator` with the peak rate and the energy of this precision.
    word: bytes of an activation.
    """

    peak: str
    energy: str
    word: int


PRECISIONS = {
    "fp32": Precision("peak", "flop_energy", 4),
    "tf32": Precision("tf32_peak", "tf32_energy", 4),
    "bf16": Precision("bf16_peak", "half_energy", 2),
    "fp16": Precision("fp16_peak", "half_energy", 2),
}


@dataclass(frozen=True)
class Accelerator:
    """Constants of one GPU whose layer times are computed.

    The `quantity` of each field has the constant's name and unit.
    """

    peak: Constant = quantity("fp32 peak", "TFLOPS")
    bandwidth: Constant = quantity("memory bandwidth", "GB/s")
    flop_share: Constant = quantity("GEMM share of peak", "of peak")
    byte_share: Constant = quantity("GEMM share of bandwidth", "of bandwidth")
    fixed: Constant = quantity("GEMM fixed time", "us")
    rows: Constant = quantity("GEMM extra rows", "rows")
    idle: Constant = quantity("power with a context held", "W")
    limit: Constant = quantity("board limit", "W")
    memory: Constant = quantity("memory", "GB", choice=True)
    price: Constant | None = optional_price("USD")
    launch: Constant = quantity("kernel launch", "us")
    flop_energy: Constant = quantity("fp32 energy", "pJ/FLOP")
    byte_energy: Constant = quantity("memory path energy", "pJ/B", switch="gpu_memory_energy_source", choices=("device", "board"))
    tf32_peak: Constant = quantity("tf32 peak", "TFLOPS", default=NO_UNIT, zero=True)
    bf16_peak: Constant = quantity("bf16 peak", "TFLOPS", default=NO_UNIT, zero=True)
    fp16_peak: Constant = quantity("fp16 peak", "TFLOPS", default=NO_UNIT, zero=True)
    tf32_energy: Constant = quantity("tf32 energy", "pJ/FLOP", default=operation_energy(1.0, 0.44, 2.7, "twice 16 bits'"))
    half_energy: Constant = quantity(
        "16-bit energy", "pJ/FLOP", default=operation_energy(0.5, 0.22, 1.3, "an RTX 3090's, to a board's limit")
    )
    port: Constant = PORT
    graph: Constant = quantity("kernel in a graph", "us", default=GRAPH)
    floor: Constant = quantity("power between kernels", "of the limit", default=FLOOR)
    remote: Constant = REMOTE
    trip: Constant = TRIP
    attention: Constant = quantity("attention share of peak", "of peak", default=attention_share(0.091, 0.05, 0.2))
    fused_forward: Constant = quantity(
        "fused attention forward share of peak", "of peak", default=attention_share(0.57, 0.4, 0.7)
    )
    fused_backward: Constant = quantity(
        "fused attention backward share of peak", "of peak", default=attention_share(0.34, 0.25, 0.5)
    )


@dataclass(frozen=True)
class ReplayedTimes:
    """Constants of a GPU that replays measured times: the TrainingCXL prototype's soft GPU."""

    bottom: Constant = quantity("bottom MLP per parameter", "ps")
    forward: Constant = quantity("bottom MLP forward share", "of both")
    top: Constant = quantity("top part fixed time", "ms")
    rate: Constant = quantity("top part per parameter", "ps", zero=True)
    samples: Constant = quantity("batch of the replay", "samples")
    idle: Constant = quantity("power with a context held", "W")
    busy: Constant = quantity("power in small layers", "W")
    bandwidth: Constant = quantity("memory bandwidth", "GB/s")
    memory: Constant = quantity("memory", "GB", choice=True)
    price: Constant | None = optional_price("USD")
    remote: Constant = REMOTE
    port: Constant = PORT
    trip: Constant = TRIP


ACCELERATORS = Catalogue("gpu", Accelerator, uses=("fabric",), forms=FORMS, lists={PLATFORM_LIST: GPU_PLATFORMS})
REPLAYS = Catalogue("gpu-replay", ReplayedTimes, uses=("fabric",))


def memory_bytes(machine: MachineKnobs) -> float:
    """Return the GPU's memory in bytes."""
    return assumed_value(machine, "gpu", _part(machine).memory) * GB


def max_watts(machine: MachineKnobs) -> float:
    """Return the power of a GPU at full work [W]."""
    part = _part(machine)
    return assumed_value(machine, "gpu", part.limit if isinstance(part, Accelerator) else part.busy)


def node_watts(machine: MachineKnobs) -> float:
    """Return the power of the fullest node's GPUs at full work, spare ones idle [W]."""
    part, training = _part(machine), gpus_in_node(machine)
    spares = max(bought_gpus(machine) // nodes(machine) - training, 0)
    return training * max_watts(machine) + spares * assumed_value(machine, "gpu", part.idle)


def port(machine: MachineKnobs) -> float:
    """Return the rate of the GPU's end of its port, one direction [GB/s]."""
    return assumed_value(machine, "gpu", _part(machine).port)


def remote_lines(machine: MachineKnobs) -> float:
    """Return how many 64 B lines of other memories a GPU has in flight."""
    return assumed_value(machine, "gpu", _part(machine).remote)


def host_read_pace(machine: MachineKnobs) -> float:
    """Return the least seconds between two reads of host memory by a GPU."""
    return assumed_value(machine, "gpu", _part(machine).trip) * US / remote_lines(machine)


def _part(machine: MachineKnobs) -> Accelerator | ReplayedTimes:
    """Return the constants of the machine's GPU."""
    return REPLAYS[machine.gpu] if machine.gpu in REPLAYS else ACCELERATORS[machine.gpu]


def _path_bytes(work: Pool | Stream | RowReads | RowUpdates) -> Any:
    """Return the bytes that cross the memory path.

    Rows move in whole sectors; a copy and an update both read and write theirs.
    """
    times = 2 if isinstance(work, Stream | RowUpdates) else 1
    if isinstance(work, Pool | Stream):
        return times * work.nbytes
    return times * work.rows * granule_bytes(work.row_bytes, SECTOR)


LAYERS, BYTE_WORK = (BottomMLP, HistoryPart, TopPart), (Pool, Stream, RowReads, RowUpdates)


def _captured(gpu: Accelerator) -> Accelerator:
    """Return the GPU with the kernel times of a CUDA graph.

    Kernels of a graph follow each other sooner than those of a stream, GEMMs by the same time.
    """
    sooner = max(0.0, gpu.launch.value - gpu.graph.value)
    fixed = max(gpu.fixed.value - sooner, gpu.graph.value)
    return replace(gpu, launch=gpu.graph, fixed=gpu.fixed.with_assumption(fixed))


def _move_seconds(gpu: Arithmetic, work: Pool | Stream | RowReads | RowUpdates) -> Any:
    """Return the seconds of work that moves bytes: its launch, its tables, its bytes."""
    nbytes = _path_bytes(work)
    table_seconds = work.tables * gpu.table if isinstance(work, Pool) else 0.0
    return (nbytes > 0) * (gpu.launch + table_seconds) + nbytes / gpu.bandwidth


def _move_joules(gpu: Arithmetic, work: Pool | Stream | RowReads | RowUpdates) -> Any:
    """Return the joules of work that moves bytes."""
    return _within_limit(gpu, work, _path_bytes(work) * gpu.per_byte)


def _layer_joules(gpu: Arithmetic, work: LayerWork) -> Any:
    """Return the joules of layers."""
    return _within_limit(gpu, work, joules(work, gpu))


def _within_limit(gpu: Arithmetic, work: Work, amount: Any) -> Any:
    """Return joules, at most those that the board's limit allows in the work's time."""
    return np.minimum(amount, gpu.spare * SECONDS[type(work)](gpu, work))


def _watts_between_kernels(gpu: Accelerator) -> float:
    """Return the W of a GPU in training, between its kernels."""
    return max(gpu.idle.value, gpu.floor.value * gpu.limit.value)


SECONDS: Mapping[type, Cost] = {
    **dict.fromkeys(LAYERS, lambda gpu, work: layer_cost(work, gpu).seconds),
    **dict.fromkeys(BYTE_WORK, _move_seconds),
}
JOULES: Mapping[type, Cost] = {
    **dict.fromkeys(LAYERS, _layer_joules),
    **dict.fromkeys(BYTE_WORK, _move_joules),
}


def straggler_factor(machine: MachineKnobs) -> float:
    """Return the slowest GPU's step time over the mean GPU's step time.

    The factor is a bound on the expected maximum of normally distributed step times with `machine.step_jitter`.
    """
    return 1 + machine.step_jitter * sqrt(2 * log(machine.num_gpus))


def _computed(name: str, gpu: Accelerator, precision: Precision, slower: float, table: float, fused_attention: bool) -> Device:
    """Return a GPU whose layer times are computed."""
    peak = getattr(gpu, precision.peak).value * 1e12 / slower
    shares = (gpu.fused_forward, gpu.fused_backward) if fused_attention else (gpu.attention, gpu.attention)
    rates = Arithmetic(
        rate=gpu.flop_share.value * peak,
        attention_forward=shares[0].value * peak,
        attention_backward=shares[1].value * peak,
        bandwidth=gpu.byte_share.value * gpu.bandwidth.value * GB / slower,
        word=precision.word,
        per_flop=getattr(gpu, precision.energy).value * 1e-12,
        per_byte=gpu.byte_energy.value * 1e-12,
        fixed=gpu.fixed.value * US * slower,
        launch=gpu.launch.value * US * slower,
        rows=gpu.rows.value,
        table=table,
        spare=gpu.limit.value - _watts_between_kernels(gpu),
    )
    return Device(
        name="gpu",
        title=f"GPU, {name}",
        helps=HELPS,
        rates=rates,
        seconds=SECONDS,
        joules=JOULES,
        idle_watts=_watts_between_kernels(gpu),
        full_watts=gpu.limit.value,
        spare_watts=gpu.idle.value,
    )


class ReplayRates(NamedTuple):
    """Numbers of a GPU that replays measured times.

    bottom, rate: time per parameter of the bottom MLP, and of the top part [ps].
    forward: share of the forward pass in the bottom MLP's time.
    top: fixed time of the top part [ms].
    samples: samples of the replayed batch.
    bandwidth: memory bandwidth [B/s].
    """

    bottom: float
    forward: float
    top: float
    rate: float
    samples: float
    bandwidth: float


def _replays(gpu: ReplayRates, samples: Any) -> Any:
    """Return the replays of a batch: at least one, then linear in its samples."""
    return is_positive(samples) * np.maximum(1.0, samples / gpu.samples)


def _bottom_seconds(gpu: ReplayRates, work: BottomMLP) -> Any:
    """Return the replayed seconds of the bottom MLP."""
    share = gpu.forward if work.direction == "forward" else 1 - gpu.forward
    return share * gpu.bottom * 1e-12 * mlp_parameters(work.widths) * _replays(gpu, work.samples)


def _top_seconds(gpu: ReplayRates, work: TopPart) -> Any:
    """Return the replayed seconds of the top part."""
    parameters = mlp_parameters(work.widths) + cross_parameters(work.widths[0], work.ranks)
    return (gpu.top * 1e-3 + gpu.rate * 1e-12 * parameters) * _replays(gpu, work.samples)


REPLAYED_SECONDS: Mapping[type, Cost] = {
    BottomMLP: _bottom_seconds,
    TopPart: _top_seconds,
    **dict.fromkeys(BYTE_WORK, lambda gpu, work: _path_bytes(work) / gpu.bandwidth),
}


def _replayed(gpu: ReplayedTimes) -> Device:
    """Return the prototype's soft GPU: times of a batch of 128, assumed linear beyond it."""
    times = {name: getattr(gpu, name).value for name in ("bottom", "forward", "top", "rate", "samples")}
    return Device(
        name="gpu",
        title="GPU, the TrainingCXL prototype's",
        helps=HELPS,
        rates=ReplayRates(**times, bandwidth=gpu.bandwidth.value * GB),
        seconds=REPLAYED_SECONDS,
        idle_watts=gpu.idle.value,
        busy_watts=gpu.busy.value - gpu.idle.value,
        constants=fields_of(gpu),
    )


def build(machine: MachineKnobs) -> Device:
    """Return the GPU of `machine` as a device."""
    kind = REPLAYS.kind if machine.gpu in REPLAYS else ACCELERATORS.kind
    part = assumed_part(machine, "gpu", _part(machine), kind, machine.gpu)
    bill = (BillItem(kind, machine.gpu, 1, part.price),)
    if isinstance(part, ReplayedTimes):
        return replace(_replayed(part), bill=bill)
    gpu = _captured(part) if has_trait(machine.framework, CAPTURED) else part
    table = assumed_value(machine, "host", FRAMEWORKS[machine.framework].sparse_table) * US
    precision, fused = PRECISIONS[machine.matrix_precision], machine.attention == "fused"
    device = _computed(machine.gpu, gpu, precision, straggler_factor(machine), table, fused)
    return replace(device, constants=_constants(part), bill=bill)


def no_unit(machine: MachineKnobs) -> str:
    """Return why the GPU cannot compute in the chosen precision; "" if it can.

    A GPU that replays times computes in fp32 only.
    """
    part, precision = _part(machine), machine.matrix_precision
    peaks = {name: getattr(part, names_of.peak, NO_UNIT) for name, names_of in PRECISIONS.items()}
    possible = [name for name, peak in peaks.items() if name == "fp32" or assumed_value(machine, "gpu", peak) > 0]
    if precision in possible:
        return ""
    return (
        f"machine.matrix_precision={precision} is not possible: machine.gpu={machine.gpu} computes in "
        f"{' or '.join(possible)}; choose one of these, or another GPU."
    )


def no_attention(machine: MachineKnobs, is_sequential: bool) -> str:
    """Return why the GPU cannot time layers over histories; "" if it can.

    `is_sequential`: whether the model has such layers.
    """
    if not is_sequential or isinstance(_part(machine), Accelerator):
        return ""
    return (
        f"machine.gpu={machine.gpu} replays measured times of other layers, so model.interaction=hstu has no time on it; choose "
        "another GPU."
    )


def word_bytes(machine: MachineKnobs) -> int:
    """Return the bytes of an activation in the chosen precision."""
    return PRECISIONS[machine.matrix_precision].word


def parts() -> dict[str, tuple[Constant, ...]]:
    """Return the constants of every GPU, by name."""
    gpus: tuple[tuple[str, Accelerator | ReplayedTimes], ...] = (*ACCELERATORS.items(), *REPLAYS.items())
    return {name: _constants(gpu) for name, gpu in gpus}


def _constants(gpu: Accelerator | ReplayedTimes) -> tuple[Constant, ...]:
    """Return the constants of a GPU, without the zero peaks of units that it lacks."""
    return tuple(constant for constant in fields_of(gpu) if constant.value or constant.confidence != "vendor")


DEVICE = DeviceKind(
    "GPU",
    build,
    parts,
    knob_names=("gpu", "framework", "step_jitter", "matrix_precision", "attention", "gpu_memory_energy_source", "prices"),
    copies=lambda machine: machine.num_gpus,
    spares=lambda machine: bought_gpus(machine) - machine.num_gpus,
    kinds=("gpu", "gpu-replay"),
)
