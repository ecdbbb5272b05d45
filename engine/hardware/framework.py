"""Software that drives GPUs, as parts: what a batch, a call, a table and a value cost, and when collectives begin."""

from dataclasses import dataclass
from typing import Any

from ..core.catalog import Catalogue, quantity
from ..core.constants import Constant
from ..core.work import DriveBatch
from ..units import MS, NS, US


@dataclass(frozen=True)
class Framework:
    """What driving costs the host's process, and how long GPUs wait for each other before a collective, which nothing hides."""

    fixed: Constant = quantity("training loop", "ms", zero=True)
    kernel: Constant = quantity("kernel call", "us", zero=True)
    collective: Constant = quantity("collective call", "ms", zero=True)
    table: Constant = quantity("table in Python", "us", zero=True)
    value: Constant = quantity("input a value", "ns", zero=True)
    agreement: Constant = quantity(
        "collective agreement", "ms", zero=True, default=Constant("", 0, "", 0, 0, "stated", "calls are queued in one order")
    )


FRAMEWORKS = Catalogue("framework", Framework)


def driving(by: Framework, work: DriveBatch) -> Any:
    """Return the seconds that a batch takes the process that drives it."""
    calls = work.kernels * by.kernel.value * US + work.collectives * by.collective.value * MS
    return by.fixed.value * MS + calls + work.tables * by.table.value * US + work.values * by.value.value * NS
