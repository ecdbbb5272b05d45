"""Protections: the state that each keeps safe, its costs, and the losses that it repairs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple

from ..core.constants import Constant
from ..hardware.device import nodes
from ..hardware.money.bill import BillItem, bill_price
from ..scenario.scenario import Scenario
from ..units import GB

# exact: the state is restored exactly; lossy: training goes on with old or rounded parts; older: training goes back to a rarer
# copy; lost: training starts again at batch 0.
Fidelity = Literal["exact", "lossy", "older", "lost"]
FIDELITIES: tuple[Fidelity, ...] = ("exact", "lossy", "older", "lost")
# The parts that a fault can destroy, in the words of `engine/faults/fault.py`; "site" is all nodes at once.
LOSSES = ("gpu", "host", "device", "fenced", "media", "line", "bits", "link", "site")
NODE_LOSSES = frozenset({"gpu", "host", "device", "link"})
# Meta's file system for Llama 3: 2 TB/s sustained, 7 TB/s at its peak, for 2,048 nodes of 8 GPUs.
STORE = Constant(
    "remote storage rate", 1.0, "GB/s", 0.25, 3.4, "derived", "Llama 3 (arXiv 2407.21783)", "of one node, each direction"
)
STORE_PRICE = Constant(
    "remote storage price",
    0.1,
    "USD/GB",
    0.02,
    0.5,
    "unsourced",
    "recalled: from disks to flash of a parallel file system",
    "its servers and redundancy included",
    year=2024,
)
FREE = BillItem("", "", 1, Constant("price", 0, "USD/GB", 0, 0, "stated", "free"))
COPIES = 2  # copies of all state: one complete, one being written


@dataclass(frozen=True)
class Pace:
    """The costs of one batch in the steady state.

    step: seconds of the batch.
    joules: joules of the batch, static power included.
    network: seconds in which the network is busy.
    pmem_bytes: bytes that the media of PMEM store.
    mlp_age: the age of the oldest MLP log [batches].
    restore: seconds of the system's own recovery.
    restore_joules: joules of that recovery without static power.
    """

    step: float
    joules: float
    network: float
    pmem_bytes: float
    mlp_age: int = 0
    restore: float = 0.0
    restore_joules: float = 0.0


@dataclass(frozen=True)
class StatePath:
    """A path to a copy of the state, over all nodes.

    write_rate, read_rate: bytes per second. joules: joules per byte.
    """

    write_rate: float
    read_rate: float
    joules: float = 0.0


class StoragePrices(NamedTuple):
    """Storage that protections buy: one of each, as items of a bill.

    A price is None where none is published.

    drive: a drive. dram: a GB of host DRAM. store: a GB of remote storage.
    """

    drive: BillItem = FREE
    dram: BillItem = FREE
    store: BillItem = FREE


NO_PRICES = StoragePrices()


@dataclass(frozen=True)
class Site:
    """A machine as protections see it.

    Rates and bytes are those of all its nodes together.
    scenario: the scenario with its settled knobs.
    unlogged_pace: a batch without any log.
    pace: a batch under the protection's log, if it keeps one.
    watts: power of idle devices.
    tables, mlp: bytes of the tables and of the MLP, optimizer state included.
    nodes: nodes that hold tables.
    shards: parts of the tables that fail independently.
    home, remote, ssd, network: the paths to the tables, to remote storage, to drives, to other nodes.
    host_dram: bytes of host DRAM, the largest possible where its size is automatic.
    ssd_watts: power of the idle drives that the protection adds.
    in_dram: whether tables lie in host memory.
    pmem: whether there is persistent memory.
    mtbf: mean seconds between faults after which the protection's periodic copies are read; None without such faults.
    period: seconds between two copies; None for the customary period.
    drives: drives that a node has already.
    drive_bytes, drive_watts: capacity and idle power of one drive.
    drive_room: free bytes over all drives that nodes have already.
    prices: prices of storage.
    """

    scenario: Scenario
    unlogged_pace: Pace
    pace: Pace
    watts: float
    tables: float
    mlp: float
    nodes: int
    shards: int
    home: StatePath
    remote: StatePath
    ssd: StatePath
    network: StatePath
    host_dram: float
    ssd_watts: float = 0.0
    in_dram: bool = False
    pmem: bool = False
    mtbf: float | None = None
    period: float | None = None
    drives: int = 0
    drive_bytes: float = 1.0
    drive_watts: float = 0.0
    drive_room: float = 0.0
    prices: StoragePrices = NO_PRICES

    @property
    def state(self) -> float:
        """Bytes of all parameters with optimizer state."""
        return self.tables + self.mlp


@dataclass(frozen=True)
class ProtectionPlan:
    """The costs of a protection on one machine, in seconds, joules and bytes.

    step, joules: seconds and joules of a batch.
    checkpoint_interval: batches between checkpoints; 0 for none.
    pause: seconds that training stands still for a checkpoint.
    drain: seconds, during training, until the checkpoint counts.
    checkpoint_joules: joules of a checkpoint.
    checkpoint_bytes: bytes of a checkpoint by medium.
    batch_bytes: bytes of a batch by medium.
    restore, restore_joules: seconds and joules of a recovery.
    mlp_age: the age of the MLP after a recovery [batches].
    partial: whether a recovery restores one part's rows and training goes on without replay.
    watts: constant power of the devices that the protection adds.
    backup_interval: batches between rarer copies, whose cost is included in `step`, `joules` and `batch_bytes`; 0 for none.
    backup_drain: seconds until a rarer copy counts.
    """

    step: float
    joules: float
    checkpoint_interval: int = 0
    pause: float = 0.0
    drain: float = 0.0
    checkpoint_joules: float = 0.0
    checkpoint_bytes: Mapping[str, float] = field(default_factory=dict)
    batch_bytes: Mapping[str, float] = field(default_factory=dict)
    restore: float = 0.0
    restore_joules: float = 0.0
    mlp_age: int = 0
    partial: bool = False
    watts: float = 0.0
    backup_interval: int = 0
    backup_drain: float = 0.0

    @cached_property
    def cycle(self) -> float:
        """Seconds from one checkpoint's end to the next one's; 0 without checkpoints."""
        return self.checkpoint_interval * self.step + self.pause


@dataclass(frozen=True)
class Protection:
    """The definition of a protection, as its file exports it.

    title, summary: its name and a sentence for users.
    fidelity_by_loss: the fidelity of the restored state, by lost part.
    plan: returns its costs at a site.
    log: returns the knobs for the log that it needs, or raises BadKnob with the remedy; None to train without a log.
    periodic: whether it copies the state periodically, as `policy.checkpoint_minutes` says.
    interval_name: the plan's field with the batches between two such copies.
    longest_period: returns the longest automatic period [s] that its loss of accuracy allows, by the faults a second after which
        it restores old parts; None without a limit.
    constants: the numbers that the plan depends on, besides those of the machine.
    cites: its sources.
    storage_needs: returns its storage: "drives" to add to each node, bytes of "dram" in each node's host, and bytes in the
        "store" for all nodes.
    """

    title: str
    summary: str
    fidelity_by_loss: Mapping[str, Fidelity]
    plan: Callable[[Site], ProtectionPlan]
    log: Callable[[Scenario], Mapping[str, Any]] | None = None
    periodic: bool = False
    interval_name: Literal["checkpoint_interval", "backup_interval"] = "checkpoint_interval"
    longest_period: Callable[[Site, float], float] | None = None
    constants: tuple[Constant, ...] = ()
    cites: tuple[str, ...] = ()
    storage_needs: Callable[[Site], Mapping[str, float]] = lambda site: {}

    def fidelity_after(self, destroyed: frozenset[str]) -> Fidelity:
        """Return the fidelity of the restored state after the loss of all these parts.

        It is the worst fidelity over the parts. "site" replaces the parts of one node.
        """
        parts = destroyed - NODE_LOSSES if "site" in destroyed else destroyed
        return max((self.fidelity_by_loss[loss] for loss in parts), key=FIDELITIES.index, default="exact")

    def interval(self, plan: ProtectionPlan) -> int:
        """Return the batches between two periodic copies; 0 for a protection without a period."""
        return int(getattr(plan, self.interval_name)) if self.periodic else 0

    def bill(self, site: Site) -> tuple[BillItem, ...]:
        """Return the storage that the protection needs, as items of a bill."""
        items: dict[str, Callable[[float], BillItem]] = {
            "drives": lambda drives: replace(site.prices.drive, count=drives * nodes(site.scenario.machine)),
            "dram": lambda nbytes: replace(site.prices.dram, count=site.nodes, units=nbytes / GB),
            "store": lambda nbytes: replace(site.prices.store, units=nbytes / GB),
        }
        return tuple(items[kind](amount) for kind, amount in self.storage_needs(site).items() if amount)

    def price(self, site: Site) -> float | None:
        """Return the USD of the storage that the protection needs.

        None where a part has no published price.
        """
        return bill_price(self.bill(site))

    def watts(self, site: Site, plan: ProtectionPlan) -> float:
        """Return the idle watts of the devices that the protection adds.

        They are the plan's watts, or those of the added drives if these are more.
        """
        drives = self.storage_needs(site).get("drives", 0.0) * nodes(site.scenario.machine)
        return max(plan.watts, drives * site.drive_watts)
