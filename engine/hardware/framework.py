"""Software that drives GPUs: costs of a batch, call, table and value, and of collectives."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from ..core.catalog import Catalogue
from ..core.constants import Constant
from ..core.part_files.tables import quantity
from ..core.work import DriveBatch
from ..units import MS, NS, US

FUSED = Constant("", 0, "", 0, 0, "stated", "all tables are updated by one kernel")


@dataclass(frozen=True)
class Framework:
    """Costs of driving for the host's process, and of GPUs waiting before a collective.

    Nothing hides that wait. Software that is not fused updates each table by itself where the optimizer keeps state: it makes
    the ids unique and sums their gradients, with so many bytes a lookup, and the host waits for their number, which takes a GPU
    so long a table. Each field's `quantity` has its name and unit.
    """

    fixed: Constant = quantity("training loop", "ms", zero=True)
    kernel: Constant = quantity("kernel call", "us", zero=True)
    collective: Constant = quantity("collective call", "ms", zero=True)
    table: Constant = quantity("table in Python", "us", zero=True)
    input_value: Constant = quantity("input a value", "ns", zero=True)
    sparse_table: Constant = quantity("sparse update of a table", "us", zero=True, default=FUSED)
    sparse_lookup: Constant = quantity("sparse update of a lookup", "B", zero=True, default=FUSED)
    agreement: Constant = quantity(
        "collective agreement", "ms", zero=True, default=Constant("", 0, "", 0, 0, "stated", "calls are queued in one order")
    )


FRAMEWORKS = Catalogue("framework", Framework)


class LoopRates(NamedTuple):
    """Costs of driving, from a `Framework`.

    fixed: a batch [ms].
    kernel: a kernel call [us].
    collective: a collective call [ms].
    table: a table [us].
    input_value: an input value [ns].
    """

    fixed: float
    kernel: float
    collective: float
    table: float
    input_value: float


def loop_rates(framework: Framework) -> LoopRates:
    """Return the numbers of a framework."""
    return LoopRates(*(getattr(framework, name).value for name in LoopRates._fields))


def driving_seconds(loop: LoopRates, work: DriveBatch) -> Any:
    """Return the seconds of a batch in the process that drives it."""
    calls = work.kernels * loop.kernel * US + work.collectives * loop.collective * MS
    return loop.fixed * MS + calls + work.tables * loop.table * US + work.values * loop.input_value * NS
