"""The knobs of the machine: parts, their numbers and rates, and assumed constants."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..core import catalog
from ..core.catalog import PartNames, part_names
from ..core.constants import Assumptions, assumptions_of
from ..core.part_files import known
from ..core.part_files.known import OwnPart
from ..core.part_files.lists import OWNED, QUOTES
from ..registry import domain_names
from ..version import PROGRAM
from .knobs import brief_group, knob

RECORDED = "recorded"
YEARS = tuple(str(year) for year in range(2019, 2027))
HOURS = 730.0  # all hours of a month
SERVICE_LIFE = 5.0  # years of depreciation at the largest owners of servers in 2022
GIB: Mapping[str, Any] = {"unit": "GiB", "low": 1, "high": 1e6, "log": True}
RATE: Mapping[str, Any] = {"unit": "GB/s", "low": 0.1, "high": 1000, "log": True}


@dataclass(frozen=True)
class MachineKnobs:
    """The knobs of the hardware: parts, their numbers and rates."""

    __repr__ = brief_group

    gpu: str = knob("a100-80", "GPU", "GPU that trains the MLPs.", choices=part_names("gpu", "gpu-replay"))
    num_gpus: int = knob(1, "GPUs", "Number of GPUs over all nodes; each batch is divided evenly among them.", low=1, high=4096)
    target_throughput: float | None = knob(
        None,
        "Target throughput",
        "Throughput to reach with the fewest whole nodes that also hold the model; auto: keep the given number of GPUs.",
        unit="samples/s",
        low=1e-3,
        high=1e12,
    )
    gpus_per_node: int = knob(8, "GPUs per node", "Number of GPUs that share one host and its fabric.", low=1, high=64)
    step_jitter: float = knob(
        0.01,
        "Step jitter",
        "Standard deviation of one GPU's time for a batch, as a share of that time; a batch waits for the slowest GPU.",
        low=0,
        high=0.5,
    )
    matrix_precision: str = knob(
        "fp32",
        "Matrix products",
        "Number format of the dense layers: fp32; tf32, only in products; bf16 or fp16, with fp32 master weights.",
        choices=("fp32", "tf32", "bf16", "fp16"),
    )
    attention: str = knob(
        "triton", "Attention", "Kernel of HSTU's attention, by Triton or CUTLASS.", choices=("triton", "fused"), added_later=True
    )
    exchange_precision: str = knob(
        "fp32",
        "Exchange",
        "Number format of pooled vectors and gradients between GPUs or nodes; it changes time, but training is not rounded.",
        choices=("fp32", "fp16", "int8"),
    )
    network: str = knob(
        "roce",
        "Network",
        "Kind of network between nodes; each kind reaches a different share of its bandwidth in collectives.",
        choices=part_names("network"),
    )
    exchange_route: str = knob(
        "direct",
        "Exchange route",
        "direct: GPUs send messages to each GPU of other nodes; by node: a node's GPUs first gather those to the same node.",
        choices=("direct", "by node"),
    )
    network_bandwidth_GBps: float = knob(
        22.5,
        "Network bandwidth",
        "Bandwidth between nodes for each GPU, in one direction; links of 200 Gb/s sustain 22.5 GB/s.",
        **RATE,
    )
    embedding_servers: int = knob(
        1, "Embedding servers", "Hosts without GPUs that hold the tables, in systems with remote tables.", low=1, high=1024
    )
    host: str = knob("server", "Host", "CPUs and board of each host.", choices=part_names("host"))
    host_threads: int | None = knob(
        None,
        "Host threads",
        "Threads of a host for embedding work and layers; each keeps one core busy; auto: one per core.",
        low=1,
        high=1024,
    )
    host_software: str = knob(
        "tuned",
        "Host software",
        "Library that computes layers and embeddings on the host: tuned to its cores, or a stock framework of 2020.",
        choices=part_names("host-software"),
    )
    framework: str = knob(
        "pytorch-graph",
        "Training loop",
        "Software that drives the GPUs, with the times of published runs; stated: 0.3 ms, for systems that no software runs.",
        choices=part_names("framework"),
    )
    host_dram_GiB: float | None = knob(
        None,
        "Host DRAM",
        "DRAM of each node's host, without persistent memory; auto: equal DIMMs in all channels that hold the system's data.",
        **GIB,
    )
    host_dram: str | None = knob(
        None, "Host DRAM grade", "Grade of each host's DIMMs; auto: the host's own grade.", choices=part_names("dram")
    )
    host_dram_channels: int | None = knob(
        None, "DRAM channels", "DRAM channels of a host; bandwidth is proportional to them; auto: the host's own.", low=1, high=64
    )
    expander_dram_GiB: float | None = knob(
        None,
        "Expander DRAM",
        "DRAM of all expanders of system dram; auto: that of its cards, or equal DIMMs in all channels that hold the tables.",
        **GIB,
    )
    expander_dram: str = knob(
        "ddr4-3200", "Expander DRAM grade", "Grade of an expander's DIMMs, if it is not a card.", choices=part_names("dram")
    )
    expander: str | None = knob(
        None,
        "Expander card",
        "CXL card with DRAM, for system dram; auto: none, so that the knobs for link and channels hold.",
        choices=part_names("expander"),
    )
    expander_dram_channels: int | None = knob(
        None,
        "Expander channels",
        "DRAM channels of all expanders of system dram; auto: those of its cards, or 6.",
        low=1,
        high=256,
    )
    server_dram_GiB: float | None = knob(
        None,
        "Server DRAM",
        "DRAM of each embedding server; auto: equal DIMMs in all channels of a host that hold its share of the tables.",
        **GIB,
    )
    pmem: str = knob("optane-100", "PMEM media", "Kind of persistent memory (PMEM).", choices=part_names("media"))
    pmem_capacity_GB: float | None = knob(
        None,
        "PMEM capacity",
        "Persistent memory of each node, in whole modules that each add bandwidth and watts; auto: enough for tables and logs, "
        "and at least the modules that the link can feed or that fill an interleave set, whichever are fewer.",
        unit="GB",
        low=1,
        high=1.28e6,
        log=True,
        main=True,
    )
    pmem_module_GB: float | None = knob(
        None, "PMEM module", "Capacity of one module; auto: the medium's usual capacity.", unit="GB", low=1, high=1e5
    )
    pmem_writers_per_module: int = knob(
        4,
        "PMEM writers per module",
        "Threads that write to one module at a time; beyond 4, Optane loses write bandwidth and its media wears faster.",
        unit="writers",
        low=1,
        high=64,
    )
    cxl_bandwidth_GBps: float | None = knob(
        None,
        "CXL bandwidth",
        "Bandwidth of an expander's CXL link for data, in one direction; auto: that of its generation and lanes.",
        **RATE,
        main=True,
    )
    cxl_generation: int = knob(
        5, "CXL generation", "PCIe generation of the CXL link's lanes, if CXL bandwidth is auto.", low=4, high=6
    )
    cxl_lanes: int = knob(
        16,
        "CXL lanes",
        "Lanes of the CXL link, if CXL bandwidth is auto.",
        unit="lanes",
        low=1,
        high=16,
        allowed_numbers=(1, 2, 4, 8, 16),
    )
    cxl_latency_ns: float | None = knob(
        None,
        "CXL latency",
        "Latency of one access through the idle link, without that of the memory; auto: that of the card or module, or 250 ns.",
        unit="ns",
        low=0,
        high=1e6,
    )
    cxl_switch_hops: int = knob(1, "CXL switch hops", "Number of CXL switches between GPU and memory.", low=0, high=8)
    cxl_retimers: int = knob(0, "CXL retimers", "Number of retimers that extend the link over boards and cables.", low=0, high=8)
    num_expanders: int | None = knob(
        None,
        "CXL expanders",
        "Number of CXL memory cards, each with a link, a controller, and memory; auto: as many as hold the tables, at least one.",
        low=1,
        high=1024,
    )
    near_data_compute: bool = knob(
        True, "Near-data compute", "Pool and update embeddings in logic beside the memory; off: rows cross the link.", main=True
    )
    near_data_logic: str = knob("fpga", "Near-data logic", "Technology of the near-data logic.", choices=part_names("near-data"))
    near_data_lanes: int = knob(4, "Near-data lanes", "Parallel vector lanes of the near-data logic.", low=1, high=1024)
    near_data_lanes_per: str = knob(
        "controller",
        "Lanes stand at",
        "Which unit has this number of lanes: each memory controller (of a PMEM module or DRAM channel), or the whole memory.",
        choices=("controller", "memory"),
    )
    near_data_width_bytes: int = knob(64, "Near-data width", "Bytes that a lane processes per cycle.", unit="B", low=4, high=4096)
    near_data_clock_MHz: float = knob(250.0, "Near-data clock", "Clock of the near-data logic.", unit="MHz", low=1, high=10_000)
    near_data_scratchpad_MB: float = knob(
        32.0,
        "Near-data scratchpad",
        "On-chip memory of an expander for a batch's rows while they are pooled; a repeated row without room is read again.",
        unit="MB",
        low=0,
        high=1e5,
    )
    pcie_bandwidth_GBps: float | None = knob(
        None,
        "PCIe copy rate",
        "Rate of copies from pinned memory, one direction; auto: that of the slower end of a GPU's port, its own or the host's.",
        **RATE,
    )
    assume: tuple[tuple[str, float], ...] = knob(
        (),
        "Assumptions",
        f"Constants to replace, such as pmem.read-rate=5.1;cxl.switch-hop=90; `{PROGRAM} list devices` shows names and units.",
        low=0,
        high=1e12,
    )
    all_powered: bool = knob(
        False,
        "Everything powered",
        "Count idle power and price of every part of the machine, even of parts that the chosen system does not use.",
    )
    pmem_bandwidth_source: str = knob(
        "own",
        "PMEM bandwidth source",
        "Source of the ratio of PMEM to DRAM bandwidth, for Optane and the prototype: paper 0.6 for reads and 0.1 for writes, "
        "measured 0.36 and 0.16 on six modules, random 0.09 and 0.04 at 64 B; own: the medium's own rates.",
        choices=("own", "paper", "measured", "random"),
    )
    pmem_write_latency_source: str = knob(
        "own",
        "PMEM write latency source",
        "Source of Optane's write latency: in the media, 7 times DRAM's, or visible, 1.04 times; own: the medium's own.",
        choices=("own", "media", "visible"),
    )
    dram_static_power_source: str = knob(
        "own",
        "DRAM static power source",
        "Source of the static power of an expander's DRAM: dies, 0.06 W/GB, or a fleet's rule, 0.284 W/GB; own: the dies'.",
        choices=("own", "dies", "fleet"),
    )
    gpu_memory_energy_source: str = knob(
        "own",
        "GPU memory energy source",
        "Source of the energy of GPU memory: the device alone, 31 to 48 pJ/B, or the whole board, 124 pJ/B; own: the board's.",
        choices=("own", "device", "board"),
    )
    persistence_model: str = knob(
        "adr",
        "Persistence model",
        "Which unfinished writes to PMEM survive a power loss; with gpf_fail, fenced lines in the device's buffer are lost too.",
        choices=domain_names,
        acts="outages",
    )
    energy_level: str = knob(
        "device",
        "Energy level",
        "Where energy is counted: at the devices; at a node's plug, with fans and supplies; or in the room, with cooling too.",
        choices=("device", "node", "room"),
    )
    chassis: str | None = knob(
        None,
        "Chassis",
        "Server chassis of a node; auto: the smallest of two sockets with places, or boards, for its GPUs.",
        choices=part_names("chassis"),
    )
    cooling: str = knob(
        "air", "Cooling", "How a node is cooled: by air, with its own fans, or by a liquid.", choices=("air", "liquid")
    )
    constant_power: bool = knob(
        False,
        "Constant power",
        "For comparison: each powered device draws its full power all the time; a GPU draws the limit of its board.",
    )
    ssd: str = knob("p5800x", "SSD", "Kind of drive for tables and checkpoints.", choices=part_names("drive"))
    num_ssds: int | None = knob(
        None, "SSDs", "Drives of a node, as one striped volume; auto: as many as hold the system's data.", low=1, high=64
    )
    ssd_software: str = knob(
        "io_uring",
        "SSD software",
        "Software path of an access to a drive: a page fault of mmap takes 10 us, io_uring 5 us, polling by SPDK 0.07 us.",
        choices=("mmap", "io_uring", "spdk"),
    )

    prices: str = knob(
        "2026",
        "Prices of",
        "Year of the prices of parts and electricity; a part without a price of that year has the nearest year's, with a range "
        "wider by 1.25 times per year; recorded: each part has the price in its source.",
        choices=(RECORDED, *YEARS),
    )
    electricity_USD_per_kWh: float | None = knob(
        None,
        "Electricity",
        "Price of electricity in running costs; auto: that of the known year nearest to machine.prices.",
        unit="USD/kWh",
        low=0,
        high=10,
        acts="running costs",
    )
    service_life_years: float = knob(
        SERVICE_LIFE,
        "Service life",
        "Years over which running costs divide the price of a machine evenly.",
        unit="years",
        low=0.1,
        high=50,
        acts="running costs",
    )
    training_hours_a_month: float = knob(
        HOURS,
        "Training hours a month",
        "Hours of a month in which the machine trains, loses value and draws power; 730, all hours, favours large machines.",
        unit="h",
        low=1,
        high=HOURS,
        added_later=True,
        acts="running costs",
    )
    owned_parts: str = knob(
        "",
        "Owned parts",
        "Parts that are owned and so cost only power, such as gpu/a100-80:16; without a number, as many as are needed.",
        high=4000,
        parts=OWNED,
        added_later=True,
    )
    quotes: str = knob(
        "",
        "Quotes",
        "Quoted prices, in USD for a unit of the part's file, such as gpu/h200:31000;chassis/gpu-8-sxm:45000.",
        high=4000,
        parts=QUOTES,
        added_later=True,
    )

    def __post_init__(self) -> None:
        """Replace names of the user's own parts by NAME~DIGEST of their present files."""
        if catalog.FOLDERS[1:]:
            for name, choices in PARTS.items():
                if part_name := getattr(self, name):
                    object.__setattr__(self, name, choices.scenario_name(part_name) or part_name)
            object.__setattr__(self, "owned_parts", OWNED.in_force(self.owned_parts))
            object.__setattr__(self, "quotes", QUOTES.in_force(self.quotes))

    def __getstate__(self) -> tuple[dict[str, Any], tuple[OwnPart, ...]]:
        """Return the knobs with the content of own parts, for a process without their files."""
        return vars(self), tuple(own_parts(self))

    def __setstate__(self, state: tuple[dict[str, Any], tuple[OwnPart, ...]]) -> None:
        """Set the knobs, and make their own parts known to this process."""
        vars(self).update(state[0])
        known.add_parts(state[1])

    @property
    def assumptions(self) -> Assumptions:
        """The constants that `machine.assume` replaces, as attributes."""
        return assumptions_of(self.assume)


PARTS: Mapping[str, PartNames] = {
    knob_field.name: choices
    for knob_field in fields(MachineKnobs)
    if isinstance(choices := knob_field.metadata["knob"].choices, PartNames)
}


def own_parts(machine: MachineKnobs) -> Iterator[OwnPart]:
    """Yield the user's own parts of a machine, each after the parts that it uses."""
    for name, choices in PARTS.items():
        if (part_name := getattr(machine, name)) and (part := known.find_part(choices.kinds, part_name)):
            yield from part.with_used_parts
    for part in (*OWNED.own_parts(machine.owned_parts), *QUOTES.own_parts(machine.quotes)):
        yield from part.with_used_parts
