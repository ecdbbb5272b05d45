"""The knobs of the machine: parts, their numbers and rates, and assumptions about them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from ..core import catalog
from ..core.catalog import AnyPart, PartNames, part_names
from ..core.part_files import known
from ..core.part_files.known import OwnPart
from ..registry import domain_names
from ..version import PROGRAM
from .assumptions import Assumptions, assumptions_of
from .knobs import brief_group, knob, part_names_in, settled_list

RECORDED = "recorded"
YEARS = tuple(str(year) for year in range(2019, 2027))
HOURS = 730.0  # all hours of a month
SERVICE_LIFE = 5.0  # years of depreciation at the largest owners of servers in 2022
OWNABLE = AnyPart(
    ("gpu", "gpu-replay", "host", "dram", "media", "drive", "expander", "chassis", "near-data"),
    ("embedding-server", "gather-card"),
)


@dataclass(frozen=True)
class MachineKnobs:
    """The hardware: parts, their numbers and rates."""

    __repr__ = brief_group

    gpu: str = knob("a100-80", "GPU", "Accelerator that trains the MLPs.", choices=part_names("gpu", "gpu-replay"))
    num_gpus: int = knob(1, "GPUs", "Accelerators over all nodes; a batch is split evenly among them.", low=1, high=4096)
    target_throughput: float | None = knob(
        None,
        "Target throughput",
        "Take the fewest whole nodes that hold the model and reach it; auto: train on the GPUs given.",
        unit="samples/s",
        low=1e-3,
        high=1e12,
    )
    gpus_per_node: int = knob(8, "GPUs per node", "Accelerators that share a host and its fabric.", low=1, high=64)
    step_jitter: float = knob(
        0.01,
        "Step jitter",
        "Standard deviation of a GPU's own time for a batch, as a share of it; each batch waits for the slowest GPU.",
        low=0,
        high=0.5,
    )
    matrix_precision: str = knob(
        "fp32",
        "Matrix products",
        "Arithmetic of the layers, on the GPU or, in a system without, on the host: fp32; tf32, products alone; bf16 or fp16 "
        "with fp32 master weights, which halves the bytes of activations. A GPU or host without a unit for it is refused.",
        choices=("fp32", "tf32", "bf16", "fp16"),
    )
    exchange_precision: str = knob(
        "fp32",
        "Exchange",
        "Numbers in which pooled vectors and their gradients are sent between GPUs or nodes; training itself is not rounded.",
        choices=("fp32", "fp16", "int8"),
    )
    network: str = knob(
        "roce",
        "Network",
        "Kind of network between nodes; each sustains another share of its bandwidth in collectives.",
        choices=part_names("network"),
    )
    exchange_route: str = knob(
        "direct",
        "Exchange route",
        "direct: a GPU sends a message to each GPU of other nodes; by node: the GPUs of a node first gather, over their fabric, "
        "the messages to the same other node, so that fewer and longer ones cross the network.",
        choices=("direct", "by node"),
    )
    network_bandwidth_GBps: float = knob(
        22.5,
        "Network bandwidth",
        "Between nodes, for each GPU, one direction; 200 Gb/s links sustain 22.5.",
        unit="GB/s",
        low=0.1,
        high=1000,
        log=True,
    )
    embedding_servers: int = knob(
        1, "Embedding servers", "Hosts without GPUs that hold the tables of remote systems.", low=1, high=1024
    )
    host: str = knob("server", "Host", "Host CPU and board.", choices=part_names("host"))
    host_threads: int | None = knob(
        None,
        "Host threads",
        "Threads of a host for embedding work and layers; they ask memory for rows, and each keeps a core busy; auto: its cores.",
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
        "lean",
        "Training loop",
        "Software that drives the GPUs: none; a lean compiled loop; a captured CUDA graph; TensorFlow compiled by XLA; PyTorch "
        "of 2022, kernel by kernel; or that with the slow input of TorchRec's first release.",
        choices=part_names("framework"),
    )
    host_dram_GiB: float | None = knob(
        None,
        "Host DRAM",
        "Of a node's host, beside any persistent memory; auto: like DIMMs in all channels that hold what the system keeps there.",
        unit="GiB",
        low=1,
        high=1e6,
        log=True,
    )
    host_dram: str | None = knob(
        None, "Host DRAM grade", "Grade of a host's DIMMs; auto: that of the host.", choices=part_names("dram")
    )
    host_dram_channels: int | None = knob(
        None, "DRAM channels", "Of a host; its DRAM's bandwidth is linear in them; auto: those of the host.", low=1, high=64
    )
    expander_dram_GiB: float | None = knob(
        None,
        "Expander DRAM",
        "Of all expanders of system dram; auto: what its cards have, or like DIMMs in all their channels that hold the tables.",
        unit="GiB",
        low=1,
        high=1e6,
        log=True,
    )
    expander_dram: str = knob(
        "ddr4-3200", "Expander DRAM grade", "Grade of an expander's DIMMs, where it is no card.", choices=part_names("dram")
    )
    expander: str | None = knob(
        None,
        "Expander card",
        "Card of DRAM behind CXL, with its link, of system dram; auto: none, link and channels are as their knobs say.",
        choices=part_names("expander"),
    )
    expander_dram_channels: int | None = knob(
        None,
        "Expander channels",
        "DRAM channels of all of system dram's expanders; auto: its cards', or 6.",
        low=1,
        high=256,
    )
    server_dram_GiB: float | None = knob(
        None,
        "Server DRAM",
        "Of each embedding server; auto: like DIMMs in as many channels as a host has that hold its share of the tables.",
        unit="GiB",
        low=1,
        high=1e6,
        log=True,
    )
    pmem: str = knob("optane-100", "PMEM media", "Persistent memory type.", choices=part_names("media"))
    pmem_capacity_GB: float | None = knob(
        None,
        "PMEM capacity",
        "Of a node, in whole modules, each with its bandwidth and its watts; auto: what tables and logs need, and at least the "
        "modules that the link can feed or that fill an interleave set, whichever are fewer.",
        unit="GB",
        low=1,
        high=1.28e6,
        log=True,
        main=True,
    )
    pmem_module_GB: float | None = knob(
        None, "PMEM module", "Capacity of one module; auto: the media's usual one.", unit="GB", low=1, high=1e5
    )
    pmem_writers_per_module: int = knob(
        4,
        "PMEM writers per module",
        "Threads that write one module at a time; beyond 4, Optane loses write bandwidth and writes its media more often.",
        unit="writers",
        low=1,
        high=64,
    )
    cxl_bandwidth_GBps: float | None = knob(
        None,
        "CXL bandwidth",
        "Sustained payload of an expander's CXL link, one direction; auto: what its generation and lanes carry.",
        unit="GB/s",
        low=0.1,
        high=1000,
        log=True,
        main=True,
    )
    cxl_generation: int = knob(
        5, "CXL generation", "PCIe generation of the lanes under an automatic CXL bandwidth.", low=4, high=6
    )
    cxl_lanes: int = knob(
        16, "CXL lanes", "Lanes under an automatic CXL bandwidth.", unit="lanes", low=1, high=16, allowed_numbers=(1, 2, 4, 8, 16)
    )
    cxl_latency_ns: float | None = knob(
        None,
        "CXL latency",
        "One access through the link, unloaded, without the memory's own; auto: that of the card or module, or 250.",
        unit="ns",
        low=0,
        high=1e6,
    )
    cxl_switch_hops: int = knob(1, "CXL switch hops", "Switches between GPU and memory.", low=0, high=8)
    cxl_retimers: int = knob(0, "CXL retimers", "Retimers that stretch the link over boards and cables.", low=0, high=8)
    num_expanders: int | None = knob(
        None,
        "CXL expanders",
        "Memory cards side by side, each with a link and a controller of its own, and a PMEM module or DRAM channel at least; "
        "auto: as many as hold the tables, of a card or of modules with links of their own; else one.",
        low=1,
        high=1024,
    )
    near_data_compute: bool = knob(
        True, "Near-data compute", "Pool and update embeddings next to the memory; off: rows cross the link.", main=True
    )
    near_data_logic: str = knob("fpga", "Near-data logic", "How the computing logic is made.", choices=part_names("near-data"))
    near_data_lanes: int = knob(4, "Near-data lanes", "Parallel vector lanes of the computing logic.", low=1, high=1024)
    near_data_lanes_per: str = knob(
        "controller",
        "Lanes stand at",
        "Each memory controller, of a PMEM module or a DRAM channel, has so many lanes; or all of a memory's share them.",
        choices=("controller", "memory"),
    )
    near_data_width_bytes: int = knob(64, "Near-data width", "Bytes a lane handles per cycle.", unit="B", low=4, high=4096)
    near_data_clock_MHz: float = knob(250.0, "Near-data clock", "Clock of the computing logic.", unit="MHz", low=1, high=10_000)
    near_data_scratchpad_MB: float = knob(
        32.0,
        "Near-data scratchpad",
        "On-chip memory of an expander that holds a batch's rows while they are pooled; what does not fit is read again.",
        unit="MB",
        low=0,
        high=1e5,
    )
    pcie_bandwidth_GBps: float = knob(
        26.0, "PCIe copy rate", "Pinned host-device copies, one direction.", unit="GB/s", low=0.1, high=1000, log=True
    )
    assume: tuple[tuple[str, float], ...] = knob(
        (),
        "Assumptions",
        f"Constants to change, e.g. pmem.read-rate=5.1;cxl.switch-hop=90; `{PROGRAM} list devices` names them.",
        low=0,
        high=1e12,
    )
    all_powered: bool = knob(
        False,
        "Everything powered",
        "Every part of the machine draws idle power and is paid for, also parts that the chosen system leaves unused.",
    )
    pmem_bandwidth_source: str = knob(
        "own",
        "PMEM bandwidth source",
        "Whose ratio to DRAM holds for Optane and the prototype: paper 0.6 read and 0.1 write, measured 0.36 and 0.16 on six "
        "modules, random 0.09 and 0.04 at 64 B; own: the media's own rates.",
        choices=("own", "paper", "measured", "random"),
    )
    pmem_write_latency_source: str = knob(
        "own",
        "PMEM write latency source",
        "When a small write of Optane or the prototype counts as durable: in the media, 7 times DRAM's latency, or visible in "
        "the persistence domain, 1.04 times; own: the media's own latency.",
        choices=("own", "media", "visible"),
    )
    dram_static_power_source: str = knob(
        "own",
        "DRAM static power source",
        "Of an expander's DRAM (the host's own is in its idle power): simulated dies at 0.06 W/GB, a fleet's rule at 0.284 W/GB; "
        "own: the dies' value with a range that reaches the rule.",
        choices=("own", "dies", "fleet"),
    )
    gpu_memory_energy_source: str = knob(
        "own",
        "GPU memory energy source",
        "Of the memory device alone, 31 to 48 pJ/B, or of the whole board, 124 pJ/B; own: the board's with a wide range. The "
        "prototype's GPU draws power, not energy per byte.",
        choices=("own", "device", "board"),
    )
    persistence_model: str = knob(
        "adr",
        "Persistence model",
        "What of the writes under way a power loss leaves in PMEM; gpf_fail also takes fenced lines from the device's buffer.",
        choices=domain_names,
        acts="outages",
    )
    energy_level: str = knob(
        "device",
        "Energy level",
        "Count joules at the devices; at a node's plug, with its fans and supplies; or in the room, with its cooling too.",
        choices=("device", "node", "room"),
    )
    chassis: str | None = knob(
        None,
        "Chassis",
        "Server around host and GPUs; auto: of two sockets, with up to two GPUs; beyond them of four or eight GPUs.",
        choices=part_names("chassis"),
    )
    cooling: str = knob(
        "air", "Cooling", "How a node is cooled: by air, with fans of its own, or by a liquid.", choices=("air", "liquid")
    )
    constant_power: bool = knob(
        False,
        "Constant power",
        "For comparison: each powered device draws its full power for the whole run, whatever it does; a GPU its board's limit.",
    )
    ssd: str = knob("p5800x", "SSD", "Storage of system ssd.", choices=part_names("drive"))
    num_ssds: int | None = knob(
        None, "SSDs", "Drives of a node, striped; auto: as many as hold what the system keeps on drives.", low=1, high=64
    )
    ssd_software: str = knob(
        "io_uring",
        "SSD software",
        "How an access reaches a drive: a page fault of mmap at 10 us, io_uring at 5 us, SPDK's polling at 0.07 us.",
        choices=("mmap", "io_uring", "spdk"),
    )

    prices: str = knob(
        "2026",
        "Prices of",
        "The year whose prices count, of parts and of electricity; what has none of that year takes the nearest, its range wider "
        "by 1.25 each year; recorded: each part's price as its source dates it.",
        choices=(RECORDED, *YEARS),
    )
    electricity_USD_per_kWh: float | None = knob(
        None,
        "Electricity",
        "Price of a kilowatt-hour in running costs; auto: that of the nearest known year to machine.prices.",
        unit="USD/kWh",
        low=0,
        high=10,
        acts="running costs",
    )
    service_life_years: float = knob(
        SERVICE_LIFE,
        "Service life",
        "Years over which running costs write a machine off, evenly.",
        unit="years",
        low=0.1,
        high=50,
        acts="running costs",
    )
    training_hours_a_month: float = knob(
        HOURS,
        "Training hours a month",
        "Hours of a month in which the machine trains, is written off and draws power; 730, all of them, favours large machines.",
        unit="h",
        low=1,
        high=HOURS,
        added_later=True,
        acts="running costs",
    )
    owned_parts: str = knob(
        "",
        "Owned parts",
        "Parts that are owned already and cost nothing but power, ';' between names: GPU, host, DRAM grade, PMEM media, SSD, "
        "expander card, chassis, near-data logic, embedding-server, gather-card.",
        high=4000,
        parts=OWNABLE,
        added_later=True,
    )

    def __post_init__(self) -> None:
        """Name a user's own parts by content; a plain name means the file as it is now."""
        if catalog.FOLDERS[1:]:
            for name, choices in PARTS.items():
                if part_name := getattr(self, name):
                    object.__setattr__(self, name, choices.scenario_name(part_name) or part_name)
            object.__setattr__(self, "owned_parts", settled_list(OWNABLE, self.owned_parts))

    def __getstate__(self) -> tuple[dict[str, Any], tuple[OwnPart, ...]]:
        """Return the knobs with the user's own parts: another process has no such folder."""
        return vars(self), tuple(own_parts(self))

    def __setstate__(self, state: tuple[dict[str, Any], tuple[OwnPart, ...]]) -> None:
        """Set the knobs, and register the parts in this process."""
        vars(self).update(state[0])
        known.add_parts(state[1])

    @property
    def assumptions(self) -> Assumptions:
        """The machine's assumptions, constant by constant."""
        return assumptions_of(self.assume)


PARTS: Mapping[str, PartNames] = {
    machine_field.name: machine_field.metadata["knob"].choices
    for machine_field in fields(MachineKnobs)
    if isinstance(machine_field.metadata["knob"].choices, PartNames)
}


def own_parts(machine: MachineKnobs) -> Iterator[OwnPart]:
    """Yield the user's own parts of a machine, each after the parts that it uses."""
    for name, choices in PARTS.items():
        if (part_name := getattr(machine, name)) and (part := known.find_part(choices.kinds, part_name)):
            yield from part.with_used_parts
    for name in part_names_in(machine.owned_parts):
        if part := known.find_part(OWNABLE.kinds, name):
            yield from part.with_used_parts
