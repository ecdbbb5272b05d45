"""A training system: its plan of batches, its recovery, its policies, and its devices."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, Literal

from ..core.constants import Constant
from ..core.graph import Task, TaskGraph
from ..core.memo import memoised
from ..core.row_sizes import RowBytes
from ..errors import BadKnob
from ..hardware.device import Device, DeviceKind, combine_copies, gpus_in_node, name_of
from ..hardware.devices.chassis import CHASSIS
from ..hardware.hosts import LAYERS
from ..hardware.line_cache import NO_CACHE, LineCache, line_cache
from ..hardware.prices import is_owned
from ..registry import all_variants, load_variant
from ..scenario.machine import MachineKnobs
from ..scenario.scenario import Scenario
from .loop import with_training_loop
from .placement import Tiers
from .table_placement import TablePlacement
from .traffic import Traffic, table_bytes

Log = Literal["", "undo", "redo"]
CHASSIS_BY_GPUS = ("two-socket", "gpu-4-pcie", "gpu-8-sxm")  # chassis of two sockets, by rising places for GPUs
LOG_CLAUSES: dict[Log, str] = {"": "keeps no log", "undo": "keeps an undo log", "redo": "keeps a redo log"}


@dataclass(frozen=True)
class LogPolicy:
    """The policies in force: the log, the MLP log's staleness bound in batches, relaxed lookup."""

    log: Log = ""
    mlp_staleness_bound: int = 0
    relaxed_lookup: bool = False

    @property
    def strict(self) -> bool:
        """Whether recovery restores the fault-free run to the bit."""
        return self.log != "" and self.mlp_staleness_bound == 0 and not self.relaxed_lookup

    @property
    def loss_clause(self) -> str:
        """The loss of a power failure, as text: everything, the batch, or MLP batches too."""
        if not self.log:
            return "starts again"
        if self.mlp_staleness_bound:
            return f"loses the batch, and up to {self.mlp_staleness_bound} batches of the MLP"
        return "loses the batch" if self.strict else "loses the batch, equal up to rounding"


@dataclass(frozen=True)
class RecoveryWork:
    """The work of a recovery.

    rows: rows to restore.
    row_bytes: bytes of such a row.
    log_bytes: bytes of logs to read.
    mlp_bytes: bytes of parameters to load.
    scan_bytes: bytes of tables to verify.
    """

    rows: float
    row_bytes: RowBytes
    log_bytes: float
    mlp_bytes: float
    scan_bytes: float = 0.0


@dataclass(frozen=True)
class Cache:
    """The rows that a system caches.

    policy: the default cache policy.
    rows: capacity in rows, over all tables.
    other_policies: the other policies that can be chosen.
    at_once: batches that are fetched together, on their union.
    window: batches whose rows must be held together; with 0, rows that do not fit are used without being kept.
    in_sets: True if a row may only stand in one set of 32.
    tables: tables whose rows are cached, None for all.
    """

    policy: str
    rows: Callable[[Scenario], float]
    other_policies: tuple[str, ...] = ()
    at_once: Callable[[Scenario], int] = lambda s: 1
    window: Callable[[Scenario], int] = lambda s: 0
    in_sets: bool = False
    tables: Callable[[Scenario], tuple[int, ...]] | None = None


@dataclass(frozen=True, eq=False)
class System:
    """One training system.

    title, summary: texts for readers.
    devices: devices that the system powers and pays for.
    memory: where its tables live.
    plan: makes the tasks of a batch.
    log_policy: its own log policy.
    family, baseline: systems shown together, and the one they are compared with.
    can_relax: True if staleness and relaxed lookup can be chosen.
    parts_kind: the kind of its parts (`systems.parts.KINDS`), "" if all share all work evenly.
    can_replicate: True if its GPUs can all hold the most popular rows.
    can_stash: True if its tables can leave HBM while the dense layers train.
    cache: its row cache, None without one.
    caches: rows in its caches in DRAM and in SCM, of a system that places tables over several memories.
    tiers: each table's bytes and rows by memory, of such a system.
    hot: number of rows that it treats as popular.
    hbm_rows: number of most popular rows that never leave HBM.
    kernel: where it looks rows up, if its tables can have kernels of their own.
    groups: the tables of each kernel, of a system with kernels by table.
    places: bytes in each memory, over all GPUs and nodes, if not just the tables in `memory`.
    constants: sourced numbers of its own.
    logs: other logs that can be chosen.
    cites: sources.
    confidence: how well its inner workings are known: "source" or "headline only".
    recover: its recovery, if not the one that `steps.recovery` has by log and memory.
    """

    title: str
    summary: str
    devices: tuple[str, ...]
    memory: str
    plan: Callable[["Settled", Traffic], tuple[Task, ...]]
    log_policy: LogPolicy = LogPolicy()
    family: str = "TrainingCXL"
    baseline: str = "pmem"
    can_relax: bool = False
    parts_kind: str = ""
    can_replicate: bool = False
    can_stash: bool = False
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
    def can_use_many_gpus(self) -> bool:
        """Whether the system can use several GPUs, which needs a network."""
        return "network" in self.devices

    def graph(self, settled: "Settled", t: Traffic) -> TaskGraph:
        """Return the tasks of a batch with the training loop that drives it."""
        return TaskGraph(with_training_loop(settled.scenario, self.plan(settled, t)))

    def nbytes_by_memory(self, s: Scenario) -> Mapping[str, float]:
        """Return the bytes that the system keeps in each memory."""
        return self.places(s) if self.places else {self.memory: table_bytes(s)}


@dataclass(frozen=True)
class Sizes:
    """The sizes chosen for a machine, and its problems.

    knobs: sizes by dotted path.
    gpu_bytes: bytes of the fullest GPU between batches.
    problems: sentences, none if everything fits.
    """

    knobs: Mapping[str, Any]
    gpu_bytes: float
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Settled:
    """A scenario with chosen sizes, and all else that plans of its batches need.

    scenario, system: the scenario and its system.
    log_policy: the log policy in force.
    placement: where tables lie.
    medium: the cache of the modules that hold them, without lines if there is none.
    sizes: chosen sizes and problems.
    """

    scenario: Scenario
    system: System
    log_policy: LogPolicy
    placement: TablePlacement
    medium: LineCache
    sizes: Sizes

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences about everything that does not fit, none if everything does."""
        return self.sizes.problems


def system_of(settled: Settled) -> System:
    """Return the system of a settled scenario.

    The system decides most of the knobs that a stage reads.
    """
    return settled.system


def cache_policy(scenario: Scenario, cache: Cache) -> str:
    """Return the cache policy in force; raises BadKnob for one that the system cannot have."""
    policy_name, allowed = scenario.policy.cache_policy or cache.policy, (cache.policy, *cache.other_policies)
    if policy_name not in allowed:
        raise BadKnob(
            f"policy.cache_policy={policy_name} is not possible: the cache of system={scenario.system} can only evict by "
            f"{' or '.join(allowed)}; set it to auto."
        )
    return f"{policy_name} in sets" if cache.in_sets else policy_name


def cached_tables(scenario: Scenario, cache: Cache) -> tuple[int, ...] | None:
    """Return the numbers of the tables whose rows a cache keeps; None for all."""
    return cache.tables(scenario) if cache.tables else None


def medium_cache(scenario: Scenario, system: System) -> LineCache:
    """Return the cache of the modules that hold the tables.

    Without a cache it has no lines.
    The scenario must be settled.
    """
    return line_cache(scenario.machine) if system.memory == "pmem" else NO_CACHE


def log_policy(scenario: Scenario, system: System) -> LogPolicy:
    """Return the log policy in force; raises BadKnob for one that the system cannot have."""
    policy, system_policy = scenario.policy, system.log_policy
    log = next((log_kind for log_kind in (system_policy.log, *system.logs) if log_kind == policy.log), system_policy.log)
    if policy.log not in (None, log):
        raise BadKnob(
            f"policy.log={policy.log} is not possible: system={scenario.system} {LOG_CLAUSES[system_policy.log]}; "
            "set policy.log=auto."
        )
    bound = (
        system_policy.mlp_staleness_bound if policy.mlp_staleness_bound_batches is None else policy.mlp_staleness_bound_batches
    )
    relaxed = system_policy.relaxed_lookup if policy.relaxed_lookup is None else policy.relaxed_lookup
    if not system.can_relax and bound != system_policy.mlp_staleness_bound:
        raise BadKnob(
            f"policy.mlp_staleness_bound_batches={bound} is not possible: system={scenario.system} "
            f"{'logs the MLP with every batch' if system_policy.log else LOG_CLAUSES['']}; "
            "set it to auto or 0, or choose system=cxl."
        )
    if not system.can_relax and relaxed:
        raise BadKnob(
            f"policy.relaxed_lookup=on is not possible: system={scenario.system} always looks rows up after the update; set it "
            "to auto or off, or choose system=cxl."
        )
    return LogPolicy(log, bound, relaxed)


def chassis_of(system: System, machine: MachineKnobs) -> str:
    """Return the chassis of a node.

    By default it is the smallest of two sockets with places for the node's GPUs.
    """
    gpus = gpus_in_node(machine) if "gpu" in system.devices else 0
    return machine.chassis or next((name for name in CHASSIS_BY_GPUS if gpus <= CHASSIS[name].gpus.value), CHASSIS_BY_GPUS[-1])


def in_chassis(system: str, machine: MachineKnobs) -> MachineKnobs:
    """Return a machine whose chassis is chosen."""
    return machine if machine.chassis else replace(machine, chassis=chassis_of(load_variant("systems", system), machine))


def powered_devices(system: str, machine: MachineKnobs) -> dict[str, Device]:
    """Return the devices that a system powers, by name, equal ones folded.

    With `all_powered`, they are those of its whole family.
    """
    housed = in_chassis(system, machine)
    return {name: build_device(housed, name) for name in device_names(system, machine)}


def device_names(system: str, machine: MachineKnobs) -> tuple[str, ...]:
    """Return the names of the devices that a system powers."""
    return _powered_names(system, machine.all_powered, machine.near_data_compute, machine.energy_level != "device")


@cache
def _powered_names(system: str, all_powered: bool, near_data: bool, wall: bool) -> tuple[str, ...]:
    """Return the names of the devices of a system or, with `all_powered`, of its family."""
    system_spec, optional_devices = load_variant("systems", system), {"near-data": near_data, "wall": wall}
    names = _bench(system_spec) if all_powered else (*system_spec.devices, *_around_host(system_spec), "wall")
    return tuple(name for name in names if optional_devices.get(name, True))


@memoised()
def build_device(machine: MachineKnobs, name: str) -> Device:
    """Build a device, equal ones folded; a device whose part is owned already costs nothing."""
    kind: DeviceKind = load_variant("devices", name)
    device = combine_copies(kind.build(machine), kind.copies(machine))
    return replace(device, price=0.0) if is_owned(machine, name) else device


def _around_host(system: System) -> tuple[str, ...]:
    """Return the devices around every host: its DRAM and its chassis."""
    return tuple(name for name in ("dram", "chassis") if "host" in system.devices and name not in system.devices)


def _bench(system: System) -> tuple[str, ...]:
    """Return the devices of a machine on which every system of one family can run.

    Devices in hosts of their own are no part of it.
    """
    family = (relative for relative in all_variants("systems").values() if relative.family == system.family)
    family_devices = {device for relative in family for device in (*relative.devices, *_around_host(relative))}
    return tuple(
        name
        for name, kind in all_variants("devices").items()
        if name == "wall" or name in system.devices or (name in family_devices and not kind.in_own_hosts)
    )


def constants(scenario: Scenario) -> Mapping[str, Constant]:
    """Return the constants in use by name in `machine.assume`, with the assumptions applied.

    Those of layers on a host are in use if no GPU computes the layers.
    """
    return _constants(scenario.system, scenario.machine)


@lru_cache(maxsize=1024)
def _constants(system: str, machine: MachineKnobs) -> Mapping[str, Constant]:
    powered_constants = (
        (name_of(name, constant), constant)
        for name, device in powered_devices(system, machine).items()
        for constant in device.constants
    )
    return {name: constant for name, constant in powered_constants if name not in unread_constants(system)}


@cache
def unread_constants(system: str) -> frozenset[str]:
    """Return the names of constants that no work of a system reads.

    They are those of layers on a host, if a GPU computes the layers.
    """
    return (
        frozenset(f"host.{name.replace(' ', '-')}" for name in LAYERS)
        if "gpu" in load_variant("systems", system).devices
        else frozenset()
    )


def readers(path: str) -> tuple[str, ...]:
    """Return the devices that read a knob of the machine, by its dotted path."""
    return tuple(name for name, kind in all_variants("devices").items() if path in kind.knobs)
