"""Software that drives GPUs: costs per batch, call, table and input value, and of collectives."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..core.catalog import Catalogue, list_words
from ..core.constants import Constant
from ..core.figures import figure
from ..core.part_files.tables import Quantity, quantity
from ..core.work import DriveBatch
from ..scenario.machine import MachineKnobs
from ..units import MS, NS, US
from .device import assumed_value

AHEAD = Constant("", 1, "", 0, 1, "stated", "the input of the next batch arrives while this batch trains")
FUSED = Constant("", 0, "", 0, 0, "stated", "all tables are updated by one kernel")


@dataclass(frozen=True)
class Framework:
    """Constants of a training framework: times of its host process, and waits of GPUs.

    agreement: time that GPUs wait before a collective; no other work hides it.
    lookup: time of each further id of a feature with several, None as long as a value's: software that copies ids one by one.
    input_ahead: batches whose input may reach the GPUs while an earlier batch trains: 1 or 0.
    sparse_table, sparse_lookup: costs of software that is not fused and updates tables one by one, if the optimizer keeps state.

    Such software makes the ids of a table unique, and sums the gradients of each id. This moves `sparse_lookup` bytes per
    lookup. The host waits for the number of unique ids, so that a GPU takes `sparse_table` longer per table. The `quantity` of
    each field has the constant's name and unit.
    """

    fixed: Constant = quantity("training loop", "ms", zero=True)
    kernel: Constant = quantity("kernel call", "us", zero=True)
    collective: Constant = quantity("collective call", "ms", zero=True)
    table: Constant = quantity("table in Python", "us", zero=True)
    input_value: Constant = quantity("input a value", "ns", zero=True)
    lookup: Constant | None = field(
        default=None, metadata={"quantity": Quantity("input a lookup", "ns", zero=True, optional=True)}
    )
    sparse_table: Constant = quantity("sparse update of a table", "us", zero=True, default=FUSED)
    sparse_lookup: Constant = quantity("sparse update of a lookup", "B", zero=True, default=FUSED)
    agreement: Constant = quantity(
        "collective agreement", "ms", zero=True, default=Constant("", 0, "", 0, 0, "stated", "calls are queued in one order")
    )
    input_ahead: Constant = quantity("input ahead", "batches", zero=True, default=AHEAD)


CAPTURED, EAGER = "captured", "eager"
FRAMEWORKS = Catalogue("framework", Framework, lists={"traits": (CAPTURED, EAGER)})
LONG_AGREEMENT_MS = 10.0  # before a collective: a longer wait decides between systems with unlike numbers of collectives


def wait_seconds(machine: MachineKnobs) -> tuple[float, float]:
    """Return the seconds before a collective: in its latency, and as a task.

    Only a long wait is a task of its own.
    """
    wait_ms = assumed_value(machine, "host", FRAMEWORKS[machine.framework].agreement)
    return (0.0, wait_ms * MS) if wait_ms >= LONG_AGREEMENT_MS else (wait_ms * MS, 0.0)


def agreement_sentences(machine: MachineKnobs) -> tuple[str, ...]:
    """Return a caution about a framework whose GPUs wait long before each collective; () without."""
    long_wait = wait_seconds(machine)[1]
    if machine.num_gpus == 1 or not long_wait:
        return ()
    return (
        f"With machine.framework={machine.framework} the GPUs wait {figure(long_wait / MS, 'ms')} before each collective, "
        "a constant fitted to one machine. A system with fewer collectives gains by it alone; compare systems with another "
        "framework, too.",
    )


class LoopRates(NamedTuple):
    """Times of the process that drives the GPUs, from a `Framework`.

    fixed: per batch [ms].
    kernel: per kernel call [us].
    collective: per collective call [ms].
    table: per table that Python code handles [us].
    input_value: per input value [ns].
    input_lookup: per further id of a feature with several [ns].
    """

    fixed: float
    kernel: float
    collective: float
    table: float
    input_value: float
    input_lookup: float


def has_trait(framework: str, trait: str) -> bool:
    """Return whether a framework's part has a trait.

    CAPTURED: its kernels are in a CUDA graph, and follow each other faster. EAGER: its host software computes table by table.
    """
    return trait in list_words("framework", framework, "traits")


def loop_rates(framework: Framework) -> LoopRates:
    """Return the times of a framework's driving process."""
    by_field = {name: getattr(framework, name).value for name in LoopRates._fields if name != "input_lookup"}
    return LoopRates(**by_field, input_lookup=(framework.lookup or framework.input_value).value)


def driving_seconds(loop: LoopRates, work: DriveBatch) -> Any:
    """Return the seconds of the process that drives a batch."""
    calls = work.kernels * loop.kernel * US + work.collectives * loop.collective * MS
    whole_tensors = work.further_ids * (loop.input_value - loop.input_lookup) * NS
    return loop.fixed * MS + calls + work.tables * loop.table * US + work.values * loop.input_value * NS - whole_tensors
