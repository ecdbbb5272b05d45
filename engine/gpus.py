"""The catalogue of GPUs: computed ones from first principles, and the prototype's replayed one."""

from dataclasses import dataclass

from engine.constants import Constant, Said

VIDUR = "Vidur profiles, fitted"
STAS = "stas00/ml-engineering"
FIT = "fitted to TrainingCXL RM1 and RM4 by scripts/calibrate_trainingcxl.py"
LAUNCH = Constant("kernel launch", 2.6, "us", 2.4, 2.7, "measured", "te42kyfo/gpu-benches", "queued stream, A100")
FLOP_ENERGY = Constant("fp32 energy", 2.7, "pJ/FLOP", 1, 5.4, "derived", "half of te42kyfo's fp64 figure")
BYTE_ENERGY = Constant("memory path energy", 124, "pJ/B", 100, 230, "derived", "te42kyfo/gpu-benches, board power")
# What the memory device alone takes, by its type, and what a board's power meter sees of a byte.
DEVICE_ENERGY: dict[str, Said] = {
    "hbm2": (31.2, 28, 56, "unsourced", "3.9 pJ/bit, O'Connor et al., MICRO'17, recalled"),
    "hbm2e": (48, 40, 56, "secondary", "6 pJ/bit of HBM2E, a comparison table after Micron"),
    "hbm3": (48, 28, 56, "unsourced", "as HBM2E: nothing found for HBM3"),
}
BOARD_ENERGY: Said = (124, 100, 140, "derived", "te42kyfo/gpu-benches: A100 board power over bytes, 122 on a V100")


@dataclass(frozen=True)
class Accelerator:
    """One GPU whose layers are computed from first principles."""

    peak: Constant
    tensor: Constant
    bandwidth: Constant
    flop_share: Constant
    byte_share: Constant
    fixed: Constant
    rows: Constant
    idle: Constant
    limit: Constant
    memory: Constant
    price: Constant
    launch: Constant = LAUNCH
    flop_energy: Constant = FLOP_ENERGY
    byte_energy: Constant = BYTE_ENERGY


def _accelerator(
    peak: float,
    tensor: float,
    bandwidth: float,
    idle: Constant,
    limit: Constant,
    memory: float,
    price: Constant,
    fit: tuple[float, ...],
    memory_type: str,
) -> Accelerator:
    return Accelerator(
        peak=Constant("fp32 peak", peak, "TFLOPS", peak, peak, "vendor", STAS),
        tensor=Constant("tf32 peak", tensor, "TFLOPS", tensor, tensor, "vendor", STAS, "dense; fp32's where there is no tf32"),
        bandwidth=Constant("memory bandwidth", bandwidth, "GB/s", bandwidth, bandwidth, "vendor", STAS),
        flop_share=Constant("GEMM share of peak", fit[0], "of peak", 0.7, 0.87, "derived", VIDUR),
        byte_share=Constant("GEMM share of bandwidth", fit[1], "of bandwidth", 0.66, 0.93, "derived", VIDUR),
        fixed=Constant("GEMM fixed time", fit[2], "us", 4, 8, "derived", VIDUR),
        rows=Constant("GEMM extra rows", fit[3], "rows", 48, 160, "derived", VIDUR),
        idle=idle,
        limit=limit,
        memory=Constant("memory", memory, "GB", memory, memory, "vendor", STAS),
        price=price,
        byte_energy=BYTE_ENERGY.disputed("gpu_memory_energy_source", device=DEVICE_ENERGY[memory_type], board=BOARD_ENERGY),
    )


A100_LIMIT = Constant("board limit", 400, "W", 400, 400, "vendor", STAS)
HELD = Constant("power with a context held", 93, "W", 55, 96, "measured", "AcmeTrace fleet telemetry", "A100, not computing")
ACCELERATORS = {
    "a100-80": _accelerator(
        19.5,
        156,
        2039,
        HELD,
        A100_LIMIT,
        80,
        Constant("price", 12_000, "USD", 9000, 17_000, "unsourced", "2023"),
        (0.76, 0.78, 5, 64),
        "hbm2e",
    ),
    "a100-40": _accelerator(
        19.5,
        156,
        1555,
        HELD,
        A100_LIMIT,
        40,
        Constant("price", 11_000, "USD", 8000, 15_000, "secondary", "Mercatus, used, 2026"),
        (0.76, 0.78, 5, 64),
        "hbm2",
    ),
    "v100": _accelerator(
        15.7,
        15.7,
        900,
        Constant("power with a context held", 45, "W", 25, 60, "secondary", "NVIDIA forum"),
        Constant("board limit", 300, "W", 250, 300, "unsourced", "SXM2, recalled; 250 W on PCIe"),
        32,
        Constant("price", 2000, "USD", 1000, 10_000, "unsourced", "used"),
        (0.76, 0.78, 5, 64),
        "hbm2",
    ),
    "h100-sxm": _accelerator(
        67,
        494.5,
        3350,
        Constant("power with a context held", 105, "W", 72, 120, "unsourced", "A100's share of its limit"),
        Constant("board limit", 700, "W", 700, 700, "vendor", STAS),
        80,
        Constant("price", 27_500, "USD", 25_000, 40_000, "secondary", "Epoch AI"),
        (0.76, 0.9, 7, 128),
        "hbm3",
    ),
}


@dataclass(frozen=True)
class Replay:
    """The TrainingCXL prototype's soft GPU, which replays times that its authors measured on an RTX 3090."""

    bottom: Constant = Constant(
        "bottom MLP per parameter", 103.8, "ps", 90, 120, "calibrated", FIT, "forward and backward together"
    )
    forward: Constant = Constant("bottom MLP forward share", 0.308, "of both", 0.04, 0.4, "calibrated", FIT)
    top: Constant = Constant("top part fixed time", 1.194, "ms", 1.0, 1.3, "calibrated", FIT, "interaction and top MLP")
    rate: Constant = Constant("top part per parameter", 188.6, "ps", 0, 400, "calibrated", FIT)
    samples: Constant = Constant("batch of the replay", 128, "samples", 128, 128, "unsourced", "assumed batch size")
    idle: Constant = Constant("power with a context held", 100, "W", 30, 120, "unsourced", "RTX 3090, memory clocked up")
    busy: Constant = Constant("power in small layers", 250, "W", 180, 350, "unsourced", "RTX 3090, below its board limit")
    bandwidth: Constant = Constant("memory bandwidth", 936, "GB/s", 936, 936, "vendor", "RTX 3090 specification")
    memory: Constant = Constant("memory", 24, "GB", 24, 24, "vendor", "RTX 3090 specification")
    price: Constant = Constant("price", 1499, "USD", 900, 1499, "vendor", "RTX 3090 list price, 2020")


REPLAY = Replay()
