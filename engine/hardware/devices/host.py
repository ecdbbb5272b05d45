"""The host: its CPU's embedding path, and the static power of the board everything sits on."""

from dataclasses import dataclass, replace
from typing import Any

from ...core.catalog import Catalogue, quantity
from ...core.constants import Constant
from ...core.work import BottomMLP, HostEmbedding, HostRows, Software, TopPart, mlp_parameters
from ...scenario.machine import MachineKnobs
from ...units import GB, MS, NS, US
from ..device import Device, DeviceKind, assumed, fields_of, nodes

ROW = 512


LOOPS = {
    "lean": Constant("training loop", 0.1, "ms", 0, 0.5, "unsourced", "one captured graph a batch"),
    "pytorch": Constant("training loop", 12, "ms", 5, 18, "calibrated", "CachedEmbedding's all-in-HBM Kaggle run, 81 batches/s"),
}


@dataclass(frozen=True)
class Host:
    """One host: software cost of embedding work, its own arithmetic, power of board and CPU."""

    fixed: Constant = quantity("embedding software per batch", "us")
    per_lookup: Constant = quantity("embedding software per lookup", "ns", zero=True)
    gather: Constant = quantity("EmbeddingBag rate", "GB/s")
    idle: Constant = quantity("idle power", "W")
    active: Constant = quantity("active power", "W")
    price: Constant = quantity("price", "USD")
    take: Constant = quantity("row gather", "ns")
    put: Constant = quantity("row scatter", "ns")
    gemm: Constant = quantity("fp32 layer rate", "TFLOPS")
    cache: Constant = quantity("software cache per batch", "ms")
    loop: Constant = LOOPS["lean"]


HOSTS = Catalogue("host", Host, uses=("copy-path",))


def _eager() -> dict[str, Constant]:
    """An eager framework's CPU path of embeddings, table by table: the prototype's host ran one, and its fit is reused."""
    return {name: getattr(HOSTS["trainingcxl"], name) for name in ("fixed", "per_lookup")}


def build(machine: MachineKnobs) -> Device:
    """Build the host."""
    eager = _eager() if machine.framework == "pytorch" else {}
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
    software = {"lean": (LOOPS["lean"],), "pytorch": (LOOPS["pytorch"], *_eager().values())}
    return {**{name: fields_of(host) for name, host in HOSTS.items()}, **software}


DEVICE = DeviceKind("Host", build, parts, reads=("host", "framework"), copies=nodes)
