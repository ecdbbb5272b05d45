"""Embedding servers: hosts without GPUs that keep the tables and answer for rows over the network."""

from dataclasses import dataclass
from typing import Any

from engine.assumptions import assumed, fields_of
from engine.constants import Constant
from engine.device import Device, Kind, some
from engine.machine import Machine
from engine.units import GB, NS, US, GiB
from engine.work import HostRows, Stream

CACHED = "hpcaitech/CachedEmbedding run logs, A100 host"
ROW = 512


@dataclass(frozen=True)
class Server:
    """One server: what a call and a row cost, its network card, power and price."""

    call: Constant = Constant("remote call", 1000, "us", 200, 5000, "unsourced", "dispatch, tensor packing, thread hand-over")
    take: Constant = Constant("row gather", 60, "ns", 47, 73, "measured", CACHED, "a row of up to 512 B into one buffer")
    put: Constant = Constant("row scatter", 61, "ns", 45, 78, "measured", CACHED, "a row of up to 512 B back to its table")
    card: Constant = Constant(
        "network card", 2.8, "GB/s", 1.1, 11, "vendor", "AWS c5.18xlarge, 25 Gb/s", "sustained, one direction"
    )
    idle: Constant = Constant("idle power", 522, "W", 522, 534, "measured", "AcmeTrace fleet telemetry", "two-socket CPU node")
    active: Constant = Constant("active power", 960, "W", 700, 960, "measured", "AcmeTrace fleet telemetry", "largest seen")
    price: Constant = Constant("price", 10_000, "USD", 5000, 20_000, "unsourced", "two-socket server without accelerators")
    memory: Constant = Constant("memory price", 11.13, "USD/GB", 5, 37, "stated", "BaM, ASPLOS'23, retail 2022")


def build(machine: Machine) -> Device:
    """Build one server with as much DRAM as the machine's hosts have."""
    server = assumed(machine, "remote", Server())

    def rows(work: HostRows) -> Any:
        """Small rows cost a whole access, larger ones their bytes."""
        each = (server.put if work.scatter else server.take).value * NS * max(1.0, work.row_bytes / ROW)
        return some(work.rows) * work.calls * server.call.value * US + work.rows * each

    return Device(
        name="remote",
        title="Embedding servers",
        helps="more machine.embedding_servers, or a cache, would shorten it",
        seconds={HostRows: rows, Stream: lambda work: work.nbytes / (server.card.value * GB)},
        idle_watts=server.idle.value,
        busy_watts=server.active.value - server.idle.value,
        price=server.price.value + machine.dram_capacity_GiB * GiB / GB * server.memory.value,
        constants=fields_of(server),
    )


DEVICE = Kind(
    "Embedding servers",
    build,
    lambda: {"": fields_of(Server())},
    knobs=("machine.embedding_servers", "machine.dram_capacity_GiB"),
    copies=lambda machine: machine.embedding_servers,
    apart=True,
)
