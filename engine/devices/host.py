"""The host: its CPU's embedding path, and the static power of the board everything sits on."""

from dataclasses import dataclass, replace
from typing import Any

from engine.assumptions import assumed, fields_of
from engine.cluster import nodes
from engine.constants import Constant
from engine.device import Device, Kind
from engine.machine import Machine
from engine.units import GB, MS, NS, US
from engine.work import BottomMLP, HostEmbedding, HostRows, Software, TopPart, mlp_parameters

FIT = "fitted to TrainingCXL RM1 and RM4 by scripts/calibrate_trainingcxl.py"
ACME = "AcmeTrace fleet telemetry"
CACHED = "hpcaitech/CachedEmbedding run logs, A100 host"
ROW = 512


LOOPS = {
    "lean": Constant("training loop", 0.1, "ms", 0, 0.5, "unsourced", "one captured graph a batch"),
    "pytorch": Constant("training loop", 12, "ms", 5, 18, "calibrated", "CachedEmbedding's all-in-HBM Kaggle run, 81 batches/s"),
}


# An eager framework's CPU path of embeddings, table by table: TrainingCXL's host ran one, and its fit is reused unchanged.
EAGER = {
    "fixed": Constant("embedding software per batch", 6914, "us", 5000, 8000, "calibrated", FIT, "lookup and update together"),
    "per_lookup": Constant("embedding software per lookup", 38.1, "ns", 30, 50, "calibrated", FIT, "before deduplication"),
}


@dataclass(frozen=True)
class Host:
    """One host: software cost of embedding work, its own arithmetic, power of board and CPU."""

    fixed: Constant
    per_lookup: Constant
    gather: Constant
    idle: Constant
    active: Constant
    price: Constant
    take: Constant = Constant("row gather", 60, "ns", 47, 73, "measured", CACHED, "a 512 B row into one buffer")
    put: Constant = Constant("row scatter", 61, "ns", 45, 78, "measured", CACHED, "a 512 B row back to its table")
    gemm: Constant = Constant(
        "fp32 layer rate", 0.23, "TFLOPS", 0.047, 1.5, "measured", "facebookresearch/param", "1024 x 1024 layers, batches to 512"
    )
    cache: Constant = Constant("software cache per batch", 2, "ms", 1, 3, "measured", CACHED, "besides its rows")
    loop: Constant = LOOPS["lean"]


HOSTS = {
    "server": Host(
        Constant("embedding software per batch", 500, "us", 100, 5000, "unsourced", "framework dispatch, lookup and update"),
        Constant("embedding software per lookup", 0, "ns", 0, 40, "unsourced", "within the gather rate"),
        Constant("EmbeddingBag rate", 28, "GB/s", 13.6, 28, "measured", "facebookresearch/param"),
        Constant("idle power", 522, "W", 522, 534, "measured", ACME, "two-socket CPU node with its memory"),
        Constant("active power", 960, "W", 700, 960, "measured", ACME, "largest seen"),
        Constant("price", 10_000, "USD", 5000, 20_000, "unsourced", "two-socket server without accelerators and memory"),
    ),
    "trainingcxl": Host(
        EAGER["fixed"],
        EAGER["per_lookup"],
        Constant("EmbeddingBag rate", 1e6, "GB/s", 1, 1e6, "unsourced", "within the cost per lookup"),
        Constant("idle power", 89, "W", 51, 183, "unsourced", "board 70 W, i5-9600K idle 15 W, DRAM 4 W"),
        Constant("active power", 169, "W", 108, 268, "unsourced", "the same with the CPU at 95 W"),
        Constant("price", 1200, "USD", 800, 2000, "unsourced", "desktop board and CPU"),
    ),
}


def build(machine: Machine) -> Device:
    """Build the host."""
    eager = EAGER if machine.framework == "pytorch" else {}
    host = assumed(machine, "host", replace(HOSTS[machine.host], loop=LOOPS[machine.framework], **eager))

    def embedding(work: HostEmbedding) -> Any:
        software = host.fixed.value * US + work.lookups * host.per_lookup.value * NS
        return work.share * (software + work.nbytes / (host.gather.value * GB))

    def rows(work: HostRows) -> Any:
        """Small rows cost a whole access, larger ones their bytes."""
        return work.rows * (host.put if work.scatter else host.take).value * NS * max(1.0, work.row_bytes / ROW)

    def layers(work: BottomMLP | TopPart) -> Any:
        flop = 2.0 * work.samples * mlp_parameters(work.widths)
        passes = 3 if isinstance(work, TopPart) else 1 if work.direction == "forward" else 2
        pairs = 6.0 * work.samples * work.vectors**2 * work.dim if isinstance(work, TopPart) else 0.0
        return (passes * flop + pairs) / (host.gemm.value * 1e12)

    return Device(
        name="host",
        title=f"Host, {machine.host}",
        helps="less software on the host's CPU would shorten it, by near-data compute or a leaner machine.framework",
        seconds={
            HostEmbedding: embedding,
            HostRows: rows,
            BottomMLP: layers,
            TopPart: layers,
            Software: lambda work: work.times * (host.loop if work.of == "loop" else host.cache).value * MS,
        },
        idle_watts=host.idle.value,
        busy_watts=host.active.value - host.idle.value,
        price=host.price.value,
        constants=fields_of(host),
    )


def parts() -> dict[str, tuple[Constant, ...]]:
    """Return the constants of every host, and the training loops that can drive it."""
    software = {"lean": (LOOPS["lean"],), "pytorch": (LOOPS["pytorch"], *EAGER.values())}
    return {**{name: fields_of(host) for name, host in HOSTS.items()}, **software}


DEVICE = Kind("Host", build, parts, knobs=("machine.host", "machine.framework"), copies=nodes)
