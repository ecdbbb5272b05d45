"""Automatic sizes: the fewest whole parts that hold the bytes and sustain the bandwidth.

Persistent memory: modules that hold tables and logs; at least as many as the link's lanes can feed or an interleave set has.
DRAM: the cheapest equal DIMMs in all channels. Drives: as many as hold the tables.
"""

from math import ceil, inf
from typing import Any, NamedTuple

from ..core import figures
from ..core.constants import Constant
from ..core.memo import is_given
from ..hardware.device import assumed_value, expanders, gpus_in_node, nodes
from ..hardware.devices.cxl import lanes_rate
from ..hardware.devices.dram import PER_CHANNEL, Dimms, DIMMS_GiB, dimm_slots, grade, host_dimms, like_dimms
from ..hardware.devices.expander_dram import card, expander_dimms
from ..hardware.devices.gpu import memory_bytes
from ..hardware.devices.pmem import interleave_set, module_bytes, module_rate, modules, modules_for, own_link
from ..hardware.devices.ssd import drive_bytes
from ..hardware.hosts import host_channels
from ..scenario.machine import MachineKnobs
from ..scenario.scenario import KNOBS, Scenario, with_checked_values
from ..units import GB, GiB
from .row_kinds import row_bytes
from .steps.stashing import stashed_bytes
from .system import System, chassis_of, machine_around
from .traffic import cached_rows, log_bytes, num_rows, table_bytes

CAPACITY, HOST, EXPANDER = "machine.pmem_capacity_GB", "machine.host_dram_GiB", "machine.expander_dram_GiB"
SERVER, DRIVES, NUM_EXPANDERS = "machine.server_dram_GiB", "machine.num_ssds", "machine.num_expanders"
CHASSIS, LINK, LINK_LATENCY = "machine.chassis", "machine.cxl_bandwidth_GBps", "machine.cxl_latency_ns"
AUTOMATIC_SIZES = (CAPACITY, HOST, EXPANDER, SERVER, DRIVES, NUM_EXPANDERS, LINK, LINK_LATENCY, CHASSIS)
MOST_GB = float(KNOBS[CAPACITY].high or 0)  # largest PMEM capacity of a node
USUAL_GiB = 128  # of the largest DIMMs beside GPUs: MLPerf's 8 MI355X (288 GB each) have 24 of them, by AMD's description
STAGING = Constant("host DRAM", 2, "of GPU memory", 1, 2, "unsourced", "vendors' guides for GPU servers: inputs, copies, the OS")


class Modules(NamedTuple):
    """The numbers of PMEM modules of a node for three reasons.

    hold: modules that hold tables and logs.
    feed: modules that the lanes of the link can feed, None without a link.
    interleave: modules of a full interleave set.
    A bandwidth that the user has set changes the link, but not the number of modules.
    """

    hold: int
    feed: int | None
    interleave: int

    @property
    def number(self) -> int:
        """The number of PMEM modules of a node."""
        return max(self.hold, min(self.interleave, self.feed or self.interleave))


DEDUPED = ("gpus", "tiers")  # kinds of parts among which GPUs exchange the vectors that they look up


def without_idle_dedup(s: Scenario, system: System) -> dict[str, bool]:
    """Return the change that ends input dedup where no GPUs exchange looked-up vectors; {} elsewhere."""
    return {"policy.input_dedup": False} if s.policy.input_dedup and system.parts_kind not in DEDUPED else {}


def with_sizes_chosen(s: Scenario, system: System) -> Scenario:
    """Return a scenario in which all memories, links and drives have sizes.

    Automatic sizes are chosen, and the PMEM capacity becomes whole modules.
    """
    sizes = sizes_of(s, system)
    return with_checked_values(s, sizes) if sizes else s


def sizes_of(s: Scenario, system: System) -> dict[str, Any]:
    """Return the chosen sizes by knob: automatic sizes, and PMEM in whole modules."""
    sizes: dict[str, Any] = {}

    def choose(**new_sizes: Any) -> Scenario:
        sizes.update({f"machine.{name}": size for name, size in new_sizes.items()})
        return with_checked_values(s, sizes)

    if "cxl" in system.devices and (link := _link_sizes(s, system)):
        s = choose(**link)
    if (capacity := _capacity(s, system)) != s.machine.pmem_capacity_GB:
        s = choose(pmem_capacity_GB=capacity)
    if "cxl" in system.devices and not is_given(s.machine, "num_expanders"):
        s = choose(num_expanders=_cards(s, system))
    if not is_given(s.machine, "chassis"):
        s = choose(chassis=chassis_of(system, s.machine))
    if not is_given(s.machine, "host_dram_GiB"):
        min_GiB = least_host_dram(s, system)
        s = choose(host_dram_GiB=min_GiB)  # tables are placed by this room
        s = choose(host_dram_GiB=max(min_GiB, host_dram_GiB(s, _in_host(s, system))))
    if (dram := _expander_dram(s, system)) != s.machine.expander_dram_GiB:
        s = choose(expander_dram_GiB=dram)
    if not is_given(s.machine, "server_dram_GiB"):
        share = _held_bytes(s, system, "servers") / s.machine.embedding_servers
        s = choose(server_dram_GiB=float(server_dimms(s.machine, share / GiB).capacity))
    if not is_given(s.machine, "num_ssds"):
        choose(num_ssds=_drives(s, system))
    return sizes


def _link_sizes(s: Scenario, system: System) -> dict[str, Any]:
    """Return the automatic rate and latency of the links of cards or modules."""
    machine = s.machine
    if system.memory == "expander-dram" and (card_part := card(machine)):
        sizes = {"cxl_bandwidth_GBps": card_part.link.value, "cxl_latency_ns": card_part.way.value}
    elif system.memory == "pmem" and (link := own_link(machine)):
        sizes = {"cxl_bandwidth_GBps": lanes_rate(machine, link[1], link[0]) / GB, "cxl_latency_ns": link[2]}
    else:
        return {}
    return {name: size for name, size in sizes.items() if not is_given(machine, name)}


def _cards(s: Scenario, system: System) -> int:
    """Return the number of expanders: cards that hold the tables, modules with links, or one."""
    if system.memory == "expander-dram" and (card_part := card(s.machine)):
        stated_GiB = s.machine.expander_dram_GiB
        count = ceil(
            (_held_bytes(s, system, "expander-dram") if stated_GiB is None else stated_GiB * GiB)
            / (card_part.capacity.value * GB)
            - 1e-9
        )
    else:
        count = modules(s.machine) if system.memory == "pmem" and own_link(s.machine) else 1
    return min(max(1, count), int(KNOBS[NUM_EXPANDERS].high or 1))


def _expander_dram(s: Scenario, system: System) -> float:
    """Return the GiB of DRAM of all expanders: in whole cards, or in DIMMs."""
    card_part, stated_GiB = card(s.machine), s.machine.expander_dram_GiB
    if card_part:
        return max(expanders(s.machine) * card_part.capacity.value * GB / GiB, stated_GiB or 0.0)
    return stated_GiB or float(expander_dimms(s.machine, _held_bytes(s, system, "expander-dram") / GiB).capacity)


def modules_by_reason(s: Scenario, system: System) -> Modules:
    """Return the numbers of PMEM modules for an automatic capacity, for each reason."""
    machine = s.machine
    hold = modules_for(machine, (table_bytes(s) + log_bytes(s)) / nodes(machine))
    lanes = expanders(machine) * lanes_rate(machine, machine.cxl_generation, machine.cxl_lanes)
    feed = max(1, round(lanes / module_rate(machine))) if "cxl" in system.devices else None
    return Modules(hold, feed, interleave_set(machine))


def host_dram_GiB(s: Scenario, nbytes: float) -> float:
    """Return the GiB of the DIMMs of one host for `nbytes`.

    If no DIMMs hold so many bytes, return the GiB of the largest DIMMs.
    """
    return float(host_dimms(machine_around(s.system, s.machine, "dram"), nbytes / GiB).capacity)


def server_dimms(machine: MachineKnobs, gib: float) -> Dimms:
    """Return the DIMMs of an embedding server, in as many channels as a host's."""
    return like_dimms(host_channels(machine), gib)


def max_dram_GiB(channels: int) -> float:
    """Return the largest GiB of DRAM in `channels` channels."""
    return float(PER_CHANNEL * channels * DIMMS_GiB[-1])


def least_host_dram(s: Scenario, system: System) -> float:
    """Return the GiB of DRAM that a host without tables needs to feed its GPUs.

    The size is that of equal DIMMs in all channels. Where it takes larger DIMMs than USUAL_GiB, which cost more a GB, it is
    what all slots hold of these, if that is no less than the range of STAGING.
    """
    gpu_bytes = (gpus_in_node(s.machine) if "gpu" in system.devices else 0) * memory_bytes(s.machine)
    wanted, usual = host_dram_GiB(s, STAGING.value * gpu_bytes), most_usual_GiB(s)
    return usual if STAGING.low * gpu_bytes <= usual * GiB < wanted * GiB else wanted


def most_usual_GiB(s: Scenario) -> float:
    """Return the GiB of DIMMs of USUAL_GiB in all channels and slots of a host.

    Return infinity for a grade whose larger DIMMs cost no more a GB.
    """
    machine, channels = machine_around(s.system, s.machine, "dram"), host_channels(s.machine)
    memory = grade(machine)
    if assumed_value(machine, "dram", memory.premium_256) <= assumed_value(machine, "dram", memory.premium_128):
        return inf
    per_channel = max(1, min(PER_CHANNEL, int(dimm_slots(machine) // channels)))
    return float(per_channel * channels * USUAL_GiB)


def _in_host(s: Scenario, system: System) -> float:
    """Return the bytes of tables and caches in the DRAM of one host."""
    cache = cached_rows(s) * row_bytes(s) if system.memory == "ssd" and not system.places else 0.0
    return (_held_bytes(s, system, "dram") + cache + (stashed_bytes(s) if system.can_stash else 0.0)) / nodes(s.machine)


def _held_bytes(s: Scenario, system: System, place: str) -> float:
    """Return the bytes that a system keeps in a memory."""
    return system.nbytes_by_memory(s).get(place, 0.0)


def _capacity(s: Scenario, system: System) -> float:
    """Return the GB of a node's whole modules, of an automatic or a stated capacity."""
    stated_GB, module_size = s.machine.pmem_capacity_GB, module_bytes(s.machine)
    count = modules_by_reason(s, system).number if stated_GB is None else modules_for(s.machine, stated_GB * GB)
    return min(max(1.0, count * module_size / GB), MOST_GB)


def _drives(s: Scenario, system: System) -> int:
    """Return the drives of a node for what the system keeps there; at least one."""
    logs = 0.0 if system.places else log_bytes(s)
    drive_bytes_held = _held_bytes(s, system, "ssd")
    need = (drive_bytes_held + logs) / nodes(s.machine) if drive_bytes_held else 0.0
    return min(max(1, ceil(need / drive_bytes(s.machine) - 1e-9)), int(KNOBS[DRIVES].high or 1))


def cache_refusal(s: Scenario, capacity: float, unique: float, users: str) -> str:
    """Return the sentence that a cache is too small for rows used together."""
    share = s.policy.cache_load_factor / max(capacity, 1) if capacity else 1 / num_rows(s)
    remedy = f"raise it to {min(1.0, 1.01 * unique * share):.3g}"
    fewer = "lower policy.prefetch_batches, " if s.policy.prefetch_batches > 1 else ""
    return (
        f"policy.cache_load_factor={figures.exact(s.policy.cache_load_factor)} keeps {figures.count(int(capacity), 'row')}, but "
        f"{users} {figures.count(int(unique), 'different row')}, which must be in the cache together; {remedy}, {fewer}or lower "
        "data.batch_size."
    )
