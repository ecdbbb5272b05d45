"""Parts: the GPUs or nodes of a system among which its tables are divided, how fast each is, and what its memories hold."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..core.work import AllToAll, HostEmbedding, Pool, RowUpdates, Work
from ..hardware.device import Device, gpus_in_node, nodes, seconds
from ..hardware.devices.gpu import memory_bytes
from ..registry import load
from ..scenario.scenario import Scenario
from ..units import GiB
from .sharding import Parts
from .system import System
from .traffic import activation_bytes, mlp_bytes, row_bytes, vector_bytes


class Units(NamedTuple):
    """Seconds that one part takes for a lookup, for a unique row, and for a byte over fabric and network."""

    lookup: float
    row: float
    fabric: float
    network: float


class Kind(NamedTuple):
    """What the parts of a system are: their title, how many there are, the way of sharding without another word, their
    pace, and how many network cards share what one of them sends or receives."""

    title: str
    parts: Callable[[Scenario], Parts]
    default: str
    units: Callable[[Scenario], Units]
    cards: Callable[[Scenario], int] = lambda s: 1


def _per(device: Device, work: Callable[[float], Work], amount: float = 1e9) -> float:
    """Return the seconds of one more of an amount, without what a task takes at least."""
    return float((seconds(device, work(2 * amount)) - seconds(device, work(amount))) / amount)


def _alone(s: Scenario, name: str) -> Device:
    found: Device = load("devices", name).build(s.machine)
    return found


def _links(s: Scenario) -> tuple[float, float]:
    network = _alone(s, "network")
    return _per(network, lambda n: AllToAll(n, n, 0.0)), _per(network, lambda n: AllToAll(n, 0.0, n))


def _gpu_units(s: Scenario) -> Units:
    gpu, row = _alone(s, "gpu"), row_bytes(s)
    lookup = 2 * vector_bytes(s) * _per(gpu, Pool)  # the lookup, and its gradient
    return Units(lookup, _per(gpu, lambda n: RowUpdates(n, row)), *_links(s))


def _host_units(s: Scenario) -> Units:
    vector = vector_bytes(s)
    lookup = _per(_alone(s, "host"), lambda n: HostEmbedding(n, n * vector, 1.0))
    fabric, network = _links(s)
    return Units(lookup, 0.0, fabric, network / gpus_in_node(s.machine))


KINDS: Mapping[str, Kind] = {
    "gpus": Kind("GPU", lambda s: Parts(s.machine.num_gpus, s.machine.gpus_per_node), "planner", _gpu_units),
    "nodes": Kind("node", lambda s: Parts(nodes(s.machine), 1), "planner", _host_units, lambda s: gpus_in_node(s.machine)),
}


def kind_of(name: str) -> Kind | None:
    """Return what the parts of system `name` are; None where it shares all its work evenly."""
    chosen: System = load("systems", name)
    return KINDS[chosen.shards] if chosen.shards else None


def memories(s: Scenario, system: System) -> list[tuple[str, float, float, int]]:
    """Return the memories that parts share: name, bytes needed in all, room in bytes, and how many parts share each room."""
    machine, per_gpu = s.machine, system.shards == "gpus"
    node = min(machine.num_gpus, machine.gpus_per_node) if per_gpu else 1
    have = {"dram": (machine.dram_capacity_GiB * GiB, node)}
    if per_gpu:
        have["hbm"] = memory_bytes(machine) - 2 * mlp_bytes(s) - activation_bytes(s), 1
    return [(place, need, *have[place]) for place, need in system.held(s).items() if place in have]
