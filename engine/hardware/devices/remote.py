"""Embedding servers: hosts without GPUs that keep tables and send rows to trainers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...core.catalog import Catalogue
from ...core.constants import Constant
from ...core.figures import exact
from ...core.part_files.tables import optional_price, quantity
from ...core.row_sizes import mean_over_rows
from ...core.work import HostRows, Stream
from ...scenario.machine import MachineKnobs
from ...units import GB, NS, US
from ..device import Cost, Device, DeviceKind, assumed_part, fields_of, is_positive
from ..money.bill import BillItem

ROW = 512


@dataclass(frozen=True)
class Server:
    """Constants of one server: call time, row times, network card, power and price."""

    call: Constant = quantity("remote call", "us")
    row_gather: Constant = quantity("row gather", "ns")
    row_scatter: Constant = quantity("row scatter", "ns")
    card: Constant = quantity("network card", "GB/s")
    idle: Constant = quantity("idle power", "W")
    active: Constant = quantity("active power", "W")
    price: Constant | None = optional_price("USD")
    memory: Constant | None = optional_price("USD/GB", "memory price")


KIND, SERVER_NAME = "embedding-server", "two-socket"
SERVERS = Catalogue(KIND, Server)


class ServerRates(NamedTuple):
    """Rates of one embedding server.

    call: time of a remote call [us].
    row_gather_ns, row_scatter_ns: time to gather and to scatter a row [ns].
    card: rate of the server's network card [B/s].
    """

    call: float
    row_gather_ns: float
    row_scatter_ns: float
    card: float


def row_seconds(server: ServerRates, work: HostRows) -> Any:
    """Return the seconds to gather or scatter rows on a server.

    A small row takes the time of one access; larger rows take time in proportion to their bytes.
    """
    row = (
        (server.row_scatter_ns if work.scatter else server.row_gather_ns)
        * NS
        * mean_over_rows(work.row_bytes, lambda size: np.maximum(1.0, size / ROW))
    )
    return is_positive(work.rows) * work.calls * server.call * US + work.rows * row


SECONDS: Mapping[type, Cost] = {HostRows: row_seconds, Stream: lambda server, work: work.nbytes / server.card}


def build(machine: MachineKnobs) -> Device:
    """Return one server with its DRAM as a device; the DRAM's capacity must be chosen."""
    server = assumed_part(machine, "remote", SERVERS[SERVER_NAME], KIND, SERVER_NAME)
    gib = machine.server_dram_GiB or 0.0
    return Device(
        name="remote",
        title="Embedding servers",
        helps="more machine.embedding_servers, or a cache, would shorten it",
        rates=ServerRates(server.call.value, server.row_gather.value, server.row_scatter.value, server.card.value * GB),
        seconds=SECONDS,
        idle_watts=server.idle.value,
        busy_watts=server.active.value - server.idle.value,
        bill=(
            BillItem(KIND, SERVER_NAME, 1, server.price),
            BillItem(KIND, SERVER_NAME, 1, server.memory, gib, "memory-price", f"{exact(gib)} GiB"),  # sold as so many GB
        ),
        constants=fields_of(server),
    )


DEVICE = DeviceKind(
    "Embedding servers",
    build,
    lambda: {"": fields_of(SERVERS[SERVER_NAME])},
    knob_names=("embedding_servers", "server_dram_GiB", "prices"),
    copies=lambda machine: machine.embedding_servers,
    in_own_hosts=True,
    kinds=(KIND,),
)
