"""A GPU that is made up: constants, and a timer that runs each operator once on the CPU and returns that GPU's seconds."""

from math import ceil

from engine.measure.gpu.device_operators import OperatorSizes
from engine.measure.gpu.device_timing import DeviceTimer
from engine.measure.operators import Operator

TINY = OperatorSizes(
    samples=(16, 128, 512),
    layers=((8, 8), (64, 256), (256, 32), (512, 512)),
    nbytes=(2**12, 2**18, 2**22),
    memory=2**22,
    tables=((100, 8, 3, 32), (3000, 16, 4, 128), (2000, 64, 8, 64), (20_000, 32, 20, 256)),
)
PEAKS = {"fp32": 0.5e12, "tf32": 2e12, "bf16": 4e12, "fp16": 4e12}  # FLOP/s that products reach
FIXED, EXTRA = 6e-6, 40.0
MEMORY, SUSTAINED, LAUNCH, GRAPH = 200e9, 160e9, 3e-6, 1.5e-6
CALL, LOSS, TABLE_CALL = 9e-6, 90e-6, (30e-6, 50e-6, 20e-6)
COPIES = {
    "to the GPU, pinned": (10e-6, 24e9),
    "from the GPU, pinned": (12e-6, 22e9),
    "to the GPU, pageable": (20e-6, 7e9),
    "from the GPU, pageable": (25e-6, 5e9),
    "to another GPU": (8e-6, 90e9),
}
HANDOFF, PER_TABLE, PER_LOOKUP = 35e-6, 300e-6, 700.0


def product_seconds(kind: str, amounts: dict[str, float]) -> float:
    """Return the seconds of a product of a layer."""
    m, k, n = (amounts[name] for name in "mkn")
    nbytes = amounts["word"] * (m * k + k * n + m * n)
    return FIXED + max(2 * (m + EXTRA) * k * n / PEAKS[kind.removeprefix("product ")], nbytes / SUSTAINED)


def table_seconds(kind: str, amounts: dict[str, float]) -> float:
    """Return the seconds of a table's operator; gradient and Adagrad together are what the model counts, and the table's own."""
    lookups, nbytes = amounts.get("lookups", 0.0), amounts["bytes"]
    if kind in ("lookup", "Zipf lookup", "update SGD"):
        return LAUNCH + nbytes / SUSTAINED
    if kind == "gradient":
        return LAUNCH + (nbytes + 128 * lookups) / SUSTAINED
    row = nbytes / lookups
    rows = amounts["new lines"] / (1 + row / 64)
    return LAUNCH + (2 * rows * 32 * ceil(2 * row / 32) + PER_LOOKUP * lookups) / SUSTAINED + PER_TABLE


def device_seconds(kind: str, amounts: dict[str, float]) -> float:
    """Return the made-up GPU's seconds of an operator."""
    if kind.startswith("product"):
        return product_seconds(kind, amounts)
    if kind in COPIES:
        fixed, rate = COPIES[kind]
        return fixed + amounts["bytes"] / rate
    fixed = {"tiny kernel": LAUNCH, "graph": GRAPH * amounts.get("kernels", 0.0)}
    by_bytes = {"memory copy": MEMORY, "elementwise": SUSTAINED}
    if kind in fixed:
        return fixed[kind]
    if kind in by_bytes:
        return (LAUNCH if kind == "elementwise" else 0.0) + amounts["bytes"] / by_bytes[kind]
    return table_seconds(kind, amounts)


def host_seconds(kind: str, amounts: dict[str, float]) -> float:
    """Return the seconds until the host has queued an operator; a layer is six kernels, two of them updates."""
    layers = 8 * (6 * CALL - 2 * 2e-6)
    tables = dict(zip(("lookup", "gradient", "update SGD"), TABLE_CALL, strict=True))
    return {"layer calls": layers, "update calls": 16 * 2e-6, "loss calls": LOSS, **tables}[kind]


def made_up_timer(operator_names: list[str]) -> DeviceTimer:
    """Return a timer that runs each operator once, and notes its name in `operator_names`."""

    def run(operator: Operator) -> None:
        operator.kernel()
        operator_names.append(operator.name)

    def working(operator: Operator, rounds: int) -> list[float]:
        run(operator)
        return [device_seconds(operator.kind, operator.amounts)] * rounds

    def queueing(operator: Operator, rounds: int) -> list[float]:
        run(operator)
        return [host_seconds(operator.kind, operator.amounts)] * rounds

    def waiting(operator: Operator, rounds: int) -> list[float]:
        run(operator)
        return [HANDOFF] * rounds

    return DeviceTimer(working, queueing, waiting)
