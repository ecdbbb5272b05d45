"""The space of a search: for each system the knobs that are searched, and the stops of each.

The first stop of a knob is the one that a search begins at. What holds something is sized automatically; None says so.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any, cast

from ...core.memo import Reads, Recorder
from ...errors import BadKnob
from ...hardware.devices.pmem import MEDIA
from ...insight.decomposition import BOUND, NEAR, RELAXED
from ...insight.relaxation import LINK
from ...registry import every
from ...scenario.scenario import Scenario, with_values
from ...systems.capacity import place_and_size
from ...systems.kernels.densest import densest_in_hbm
from ...systems.kernels.mixed import HBM
from ...systems.sizing import AUTOMATIC, CAPACITY, CHASSIS, DRIVES, NUMBER
from ...systems.system import System
from .allowed import AllowedParts

Stops = Mapping[str, tuple[Any, ...]]  # by knob
GPU, GPUS, INSIDE, HOST, MEDIUM = "machine.gpu", "machine.num_gpus", "machine.gpus_per_node", "machine.host", "machine.pmem"
CARD, DRIVE, LOGIC, SERVERS = "machine.expander", "machine.ssd", "machine.near_data_logic", "machine.embedding_servers"
SHARE, WAY, HOT = "policy.cache_load_factor", "policy.cache_policy", "policy.hot_rows_MiB"
KERNEL, STASHING = "policy.kernel", "policy.stashing"
LOG, SHARDING, DEDUP, COPIES = "policy.log", "policy.sharding", "policy.row_dedup", "policy.replicated_rows"
# What a base scenario loses before a search: counts, sizes and policies that are searched, and ways of counting that flatter
# nobody. A system that has no such knob in its space takes these.
RESET: Mapping[str, Any] = {
    GPUS: 1,
    INSIDE: 8,
    SERVERS: 1,
    SHARE: 0.1,
    HOT: 256.0,
    DEDUP: "memory",
    **dict.fromkeys((*AUTOMATIC, LINK, LOG, BOUND, RELAXED, WAY, SHARDING, COPIES)),
    NEAR: False,
    "policy.plan": "",
    KERNEL: "auto",
    STASHING: "off",
    "machine.target_throughput": None,
    "machine.host_dram": None,
    "machine.host_dram_channels": None,
    "machine.pmem_module_GB": None,
    "machine.expander_dram_channels": None,
    "machine.all_powered": False,
    "machine.constant_power": False,
}
SHAPE = (GPU, GPUS, SERVERS, MEDIUM, CARD, DRIVE)  # knobs whose every combination is tried first
COUNTS = (8, 1, 2, 4, 16, 24, 32, 48, 64, 96, 128)
NODES = (1, 2, 4, 8, 16, 32, 64)
MODULES = (2, 4, 8, 16)

# The stops of a quick search, by knob; of other knobs all.
QUICK: Mapping[str, tuple[Any, ...]] = {
    GPUS: (8, 1, 2, 16, 64),
    INSIDE: (8, 1),
    SERVERS: (1, 4, 16),
    CAPACITY: (None, 256, 8000),
    NUMBER: (None, 8),
    DRIVES: (None, 8),
    DEDUP: ("memory",),
    BOUND: (0, 100),
    SHARE: (0.1, 0.01, 0.4),
    WAY: (None,),
    HOT: (1024.0, 16384.0),
    SHARDING: (None, "row-wise"),
    KERNEL: ("auto",),
    STASHING: ("off",),
}


def quick(stops: Stops) -> Stops:
    """Return the stops of a quick search: fewer of long ladders, the first of each always."""
    return {
        knob: tuple(one for number, one in enumerate(values) if not number or one in QUICK.get(knob, values))
        for knob, values in stops.items()
    }


def base_of(scenario: Scenario) -> Scenario:
    """Return a scenario whose searched knobs are free: sizes automatic, policies the system's own."""
    return with_values(scenario, RESET)


def space_of(base: Scenario, allowed: AllowedParts, systems: Collection[str] = ()) -> dict[str, Stops]:
    """Return the stops of each system, or of some, by knob; where a part is missing its knob has no stops."""
    chosen = {name: system for name, system in every("systems").items() if name in systems or not systems}
    return {name: _stops(with_values(base, {"system": name}), system, allowed) for name, system in chosen.items()}


def _stops(s: Scenario, system: System, allowed: AllowedParts) -> Stops:
    reads = _sizing_reads(s, system)
    found = {knob: stops(system, allowed) for knob, (wanted, stops) in KNOBS.items() if wanted(system, reads)}
    if system.kernel and system.kernel != HBM:
        found[KERNEL] = ("auto", *densest_in_hbm(s, system.kernel))
    if NEAR in found and LOGIC in found and not found[LOGIC]:
        found = {**found, NEAR: (False,), LOGIC: (s.machine.near_data_logic,)}
    return found


def _sizing_reads(s: Scenario, system: System) -> frozenset[str]:
    """Return the knobs that a system's sizes and places depend on."""
    notes = Reads()
    with suppress(BadKnob):
        place_and_size(cast(Scenario, Recorder(s, notes)), system)
    return frozenset(notes)


def _has(*devices: str) -> Callable[[System, frozenset[str]], bool]:
    return lambda system, reads: any(device in system.devices for device in devices)


def _reads(knob: str) -> Callable[[System, frozenset[str]], bool]:
    return lambda system, reads: knob in reads


def _scales(system: System, reads: frozenset[str]) -> bool:
    return system.scales


def _capacities(system: System, allowed: AllowedParts) -> tuple[float | None, ...]:
    """Return capacities of whole modules of the media that may be used, of one to so many."""
    sizes = {MEDIA[name].module.value for name in allowed.of("pmem")}
    return (None, *sorted({count * size for size in sizes for count in MODULES}))


def _logs(system: System, allowed: AllowedParts) -> tuple[str | None, ...]:
    return (None, *system.logs)


def _policies(system: System, allowed: AllowedParts) -> tuple[str | None, ...]:
    return (None, *system.cache.others) if system.cache else (None,)


def _counts(system: System, allowed: AllowedParts) -> tuple[int, ...]:
    return COUNTS if "gpu" in system.devices else NODES


def _inside(system: System, allowed: AllowedParts) -> tuple[int, ...]:
    return (8, 1, 2, 4) if "gpu" in system.devices else (1,)


def _are(*stops: Any) -> Callable[[System, AllowedParts], tuple[Any, ...]]:
    return lambda system, allowed: stops


def _parts(knob: str) -> Callable[[System, AllowedParts], tuple[str, ...]]:
    return lambda system, allowed: allowed.of(knob)


# By knob: whether a system has it, and its stops.
KNOBS: Mapping[str, tuple[Callable[[System, frozenset[str]], bool], Callable[[System, AllowedParts], tuple[Any, ...]]]] = {
    GPU: (_has("gpu"), _parts("gpu")),
    GPUS: (_scales, _counts),
    INSIDE: (_scales, _inside),
    HOST: (_has("host"), _parts("host")),
    CHASSIS: (_has("host"), _parts("chassis")),
    SERVERS: (_has("remote"), _are(*NODES)),
    MEDIUM: (_has("pmem"), _parts("pmem")),
    CAPACITY: (_has("pmem"), _capacities),
    CARD: (_has("expander-dram"), _parts("expander")),
    NUMBER: (_has("expander-dram"), _are(None, *MODULES)),
    DRIVE: (_has("ssd"), _parts("ssd")),
    DRIVES: (_has("ssd"), _are(None, *MODULES)),
    NEAR: (_has("near-data"), _are(False, True)),
    LOGIC: (_has("near-data"), _parts("near_data_logic")),
    DEDUP: (_has("near-data"), _are("memory", "off", "gpu")),
    RELAXED: (lambda system, reads: system.relaxes, _are(True, False)),
    BOUND: (lambda system, reads: system.relaxes, _are(0, 1, 10, 100)),
    LOG: (lambda system, reads: bool(system.logs), _logs),
    SHARE: (_reads(SHARE), _are(0.1, 0.001, 0.01, 0.03, 0.2, 0.4, 0.7)),
    WAY: (lambda system, reads: bool(system.cache and system.cache.others), _policies),
    HOT: (_reads(HOT), _are(1024.0, 64.0, 256.0, 4096.0, 16384.0)),
    STASHING: (lambda system, reads: system.stashes, _are("off", "state", "both")),
    SHARDING: (lambda system, reads: bool(system.shards), _are(None, "planner", "row-wise", "column-wise", "table-wise")),
}
