"""A protection: what it keeps safe beside the training, what that costs, and which losses it can give back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

from ..core.constants import Constant
from ..hardware.device import nodes
from ..scenario.scenario import Scenario

# exact: as if nothing had happened; lossy: training goes on with old or rounded parts; older: it goes back to a rarer copy;
# lost: it starts again at batch 0.
Keeps = Literal["exact", "lossy", "older", "lost"]
KEEPS: tuple[Keeps, ...] = ("exact", "lossy", "older", "lost")
# What a fault can destroy, in the words of `engine/faults/fault.py`; "site" is all nodes at once.
LOSSES = ("gpu", "host", "device", "fenced", "media", "line", "bits", "link", "site")
ONE_NODE = frozenset({"gpu", "host", "device", "link"})
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
COPIES = 2  # of all state: one complete, one being written


@dataclass(frozen=True)
class Pace:
    """One batch of the steady state: seconds, joules with static power, seconds that the network is busy.

    `written` are bytes that PMEM's media stores, `stale` is the age of the oldest MLP log in batches. The system's own
    recovery takes `restore` seconds and `restore_joules`, static power aside.
    """

    step: float
    joules: float
    network: float
    written: float
    stale: int = 0
    restore: float = 0.0
    restore_joules: float = 0.0


@dataclass(frozen=True)
class StatePath:
    """Where state can be read from and written to, over all nodes: bytes per second each way, joules per byte."""

    write: float
    read: float
    joules: float = 0.0


class StoragePrices(NamedTuple):
    """USD of one drive, of a byte of host DRAM and of a byte in remote storage; None where none is published."""

    drive: float | None = 0.0
    dram: float | None = 0.0
    store: float | None = 0.0


FREE = StoragePrices()


@dataclass(frozen=True)
class Site:
    """A machine as protections see it; rates and bytes are those of all its nodes together.

    `bare` is a batch without any log, `pace` a batch under the protection's own log, if it keeps one; `watts` is drawn
    by idle devices; `host_dram` are bytes, the most there can be where its size is automatic; `in_dram` tells that tables
    lie in host memory, `pmem` that there is persistent memory. `shards` is how many parts of the tables fail alone. `mtbf`
    are the mean seconds between faults that undo work, None without such
    faults; `period` are the seconds between checkpoints asked for, None for the best ones. `drives` of `drive_bytes` and
    `drive_watts` each are in a node already, with `drive_room` bytes free over all of them.
    """

    scenario: Scenario
    bare: Pace
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
    prices: StoragePrices = FREE

    @property
    def state(self) -> float:
        """Bytes of all parameters with optimizer state."""
        return self.tables + self.mlp


@dataclass(frozen=True)
class ProtectionPlan:
    """What a protection does on one machine, in seconds, joules and bytes.

    Each batch takes `step` seconds and `joules`. Every `every` batches (0: never) training stands for `pause` seconds;
    the checkpoint counts once `drain` more have passed beside training, and costs `checkpoint_joules` and `written` bytes by
    medium; `batch_written` are bytes of each batch. A recovery takes `restore` seconds and `restore_joules`; after it the MLP
    is `stale` batches old. A `partial` recovery puts back one part's rows and lets training go on, without replay. What the
    protection adds to the machine draws `watts` all the time. A rarer copy, of every `backup_every` batches (0: none), counts
    after `backup_drain` seconds; the batches pay for it.
    """

    step: float
    joules: float
    every: int = 0
    pause: float = 0.0
    drain: float = 0.0
    checkpoint_joules: float = 0.0
    written: Mapping[str, float] = field(default_factory=dict)
    batch_written: Mapping[str, float] = field(default_factory=dict)
    restore: float = 0.0
    restore_joules: float = 0.0
    stale: int = 0
    partial: bool = False
    watts: float = 0.0
    backup_every: int = 0
    backup_drain: float = 0.0

    @cached_property
    def cycle(self) -> float:
        """Seconds from one checkpoint's end to the next one's; 0 without checkpoints."""
        return self.every * self.step + self.pause


@dataclass(frozen=True)
class Protection:
    """What a protection's file exports.

    `log` returns the knobs under which the system keeps the log that the protection needs, or raises BadKnob with the
    remedy, and is None to train without a log; `plan` says what that costs. `keeps` says for each loss what comes back;
    `constants` are the numbers that the plan hangs on, beside those of the machine. `takes` says what a machine needs
    besides: "drives" more in each node, bytes of "dram" in each node's host, bytes in the "store" for all nodes.
    """

    title: str
    summary: str
    keeps: Mapping[str, Keeps]
    plan: Callable[[Site], ProtectionPlan]
    log: Callable[[Scenario], Mapping[str, Any]] | None = None
    periodic: bool = False
    constants: tuple[Constant, ...] = ()
    cites: tuple[str, ...] = ()
    takes: Callable[[Site], Mapping[str, float]] = lambda site: {}

    def gives_back(self, destroyed: frozenset[str]) -> Keeps:
        """Return what comes back when all of this is destroyed at once: the worst of its parts; "site" stands for all nodes'."""
        parts = destroyed - ONE_NODE if "site" in destroyed else destroyed
        return max((self.keeps[loss] for loss in parts), key=KEEPS.index, default="exact")

    def price(self, site: Site) -> float | None:
        """Return the USD of all that it takes, None where a part of that has no published price."""
        each = {
            "drives": (site.prices.drive, nodes(site.scenario.machine)),
            "dram": (site.prices.dram, site.nodes),
            "store": (site.prices.store, 1),
        }
        total = 0.0
        for kind, amount in self.takes(site).items():
            usd, places = each[kind]
            if amount and usd is None:
                return None
            total += amount * places * (usd or 0.0)
        return total

    def watts(self, site: Site, plan: ProtectionPlan) -> float:
        """Return the idle watts of what it adds: those of its plan, or of all drives that its copies take."""
        drives = self.takes(site).get("drives", 0.0) * nodes(site.scenario.machine)
        return max(plan.watts, drives * site.drive_watts)
