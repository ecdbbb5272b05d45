"""The host: its CPU's embedding path, and the static power of the board everything sits on."""

from dataclasses import dataclass
from typing import Any

from engine.assumptions import assumed, fields_of
from engine.constants import Constant
from engine.device import Device, Kind
from engine.machine import Machine
from engine.units import GB, NS, US
from engine.work import HostEmbedding

FIT = "fitted to TrainingCXL RM1 and RM4 by scripts/calibrate_trainingcxl.py"
ACME = "AcmeTrace fleet telemetry"


@dataclass(frozen=True)
class Host:
    """One host: software cost of embedding work, power of board and CPU."""

    fixed: Constant
    per_lookup: Constant
    gather: Constant
    idle: Constant
    active: Constant
    price: Constant


HOSTS = {
    "server": Host(
        Constant("embedding software per batch", 500, "us", 100, 5000, "unsourced", "framework dispatch, lookup and update"),
        Constant("embedding software per lookup", 0, "ns", 0, 40, "unsourced", "within the gather rate"),
        Constant("EmbeddingBag rate", 28, "GB/s", 13.6, 28, "measured", "facebookresearch/param"),
        Constant("idle power", 522, "W", 522, 534, "measured", ACME, "two-socket CPU node with its memory"),
        Constant("active power", 960, "W", 700, 960, "measured", ACME, "largest seen"),
        Constant("price", 10_000, "USD", 5000, 20_000, "unsourced", "two-socket server without accelerators and memory"),
    ),
    "trainingcxl": Host(
        Constant("embedding software per batch", 6914, "us", 5000, 8000, "calibrated", FIT, "lookup and update together"),
        Constant("embedding software per lookup", 38.1, "ns", 30, 50, "calibrated", FIT, "before deduplication"),
        Constant("EmbeddingBag rate", 1e6, "GB/s", 1, 1e6, "unsourced", "within the cost per lookup"),
        Constant("idle power", 89, "W", 51, 183, "unsourced", "board 70 W, i5-9600K idle 15 W, DRAM 4 W"),
        Constant("active power", 169, "W", 108, 268, "unsourced", "the same with the CPU at 95 W"),
        Constant("price", 1200, "USD", 800, 2000, "unsourced", "desktop board and CPU"),
    ),
}


def build(machine: Machine) -> Device:
    """Build the host."""
    host = assumed(machine, "host", HOSTS[machine.host])

    def embedding(work: HostEmbedding) -> Any:
        software = host.fixed.value * US + work.lookups * host.per_lookup.value * NS
        return work.share * (software + work.nbytes / (host.gather.value * GB))

    return Device(
        name="host",
        title=f"Host, {machine.host}",
        helps="near-data compute would take it off the host's CPU",
        seconds={HostEmbedding: embedding},
        idle_watts=host.idle.value,
        busy_watts=host.active.value - host.idle.value,
        price=host.price.value,
        constants=fields_of(host),
    )


DEVICE = Kind("Host", build, lambda: {name: fields_of(host) for name, host in HOSTS.items()}, knobs=("machine.host",))
