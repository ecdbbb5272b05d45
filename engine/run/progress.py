"""The progress of a run: an immutable snapshot, and the meter that takes snapshots."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from time import monotonic
from typing import Any

from ..core.arrays import Row
from ..errors import Cancelled
from .curve import Curve


@dataclass(frozen=True)
class Progress:
    """A snapshot of a run's progress, which can be stored and drawn.

    batches_done: the number of batches done.
    total: the number of all batches.
    training: rows of the training curve so far; long curves are thinned.
    elapsed_simulated: the simulated time so far [s].
    note: a text on the present step.
    """

    batches_done: int
    total: int
    training: tuple[Row, ...] = ()
    elapsed_simulated: float = 0.0
    note: str = ""

    @property
    def share(self) -> float:
        """The share of the batches that is done, from 0 to 1."""
        return min(self.batches_done / self.total, 1.0) if self.total > 0 else 0.0

    def as_json(self) -> dict[str, Any]:
        """Return the snapshot as a JSON-ready object."""
        fields = asdict(self)
        return {"done": fields.pop("batches_done"), **fields}


# A function that receives the progress; if it returns True, the run stops and raises Cancelled.
Watcher = Callable[[Progress], bool]


def from_json(content: Mapping[str, Any]) -> Progress:
    """Return the snapshot of an object that `Progress.as_json` returned."""
    fields = dict(content)
    return Progress(fields.pop("done"), training=tuple(fields.pop("training")), **fields)


INTERVAL = 0.3
READING_PARTS = 1000  # parts of a file, in which the progress of reading is counted
MAX_CURVE_ROWS = 300


class Meter:
    """A meter that counts the batches done, and reports a run's progress to a watcher.

    The meter also holds the training curve for the reports.
    """

    def __init__(self, watcher: Watcher | None, total: int) -> None:
        self.watcher, self.total, self.batches_done = watcher, max(total, 1), 0
        self.curve = Curve()
        self.next_seconds = monotonic() + INTERVAL

    def resume(self, curve: Curve, batches_done: int) -> None:
        """Set the training curve and the count of batches to those of a cancelled run."""
        self.curve, self.batches_done = curve.copy(), batches_done

    def trained_step(self, batch: int, train_every: int) -> None:
        """Report a trained batch.

        All batches up to the next trained batch are then done.
        """
        self.step(f"training batch {batch}", max(min(train_every, self.total - batch), 1))

    def step(self, note: str, counts: int = 1) -> None:
        """Report one step to the watcher, if the last report is old enough.

        `note` is a text on the step, which finishes `counts` batches. Raises Cancelled if the watcher asks to
        stop.
        """
        self.batches_done += counts
        if self.watcher is None or monotonic() < self.next_seconds:
            return
        elapsed = self.curve.ends[-1] if len(self.curve) else 0.0
        thinned_rows = self.curve.thinned(max(1, len(self.curve) // MAX_CURVE_ROWS))
        total = max(self.total, self.batches_done)
        if self.watcher(Progress(self.batches_done, total, thinned_rows, elapsed, note)):
            raise Cancelled(f"The run was stopped: {note}.")
        self.next_seconds = monotonic() + INTERVAL


def reading_watcher(watcher: Watcher | None) -> Callable[[float, str], None]:
    """Return a function that reports which share of a file has been read.

    The function is called with the share and a text. It raises Cancelled if `watcher` asks to stop.
    """
    meter = Meter(watcher, READING_PARTS)

    def watch(share: float, words: str) -> None:
        meter.batches_done = round(share * READING_PARTS)
        meter.step(words, counts=False)

    return watch
