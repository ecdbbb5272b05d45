"""A training system: how batches become tasks, how a fault is recovered, its policies, and the devices that it powers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, Literal

from ..core.constants import Constant
from ..core.graph import Task, TaskGraph
from ..core.memo import remembered
from ..core.row_sizes import RowBytes
from ..errors import BadKnob
from ..hardware.device import Device, DeviceKind, folded, gpus_in_node, name_of
from ..hardware.devices.chassis import CHASSIS
from ..hardware.hosts import LAYERS
from ..hardware.line_cache import NO_CACHE, LineCache, line_cache
from ..hardware.prices import is_owned
from ..registry import every, load
from ..scenario.machine import MachineKnobs
from ..scenario.scenario import Scenario
from .loop import driven
from .placement import Tiers
from .table_placement import TablePlacement
from .traffic import Traffic, table_bytes

Log = Literal["", "undo", "redo"]
BY_GPUS = ("two-socket", "gpu-4-pcie", "gpu-8-sxm")  # chassis of two sockets, by their places for GPUs
KEEPS: dict[Log, str] = {"": "keeps no log", "undo": "keeps an undo log", "redo": "keeps a redo log"}


@dataclass(frozen=True)
class LogPolicy:
    """The policies in force: the log, the MLP log's staleness bound in batches, relaxed lookup."""

    log: Log = ""
    mlp_staleness_bound: int = 0
    relaxed_lookup: bool = False

    @property
    def strict(self) -> bool:
        """Whether recovery gives back the fault-free run to the bit."""
        return self.log != "" and self.mlp_staleness_bound == 0 and not self.relaxed_lookup

    @property
    def loses(self) -> str:
        """What a power loss costs: everything, the batch at hand, or with it the newest batches of the MLP."""
        if not self.log:
            return "starts again"
        if self.mlp_staleness_bound:
            return f"loses the batch, and up to {self.mlp_staleness_bound} batches of the MLP"
        return "loses the batch" if self.strict else "loses the batch, equal up to rounding"


@dataclass(frozen=True)
class RecoveryWork:
    """What a recovery has to do: rows to put back, bytes of logs to read, parameters to load, bytes of tables to verify."""

    rows: float
    row_bytes: RowBytes
    log_bytes: float
    mlp_bytes: float
    scan_bytes: float = 0.0


@dataclass(frozen=True)
class Cache:
    """The rows that a system keeps near: by which policy, how many over all tables, and which `others` can be chosen.

    `at_once` batches are fetched together, on their union. The rows of `window` batches must be held together; with 0,
    rows that do not fit are used without being kept. `in_sets`: a row may only stand in one set of 32. `tables` are those
    whose rows it keeps, where these are not all.
    """

    policy: str
    rows: Callable[[Scenario], float]
    others: tuple[str, ...] = ()
    at_once: Callable[[Scenario], int] = lambda s: 1
    window: Callable[[Scenario], int] = lambda s: 0
    in_sets: bool = False
    tables: Callable[[Scenario], tuple[int, ...]] | None = None


@dataclass(frozen=True, eq=False)
class System:
    """One training system; `devices` are what it powers and pays for, `memory` is where its tables live.

    `recover` is its way back after a fault where `steps.recovery` does not have it by log and memory. `log_policy` is its
    own; `relaxes` says whether staleness and relaxed lookup can be chosen, `logs` which other logs can. `places` says how many
    bytes it keeps in which memory, over all GPUs and nodes, where that is not just the tables in `memory`. `caches` are the
    rows that its caches in DRAM and in SCM hold, of a system that places tables over several memories, and `tiers` say what of
    each table lies where. `hot` rows are those it treats as popular; `hbm_rows` of the most popular ones never leave HBM.
    `shards` says what the parts are among which a plan divides its tables (`systems.parts.KINDS`), "" where all share all work
    evenly. Systems of one `family` are shown beside each other, measured against its `baseline`. `replicates` says whether its
    GPUs can all hold the most popular rows, `stashes` whether its tables can leave HBM while the dense layers train.
    `confidence` says how well its inner workings are known: "source" or "headline only". `kernel` is where it looks the rows
    of tables up, of a system whose tables can have kernels of their own; `groups` are then the tables of each kernel.
    """

    title: str
    summary: str
    devices: tuple[str, ...]
    memory: str
    plan: Callable[["Settled", Traffic], tuple[Task, ...]]
    log_policy: LogPolicy = LogPolicy()
    family: str = "TrainingCXL"
    baseline: str = "pmem"
    relaxes: bool = False
    shards: str = ""
    replicates: bool = False
    stashes: bool = False
    cache: Cache | None = None
    caches: Callable[[Scenario], tuple[float, float]] | None = None
    tiers: Callable[[Scenario], Tiers] | None = None
    hot: Callable[[Scenario], float] | None = None
    hbm_rows: Callable[[Scenario], float] | None = None
    kernel: str = ""
    groups: Callable[[Scenario], Mapping[str, tuple[int, ...]]] | None = None
    places: Callable[[Scenario], Mapping[str, float]] | None = None
    constants: tuple[Constant, ...] = ()
    logs: tuple[Log, ...] = ()
    cites: tuple[str, ...] = ()
    confidence: str = "source"
    recover: Callable[[Scenario, RecoveryWork], tuple[Task, ...]] | None = None

    @property
    def scales(self) -> bool:
        """Whether it can use several GPUs: those that have a network between them can."""
        return "network" in self.devices

    def graph(self, settled: "Settled", t: Traffic) -> TaskGraph:
        """Return its plan of a batch with the training loop that drives it."""
        return TaskGraph(driven(settled.scenario, self.plan(settled, t)))

    def held(self, s: Scenario) -> Mapping[str, float]:
        """Return the bytes that it keeps in which memory."""
        return self.places(s) if self.places else {self.memory: table_bytes(s)}


@dataclass(frozen=True)
class Sizes:
    """The size chosen for a machine, and its problems.

    `knobs` are by dotted path; `gpu_bytes` is what the fullest GPU holds between batches; `problems` are sentences, none where
    everything fits.
    """

    knobs: Mapping[str, Any]
    gpu_bytes: float
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Settled:
    """A scenario of chosen size, with all else that plans of its batches need.

    `log_policy` is the one in force, `placement` says where tables lie, `medium` is the cache in the modules that hold them,
    with no line where there is none.
    """

    scenario: Scenario
    system: System
    log_policy: LogPolicy
    placement: TablePlacement
    medium: LineCache
    sizes: Sizes

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences that say what does not fit, none where everything does."""
        return self.sizes.problems


def system_of(settled: Settled) -> System:
    """Return the system, on which it depends most which knobs a stage reads."""
    return settled.system


def cache_policy(scenario: Scenario, cache: Cache) -> str:
    """Return the cache policy in force; raises BadKnob where the system cannot have the one asked for."""
    asked, known = scenario.policy.cache_policy or cache.policy, (cache.policy, *cache.others)
    if asked not in known:
        raise BadKnob(
            f"policy.cache_policy={asked} is not possible: system={scenario.system} keeps rows by {' or '.join(known)}; "
            "set it to auto."
        )
    return f"{asked} in sets" if cache.in_sets else asked


def cached_tables(scenario: Scenario, cache: Cache) -> tuple[int, ...] | None:
    """Return the tables whose rows a cache keeps, by number; None for all."""
    return cache.tables(scenario) if cache.tables else None


def medium_cache(scenario: Scenario, system: System) -> LineCache:
    """Return the cache in the modules of a system whose tables lie there, with no line where there is none; settled."""
    return line_cache(scenario.machine) if system.memory == "pmem" else NO_CACHE


def log_policy(scenario: Scenario, system: System) -> LogPolicy:
    """Return the policies in force; raises BadKnob where the system cannot have the one asked for."""
    policy, own = scenario.policy, system.log_policy
    log = next((one for one in (own.log, *system.logs) if one == policy.log), own.log)
    if policy.log not in (None, log):
        raise BadKnob(f"policy.log={policy.log} is not possible: system={scenario.system} {KEEPS[own.log]}; set policy.log=auto.")
    bound = own.mlp_staleness_bound if policy.mlp_staleness_bound_batches is None else policy.mlp_staleness_bound_batches
    relaxed = own.relaxed_lookup if policy.relaxed_lookup is None else policy.relaxed_lookup
    if not system.relaxes and bound != own.mlp_staleness_bound:
        raise BadKnob(
            f"policy.mlp_staleness_bound_batches={bound} is not possible: system={scenario.system} "
            f"{'logs the MLP with every batch' if own.log else KEEPS['']}; set it to auto or 0, or choose system=cxl."
        )
    if not system.relaxes and relaxed:
        raise BadKnob(
            f"policy.relaxed_lookup=on is not possible: system={scenario.system} looks rows up after the update; "
            "set it to auto or off, or choose system=cxl."
        )
    return LogPolicy(log, bound, relaxed)


def chassis_of(system: System, machine: MachineKnobs) -> str:
    """Return the chassis of a node: where none is chosen the smallest of two sockets with places for its GPUs."""
    gpus = gpus_in_node(machine) if "gpu" in system.devices else 0
    return machine.chassis or next((name for name in BY_GPUS if gpus <= CHASSIS[name].gpus.value), BY_GPUS[-1])


def in_chassis(system: str, machine: MachineKnobs) -> MachineKnobs:
    """Return a machine whose chassis is chosen."""
    return machine if machine.chassis else replace(machine, chassis=chassis_of(load("systems", system), machine))


def powered(system: str, machine: MachineKnobs) -> dict[str, Device]:
    """Build the devices that a system powers, by name, alike ones folded; with `all_powered`, those of its whole family."""
    housed = in_chassis(system, machine)
    return {name: built(housed, name) for name in named(system, machine)}


def named(system: str, machine: MachineKnobs) -> tuple[str, ...]:
    """Return the names of the devices that a system powers."""
    return _named(system, machine.all_powered, machine.near_data_compute, machine.energy_level != "device")


@cache
def _named(system: str, all_powered: bool, near_data: bool, wall: bool) -> tuple[str, ...]:
    chosen, wanted = load("systems", system), {"near-data": near_data, "wall": wall}
    names = _bench(chosen) if all_powered else (*chosen.devices, *_around_host(chosen), "wall")
    return tuple(name for name in names if wanted.get(name, True))


@remembered()
def built(machine: MachineKnobs, name: str) -> Device:
    """Build a device, alike ones folded; one whose part is owned already costs nothing."""
    kind: DeviceKind = load("devices", name)
    device = folded(kind.build(machine), kind.copies(machine))
    return replace(device, price=0.0) if is_owned(machine, name) else device


def _around_host(chosen: System) -> tuple[str, ...]:
    """Return what stands around a host whatever its system uses: its DRAM and its chassis."""
    return tuple(name for name in ("dram", "chassis") if "host" in chosen.devices and name not in chosen.devices)


def _bench(chosen: System) -> tuple[str, ...]:
    """Return the devices of a machine on which every system of one family can run; what stands apart is no part of it."""
    family = (one for one in every("systems").values() if one.family == chosen.family)
    used = {device for one in family for device in (*one.devices, *_around_host(one))}
    return tuple(
        name
        for name, kind in every("devices").items()
        if name == "wall" or name in chosen.devices or (name in used and not kind.apart)
    )


def constants(scenario: Scenario) -> Mapping[str, Constant]:
    """Return the constants in use by name, as `machine.assume` knows them, with the scenario's assumptions applied.

    What layers on a host take is in use where no GPU has them.
    """
    return _constants(scenario.system, scenario.machine)


@lru_cache(maxsize=1024)
def _constants(system: str, machine: MachineKnobs) -> Mapping[str, Constant]:
    used = ((name_of(name, one), one) for name, device in powered(system, machine).items() for one in device.constants)
    return {name: one for name, one in used if name not in unread_constants(system)}


@cache
def unread_constants(system: str) -> frozenset[str]:
    """Return the names of constants that no work of a system reads: those of layers on a host, where a GPU has them."""
    return (
        frozenset(f"host.{name.replace(' ', '-')}" for name in LAYERS)
        if "gpu" in load("systems", system).devices
        else frozenset()
    )


def readers(path: str) -> tuple[str, ...]:
    """Return the devices that read a knob of the machine, given by dotted path."""
    return tuple(name for name, kind in every("devices").items() if path in kind.knobs)
