"""A topology in the planner's terms: ranks, memories and bandwidths.

Bandwidths are in bytes a millisecond.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..core.figures import count, exact
from ..errors import BadInput, nearest_hint
from ..scenario.scenario import KNOBS
from ..units import GiB, MiB
from ..user_text import json_content
from .source_text import OpaqueExpression, Symbol, check_size, source_calls

CALLS = ("Topology", "TrainerConfig", "HardwareConfig", "KernelConfig")
GBPS = GiB / 1000  # bytes a millisecond of a GB/s, as TorchRec counts
RANK_BATCH = 512  # samples of a rank, the planner's default
MAX_RANKS = int(KNOBS["machine.num_gpus"].high or 0)
FIELD_PATTERN = re.compile(r"\b([a-z_]+)=([-+.\w]+)")


@dataclass(frozen=True)
class TorchRecTopology:
    """Ranks with their memories and bandwidths; an absent field has the planner's default.

    world_size: ranks in all.
    local_world_size: ranks of a node.
    pod_size: nodes that one fast fabric joins.
    batch_size: samples of a rank, None where it is not given.
    hbm_cap: bytes of HBM of a rank, None where not given.
    ddr_cap: bytes of host DRAM of a rank, None where not given.
    hbm_mem_bw: bytes a millisecond of a rank's HBM.
    ddr_mem_bw: bytes a millisecond of a rank's host DRAM.
    ssd_mem_bw: bytes a millisecond of a rank's drives.
    hbm_to_ddr_mem_bw: bytes a millisecond between HBM and host DRAM.
    intra_host_bw: bytes a millisecond between ranks of a node.
    inter_host_bw: bytes a millisecond between ranks of different nodes.
    bwd_compute_multiplier: time of the backward lookup divided by that of the forward lookup.
    stated_fields: names of the fields that the text gives.
    """

    world_size: int
    local_world_size: int
    pod_size: int = 1
    batch_size: int | None = None
    hbm_cap: float | None = None
    ddr_cap: float | None = None
    hbm_mem_bw: float = 897 * GBPS
    ddr_mem_bw: float = 51 * GBPS
    ssd_mem_bw: float = 100 * MiB / 1000
    hbm_to_ddr_mem_bw: float = 32 * GBPS
    intra_host_bw: float = 600 * GBPS
    inter_host_bw: float = 12.5 * GBPS
    bwd_compute_multiplier: float = 2.0
    stated_fields: frozenset[str] = frozenset()

    @property
    def group_size(self) -> int:
        """The number of ranks that share a table's rows under `table_row_wise`."""
        return self.pod_size * self.local_world_size

    def bandwidth(self, ranks: int, local_ranks: int) -> float:
        """Return the bytes a millisecond of a collective of `ranks` ranks.

        A node has `local_ranks` ranks; a collective of more ranks crosses nodes.
        """
        return self.intra_host_bw if ranks <= local_ranks else self.inter_host_bw


class FieldUnit(NamedTuple):
    """The unit of a field, and the unit that people say instead.

    name: the unit.
    spoken: the unit in speech.
    size: the size of the spoken unit in this unit.
    """

    name: str
    spoken: str
    size: float


BYTES, BYTES_PER_MS = FieldUnit("bytes", "GB", GiB), FieldUnit("bytes/ms", "GB/s", GBPS)


class FieldRange(NamedTuple):
    """The range of a field in hardware, in the spoken unit, and its unit.

    Ranges are narrow enough that a usual number in GB, MB or bytes a second lies outside.
    """

    low: float
    high: float
    unit: FieldUnit | None = BYTES_PER_MS

    def covers(self, number: float) -> bool:
        """Return whether a number in the field's own unit is in the range."""
        size = self.unit.size if self.unit else 1
        return self.low * size <= number <= self.high * size


MAX_WHOLE_NUMBERS = {"world_size": MAX_RANKS, "local_world_size": MAX_RANKS, "pod_size": MAX_RANKS, "batch_size": 10**6}
RANGES: Mapping[str, FieldRange] = {
    "hbm_cap": FieldRange(1, 4096, BYTES),  # from a slice of a GPU to 10 times the largest
    "ddr_cap": FieldRange(2, 65_536, BYTES),  # a rank's share of a host, or a host with expanders
    "hbm_mem_bw": FieldRange(10, 100_000),  # a slice of a GPU; the fastest has 8 TB/s
    "ddr_mem_bw": FieldRange(1, 10_000),  # a rank's share of channels; superchips have 0.5 TB/s
    "ssd_mem_bw": FieldRange(0.03, 60),  # a hard disk; the planner's default is 0.1
    "hbm_to_ddr_mem_bw": FieldRange(1, 10_000),  # PCIe 2 on 4 lanes; NVLink-C2C has 0.45 TB/s
    "intra_host_bw": FieldRange(2, 10_000),  # PCIe; NVLink 5 has 1.8 TB/s
    "inter_host_bw": FieldRange(0.1, 1000),  # Ethernet of 1 Gb/s; the most that machine.network_bandwidth_GBps has
    "bwd_compute_multiplier": FieldRange(0.01, 1000, None),
}
FIELD_ALIASES = {"hbm_cap_bytes": "hbm_cap", "ddr_cap_bytes": "ddr_cap"}
# Fields of TorchRec's classes that neither the machine nor the estimates here need.
IGNORED_FIELDS = (
    "ssd_cap",
    "ssd_cap_bytes",
    "weighted_feature_bwd_compute_multiplier",
    "uneven_sharding_perf_multiplier",
    "created_by_factory",
    "use_hardware_based_bandwidth",
    "is_dry_run",
    "dry_run_hbm_bytes",
    "dry_run_ddr_bytes",
    "additional_params",
)
UNREAD_FIELDS = ("custom_topology_data", "generalized_comms_bandwidths")  # which would change estimates in ways that are not read


def read_topology(text: str) -> TorchRecTopology:
    """Read a topology from JSON, a call or printed output.

    Raises BadInput, which names the field.
    """
    settings = {
        FIELD_ALIASES.get(name, name): setting
        for name, setting in _parse_fields(check_size(text, "lines of the topology")).items()
    }
    device = settings.pop("compute_device", "cuda")
    if (word := device.name if isinstance(device, Symbol) else device) != "cuda":
        raise BadInput(f"Topology: compute_device is {str(word)[:40]}, but only cuda is supported; write cuda.")
    known_fields = (*MAX_WHOLE_NUMBERS, *RANGES, *IGNORED_FIELDS)
    if unread_field := next((name for name in UNREAD_FIELDS if settings.pop(name, None) is not None), ""):
        raise BadInput(f"Topology: {unread_field} gives each rank a value of its own, which is not supported; leave it out.")
    if unknown_field := next((name for name in settings if name not in (*known_fields, *UNREAD_FIELDS)), ""):
        raise BadInput(f"Topology: {unknown_field[:40]} is not one of its fields; {nearest_hint(unknown_field, known_fields)}")
    fields = {
        name: _checked_number(name, setting)
        for name, setting in settings.items()
        if name not in IGNORED_FIELDS and setting is not None
    }
    if "world_size" not in fields:
        raise BadInput("Topology: world_size is missing; write world_size=N, the number of GPUs.")
    fields.setdefault("local_world_size", fields["world_size"])
    topology = TorchRecTopology(**fields, stated_fields=frozenset(fields))
    if topology.world_size % topology.local_world_size:
        ranks = f"world_size is {topology.world_size}, which is no multiple of local_world_size={topology.local_world_size}"
        raise BadInput(f"Topology: {ranks}; give every node the same number of ranks.")
    if topology.world_size % topology.group_size:
        raise BadInput(
            f"Topology: world_size={topology.world_size} is not a multiple of pod_size={topology.pod_size}; change one of them."
        )
    return topology


def _parse_fields(text: str) -> Mapping[str, Any]:
    """Return the fields by name as they are written."""
    if text.lstrip().startswith("{"):
        try:
            content = json_content(text, "The topology")
        except RecursionError:
            raise BadInput('The topology is nested too deeply; write an object such as {"world_size": 8}.') from None
        except ValueError as error:
            raise BadInput(f"The topology is not valid JSON: {error}.") from None
        return dict(content)
    calls = [*source_calls(text, CALLS)]
    if calls:
        positional = dict(zip(("world_size", "compute_device"), calls[0].positional, strict=False))
        return {name: setting for call in calls for name, setting in {**positional, **call.keywords}.items()}
    return _parse_printed(text)


def _parse_printed(text: str) -> dict[str, Any]:
    """Return the fields of a topology that Python has printed; of differing ranks the smallest memory counts."""
    pairs = FIELD_PATTERN.findall(text)
    fields: dict[str, Any] = {}
    for name, setting in pairs:
        if name in ("world_size", "local_world_size", "intra_group_size", "intra_host_bw", "inter_host_bw"):
            fields[name] = _printed_number(setting)
        elif name == "compute_device":
            fields[name] = setting
        elif name in ("hbm", "ddr"):
            memory = _printed_number(setting)
            fields[f"{name}_cap"] = min(fields.get(f"{name}_cap", memory), memory)
    if not fields:
        raise BadInput(
            "The topology is neither JSON, nor a call such as Topology(world_size=8, ...), nor the printed form of one; paste "
            "one of these."
        )
    group = fields.pop("intra_group_size", None)
    if group and fields.get("local_world_size"):
        fields["pod_size"] = group // fields["local_world_size"]
    return fields


def _printed_number(numeral: str) -> float | int:
    try:
        return int(numeral) if numeral.isdecimal() else float(numeral)
    except ValueError:
        raise BadInput(f"Topology: {numeral[:40]!r} is not a number.") from None


def _checked_number(name: str, setting: Any) -> Any:
    if isinstance(setting, OpaqueExpression | Symbol):
        label = setting.name if isinstance(setting, Symbol) else setting.text
        raise BadInput(f"Topology: {name} is {label[:60]}, whose value is not in the text; write the number.")
    is_number = isinstance(setting, int | float) and not isinstance(setting, bool)
    if name in RANGES:
        if not is_number or not RANGES[name].covers(setting):
            raise BadInput(f"Topology: {name} is {str(setting)[:40]}{_range_text(RANGES[name], setting if is_number else 0)}.")
        return float(setting)
    maximum = MAX_WHOLE_NUMBERS[name]
    if not is_number or not 1 <= setting <= maximum:
        raise BadInput(f"Topology: {name} is {str(setting)[:40]}; write a number from 1 to {exact(maximum)}.")
    if setting != int(setting):
        raise BadInput(f"Topology: {name} is {setting}; write a whole number of at most {count(maximum)}.")
    return int(setting)


def _range_text(field: FieldRange, number: float) -> str:
    """Return the range of a field, and how a number that is plausible in the spoken unit is written in the field's own."""
    if (unit := field.unit) is None:
        return f"; write a number from {exact(field.low)} to {exact(field.high)}"
    span = f" {unit.name}, but hardware has {exact(field.low)} to {exact(field.high, unit.spoken)}"
    if field.low <= number <= field.high:
        return f"{span}; write {number * unit.size:.12g} for {exact(number, unit.spoken)}"
    return (
        f"{span}; write a number of {unit.name} from {field.low * unit.size:.6g} to {field.high * unit.size:.6g}, or leave it out"
    )
