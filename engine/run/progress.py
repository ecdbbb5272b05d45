"""A run's progress: an immutable snapshot, and the meter that takes it.

The snapshot can be stored and drawn.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from time import monotonic
from typing import Any

from ..core.arrays import Row
from ..errors import Cancelled


@dataclass(frozen=True)
class Progress:
    """The progress of a run, which can be stored and drawn.

    batches_done, total: the batches done, and all batches.
    training: the training curve so far, thinned.
    elapsed_simulated: the simulated seconds.
    note: the present step in words.
    """

    batches_done: int
    total: int
    training: tuple[Row, ...] = ()
    elapsed_simulated: float = 0.0
    note: str = ""

    @property
    def share(self) -> float:
        """The share that is done, from 0 to 1."""
        return min(self.batches_done / self.total, 1.0) if self.total > 0 else 0.0

    def as_json(self) -> dict[str, Any]:
        """Return one JSON-ready object."""
        fields = asdict(self)
        return {"done": fields.pop("batches_done"), **fields}


# A function that receives the progress; if it returns True, the run stops and raises Cancelled.
Watcher = Callable[[Progress], bool]


def from_json(content: Mapping[str, Any]) -> Progress:
    """Rebuild a snapshot from `as_json`'s object."""
    fields = dict(content)
    return Progress(fields.pop("done"), training=tuple(fields.pop("training")), **fields)


INTERVAL = 0.3
READING_PARTS = 1000  # parts of a file, in which the progress of reading is counted
MAX_CURVE_ROWS = 300


class Meter:
    """A meter that counts batches done of `total` and collects the training curve.

    Other steps only change the note.
    """

    def __init__(self, watcher: Watcher | None, total: int) -> None:
        self.watcher, self.total, self.batches_done = watcher, max(total, 1), 0
        self.rows: list[Row] = []
        self.next_seconds = monotonic() + INTERVAL

    def resume(self, rows: Sequence[Row], batches_done: int) -> None:
        """Begin with the curve and the count of a run that was cancelled."""
        self.rows, self.batches_done = list(rows), batches_done

    def step(self, note: str, counts: bool = True) -> None:
        """Note one step; raises Cancelled when the watcher asks to stop."""
        self.batches_done += counts
        if self.watcher is None or monotonic() < self.next_seconds:
            return
        elapsed = float(self.rows[-1]["Elapsed [s]"]) if self.rows else 0.0
        stride = max(1, len(self.rows) // MAX_CURVE_ROWS)
        last_index = len(self.rows) - 1
        thinned_rows = tuple(
            row for i, row in enumerate(self.rows) if i % stride == 0 or i == last_index or row["AUC"] is not None
        )
        total = max(self.total, self.batches_done)
        if self.watcher(Progress(self.batches_done, total, thinned_rows, elapsed, note)):
            raise Cancelled(f"The run was stopped: {note}.")
        self.next_seconds = monotonic() + INTERVAL


def reading_watcher(watcher: Watcher | None) -> Callable[[float, str], None]:
    """Return a function that reports the share of a file that is read.

    Raises Cancelled when the watcher asks to stop.
    """
    meter = Meter(watcher, READING_PARTS)

    def watch(share: float, words: str) -> None:
        meter.batches_done = round(share * READING_PARTS)
        meter.step(words, counts=False)

    return watch
