"""Host: CPUs, with the seconds of their embedding work and layers, and their power."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from ...core.arithmetic import total
from ...core.constants import Constant
from ...core.figures import count
from ...core.row_sizes import mean_over_rows
from ...core.work import (
    BottomMLP,
    CacheSoftware,
    DriveBatch,
    HistoryPart,
    HostEmbedding,
    HostRows,
    LayerWork,
    TopPart,
    Work,
)
from ...scenario.machine import MachineKnobs
from ...units import GB, MS, NS, US
from ..concurrency import LINE
from ..device import Cost, Device, DeviceKind, assumed_part, assumed_value, fields_of, nodes
from ..framework import EAGER, FRAMEWORKS, LoopRates, driving_seconds, has_trait, loop_rates
from ..hosts import HOSTS, LIBRARIES, PEAKS, STOCK, Host, Library, host_channels, threads
from ..layer_kernels import Arithmetic
from ..layers import layer_cost
from ..money.bill import BillItem
from .dram import grade
from .gpu import word_bytes

MANY_THREADS = (HostEmbedding, BottomMLP, HistoryPart, TopPart)  # one thread gathers rows, scatters them and runs the cache
ROW = 512


def _eager() -> dict[str, Constant]:
    """Return the constants of an eager framework's CPU path of embeddings, table by table.

    The prototype's host ran an eager framework; its fit is reused for eager and stock ones.
    """
    return {name: getattr(HOSTS["trainingcxl"], name) for name in ("fixed", "per_lookup")}


class UpdateRates(NamedTuple):
    """Additional times of software that handles tables one by one, with all cores working.

    call: per table [us].
    lookup: per lookup [ns].
    byte: per byte [ns].
    new_line: per line that the batch has not touched before [ns].
    """

    call: float
    lookup: float
    byte: float
    new_line: float


class HostRates(NamedTuple):
    """Rates of one host, in the units of `Host`.

    fixed: software time of a batch's embedding work [us].
    per_lookup: software time of a lookup [ns].
    gather: rate of EmbeddingBag with all cores [GB/s].
    row_gather_ns, row_scatter_ns: time to gather and to scatter a row [ns].
    cache: time of the software cache for a batch [ms].
    working: share of the cores that work; `per_lookup` and `gather` were measured with all cores.
    core: power of a working core [W].
    busy: number of cores that work in layers and embeddings.
    loop: times of the process that drives the GPUs.
    layers: speed and energy of the working cores in layers.
    lookup_times, plain_update_times: additional times of lookups, and of updates without optimizer state.
    stateful_update_times: additional times of updates with optimizer state.
    """

    fixed: float
    per_lookup: float
    gather: float
    row_gather_ns: float
    row_scatter_ns: float
    cache: float
    working: float
    core: float
    busy: float
    loop: LoopRates
    layers: Arithmetic
    lookup_times: UpdateRates
    plain_update_times: UpdateRates
    stateful_update_times: UpdateRates


def embedding_seconds(host: HostRates, work: HostEmbedding) -> Any:
    """Return the seconds of embedding work on the host CPU.

    They are the software's time, the bytes' time, and the time of a library that handles tables one by one.
    """
    software = host.fixed * US + work.lookups * host.per_lookup * NS / host.working
    half = work.share * (software + work.nbytes / (host.gather * GB * host.working))
    return half + 2 * work.share * _table_by_table(host, work)


def _table_by_table(host: HostRates, work: HostEmbedding) -> Any:
    """Return the additional seconds of a library that is not fused for a batch's tables."""
    costs = (
        ((host.plain_update_times, 1 - work.stateful), (host.stateful_update_times, work.stateful))
        if work.updates
        else ((host.lookup_times, 1.0),)
    )
    return total(share * _of_tables(host, work, rates) for rates, share in costs)


def _of_tables(host: HostRates, work: HostEmbedding, rates: UpdateRates) -> Any:
    """Return the additional seconds of a batch's tables at these rates."""
    nanoseconds = work.lookups * rates.lookup + work.nbytes * rates.byte + work.new_lines * rates.new_line
    return work.tables * rates.call * US + nanoseconds * NS / host.working


def row_seconds(host: HostRates, work: HostRows) -> Any:
    """Return the seconds to gather or scatter rows.

    A small row takes the time of one access; larger rows take time in proportion to their bytes.
    """
    accesses = mean_over_rows(work.row_bytes, lambda size: max(1.0, size / ROW))
    return work.rows * (host.row_scatter_ns if work.scatter else host.row_gather_ns) * NS * accesses


def layer_seconds(host: HostRates, work: LayerWork) -> Any:
    """Return the seconds of layers on the host, by the formulas for GPUs."""
    return layer_cost(work, host.layers).seconds


SECONDS: Mapping[type, Cost] = {
    HostEmbedding: embedding_seconds,
    HostRows: row_seconds,
    BottomMLP: layer_seconds,
    HistoryPart: layer_seconds,
    TopPart: layer_seconds,
    DriveBatch: lambda host, work: driving_seconds(host.loop, work),
    CacheSoftware: lambda host, work: work.times * host.cache * MS,
}


def core_joules(host: HostRates, work: Work) -> Any:
    """Return the joules of work: seconds × busy cores × active power of a core."""
    busy = host.busy if isinstance(work, MANY_THREADS) else 1.0
    return host.core * getattr(work, "processes", busy) * SECONDS[type(work)](host, work)


JOULES: Mapping[type, Cost] = dict.fromkeys(SECONDS, core_joules)


def build(machine: MachineKnobs) -> Device:
    """Return the host as a device."""
    eager = _eager() if has_trait(machine.framework, EAGER) or machine.host_software == STOCK else {}
    host = assumed_part(machine, "host", replace(HOSTS[machine.host], **eager), HOSTS.kind, machine.host)
    library = assumed_part(machine, "host", LIBRARIES[machine.host_software])
    loop = assumed_part(machine, "host", FRAMEWORKS[machine.framework])
    busy = float(min(threads(machine), host.cores.value))
    rates = HostRates(
        **{name: getattr(host, name).value for name in ("fixed", "per_lookup", "cache")},
        row_gather_ns=host.row_gather.value,
        row_scatter_ns=host.row_scatter.value,
        gather=host.gather.value * library.bags.value,
        working=busy / host.cores.value,  # rates are measured with all cores
        core=(host.active.value - host.idle.value) / host.cores.value,
        busy=busy,
        loop=loop_rates(loop),
        layers=_arithmetic(machine, host, library, busy),
        lookup_times=UpdateRates(library.lookup_call.value, 0.0, 0.0, library.lookup_new_line.value),
        plain_update_times=UpdateRates(*(getattr(library, f"plain_{name}").value for name in UpdateRates._fields)),
        stateful_update_times=UpdateRates(*(getattr(library, f"state_{name}").value for name in UpdateRates._fields)),
    )
    return Device(
        name="host",
        title=f"Host, {machine.host}, {count(threads(machine), 'thread')}",
        helps="less software on the host's CPU would shorten it, by near-data compute or a leaner machine.framework",
        rates=rates,
        seconds=SECONDS,
        joules=JOULES,
        idle_watts=host.idle.value,
        full_watts=host.active.value,
        bill=(BillItem("host", machine.host, 1, host.price),),
        constants=(*_constants(host), *fields_of(library), *fields_of(loop)),
    )


def _arithmetic(machine: MachineKnobs, host: Host, library: Library, busy: float) -> Arithmetic:
    """Return the arithmetic of the working cores in layers.

    A precision without a unit has rate 0; a scenario with it is refused before it is computed.
    """
    peak = getattr(host, PEAKS.get(machine.matrix_precision, ""), None)
    launch = library.launch.value * US
    rate = library.share.value * busy * peak.value * 1e9 if peak else 0.0
    attention = min(rate, busy * host.attention.value * 1e9)  # exponentials of scores, not products, limit fast units
    return Arithmetic(
        rate=rate,
        attention_forward=attention,
        attention_backward=attention,
        bandwidth=_bandwidth(machine, busy * host.dram_lines.value),
        word=word_bytes(machine),
        per_flop=0.0,  # counted by the core's watts
        per_byte=0.0,
        fixed=launch,
        launch=launch,
        rows=0.0,
        samples=library.samples.value,
        product=library.product.value * NS * host.cores.value / busy,
        pair=library.pair.value * NS * host.cores.value / busy,
    )


def _bandwidth(machine: MachineKnobs, lines: float) -> float:
    """Return the bytes a second of host DRAM.

    The rate is that of the channels if the lines in flight reach it.
    """
    memory = grade(machine)
    channel, efficiency, latency = (
        assumed_value(machine, "dram", constant) for constant in (memory.channel, memory.efficiency, memory.latency)
    )
    return 1 / max(1 / (host_channels(machine) * channel * efficiency * GB), latency * NS / (lines * LINE))


def _constants(host: Host) -> tuple[Constant, ...]:
    """Return the constants of a host, without the zero peaks of units that it lacks."""
    return tuple(constant for constant in fields_of(host) if constant.value or constant.confidence != "vendor")


def parts() -> dict[str, tuple[Constant, ...]]:
    """Return the constants of every host, host library and framework, by name."""
    hosts = {name: _constants(host) for name, host in HOSTS.items()}
    loops = {
        name: (*fields_of(framework), *(_eager().values() if has_trait(name, EAGER) else ()))
        for name, framework in FRAMEWORKS.items()
    }
    libraries = {
        name: (*fields_of(library), *(_eager().values() if name == STOCK else ())) for name, library in LIBRARIES.items()
    }
    return {**hosts, **libraries, **loops}


DEVICE = DeviceKind(
    "Host",
    build,
    parts,
    knob_names=("host", "host_threads", "host_software", "matrix_precision", "framework", "prices"),
    copies=nodes,
    kinds=("host",),
)
