"""Wires that several devices share: GPUs' ports, and the host memory behind copies.

A task waits in the queue of its first demand. A transfer over a link nearly as fast as the port keeps others off the port, and so
waits for the port. A slower link leaves them room: there a transfer waits for the link, and its bytes at the port only count.
Every byte between a GPU and its host is read from the host's DRAM or written to it, at the rate of all its channels. Copies of
several GPUs from a memory card all cross the card's one link.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import NamedTuple

from ...core.arithmetic import total
from ...core.graph import Demand, Task
from ...core.row_sizes import granule_bytes
from ...core.work import AllGather, AllReduce, AllToAll, Amount, Copy, Direct, Fetch, Move, Stream
from ...hardware.concurrency import LINE
from ...hardware.copy_paths import host_memory_share
from ...hardware.devices.card_link import has_card_link
from ...hardware.devices.cxl import joint_rate
from ...hardware.devices.gpu_port import port_rate
from ...hardware.devices.network import fabric_through_port
from ...hardware.devices.pcie import uplink_rate
from ...scenario.machine import MachineKnobs
from ...units import GB
from .lanes import INTO_GPU

IN, OUT = "in", "out"
PORT, CARD_LINK, DRAM, HOST_ACCESS = "gpu-port", "card-link", "dram", "GPU access"
LINKS = ("pcie", "network", "cxl")  # what lies behind the port
COLLECTIVES = (AllToAll, AllReduce, AllGather)
THROUGH_PORT = (*COLLECTIVES, Copy, Direct, Fetch, Move)
FILLED = 0.6  # share of the port's rate from which on a link leaves no room for another transfer


class Wires(NamedTuple):
    """Room on a machine's wires for several transfers at once.

    filling: the links that are nearly as fast as a GPU's port.
    host_share: bytes of host DRAM that a copied byte reads or writes.
    from_card: True if copies from one memory card also take its one link.
    """

    filling: frozenset[str] = frozenset()
    host_share: float = 1.0
    from_card: bool = False


def wires_of(machine: MachineKnobs, devices: Collection[str]) -> Wires:
    """Return the wires of a machine with these devices."""
    if "gpu" not in devices:
        return Wires()
    room, filling = FILLED * port_rate(machine), set[str]()
    if "pcie" in devices and uplink_rate(machine) >= room:
        filling.add("pcie")
    if "network" in devices and max(machine.network_bandwidth_GBps, fabric_through_port(machine)) >= room:
        filling.add("network")
    if "cxl" in devices and joint_rate(machine) / GB >= room * machine.num_gpus:
        filling.add("cxl")
    return Wires(frozenset(filling), host_memory_share(machine), CARD_LINK in devices and has_card_link(machine))


def with_wires(wires: Wires, plan: tuple[Task, ...]) -> tuple[Task, ...]:
    """Return the plan in which transfers cross ports and host memory.

    A collective takes both directions at once; it waits for the one in which copies come.
    """
    share = wires.host_share
    crossed = (_from_host_memory(task, share) if share else task for task in plan)
    return tuple(_through_port(task, wires.filling) for task in over_card_link(wires, crossed))


def over_card_link(wires: Wires, tasks: Iterable[Task]) -> tuple[Task, ...]:
    """Return the tasks, whose copies from a memory card also cross the card's one link."""
    if not wires.from_card:
        return tuple(tasks)
    crossed = []
    for task in tasks:
        copies = [replace(demand, device=CARD_LINK) for demand in task.demands if isinstance(demand.work, Copy)]
        crossed.append(replace(task, demands=(*task.demands, *copies)))
    return tuple(crossed)


def is_passed_again(demand: Demand) -> bool:
    """Return whether a demand's bytes also count at another link."""
    return demand.device in (PORT, CARD_LINK) or demand.lane == HOST_ACCESS


def _from_host_memory(task: Task, share: float) -> Task:
    """Return a task whose copies and direct accesses also read or write host DRAM, if it does not say so itself."""
    moved = [_host_bytes(demand.work) for demand in task.demands if isinstance(demand.work, Copy | Direct)]
    if not moved or any(demand.device == DRAM for demand in task.demands):
        return task
    return replace(task, demands=(*task.demands, Demand(DRAM, Stream(share * total(moved)), HOST_ACCESS)))


def _host_bytes(work: Copy | Direct) -> Amount:
    """Return the bytes of host memory that a transfer reads or writes; rows take whole lines."""
    return work.rows * granule_bytes(work.row_bytes, LINE) if isinstance(work, Direct) else work.nbytes


def _through_port(task: Task, filling: frozenset[str]) -> Task:
    ports = tuple(
        Demand(PORT, demand.work, way)
        for demand in task.demands
        if demand.device in LINKS and isinstance(demand.work, THROUGH_PORT)
        for way in _ways(demand)
    )
    if not ports:
        return task
    waits_for_port = task.demands[0].device in filling and not task.gate_task
    return replace(task, demands=(*ports, *task.demands) if waits_for_port else (*task.demands, *ports))


def _ways(demand: Demand) -> tuple[str, ...]:
    """Return the directions of a transfer."""
    if isinstance(demand.work, COLLECTIVES):
        return IN, OUT
    return (IN if demand.lane in INTO_GPU else OUT,)
