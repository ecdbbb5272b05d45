"""Sizes that are automatic: whatever holds something gets the least whole parts that hold it and that its bandwidth takes.

Persistent memory: modules that hold tables and logs; at least those that a link's lanes feed or that fill an interleave set.
DRAM: like DIMMs in all channels. Drives: as many as hold the tables.
"""

from math import ceil
from typing import Any, NamedTuple

from ..core.constants import Constant
from ..hardware.device import expanders, gpus_in_node, nodes
from ..hardware.devices.cxl import lanes_rate
from ..hardware.devices.dram import DIMMS_GiB
from ..hardware.devices.expander_dram import card, dram_controllers
from ..hardware.devices.gpu import memory_bytes
from ..hardware.devices.pmem import interleave_set, module_bytes, module_rate, modules, modules_for, own_link
from ..hardware.devices.ssd import drive_bytes
from ..hardware.hosts import host_channels
from ..scenario.scenario import KNOBS, Scenario, with_checked
from ..units import GB, GiB
from .row_kinds import row_bytes
from .steps.stashing import stashed_bytes
from .system import System, chassis_of
from .traffic import cached_rows, log_bytes, table_bytes

CAPACITY, HOST, EXPANDER = "machine.pmem_capacity_GB", "machine.host_dram_GiB", "machine.expander_dram_GiB"
SERVER, DRIVES, NUMBER = "machine.server_dram_GiB", "machine.num_ssds", "machine.num_expanders"
CHASSIS, LINK, WAY = "machine.chassis", "machine.cxl_bandwidth_GBps", "machine.cxl_latency_ns"
AUTOMATIC = (CAPACITY, HOST, EXPANDER, SERVER, DRIVES, NUMBER, LINK, WAY, CHASSIS)
MOST_GB = float(KNOBS[CAPACITY].high or 0)  # of PMEM in one node
PER_CHANNEL = 2  # DIMMs that a channel takes
STAGING = Constant("host DRAM", 2, "of GPU memory", 1, 2, "unsourced", "vendors' guides for GPU servers: inputs, copies, the OS")


class Modules(NamedTuple):
    """PMEM modules of a node by reason: those that hold tables and logs, that the link's lanes feed, that fill an interleave set.

    A bandwidth that is set by hand moves no modules: along it, the link alone changes.
    """

    hold: int
    feed: int | None
    interleave: int

    @property
    def number(self) -> int:
        """How many a node gets."""
        return max(self.hold, min(self.interleave, self.feed or self.interleave))


def sized(s: Scenario, system: System) -> Scenario:
    """Return a scenario whose memories, links and drives have sizes: what is automatic is chosen, PMEM is whole modules."""
    sizes = sizes_of(s, system)
    return with_checked(s, sizes) if sizes else s


def sizes_of(s: Scenario, system: System) -> dict[str, Any]:
    """Return the sizes that are chosen for a scenario, by knob: those that are automatic, and PMEM in whole modules."""
    sizes: dict[str, Any] = {}

    def choose(**chosen: Any) -> Scenario:
        sizes.update({f"machine.{name}": size for name, size in chosen.items()})
        return with_checked(s, sizes)

    if "cxl" in system.devices and (link := _link_sizes(s, system)):
        s = choose(**link)
    if (capacity := _capacity(s, system)) != s.machine.pmem_capacity_GB:
        s = choose(pmem_capacity_GB=capacity)
    if "cxl" in system.devices and s.machine.num_expanders is None:
        s = choose(num_expanders=_cards(s, system))
    if s.machine.chassis is None:
        s = choose(chassis=chassis_of(system, s.machine))
    if s.machine.host_dram_GiB is None:
        least = least_host_dram(s, system)
        s = choose(host_dram_GiB=least)  # tables that are placed by room are placed in this
        s = choose(host_dram_GiB=max(least, dimms(host_channels(s.machine), _in_host(s, system))))
    if (dram := _expander_dram(s, system)) != s.machine.expander_dram_GiB:
        s = choose(expander_dram_GiB=dram)
    if s.machine.server_dram_GiB is None:
        share = _held(s, system, "servers") / s.machine.embedding_servers
        s = choose(server_dram_GiB=dimms(host_channels(s.machine), share))
    if s.machine.num_ssds is None:
        choose(num_ssds=_drives(s, system))
    return sizes


def _link_sizes(s: Scenario, system: System) -> dict[str, Any]:
    """Return the automatic rate and latency of links that cards or modules bring."""
    machine = s.machine
    if system.memory == "expander-dram" and (own := card(machine)):
        sizes = {"cxl_bandwidth_GBps": own.link.value, "cxl_latency_ns": own.way.value}
    elif system.memory == "pmem" and (link := own_link(machine)):
        sizes = {"cxl_bandwidth_GBps": lanes_rate(machine, link[1], link[0]) / GB, "cxl_latency_ns": link[2]}
    else:
        return {}
    return {name: size for name, size in sizes.items() if getattr(machine, name) is None}


def _cards(s: Scenario, system: System) -> int:
    """Return how many expanders there are: cards that hold the tables, modules with links of their own, or one."""
    if system.memory == "expander-dram" and (own := card(s.machine)):
        asked = s.machine.expander_dram_GiB
        count = ceil((_held(s, system, "expander-dram") if asked is None else asked * GiB) / (own.capacity.value * GB) - 1e-9)
    else:
        count = modules(s.machine) if system.memory == "pmem" and own_link(s.machine) else 1
    return min(max(1, count), int(KNOBS[NUMBER].high or 1))


def _expander_dram(s: Scenario, system: System) -> float:
    """Return the GiB of the DRAM of all expanders: what is asked for, in whole cards where they are cards; or DIMMs."""
    own, asked = card(s.machine), s.machine.expander_dram_GiB
    if own:
        return max(expanders(s.machine) * own.capacity.value * GB / GiB, asked or 0.0)
    return asked or dimms(dram_controllers(s.machine), _held(s, system, "expander-dram"))


def modules_by_reason(s: Scenario, system: System) -> Modules:
    """Return how many PMEM modules an automatic capacity takes, by reason."""
    machine = s.machine
    hold = modules_for(machine, (table_bytes(s) + log_bytes(s)) / nodes(machine))
    lanes = expanders(machine) * lanes_rate(machine, machine.cxl_generation, machine.cxl_lanes)
    feed = max(1, round(lanes / module_rate(machine))) if "cxl" in system.devices else None
    return Modules(hold, feed, interleave_set(machine))


def dimms(channels: int, nbytes: float) -> float:
    """Return the GiB of the smallest like DIMMs in all channels that hold so many bytes, or of the most there can be."""
    return float(next((size for each in DIMMS_GiB if (size := channels * each) * GiB >= nbytes), most_dimms(channels)))


def most_dimms(channels: int) -> float:
    """Return the GiB of the most DRAM that so many channels take."""
    return float(PER_CHANNEL * channels * DIMMS_GiB[-1])


def least_host_dram(s: Scenario, system: System) -> float:
    """Return the GiB of a host's DRAM that holds no tables: what feeds the GPUs of a node, in all its channels."""
    gpus = gpus_in_node(s.machine) if "gpu" in system.devices else 0
    return dimms(host_channels(s.machine), STAGING.value * gpus * memory_bytes(s.machine))


def _in_host(s: Scenario, system: System) -> float:
    """Return the bytes of tables and caches in the DRAM of one host."""
    cache = cached_rows(s) * row_bytes(s) if system.memory == "ssd" and not system.places else 0.0
    return (_held(s, system, "dram") + cache + (stashed_bytes(s) if system.stashes else 0.0)) / nodes(s.machine)


def _held(s: Scenario, system: System, place: str) -> float:
    return system.held(s).get(place, 0.0)


def _capacity(s: Scenario, system: System) -> float:
    """Return the GB of a node's whole modules, of a capacity that is automatic or not."""
    asked, each = s.machine.pmem_capacity_GB, module_bytes(s.machine)
    count = modules_by_reason(s, system).number if asked is None else modules_for(s.machine, asked * GB)
    return min(max(1.0, count * each / GB), MOST_GB)


def _drives(s: Scenario, system: System) -> int:
    """Return how many drives of a node hold what the system keeps on drives; at least one."""
    logs = 0.0 if system.places else log_bytes(s)
    held = _held(s, system, "ssd")
    need = (held + logs) / nodes(s.machine) if held else 0.0
    return min(max(1, ceil(need / drive_bytes(s.machine) - 1e-9)), int(KNOBS[DRIVES].high or 1))
