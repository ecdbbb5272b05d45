"""A training system: its plan of batches, its recovery, its policies, and its devices."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, Literal

from ..core.constants import Constant
from ..core.figures import count
from ..core.graph import Task, TaskGraph
from ..core.memo import memoised
from ..core.row_sizes import RowBytes
from ..errors import BadKnob
from ..hardware.device import Device, DeviceKind, combine_copies, gpus_in_node, name_of
from ..hardware.devices.card_link import has_card_link
from ..hardware.devices.chassis import automatic_chassis
from ..hardware.hosts import LAYERS
from ..hardware.line_cache import NO_CACHE, LineCache, line_cache
from ..hardware.money.prices import with_owned_parts
from ..registry import all_variants, load_variant
from ..scenario.machine import MachineKnobs
from ..scenario.scenario import Scenario, changed_copy, is_sequential
from .loop import with_training_loop
from .placement import Tiers
from .steps.collective_waits import with_waits
from .steps.history_layers import with_history_layers
from .steps.input_dedup import with_input_dedup
from .steps.wires import CARD_LINK, LINKS, PORT, Wires, with_wires
from .table_placement import TablePlacement
from .traffic import Traffic, table_bytes

Log = Literal["", "undo", "redo"]
ATTENTION_CONSTANTS = frozenset(  # only layers over histories read them
    (
        "host.attention-rate-a-core",
        *(f"gpu.{name}-share-of-peak" for name in ("attention", "fused-attention-forward", "fused-attention-backward")),
    )
)
OPTIONAL = "near-data", "network", CARD_LINK, "wall"  # devices that a machine may lack
LOG_CLAUSES: dict[Log, str] = {"": "keeps no log", "undo": "keeps an undo log", "redo": "keeps a redo log"}


@dataclass(frozen=True)
class LogPolicy:
    """The log policy in force.

    log: "undo", "redo" or "" for no log.
    mlp_staleness_bound: the number of batches by which the MLP's log may lag.
    relaxed_lookup: True if the next batch is looked up before this batch's update.
    """

    log: Log = ""
    mlp_staleness_bound: int = 0
    relaxed_lookup: bool = False

    @property
    def strict(self) -> bool:
        """Whether training after a recovery is bit for bit as without the fault."""
        return self.log != "" and self.mlp_staleness_bound == 0 and not self.relaxed_lookup

    @property
    def loss_clause(self) -> str:
        """The loss by a power failure as a clause, such as "loses the batch"."""
        if not self.log:
            return "starts again"
        if self.mlp_staleness_bound:
            return f"loses the batch, and up to {count(self.mlp_staleness_bound, 'batch')} of the MLP"
        return "loses the batch" if self.strict else "loses the batch, equal up to rounding"


@dataclass(frozen=True)
class RecoveryWork:
    """The amounts of work of a recovery.

    rows: number of rows to restore.
    row_bytes: bytes of a row to restore.
    log_bytes: bytes of logs to read.
    mlp_bytes: bytes of MLP parameters to load.
    scan_bytes: bytes of tables to verify.
    """

    rows: float
    row_bytes: RowBytes
    log_bytes: float
    mlp_bytes: float
    scan_bytes: float = 0.0


@dataclass(frozen=True)
class Cache:
    """The row cache of a system.

    policy: the default cache policy.
    rows: function to the capacity in rows, over all tables.
    other_policies: the other policies that can be chosen.
    at_once: function to the number of batches whose rows are fetched together.
    window: function to the number of batches whose rows must all be in the cache; 0: a row without a place is used without
        caching.
    in_sets: True if a row has only one set of 32 places.
    tables: function to the tables whose rows are cached, None for all tables.
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
    """One training system. Functions take a scenario.

    title, summary: texts for readers.
    devices: names of the devices that the system powers and pays for.
    memory: the memory that holds the tables.
    plan: function to the tasks of a batch, from a settled scenario and the traffic.
    log_policy: the system's own log policy.
    family, baseline: the systems that it is shown with, and the system that it is compared with.
    can_relax: True if the MLP's staleness and relaxed lookup can be chosen.
    parts_kind: the kind of its parts (`systems.parts.KINDS`), "" if all work is shared evenly.
    one_node: True if all its GPUs are in one node, around one memory.
    can_replicate: True if all GPUs can hold the most popular rows.
    can_stash: True if tables can leave HBM while the dense layers train.
    cache: the row cache, None without a cache.
    caches: function to the rows of its caches in DRAM and in SCM, for a system with tables in several memories.
    tiers: function to each table's bytes and rows by memory, for a system with tables in several memories.
    hot: function to the number of rows that it treats as popular.
    hbm_rows: function to the number of most popular rows that never leave HBM.
    kernel: the place of its lookups, if its tables can have kernels of their own, else "".
    groups: function to the tables of each kernel, for a system with kernels by table.
    places: function to the bytes in each memory, over all GPUs and nodes; None if only tables in `memory` count.
    constants: sourced numbers of the system itself.
    logs: other logs that can be chosen.
    cites: sources.
    confidence: how well its design is known: "source" or "headline only".
    recover: function to the tasks of its recovery; None for the recovery by `steps.recovery`.
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
    one_node: bool = False
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
        """Whether the system can use several GPUs, for which it needs a network."""
        return "network" in self.devices

    @property
    def can_use_many_nodes(self) -> bool:
        """Whether the system can use several nodes."""
        return self.can_use_many_gpus and not self.one_node

    def graph(self, settled: "Settled", t: Traffic) -> TaskGraph:
        """Return the task graph of a batch, with the training loop."""
        s, plan = settled.scenario, with_input_dedup(t, self.plan(settled, t))
        tasks = with_waits(s, with_training_loop(s, with_history_layers(s, plan)))
        return TaskGraph(with_wires(settled.wires, tasks) if "gpu" in self.devices else tasks)

    def nbytes_by_memory(self, s: Scenario) -> Mapping[str, float]:
        """Return the bytes that the system keeps in each memory."""
        return self.places(s) if self.places else {self.memory: table_bytes(s)}


@dataclass(frozen=True)
class Sizes:
    """The sizes that were chosen for a machine, and the problems of fitting.

    knobs: the sizes by dotted path.
    gpu_bytes: bytes on the fullest GPU between batches.
    problems: sentences on everything that does not fit; () if everything fits.
    """

    knobs: Mapping[str, Any]
    gpu_bytes: float
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Settled:
    """A scenario with chosen sizes, and all else that the plan of its batches needs.

    scenario, system: the scenario and its system.
    log_policy: the log policy in force.
    placement: the placement of tables over parts.
    medium: the cache before the media of the modules with the tables; of 0 lines without a cache.
    sizes: the chosen sizes and the problems of fitting.
    wires: what the machine's wires let pass beside each other.
    """

    scenario: Scenario
    system: System
    log_policy: LogPolicy
    placement: TablePlacement
    medium: LineCache
    sizes: Sizes
    wires: Wires

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences on everything that does not fit; () if everything fits."""
        return self.sizes.problems


def system_of(settled: Settled) -> System:
    """Return the system of a settled scenario, by which memoised stages group their answers."""
    return settled.system


def cache_policy(scenario: Scenario, cache: Cache) -> str:
    """Return the cache policy in force; raises BadKnob if the system does not allow it."""
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
    """Return the cache before the media of the modules that hold the tables.

    Without such a cache, it has 0 lines. The scenario's sizes must be chosen.
    """
    return line_cache(scenario.machine) if system.memory == "pmem" else NO_CACHE


def log_policy(scenario: Scenario, system: System) -> LogPolicy:
    """Return the log policy in force; raises BadKnob if the system does not allow it."""
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
    """Return the name of the chassis of a node.

    If none is chosen, it is the smallest chassis of two sockets that has places for the node's GPUs.
    """
    gpus = gpus_in_node(machine) if "gpu" in system.devices else 0
    return machine.chassis or automatic_chassis(machine, gpus)


def in_chassis(system: str, machine: MachineKnobs) -> MachineKnobs:
    """Return a machine with its chassis chosen for the system."""
    if machine.chassis:
        return machine
    housed: MachineKnobs = changed_copy(machine, {"chassis": chassis_of(load_variant("systems", system), machine)})
    return housed


def powered_devices(system: str, machine: MachineKnobs) -> dict[str, Device]:
    """Return the devices that a system powers, by name; equal devices are one `Device`.

    With `machine.all_powered`, these are the devices of all systems of its family.
    """
    housed = in_chassis(system, machine)
    return {name: build_device(machine_around(system, housed, name), name) for name in device_names(system, machine)}


def machine_around(system: str, machine: MachineKnobs, device: str) -> MachineKnobs:
    """Return the machine around a device: DRAM shares slots only with PMEM that is powered."""
    if device not in ("dram", "expander-dram") or "pmem" in device_names(system, machine):
        return machine
    around: MachineKnobs = changed_copy(machine, {"pmem_capacity_GB": None})
    return around


def device_names(system: str, machine: MachineKnobs) -> tuple[str, ...]:
    """Return the names of the devices that a system powers.

    With `machine.all_powered`, these are the devices of all systems of its family. One GPU has nothing that connects GPUs.
    """
    there = machine.near_data_compute, machine.num_gpus > 1, has_card_link(machine), machine.energy_level != "device"
    return _powered_names(system, machine.all_powered, there)


@cache
def _powered_names(system: str, all_powered: bool, there: tuple[bool, ...]) -> tuple[str, ...]:
    """Return the names of the devices of a system or, with `all_powered`, of its family; `there` says which of OPTIONAL."""
    system_spec, optional_devices = load_variant("systems", system), dict(zip(OPTIONAL, there, strict=True))
    optional_devices["network"] |= "gpu" not in system_spec.devices or "remote" in system_spec.devices
    names = _bench(system_spec) if all_powered else (*_devices(system_spec), "wall")
    return tuple(name for name in names if optional_devices.get(name, True))


@memoised()
def build_device(machine: MachineKnobs, name: str) -> Device:
    """Return a device of a machine; equal devices are one `Device`.

    Parts that the user owns already cost nothing.
    """
    kind: DeviceKind = load_variant("devices", name)
    device = combine_copies(kind.build(machine), kind.copies(machine), kind.spares(machine))
    if not machine.owned_parts:
        return device
    before = build_device(machine, "dram").bill if name == "expander-dram" else ()  # which may be of the same grade
    return replace(device, bill=with_owned_parts(machine, device.bill, before))


def _devices(system: System) -> tuple[str, ...]:
    """Return a system's devices, with those around every host, its DRAM and its chassis, and the ports of its GPUs."""
    around = {"dram": "host" in system.devices, "chassis": "host" in system.devices}
    around[PORT] = "gpu" in system.devices and any(link in system.devices for link in LINKS)
    return (*system.devices, *(name for name, is_there in around.items() if is_there and name not in system.devices))


def _bench(system: System) -> tuple[str, ...]:
    """Return the devices of a machine on which every system of one family can run.

    Devices in hosts of their own are no part of it.
    """
    family = (relative for relative in all_variants("systems").values() if relative.family == system.family)
    family_devices = {device for relative in family for device in _devices(relative)}
    return tuple(
        name
        for name, kind in all_variants("devices").items()
        if name == "wall" or name in system.devices or (name in family_devices and not kind.in_own_hosts)
    )


def constants(scenario: Scenario) -> Mapping[str, Constant]:
    """Return the constants in use, by name in `machine.assume`, with assumptions applied.

    Constants of layers on a host are in use only if no GPU computes the layers, those of attention only with histories.
    """
    return _constants(scenario.system, scenario.machine, is_sequential(scenario.model))


@lru_cache(maxsize=1024)
def _constants(system: str, machine: MachineKnobs, histories: bool) -> Mapping[str, Constant]:
    powered_constants = (
        (name_of(name, constant), constant)
        for name, device in powered_devices(system, machine).items()
        for constant in device.constants
    )
    unread = unread_constants(system) | (frozenset() if histories else ATTENTION_CONSTANTS)
    return {name: constant for name, constant in powered_constants if name not in unread}


@cache
def unread_constants(system: str) -> frozenset[str]:
    """Return the names of unread constants: of layers on a host, beside a GPU."""
    return (
        frozenset(f"host.{name.replace(' ', '-')}" for name in LAYERS)
        if "gpu" in load_variant("systems", system).devices
        else frozenset()
    )
