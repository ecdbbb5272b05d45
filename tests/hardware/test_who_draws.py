"""Does everything that is powered draw power, and everything that is done cost energy? What does not says why."""

import numpy as np

from engine.hardware.device import joules
from engine.scenario.scenario import KNOBS
from tests.cases import each
from tests.machines import SYSTEMS, flow, ready, scenario, task_graph

# Work that costs nothing where it is done, and who pays for it.
FREE = {
    ("pmem", "HomeWrites"): "the update paid for its write when it put the new rows into the volatile buffer",
    ("pcie", "Copy without bytes"): "a hand-off is a thread of the host that waits; no source says what one thread draws",
    ("dram", "Stream without bytes"): "a hand-off without bytes reads no host memory",
    **{("card-link", kind): "the GPUs' links pay for the bytes" for kind in ("Copy", "Copy without bytes")},
    **{
        ("gpu-port", kind): "the link behind the port pays for both of its ends"
        for kind in ("Copy", "Copy without bytes", "Move")
    },
    ("gpu trainingcxl", "Stream"): "the copy engine's shadow copy; the replayed GPU has watts for layers, no joules per byte",
}
# What draws nothing when idle, and where its static power is.
WITHOUT_IDLE_POWER = {
    "pcie": "both of its ends are in the idle power of host and GPU or card",
    "gpu-port": "its ends are in the idle power of GPU and host",
    "card-link": "its ends are in the idle power of host and card",
    "chassis": "the prototype's host has its board in its idle power",
    "dram": "the prototype's host has its memory in its idle power",
}
PARTS = {"machine.gpu": "gpu", "machine.pmem": "pmem", "machine.ssd": "ssd", "machine.host": "host"}
MACHINES = [
    (system, {path: part, "machine.near_data_compute": near})
    for system in SYSTEMS
    for near in (True, False)
    for path in PARTS
    for part in KNOBS[path].allowed
]


def free_work(asked):
    """Yield (device, kind of work) for each demand of the schedule that costs neither joules nor busy watts."""
    machine = ready(asked)
    for task in task_graph(machine, flow(asked, 4)).tasks:
        for demand in task.demands:
            device = machine.devices[demand.device]
            watts = 0.0 if demand.excluded_from_busy else device.busy_watts
            if watts == 0 and not np.any(joules(device, demand.work) > 0):
                part = f" {asked.machine.gpu}" if demand.device == "gpu" else ""
                empty = " without bytes" if not np.any(getattr(demand.work, "nbytes", 1)) else ""
                yield demand.device + part, type(demand.work).__name__ + empty


def test_the_list_of_free_work_is_no_longer_than_it_must_be():
    found = {pair for system, knobs in MACHINES for pair in free_work(scenario("optane-rm4", system, **knobs))}
    assert found == set(FREE)


@each(("system", "knobs"), MACHINES, few=66)
def test_all_that_is_powered_draws_static_power_but_what_stands_in_anothers(system, knobs):
    for everything in (False, True):
        devices = ready(scenario("optane-rm4", system, **knobs, **{"machine.all_powered": everything})).devices
        silent = {name for name, device in devices.items() if device.idle_watts == 0}
        assert silent <= set(WITHOUT_IDLE_POWER)
        prototype = knobs.get("machine.host") == "trainingcxl"
        assert ("dram" in silent) == ("host" in devices and prototype)
