"""Parts: the GPUs, nodes, servers or memory modules among which a system's tables are divided, their pace and their room."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import ceil
from typing import NamedTuple

import numpy as np

from ..core.arrays import Flags, Floats
from ..core.memo import remembered
from ..core.row_sizes import longer, mean_bytes
from ..core.work import AllToAll, By, Copy, Direct, HostEmbedding, HostRows, Pool, RowLog, RowReads, RowUpdates, Stream, Work
from ..hardware.device import Device, expanders, gpus_in_node, nodes, seconds
from ..hardware.devices.expander_dram import dram_controllers
from ..hardware.devices.gpu import memory_bytes
from ..hardware.devices.pmem import module_bytes, modules
from ..registry import load
from ..scenario.scenario import Scenario
from ..units import GiB
from ..workload.accesses import expected
from ..workload.caching.expected_cache import expected_moves
from ..workload.expected import Accesses
from .row_kinds import RowKind, row_bytes, row_kinds
from .sharding import Parts
from .steps.stashing import room_for_tables
from .system import System, cache_policy
from .traffic import INDEX_BYTES, keeps_state, log_bytes, mlp_bytes, sort_nbytes, table_states

EVEN = "interleaved"
WEIGHED = ("lookup", "row", "far")  # units that differ with a table's rows


class Units(NamedTuple):
    """Seconds that one part takes for a lookup, a unique row, a byte over fabric and network, and a row outside HBM besides.

    Each piece of a table takes `piece` more, however small it is.
    """

    lookup: float
    row: float
    fabric: float
    network: float
    far: float = 0.0
    piece: float = 0.0


class TableUnits(NamedTuple):
    """What one part takes, in `units` of the first table's rows, and how many times as much each table's rows take, (T,).

    Of lookups, of unique rows, and of rows outside HBM; `pieces` are True of tables that are updated one by one.
    """

    units: Units
    lookups: Floats
    rows: Floats
    far: Floats
    pieces: Flags


class Kind(NamedTuple):
    """What the parts of a system are: their title, how many there are, the way of sharding without another word, their pace.

    So many network `cards` share what one of them sends or receives; `hosts` says that parts are hosts, which exchange for
    their GPUs; `more` is what to raise for more room, where that is not a memory's own capacity.
    """

    title: str
    parts: Callable[[Scenario, System], Parts]
    default: str
    units: Callable[[Scenario, System, RowKind], Units]
    cards: Callable[[Scenario], int] = lambda s: 1
    more: str = ""
    hosts: bool = False


def _per(device: Device, work: Callable[[float], Work], amount: float = 1e9) -> float:
    """Return the seconds of one more of an amount, without what a task takes at least."""
    return float((seconds(device, work(2 * amount)) - seconds(device, work(amount))) / amount)


def _alone(s: Scenario, name: str) -> Device:
    found: Device = load("devices", name).build(s.machine)
    return found


def _links(s: Scenario, hosts: bool = False) -> tuple[float, float]:
    network = _alone(s, "network")
    return _per(network, lambda n: AllToAll(n, n, 0.0, hosts)), _per(network, lambda n: AllToAll(n, 0.0, n, hosts))


def table_units(s: Scenario, system: System, kind: Kind) -> TableUnits:
    """Return what one part takes for the rows of each table."""
    kinds, of = row_kinds(s)
    every = [kind.units(s, system, row) for row in kinds]
    first = every[int(of[0])]
    ratios = np.array([[_ratio(getattr(units, name), getattr(first, name)) for units in every] for name in WEIGHED])
    stateful = np.array([keeps > 0 for keeps in table_states(s)])
    lookups, rows, far = ratios[:, of]
    return TableUnits(first, lookups, rows, far, stateful)


def table_seconds(batch: Accesses, by_table: TableUnits) -> Floats:
    """Return the seconds that the lookups and unique rows of each table take on one part, (T,)."""
    units = by_table.units
    return batch.lookups * (units.lookup * by_table.lookups) + batch.unique_rows * (units.row * by_table.rows)


def _ratio(seconds: float, first: float) -> float:
    return seconds / first if first else 1.0


def _gpu_units(s: Scenario, system: System, kind: RowKind) -> Units:
    gpu = _alone(s, "gpu")
    nbytes = mean_bytes(kind.vector) + mean_bytes(kind.gradient) + sort_nbytes(s)  # spreading sorts the indices too
    piece = _per(gpu, lambda n: Pool(1.0, tables=n), 1.0) if keeps_state(s) else 0.0
    update = _per(gpu, lambda n: RowUpdates(n, kind.row)) + mean_bytes(kind.row) * _missed(s, system)
    return Units(nbytes * _per(gpu, Pool), update, *_links(s), piece=piece)


@remembered(most=256)
def _missed(s: Scenario, system: System) -> float:
    """Return the seconds on the link to the host, there and back, of a byte of a unique row: of the share that a cache misses."""
    cache = system.cache
    if not cache:
        return 0.0
    moved = expected_moves(s, cache_policy(s, cache), cache.rows(s), cache.at_once(s))
    times = (2 * moved.misses + moved.refused) / float(expected(s).unique_rows.sum())
    return times * _per(_alone(s, "pcie"), Direct)


def _tiered_units(s: Scenario, system: System, kind: RowKind) -> Units:
    """Rows outside HBM come over each GPU's own link and go back."""
    return _gpu_units(s, system, kind)._replace(far=2 * mean_bytes(kind.row) * _per(_alone(s, "pcie"), Copy))


def _kernel_units(s: Scenario, system: System, kind: RowKind) -> Units:
    """Rows outside HBM come over each GPU's own link for its threads, and go back."""
    own = _gpu_units(s, replace(system, cache=None), kind)
    return own._replace(far=2 * mean_bytes(kind.row) * _per(_alone(s, "pcie"), Direct))


def _host_units(s: Scenario, system: System, kind: RowKind) -> Units:
    vector = mean_bytes(kind.vector)
    lookup = _per(_alone(s, "host"), lambda n: HostEmbedding(n, n * vector, 1.0))
    fabric, network = _links(s, hosts=True)
    return Units(lookup, 0.0, fabric, network / gpus_in_node(s.machine))


def _server_units(s: Scenario, system: System, kind: RowKind) -> Units:
    server, read, written = _alone(s, "remote"), kind.vector, kind.row
    each = _per(server, lambda n: HostRows(n, read)) + _per(server, lambda n: HostRows(n, written, scatter=True))
    return Units(0.0, each + (mean_bytes(read) + mean_bytes(written)) * _per(server, Stream), 0.0, 0.0)


def _module_units(s: Scenario, system: System, kind: RowKind) -> Units:
    """Where logic beside each controller pools, it has as much to do for every lookup; what cannot be told is its share."""
    count = _modules(s, system).number
    name, near = system.memory, "near-data" in system.devices
    memory, row = _alone(s, name), kind.row
    by: By = "near-data" if near else "host"
    read, update = _per(memory, lambda n: RowReads(n, row, by=by)), _per(memory, lambda n: RowUpdates(n, row, by))
    log = _per(memory, lambda n: RowLog(n, row, longer(row, INDEX_BYTES), by)) if name == "pmem" else 0.0
    united = s.policy.row_dedup if near else "memory"  # what is not goes lookup by lookup
    one_by_one = (united != "memory") * read + (united == "off") * update
    near = near and s.machine.near_data_compute
    pool = 2 * mean_bytes(kind.vector) * _per(_alone(s, "near-data"), lambda n: Pool(n, name)) if near else 0.0
    return Units(count * (pool + one_by_one), count * (read + update + log - one_by_one), 0.0, 0.0)


def _modules(s: Scenario, system: System) -> Parts:
    """Modules, or channels, stand in the groups of their expanders, or all in one host."""
    count = dram_controllers(s.machine) if system.memory == "expander-dram" else modules(s.machine)
    return Parts(count, ceil(count / expanders(s.machine)) if "cxl" in system.devices else count)


GPUS = Kind(
    "GPU",
    lambda s, system: Parts(s.machine.num_gpus, s.machine.gpus_per_node),
    "planner",
    _gpu_units,
    more="machine.num_gpus",
)
KINDS: Mapping[str, Kind] = {
    "gpus": GPUS,
    "tiers": GPUS._replace(default=EVEN, units=_tiered_units),
    "kernels": GPUS._replace(units=_kernel_units),
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
        "server", lambda s, system: Parts(s.machine.embedding_servers, 1), EVEN, _server_units, more="machine.embedding_servers"
    ),
    "modules": Kind("module", _modules, EVEN, _module_units),
}


def kind_of(system: System) -> Kind | None:
    """Return what the parts of a system are; None where it shares all its work evenly."""
    return KINDS[system.shards] if system.shards else None


def memories(s: Scenario, system: System) -> list[tuple[str, float, float, int]]:
    """Return the memories that parts share: name, bytes needed in all, room in bytes, and how many parts share each room."""
    machine, dram = s.machine, (s.machine.host_dram_GiB or 0.0) * GiB
    have: dict[str, tuple[float, int]] = {"dram": (dram, 1), "servers": ((machine.server_dram_GiB or 0.0) * GiB, 1)}
    if system.shards in ("gpus", "tiers", "kernels"):
        dram -= system.caches(s)[0] * row_bytes(s) / nodes(machine) if system.caches else 0.0
        hbm = room_for_tables(s, memory_bytes(machine) - 2 * mlp_bytes(s))
        have = {"dram": (dram, gpus_in_node(machine)), "hbm": (hbm, 1)}
    if system.shards == "modules":
        count = _modules(s, system).number
        each = (machine.expander_dram_GiB or 0.0) * GiB / count
        have = {"expander-dram": (each, 1), "pmem": (module_bytes(machine) - log_bytes(s) / count, 1)}
    return [(place, need, *have[place]) for place, need in system.held(s).items() if place in have]
