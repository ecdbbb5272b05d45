"""The GPU: layer times from a GEMM model with sourced constants, or the paper's replayed times, fitted."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from engine.constants import Constant
from engine.device import Device, Kind
from engine.groups import Machine
from engine.units import FLOAT32, GB, US
from engine.work import BottomMLP, Pool, Stream, TopPart, mlp_parameters

VIDUR = "Vidur profiles, fitted"
STAS = "stas00/ml-engineering"
FIT = "fitted to TrainingCXL RM1 and RM4 by scripts/calibrate_trainingcxl.py"
HELPS = "a faster GPU or smaller MLPs would shorten it"
LAUNCH = Constant("kernel launch", 2.6, "us", 2.4, 2.7, "measured", "te42kyfo/gpu-benches", "queued stream, A100")
FLOP_ENERGY = Constant("fp32 energy", 2.7, "pJ/FLOP", 1, 5.4, "derived", "half of te42kyfo's fp64 figure")
BYTE_ENERGY = Constant("memory path energy", 124, "pJ/B", 100, 230, "derived", "te42kyfo/gpu-benches, board power")


@dataclass(frozen=True)
class Accelerator:
    """One GPU whose layers are computed from first principles."""

    peak: Constant
    bandwidth: Constant
    flop_share: Constant
    byte_share: Constant
    fixed: Constant
    rows: Constant
    idle: Constant
    memory: Constant
    price: Constant


def _accelerator(
    peak: float, bandwidth: float, idle: Constant, memory: float, price: Constant, fit: tuple[float, ...]
) -> Accelerator:
    return Accelerator(
        peak=Constant("fp32 peak", peak, "TFLOPS", peak, peak, "vendor", STAS),
        bandwidth=Constant("memory bandwidth", bandwidth, "GB/s", bandwidth, bandwidth, "vendor", STAS),
        flop_share=Constant("GEMM share of peak", fit[0], "of peak", 0.7, 0.87, "derived", VIDUR),
        byte_share=Constant("GEMM share of bandwidth", fit[1], "of bandwidth", 0.66, 0.93, "derived", VIDUR),
        fixed=Constant("GEMM fixed time", fit[2], "us", 4, 8, "derived", VIDUR),
        rows=Constant("GEMM extra rows", fit[3], "rows", 48, 160, "derived", VIDUR),
        idle=idle,
        memory=Constant("memory", memory, "GB", memory, memory, "vendor", STAS),
        price=price,
    )


HELD = Constant("power with a context held", 93, "W", 55, 96, "measured", "AcmeTrace fleet telemetry", "A100, not computing")
ACCELERATORS = {
    "a100-80": _accelerator(
        19.5, 2039, HELD, 80, Constant("price", 12_000, "USD", 9000, 17_000, "unsourced", "2023"), (0.76, 0.78, 5, 64)
    ),
    "a100-40": _accelerator(
        19.5,
        1555,
        HELD,
        40,
        Constant("price", 11_000, "USD", 8000, 15_000, "secondary", "Mercatus, used, 2026"),
        (0.76, 0.78, 5, 64),
    ),
    "v100": _accelerator(
        15.7,
        900,
        Constant("power with a context held", 45, "W", 25, 60, "secondary", "NVIDIA forum"),
        32,
        Constant("price", 2000, "USD", 1000, 10_000, "unsourced", "used"),
        (0.76, 0.78, 5, 64),
    ),
    "h100-sxm": _accelerator(
        67,
        3350,
        Constant("power with a context held", 105, "W", 72, 120, "unsourced", "A100's share of its limit"),
        80,
        Constant("price", 27_500, "USD", 25_000, 40_000, "secondary", "Epoch AI"),
        (0.76, 0.9, 7, 128),
    ),
}

REPLAY = {
    "bottom": Constant("bottom MLP per parameter", 103.8, "ps", 90, 120, "calibrated", FIT, "forward and backward together"),
    "forward": Constant("bottom MLP forward share", 0.308, "of both", 0.04, 0.4, "calibrated", FIT),
    "top": Constant("top part fixed time", 1.194, "ms", 1.0, 1.3, "calibrated", FIT, "interaction and top MLP"),
    "rate": Constant("top part per parameter", 188.6, "ps", 0, 400, "calibrated", FIT),
    "samples": Constant("batch of the replay", 128, "samples", 128, 128, "unsourced", "assumed batch size"),
    "idle": Constant("power with a context held", 100, "W", 30, 120, "unsourced", "RTX 3090, memory clocked up"),
    "busy": Constant("power in small layers", 250, "W", 180, 350, "unsourced", "RTX 3090, below its board limit"),
    "bandwidth": Constant("memory bandwidth", 936, "GB/s", 936, 936, "vendor", "RTX 3090 specification"),
    "memory": Constant("memory", 24, "GB", 24, 24, "vendor", "RTX 3090 specification"),
    "price": Constant("price", 1499, "USD", 900, 1499, "vendor", "RTX 3090 list price, 2020"),
}


def memory_bytes(machine: Machine) -> float:
    """Return the GPU's memory in bytes."""
    part = REPLAY["memory"] if machine.gpu == "trainingcxl" else ACCELERATORS[machine.gpu].memory
    return part.value * GB


@dataclass(frozen=True)
class Cost:
    """Operations, memory traffic and kernel launches of a piece of GPU work; `fixed` counts GEMMs."""

    seconds: float
    flop: float
    nbytes: float


def _gemm(gpu: Accelerator, m: int, k: int, n: int) -> Cost:
    """Cost an m×k by k×n product in fp32, for an output of m rows and n columns."""
    flop, nbytes = 2.0 * m * k * n, FLOAT32 * float(m * k + k * n + m * n)
    padded = 2.0 * (m + gpu.rows.value) * k * n / (gpu.flop_share.value * gpu.peak.value * 1e12)
    moved = nbytes / (gpu.byte_share.value * gpu.bandwidth.value * GB)
    return Cost(gpu.fixed.value * US + max(padded, moved), flop, nbytes)


def _elementwise(gpu: Accelerator, nbytes: float) -> Cost:
    return Cost(LAUNCH.value * US + nbytes / (gpu.byte_share.value * gpu.bandwidth.value * GB), 0.0, nbytes)


def _total(costs: list[Cost]) -> Cost:
    return Cost(sum(c.seconds for c in costs), sum(c.flop for c in costs), sum(c.nbytes for c in costs))


def _forward(gpu: Accelerator, samples: int, widths: tuple[int, ...]) -> list[Cost]:
    layers = list(pairwise(widths))
    return [_gemm(gpu, samples, k, n) for k, n in layers] + [_elementwise(gpu, 2.0 * FLOAT32 * samples * n) for _, n in layers]


def _backward(gpu: Accelerator, samples: int, widths: tuple[int, ...], input_gradient: bool) -> list[Cost]:
    """Activation, weight gradient, input gradient and update of each layer; the update moves 3 words a weight."""
    costs: list[Cost] = []
    for layer, (k, n) in enumerate(pairwise(widths)):
        costs += [_elementwise(gpu, 3.0 * FLOAT32 * samples * n), _gemm(gpu, k, samples, n)]
        costs += [_gemm(gpu, samples, n, k)] if layer or input_gradient else []
        costs += [_elementwise(gpu, 3.0 * FLOAT32 * (k + 1) * n)]
    return costs


def _bottom(gpu: Accelerator, work: BottomMLP) -> Cost:
    if work.direction == "forward":
        return _total(_forward(gpu, work.samples, work.widths))
    return _total(_backward(gpu, work.samples, work.widths, input_gradient=False))


def _top(gpu: Accelerator, work: TopPart) -> Cost:
    """Interaction forward and backward (4 and 6 kernels over its vectors), loss (3 kernels), top MLP."""
    vectors = float(FLOAT32 * work.samples * work.vectors * work.dim)
    outputs = float(FLOAT32 * work.samples * work.widths[0])
    interaction = [_elementwise(gpu, vectors + outputs)] * 10
    loss = [_elementwise(gpu, float(FLOAT32 * work.samples))] * 3
    forward = _forward(gpu, work.samples, work.widths)
    return _total(interaction + loss + forward + _backward(gpu, work.samples, work.widths, input_gradient=True))


def _computed(machine: Machine) -> Device:
    gpu = ACCELERATORS[machine.gpu]

    def joules(cost: Cost) -> float:
        return (cost.flop * FLOP_ENERGY.value + cost.nbytes * BYTE_ENERGY.value) * 1e-12

    def moved(nbytes: Any) -> Any:
        return (nbytes > 0) * LAUNCH.value * US + nbytes / (gpu.byte_share.value * gpu.bandwidth.value * GB)

    return Device(
        name="gpu",
        title=f"GPU, {machine.gpu}",
        helps=HELPS,
        seconds={
            BottomMLP: lambda work: _bottom(gpu, work).seconds,
            TopPart: lambda work: _top(gpu, work).seconds,
            Pool: lambda work: moved(work.nbytes),
            Stream: lambda work: moved(2 * work.nbytes),
        },
        joules={
            BottomMLP: lambda work: joules(_bottom(gpu, work)),
            TopPart: lambda work: joules(_top(gpu, work)),
            Pool: lambda work: work.nbytes * BYTE_ENERGY.value * 1e-12,
            Stream: lambda work: 2 * work.nbytes * BYTE_ENERGY.value * 1e-12,
        },
        idle_watts=gpu.idle.value,
        price=gpu.price.value,
        constants=(*(getattr(gpu, name) for name in gpu.__dataclass_fields__), LAUNCH, FLOP_ENERGY, BYTE_ENERGY),
    )


def _replayed(machine: Machine) -> Device:
    """The prototype's soft GPU: times of a batch of 128, assumed linear in the batch beyond it."""
    part = {name: constant.value for name, constant in REPLAY.items()}

    def bottom(work: BottomMLP) -> float:
        share = part["forward"] if work.direction == "forward" else 1 - part["forward"]
        return share * part["bottom"] * 1e-12 * mlp_parameters(work.widths) * max(1.0, work.samples / part["samples"])

    def top(work: TopPart) -> float:
        one = part["top"] * 1e-3 + part["rate"] * 1e-12 * mlp_parameters(work.widths)
        return one * max(1.0, work.samples / part["samples"])

    def moved(work: Pool | Stream) -> Any:
        return (2 if isinstance(work, Stream) else 1) * work.nbytes / (part["bandwidth"] * GB)

    return Device(
        name="gpu",
        title="GPU, the TrainingCXL prototype's",
        helps=HELPS,
        seconds={BottomMLP: bottom, TopPart: top, Pool: moved, Stream: moved},
        idle_watts=part["idle"],
        busy_watts=part["busy"] - part["idle"],
        price=part["price"],
        constants=tuple(REPLAY.values()),
    )


def build(machine: Machine) -> Device:
    """Build the GPU of `machine`."""
    return _replayed(machine) if machine.gpu == "trainingcxl" else _computed(machine)


def constants() -> tuple[Constant, ...]:
    """Return the constants of the default GPU."""
    return build(Machine()).constants


DEVICE = Kind("GPU", build, constants)
