"""Parts: GPUs, nodes, servers or memory modules that share a system's tables.

Each kind of part has seconds per unit of work, and memory for tables.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import ceil
from typing import NamedTuple

import numpy as np

from ..core.arrays import Flags, Floats
from ..core.memo import memoised
from ..core.row_sizes import lengthened_rows, mean_bytes
from ..core.work import (
    AllToAll,
    Copy,
    Direct,
    HostEmbedding,
    HostRows,
    Pool,
    Requester,
    RowLog,
    RowReads,
    RowUpdates,
    Stream,
    Work,
)
from ..hardware.device import Device, expanders, gpus_in_node, nodes, seconds
from ..hardware.devices.expander_dram import dram_controllers
from ..hardware.devices.gpu import memory_bytes
from ..hardware.devices.pmem import module_bytes, modules
from ..registry import load_variant
from ..scenario.scenario import Scenario
from ..units import GiB
from ..workload.accesses import expected_accesses
from ..workload.caching.expected_cache import expected_moves
from ..workload.expected import Accesses
from .exchange.buffers import vector_buffers
from .exchange.fullest import ON_GPUS
from .row_kinds import RowKind, row_bytes, row_kinds
from .sharding import Parts
from .steps.stashing import room_for_tables
from .system import System, cache_policy
from .traffic import INDEX_BYTES, log_bytes, mlp_bytes, sort_nbytes, table_states

EVEN_SHARES = "interleaved"
RATIO_FIELDS = ("lookup", "row", "far_row")  # fields of `Units` that differ with a table's rows


class Units(NamedTuple):
    """Seconds that one part takes for each unit of work.

    lookup: per lookup.
    row: per unique row.
    fabric, network: per byte over the fabric, and per byte over the network.
    far_row: additional seconds per row outside HBM.
    piece: additional seconds per piece of a table, independent of its size.
    """

    lookup: float
    row: float
    fabric: float
    network: float
    far_row: float = 0.0
    piece: float = 0.0


class TableUnits(NamedTuple):
    """Seconds that one part takes for each unit of work on each table.

    units: the seconds for rows like the first table's.
    lookups, rows, far_rows: factors on them for each table's lookups, unique rows, and rows outside HBM, (T,).
    pieces: True for tables whose pieces take `units.piece`, as they are updated one by one, (T,).
    """

    units: Units
    lookups: Floats
    rows: Floats
    far_rows: Floats
    pieces: Flags


class Kind(NamedTuple):
    """A kind of parts.

    title: name for readers.
    parts: function to the number and groups of a scenario's parts.
    default_sharding: name of the automatic way of sharding.
    units: function to the seconds of one part for a kind of row.
    network_cards: function to the number of network cards that share the traffic of one part.
    room_knob: knob to raise for more memory, "" if it is the memory's own capacity.
    hosts: True if the parts are hosts, which exchange vectors for their GPUs.
    """

    title: str
    parts: Callable[[Scenario, System], Parts]
    default_sharding: str
    units: Callable[[Scenario, System, RowKind], Units]
    network_cards: Callable[[Scenario], int] = lambda s: 1
    room_knob: str = ""
    hosts: bool = False


def _marginal_seconds(device: Device, work: Callable[[float], Work], amount: float = 1e9) -> float:
    """Return the seconds of one more unit of an amount, without a task's fixed time."""
    return float((seconds(device, work(2 * amount)) - seconds(device, work(amount))) / amount)


def _build_device(s: Scenario, name: str) -> Device:
    """Return one device of the machine."""
    device: Device = load_variant("devices", name).build(s.machine)
    return device


def _links(s: Scenario, hosts: bool = False) -> tuple[float, float]:
    """Return the seconds of a byte over the fabric and over the network."""
    network = _build_device(s, "network")
    return _marginal_seconds(network, lambda n: AllToAll(n, n, 0.0, hosts)), _marginal_seconds(
        network, lambda n: AllToAll(n, 0.0, n, hosts)
    )


def table_units(s: Scenario, system: System, kind: Kind) -> TableUnits:
    """Return the seconds of one part for each unit of work on each table."""
    kinds, kind_index = row_kinds(s)
    kind_units = [kind.units(s, system, row) for row in kinds]
    base_units = kind_units[int(kind_index[0])]
    ratios = np.array(
        [[_ratio(getattr(units, name), getattr(base_units, name)) for units in kind_units] for name in RATIO_FIELDS]
    )
    stateful = np.array([state_words > 0 for state_words in table_states(s)])
    lookups, rows, far_rows = ratios[:, kind_index]
    return TableUnits(base_units, lookups, rows, far_rows, stateful)


def table_seconds(batch: Accesses, by_table: TableUnits) -> Floats:
    """Return the seconds of each table's lookups and unique rows if on one part, (T,)."""
    units = by_table.units
    return batch.lookups * (units.lookup * by_table.lookups) + batch.unique_rows * (units.row * by_table.rows)


def _ratio(seconds: float, base_seconds: float) -> float:
    """Return the ratio of seconds to `base_seconds`, 1 if these are 0."""
    return seconds / base_seconds if base_seconds else 1.0


def _gpu_units(s: Scenario, system: System, kind: RowKind) -> Units:
    """Return the units of a GPU with tables in its memory."""
    gpu = _build_device(s, "gpu")
    nbytes = mean_bytes(kind.vector) + mean_bytes(kind.gradient) + sort_nbytes(s)  # gradient spreading sorts the indices too
    piece = _marginal_seconds(gpu, lambda n: Pool(1.0, tables=n), 1.0) if any(table_states(s)) else 0.0
    update = _marginal_seconds(gpu, lambda n: RowUpdates(n, kind.row)) + _missed(s, system) * _direct_seconds(s, kind)
    return Units(nbytes * _marginal_seconds(gpu, Pool), update, *_links(s), piece=piece)


@memoised(most=256)
def _missed(s: Scenario, system: System) -> float:
    """Return how often a unique row crosses the host link, both ways together.

    It counts the share of rows that a cache misses.
    """
    cache = system.cache
    if not cache:
        return 0.0
    cache_moves = expected_moves(s, cache_policy(s, cache), cache.rows(s), cache.at_once(s))
    return (2 * cache_moves.misses + cache_moves.refused) / float(expected_accesses(s).unique_rows.sum())


def _direct_seconds(s: Scenario, kind: RowKind) -> float:
    """Return the seconds of a row, with its state, that GPU threads access across the link."""
    return _marginal_seconds(_build_device(s, "pcie"), lambda n: Direct(n, kind.row))


def _copied_units(s: Scenario, system: System, kind: RowKind) -> Units:
    """Return the units of a GPU whose missing rows software copies over its link."""
    units = _gpu_units(s, replace(system, cache=None), kind)
    copied = _missed(s, system) * mean_bytes(kind.row) * _marginal_seconds(_build_device(s, "pcie"), Copy)
    return units._replace(row=units.row + copied)


def _tiered_units(s: Scenario, system: System, kind: RowKind) -> Units:
    """Return the units of a GPU whose rows outside HBM cross its own link both ways."""
    return _gpu_units(s, system, kind)._replace(
        far_row=2 * mean_bytes(kind.row) * _marginal_seconds(_build_device(s, "pcie"), Copy)
    )


def _kernel_units(s: Scenario, system: System, kind: RowKind) -> Units:
    """Return the units of a GPU whose threads access rows outside HBM over its link."""
    gpu_units = _gpu_units(s, replace(system, cache=None), kind)
    return gpu_units._replace(far_row=2 * _direct_seconds(s, kind))


def _host_units(s: Scenario, system: System, kind: RowKind) -> Units:
    """Return the units of a host that looks rows up."""
    vector = mean_bytes(kind.vector)
    lookup = _marginal_seconds(_build_device(s, "host"), lambda n: HostEmbedding(n, n * vector, 1.0))
    fabric, network = _links(s, hosts=True)
    return Units(lookup, 0.0, fabric, network / gpus_in_node(s.machine))


def _server_units(s: Scenario, system: System, kind: RowKind) -> Units:
    """Return the units of an embedding server."""
    server, read_bytes, written_bytes = _build_device(s, "remote"), kind.vector, kind.row
    row_seconds = _marginal_seconds(server, lambda n: HostRows(n, read_bytes)) + _marginal_seconds(
        server, lambda n: HostRows(n, written_bytes, scatter=True)
    )
    return Units(
        0.0, row_seconds + (mean_bytes(read_bytes) + mean_bytes(written_bytes)) * _marginal_seconds(server, Stream), 0.0, 0.0
    )


def _module_units(s: Scenario, system: System, kind: RowKind) -> Units:
    """Return the units of a memory module or channel.

    Logic beside each controller pools, with work for every lookup; all work that cannot be attributed to a module counts as its
    share.
    """
    count = _modules(s, system).number
    name, is_near_data = system.memory, "near-data" in system.devices
    memory, row = _build_device(s, name), kind.row
    requester: Requester = "near-data" if is_near_data else "host"
    read_seconds, update_seconds = (
        _marginal_seconds(memory, lambda n: RowReads(n, row, requester=requester)),
        _marginal_seconds(memory, lambda n: RowUpdates(n, row, requester)),
    )
    log_seconds = (
        _marginal_seconds(memory, lambda n: RowLog(n, row, lengthened_rows(row, INDEX_BYTES), requester))
        if name == "pmem"
        else 0.0
    )
    united = s.policy.row_dedup if is_near_data else "memory"  # repeated rows that are not united go lookup by lookup
    one_by_one = (united != "memory") * read_seconds + (united == "off") * update_seconds
    is_near_data = is_near_data and s.machine.near_data_compute
    pool = (
        2 * mean_bytes(kind.vector) * _marginal_seconds(_build_device(s, "near-data"), lambda n: Pool(n, name))
        if is_near_data
        else 0.0
    )
    return Units(count * (pool + one_by_one), count * (read_seconds + update_seconds + log_seconds - one_by_one), 0.0, 0.0)


def _modules(s: Scenario, system: System) -> Parts:
    """Return the modules or channels, in the groups of their expanders, or all in one host."""
    count = dram_controllers(s.machine) if system.memory == "expander-dram" else modules(s.machine)
    return Parts(count, ceil(count / expanders(s.machine)) if "cxl" in system.devices else count)


GPUS = Kind(
    "GPU",
    lambda s, system: Parts(s.machine.num_gpus, s.machine.gpus_per_node),
    "planner",
    _gpu_units,
    room_knob="machine.num_gpus",
)
KINDS: Mapping[str, Kind] = {
    "gpus": GPUS,
    "tiers": GPUS._replace(default_sharding=EVEN_SHARES, units=_tiered_units),
    "kernels": GPUS._replace(units=_kernel_units),
    "copied": GPUS._replace(units=_copied_units),
    "nodes": Kind(
        "node",
        lambda s, system: Parts(nodes(s.machine), 1),
        "planner",
        _host_units,
        lambda s: gpus_in_node(s.machine),
        "machine.num_gpus",
        hosts=True,
    ),
    "servers": Kind(
        "server",
        lambda s, system: Parts(s.machine.embedding_servers, 1),
        EVEN_SHARES,
        _server_units,
        room_knob="machine.embedding_servers",
    ),
    "modules": Kind("module", _modules, EVEN_SHARES, _module_units),
}


def kind_of(system: System) -> Kind | None:
    """Return the kind of a system's parts; None if all work is shared evenly."""
    return KINDS[system.parts_kind] if system.parts_kind else None


def memories(s: Scenario, system: System) -> list[tuple[str, float, float, int]]:
    """Return the memories of parts: name, bytes needed, bytes of room, parts that share it."""
    machine, dram = s.machine, (s.machine.host_dram_GiB or 0.0) * GiB
    rooms: dict[str, tuple[float, int]] = {"dram": (dram, 1), "servers": ((machine.server_dram_GiB or 0.0) * GiB, 1)}
    if system.parts_kind in ON_GPUS:
        dram -= system.caches(s)[0] * row_bytes(s) / nodes(machine) if system.caches else 0.0
        hbm = room_for_tables(s, memory_bytes(machine) - 2 * mlp_bytes(s) - vector_buffers(s).sent_bytes)
        rooms = {"dram": (dram, gpus_in_node(machine)), "hbm": (hbm, 1)}
    if system.parts_kind == "modules":
        count = _modules(s, system).number
        channel_bytes = (machine.expander_dram_GiB or 0.0) * GiB / count
        rooms = {"expander-dram": (channel_bytes, 1), "pmem": (module_bytes(machine) - log_bytes(s) / count, 1)}
    return [(place, need, *rooms[place]) for place, need in system.nbytes_by_memory(s).items() if place in rooms]
