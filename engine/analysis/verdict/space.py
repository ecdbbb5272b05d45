"""The space of a search: each stack's searched knobs, and the values of each knob.

A search begins at the first value of each knob. None stands for a memory that is sized automatically.
"""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, cast

from ...core.memo import Reads, Recorder
from ...errors import BadKnob
from ...hardware.devices.chassis import MOST_PLACES, board_sizes
from ...hardware.devices.pmem import MEDIA
from ...hardware.software import Software, gpu_platforms
from ...insight.decomposition import BOUND, NEAR_DATA, RELAXED
from ...insight.relaxation import LINK
from ...registry import load_variant
from ...scenario.scenario import Scenario, with_values
from ...systems.buildable.software import KERNEL as KERNEL_WORD
from ...systems.buildable.software import SHARDING as SHARDING_WORD
from ...systems.capacity import place_and_size
from ...systems.kernels.densest import densest_in_hbm
from ...systems.kernels.mixed import HBM
from ...systems.sizing import AUTOMATIC_SIZES, CAPACITY, CHASSIS, DRIVES, NUM_EXPANDERS
from ...systems.system import System
from .allowed import AllowedParts
from .stacks import Stack

Stops = Mapping[str, tuple[Any, ...]]  # by knob
GPU, GPUS, GPUS_PER_NODE, HOST, MEDIUM = (
    "machine.gpu",
    "machine.num_gpus",
    "machine.gpus_per_node",
    "machine.host",
    "machine.pmem",
)
CARD, DRIVE, LOGIC, SERVERS = "machine.expander", "machine.ssd", "machine.near_data_logic", "machine.embedding_servers"
CACHE_SHARE, CACHE_POLICY, HOT_ROWS = "policy.cache_load_factor", "policy.cache_policy", "policy.hot_rows_MiB"
KERNEL, STASHING = "policy.kernel", "policy.stashing"
LOG, SHARDING, DEDUP, COPIES = "policy.log", "policy.sharding", "policy.row_dedup", "policy.replicated_rows"
# Knobs of a base scenario that are reset before a search: searched counts, sizes and policies, and ways of counting that would
# favour a machine. A system without such a knob in its space has these values.
RESET_KNOBS: Mapping[str, Any] = {
    GPUS: 1,
    GPUS_PER_NODE: 8,
    SERVERS: 1,
    CACHE_SHARE: 0.1,
    HOT_ROWS: 256.0,
    DEDUP: "memory",
    **dict.fromkeys((*AUTOMATIC_SIZES, LINK, LOG, BOUND, RELAXED, CACHE_POLICY, SHARDING, COPIES)),
    NEAR_DATA: False,
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
SHAPE = (GPU, GPUS, SERVERS, MEDIUM, CARD, DRIVE)  # knobs of which all combinations are tried first
COUNTS = (8, 1, 2, 4, 16, 24, 32, 48, 64, 96, 128)
NODES = (1, 2, 4, 8, 16, 32, 64)
MODULES = (2, 4, 8, 16)

# The stops of a quick search, by knob; other knobs have all their stops.
QUICK_STOPS: Mapping[str, tuple[Any, ...]] = {
    GPUS: (8, 1, 2, 16, 64),
    GPUS_PER_NODE: (8, 1),
    SERVERS: (1, 4, 16),
    CAPACITY: (None, 256, 8000),
    NUM_EXPANDERS: (None, 8),
    DRIVES: (None, 8),
    DEDUP: ("memory",),
    BOUND: (0, 100),
    CACHE_SHARE: (0.1, 0.01, 0.4),
    CACHE_POLICY: (None,),
    HOT_ROWS: (1024.0, 16384.0),
    SHARDING: (None, "row-wise"),
    KERNEL: ("auto",),
    STASHING: ("off",),
}


def quick_stops(stops: Stops) -> Stops:
    """Return the values for a quick search: fewer for some knobs, always the first."""
    return {
        knob: tuple(stop for number, stop in enumerate(values) if not number or stop in QUICK_STOPS.get(knob, values))
        for knob, values in stops.items()
    }


def free_base(scenario: Scenario) -> Scenario:
    """Return a scenario with automatic sizes and each system's default policies.

    So the searched knobs are free.
    """
    return with_values(scenario, RESET_KNOBS)


def space_of(base: Scenario, allowed: AllowedParts, chosen_stacks: Iterable[Stack]) -> dict[Stack, Stops]:
    """Return the values to search, by stack and knob.

    A knob without an allowed part has no values, and neither has one without a GPU or policy that the software has.
    """
    by_system: dict[str, Stops] = {}
    for name in dict.fromkeys(stack.system for stack in chosen_stacks):
        by_system[name] = _stops(with_values(base, {"system": name}), load_variant("systems", name), allowed)
    return {stack: on_whole_boards(_restrict_stops(by_system[stack.system], stack.part), allowed) for stack in chosen_stacks}


def on_whole_boards(stops: Stops, allowed: AllowedParts) -> Stops:
    """Return the stops with which a machine has whole boards of GPUs.

    A GPU stays if some number of GPUs fills boards of an allowed chassis; a number stays if it does so for some GPU.
    """
    if GPU not in stops:
        return stops
    counts, chassis = stops.get(GPUS, (1,)), allowed.parts_of_knob("chassis")
    boards = {gpu: [size for size in board_sizes(gpu, chassis) if any(n % size == 0 for n in counts)] for gpu in stops[GPU]}
    sizes = {size for board in boards.values() for size in board}
    whole: Mapping[str, Callable[[Any], bool]] = {
        GPU: lambda gpu: bool(boards[gpu]),
        GPUS: lambda number: any(number % size == 0 for size in sizes),
        GPUS_PER_NODE: lambda number: 1 in sizes or any(min(number, count) in sizes for count in counts),
    }
    kept = {knob: tuple(stop for stop in values if knob not in whole or whole[knob](stop)) for knob, values in stops.items()}
    return {**stops, GPU: ()} if not kept[GPU] else kept


def _restrict_stops(stops: Stops, software: Software | None) -> Stops:
    """Return the stops that software has; all of them without software."""
    if software is None:
        return stops
    lacking: Mapping[str, Callable[[Any], bool]] = {
        GPU: lambda gpu: not {*gpu_platforms(gpu)} & {*software.platforms},
        SHARDING: lambda way: bool(software.lacks((f"{SHARDING_WORD}{way}",))),
        STASHING: lambda stash: stash != "off" and bool(software.lacks(("stashing",))),
        KERNEL: lambda kernels: kernels != "auto" and bool(software.lacks(tuple(f"{KERNEL_WORD}{one}" for one in {*kernels}))),
    }
    return {
        knob: tuple(stop for stop in values if knob not in lacking or not lacking[knob](stop)) for knob, values in stops.items()
    }


def _stops(s: Scenario, system: System, allowed: AllowedParts) -> Stops:
    reads = _sizing_reads(s, system)
    stops_by_knob = {knob: stops(system, allowed) for knob, (applies, stops) in KNOBS.items() if applies(system, reads)}
    if system.kernel and system.kernel != HBM:
        stops_by_knob[KERNEL] = ("auto", *densest_in_hbm(s, system.kernel))
    if NEAR_DATA in stops_by_knob and LOGIC in stops_by_knob and not stops_by_knob[LOGIC]:
        stops_by_knob = {**stops_by_knob, NEAR_DATA: (False,), LOGIC: (s.machine.near_data_logic,)}
    return stops_by_knob


def _sizing_reads(s: Scenario, system: System) -> frozenset[str]:
    """Return the knobs that a system's sizes and places depend on."""
    notes = Reads()
    with suppress(BadKnob):
        place_and_size(cast(Scenario, Recorder(s, notes)), system)
    return frozenset(notes)


def _has_device(*devices: str) -> Callable[[System, frozenset[str]], bool]:
    return lambda system, reads: any(device in system.devices for device in devices)


def _reads_knob(knob: str) -> Callable[[System, frozenset[str]], bool]:
    return lambda system, reads: knob in reads


def _has_many_gpus(system: System, reads: frozenset[str]) -> bool:
    return system.can_use_many_gpus


def _has_many_nodes(system: System, reads: frozenset[str]) -> bool:
    return system.can_use_many_nodes


def _capacities(system: System, allowed: AllowedParts) -> tuple[float | None, ...]:
    """Return the capacities of MODULES whole modules of the allowed media [GB], None for automatic."""
    sizes = {MEDIA[name].module.value for name in allowed.parts_of_knob("pmem")}
    return (None, *sorted({count * size for size in sizes for count in MODULES}))


def _logs(system: System, allowed: AllowedParts) -> tuple[str | None, ...]:
    return (None, *system.logs)


def _policies(system: System, allowed: AllowedParts) -> tuple[str | None, ...]:
    return (None, *system.cache.other_policies) if system.cache else (None,)


def _counts(system: System, allowed: AllowedParts) -> tuple[int, ...]:
    if system.one_node:
        return tuple(count for count in COUNTS if count <= MOST_PLACES)
    return COUNTS if "gpu" in system.devices else NODES


def _node_gpus(system: System, allowed: AllowedParts) -> tuple[int, ...]:
    return (8, 1, 2, 4) if "gpu" in system.devices else (1,)


def _fixed_stops(*stops: Any) -> Callable[[System, AllowedParts], tuple[Any, ...]]:
    return lambda system, allowed: stops


def _parts(knob: str) -> Callable[[System, AllowedParts], tuple[str, ...]]:
    return lambda system, allowed: allowed.parts_of_knob(knob)


# By knob: whether a system has it, and its stops.
KNOBS: Mapping[str, tuple[Callable[[System, frozenset[str]], bool], Callable[[System, AllowedParts], tuple[Any, ...]]]] = {
    GPU: (_has_device("gpu"), _parts("gpu")),
    GPUS: (_has_many_gpus, _counts),
    GPUS_PER_NODE: (_has_many_nodes, _node_gpus),
    HOST: (_has_device("host"), _parts("host")),
    CHASSIS: (_has_device("host"), _parts("chassis")),
    SERVERS: (_has_device("remote"), _fixed_stops(*NODES)),
    MEDIUM: (_has_device("pmem"), _parts("pmem")),
    CAPACITY: (_has_device("pmem"), _capacities),
    CARD: (_has_device("expander-dram"), _parts("expander")),
    NUM_EXPANDERS: (_has_device("expander-dram"), _fixed_stops(None, *MODULES)),
    DRIVE: (_has_device("ssd"), _parts("ssd")),
    DRIVES: (_has_device("ssd"), _fixed_stops(None, *MODULES)),
    NEAR_DATA: (_has_device("near-data"), _fixed_stops(False, True)),
    LOGIC: (_has_device("near-data"), _parts("near_data_logic")),
    DEDUP: (_has_device("near-data"), _fixed_stops("memory", "off", "gpu")),
    RELAXED: (lambda system, reads: system.can_relax, _fixed_stops(True, False)),
    BOUND: (lambda system, reads: system.can_relax, _fixed_stops(0, 1, 10, 100)),
    LOG: (lambda system, reads: bool(system.logs), _logs),
    CACHE_SHARE: (_reads_knob(CACHE_SHARE), _fixed_stops(0.1, 0.001, 0.01, 0.03, 0.2, 0.4, 0.7)),
    CACHE_POLICY: (lambda system, reads: bool(system.cache and system.cache.other_policies), _policies),
    HOT_ROWS: (_reads_knob(HOT_ROWS), _fixed_stops(1024.0, 64.0, 256.0, 4096.0, 16384.0)),
    STASHING: (lambda system, reads: system.can_stash, _fixed_stops("off", "state", "both")),
    SHARDING: (
        lambda system, reads: bool(system.parts_kind),
        _fixed_stops(None, "planner", "row-wise", "column-wise", "table-wise"),
    ),
}
