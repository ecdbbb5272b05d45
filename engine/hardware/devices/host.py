"""The host: its CPU's embedding path, and the static power of the board everything sits on."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ...core.catalog import Catalogue, optional_price, quantity
from ...core.constants import Constant
from ...core.work import (
    BottomMLP,
    CacheSoftware,
    DriveBatch,
    HostEmbedding,
    HostRows,
    TopPart,
    Work,
    cross_parameters,
    mlp_parameters,
)
from ...scenario.machine import MachineKnobs
from ...units import GB, MS, NS, US
from ..device import Cost, Device, DeviceKind, amount_price, assumed, assumed_value, fields_of, nodes
from ..framework import FRAMEWORKS, LoopRates, driving, loop_rates

MANY_THREADS = (HostEmbedding, BottomMLP, TopPart)  # rows are gathered and scattered, a cache tended, by one thread
ROW, EAGER = 512, ("pytorch", "pytorch-early")


@dataclass(frozen=True)
class Host:
    """One host: software cost of embedding work, its own arithmetic, power of board and CPU."""

    fixed: Constant = quantity("embedding software per batch", "us")
    per_lookup: Constant = quantity("embedding software per lookup", "ns", zero=True)
    gather: Constant = quantity("EmbeddingBag rate", "GB/s")
    idle: Constant = quantity("idle power", "W")
    active: Constant = quantity("active power", "W")
    price: Constant | None = optional_price("USD")
    take: Constant = quantity("row gather", "ns")
    put: Constant = quantity("row scatter", "ns")
    gemm: Constant = quantity("fp32 layer rate", "TFLOPS")
    cache: Constant = quantity("software cache per batch", "ms")
    cores: Constant = quantity(
        "physical cores", "cores", default=Constant("", 64, "", 32, 128, "unsourced", "two sockets of a GPU node")
    )
    dram_lines: Constant = quantity(
        "DRAM lines in flight a thread",
        "lines",
        default=Constant("", 12, "", 8, 16, "derived", "Yang et al., FAST'20: one thread reads 7.4 GB/s at 100 ns"),
    )
    pmem_lines: Constant = quantity(
        "PMEM lines in flight a thread",
        "lines",
        default=Constant("", 7, "", 5, 10, "derived", "Yang et al., FAST'20: one thread reads 1.53 GB/s at 305 ns"),
    )


HOSTS = Catalogue("host", Host, uses=("copy-path",))


def threads(machine: MachineKnobs) -> float:
    """Return how many threads of a host ask memory for rows."""
    return machine.host_threads or assumed_value(machine, "host", HOSTS[machine.host].cores)


def lines_in_flight(machine: MachineKnobs, memory: str) -> float:
    """Return how many 64 B lines of a memory the threads of a host wait for together."""
    host = HOSTS[machine.host]
    return threads(machine) * assumed_value(machine, "host", host.pmem_lines if memory == "pmem" else host.dram_lines)


def _eager() -> dict[str, Constant]:
    """An eager framework's CPU path of embeddings, table by table: the prototype's host ran one, and its fit is reused."""
    return {name: getattr(HOSTS["trainingcxl"], name) for name in ("fixed", "per_lookup")}


class HostRates(NamedTuple):
    """Numbers of one host in the units of `Host`; rates are those of its `working` share of cores.

    `core` are the W of one that works, of which `busy` work in layers and embeddings; `loop` drives the GPUs.
    """

    fixed: float
    per_lookup: float
    gather: float
    take: float
    put: float
    gemm: float
    cache: float
    working: float
    core: float
    busy: float
    loop: LoopRates


def embedding_seconds(host: HostRates, work: HostEmbedding) -> Any:
    """Return the seconds of embedding work: software, then bytes."""
    software = host.fixed * US + work.lookups * host.per_lookup * NS / host.working
    return work.share * (software + work.nbytes / (host.gather * GB * host.working))


def row_seconds(host: HostRates, work: HostRows) -> Any:
    """Return the seconds of rows: small ones cost a whole access, larger ones their bytes."""
    return work.rows * (host.put if work.scatter else host.take) * NS * max(1.0, work.row_bytes / ROW)


def layer_seconds(host: HostRates, work: BottomMLP | TopPart) -> Any:
    """Return the seconds of layers."""
    return _layer_flop(work) / (host.gemm * 1e12 * host.working)


SECONDS: Mapping[type, Cost] = {
    HostEmbedding: embedding_seconds,
    HostRows: row_seconds,
    BottomMLP: layer_seconds,
    TopPart: layer_seconds,
    DriveBatch: lambda host, work: driving(host.loop, work),
    CacheSoftware: lambda host, work: work.times * host.cache * MS,
}


def core_joules(host: HostRates, work: Work) -> Any:
    """Return the joules of work: its seconds times the cores that it keeps busy, each its share of the swing."""
    busy = host.busy if isinstance(work, MANY_THREADS) else 1.0
    return host.core * getattr(work, "processes", busy) * SECONDS[type(work)](host, work)


JOULES: Mapping[type, Cost] = dict.fromkeys(SECONDS, core_joules)


def build(machine: MachineKnobs) -> Device:
    """Build the host."""
    eager = _eager() if machine.framework in EAGER else {}
    host = assumed(machine, "host", replace(HOSTS[machine.host], **eager))
    loop = assumed(machine, "host", FRAMEWORKS[machine.framework])
    rates = HostRates(
        **{name: getattr(host, name).value for name in ("fixed", "per_lookup", "gather", "take", "put", "gemm", "cache")},
        working=min(1.0, threads(machine) / host.cores.value),  # rates are measured with all cores
        core=(host.active.value - host.idle.value) / host.cores.value,
        busy=float(min(threads(machine), host.cores.value)),
        loop=loop_rates(loop),
    )
    return Device(
        name="host",
        title=f"Host, {machine.host}, {threads(machine):g} threads",
        helps="less software on the host's CPU would shorten it, by near-data compute or a leaner machine.framework",
        rates=rates,
        seconds=SECONDS,
        joules=JOULES,
        idle_watts=host.idle.value,
        full_watts=host.active.value,
        price=amount_price(host.price),
        constants=(*fields_of(host), *fields_of(loop)),
    )


def _layer_flop(work: BottomMLP | TopPart) -> Any:
    """Return the operations of layers: one pass forward, two backward, of the top part all three with its interaction."""
    flop = 2.0 * work.samples * mlp_parameters(work.widths)
    if isinstance(work, BottomMLP):
        return (1 if work.direction == "forward" else 2) * flop
    cross = 6.0 * work.samples * cross_parameters(work.widths[0], work.ranks)
    pairs = 6.0 * work.samples * work.vectors**2 * work.dim if work.pairs and not work.ranks else 0.0
    return 3 * flop + cross + pairs


def parts() -> dict[str, tuple[Constant, ...]]:
    """Return the constants of every host, and of the frameworks that can drive it."""
    software = {name: (*fields_of(one), *(_eager().values() if name in EAGER else ())) for name, one in FRAMEWORKS.items()}
    return {**{name: fields_of(host) for name, host in HOSTS.items()}, **software}


DEVICE = DeviceKind("Host", build, parts, reads=("host", "host_threads", "framework", "prices"), copies=nodes, kinds=("host",))
