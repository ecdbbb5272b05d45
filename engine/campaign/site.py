"""The site of a campaign: a machine and the rates at which its state moves."""

from dataclasses import replace

import numpy as np

from ..core.arithmetic import total
from ..core.work import Copy, Move, Stream, Work
from ..hardware.device import Device, assumed_part, assumed_value, gpus_in_node, joules, nodes, seconds
from ..hardware.devices.dram import grade, grade_name
from ..hardware.devices.network import FABRICS
from ..hardware.devices.ssd import DRIVES, Drive
from ..hardware.hosts import host_channels
from ..hardware.money.bill import BillItem
from ..scenario.scenario import Scenario
from ..schedule.machine import Machine, ready_machine
from ..systems.sizing import max_dram_GiB
from ..systems.steps.stashing import stashed_bytes
from ..systems.traffic import mlp_bytes, table_bytes
from ..units import GB, GiB
from . import batch_costs
from .protection import STORE, STORE_PRICE, Pace, Site, StatePath, StoragePrices

PROBE = 1e9


def site(scenario: Scenario, log_pace: Pace | None, mtbf: float | None, period: float | None) -> Site:
    """Return the site of a scenario; raises CannotRun where the scenario does not fit.

    log_pace: the costs of a batch under the protection's log, None without a log.
    mtbf: mean seconds between faults that undo work.
    period: seconds between checkpoints; None for the best period.
    """
    m = ready_machine(scenario)
    machine, bare = m.scenario.machine, batch_costs.unlogged_costs(scenario)
    keepers = machine.embedding_servers if m.system.memory == "servers" else nodes(machine)
    card = gpus_in_node(machine) * machine.network_bandwidth_GBps * GB
    wire = 8 * 2 * assumed_part(machine, "network", FABRICS[machine.gpu]).energy.value * 1e-12 * _drawn_per_joule(m)
    drive = assumed_part(machine, "ssd", DRIVES[machine.ssd], DRIVES.kind, machine.ssd)
    drives, idle_watts = _drives(m, drive)
    owned, on_drives = (machine.num_ssds or 1) if "ssd" in m.devices else 0, m.system.nbytes_by_memory(m.scenario).get("ssd", 0.0)
    remote, network = keepers * min(STORE.value * GB, card), keepers * card
    return Site(
        scenario=m.scenario,
        unlogged_pace=bare,
        pace=log_pace or bare,
        watts=total(device.idle_watts for device in m.devices.values()),
        tables=table_bytes(m.scenario),
        mlp=mlp_bytes(m.scenario),
        nodes=keepers,
        shards=machine.num_gpus if m.system.memory == "hbm" else keepers,
        home=_home(m),
        remote=StatePath(remote, remote, wire),
        ssd=drives,
        ssd_watts=0.0 if "ssd" in m.devices else idle_watts,
        host_dram=_host_dram(scenario, m) * GiB * keepers - (stashed_bytes(m.scenario) if m.system.can_stash else 0.0),
        in_dram=m.system.memory == "dram",
        pmem="pmem" in m.devices,
        network=StatePath(network, network, wire),
        mtbf=mtbf,
        period=period,
        drives=owned,
        drive_bytes=drive.capacity.value * GB,
        drive_watts=_drawn_per_joule(m) * drive.idle.value,
        drive_room=max(owned * nodes(machine) * drive.capacity.value * GB - on_drives, 0.0),
        prices=_prices(m, drive),
    )


def _host_dram(scenario: Scenario, m: Machine) -> float:
    """Return the GiB of a host's DRAM.

    The largest possible where automatic, as copies may need more.
    """
    machine = m.scenario.machine
    return max_dram_GiB(host_channels(machine)) if scenario.machine.host_dram_GiB is None else machine.host_dram_GiB or 0.0


def _drawn_per_joule(m: Machine) -> float:
    """Return the joules at the meter for one joule of a device."""
    return float(np.prod([device.drawn_per_joule for device in m.devices.values()]))


def _drives(m: Machine, drive: Drive) -> tuple[StatePath, float]:
    """Return the path to the drives of all nodes, and their idle watts.

    Without drives so far, the path is that of the drives that the knobs name.
    """
    machine = m.scenario.machine
    count = (machine.num_ssds or 1) * nodes(machine)
    write_rate, read_rate = count * drive.sequential_write_rate.value * GB, count * drive.sequential_read_rate.value * GB
    joules = _drawn_per_joule(m) * count * (drive.active.value - drive.idle.value) / write_rate
    return StatePath(write_rate, read_rate, joules), _drawn_per_joule(m) * count * drive.idle.value


def _prices(m: Machine, drive: Drive) -> StoragePrices:
    """Return the prices of protections' storage, in the machine's price year."""
    machine = m.scenario.machine
    memory, grade_in_force = assumed_part(machine, "dram", grade(machine), "dram", grade_name(machine)), grade_name(machine)
    usd = assumed_value(machine, "store", STORE_PRICE)
    store = replace(STORE_PRICE, value=usd, low=min(usd, STORE_PRICE.low), high=max(usd, STORE_PRICE.high))
    return StoragePrices(
        BillItem(DRIVES.kind, machine.ssd, 1, drive.price, drive.capacity.value),
        BillItem("dram", grade_in_force, 1, memory.price),
        BillItem("store", "remote storage", 1, store),
    )


def _home(m: Machine) -> StatePath:
    """Return the path to all tables in their memories.

    All memories work at once, so the slowest one sets the rate.
    """
    placed_bytes = m.system.nbytes_by_memory(m.scenario)
    rates = {place: _rates(m, place) for place, nbytes in placed_bytes.items() if nbytes > 0}
    all_bytes = total(placed_bytes[place] for place in rates)
    slowest = [max(placed_bytes[place] / rates[place][way] for place in rates) for way in (0, 1)]
    return StatePath(
        all_bytes / slowest[0],
        all_bytes / slowest[1],
        total(placed_bytes[place] * rates[place][2] for place in rates) / all_bytes,
    )


def _rates(m: Machine, place: str) -> tuple[float, float, float]:
    """Return bytes per second written and read, and joules per byte, of a memory.

    The links before the memory are included.
    """
    ways = [
        (_rate(device, write_work), _rate(device, read_work), _joules(device, read_work))
        for device, write_work, read_work in _passed_devices(m, place)
    ]
    write_rate, read_rate, joules = zip(*ways, strict=True)
    return min(write_rate), min(read_rate), total(joules)


def _passed_devices(m: Machine, place: str) -> list[tuple[Device, Work, Work]]:
    """Return the devices on the way out of a memory, with write and read work."""
    if place == "hbm":
        return [(m.devices["pcie"], Copy(PROBE), Copy(PROBE))]
    memory = m.devices["remote" if place == "servers" else place]
    link = [(m.devices["cxl"], Move(PROBE), Move(PROBE))] if "cxl" in m.devices else []
    return [(memory, Stream(PROBE, write=True), Stream(PROBE, write=False)), *link]


def _rate(device: Device, work: Work) -> float:
    return PROBE / float(seconds(device, work))


def _joules(device: Device, work: Work) -> float:
    return (joules(device, work).item() + float(seconds(device, work)) * device.busy_watts) / PROBE
