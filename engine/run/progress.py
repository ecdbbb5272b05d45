"""A run's progress: an immutable snapshot that can be stored and drawn, and the meter that takes it now and then."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from time import monotonic
from typing import Any

from ..core.arrays import Row
from ..errors import Cancelled


@dataclass(frozen=True)
class Progress:
    """Batches `done` of `total`, the training curve so far (thinned), simulated seconds, and a note."""

    done: int
    total: int
    training: tuple[Row, ...] = ()
    elapsed_simulated: float = 0.0
    note: str = ""

    @property
    def share(self) -> float:
        """The share that is done, from 0 to 1."""
        return min(self.done / self.total, 1.0) if self.total > 0 else 0.0

    def as_json(self) -> dict[str, Any]:
        """Return one JSON-ready object."""
        return asdict(self)


# Told about progress; answering True asks the run to stop, which then raises Cancelled.
Watcher = Callable[[Progress], bool]


def from_json(content: Mapping[str, Any]) -> Progress:
    """Rebuild a snapshot from `as_json`'s object."""
    return Progress(**{**content, "training": tuple(content["training"])})


INTERVAL = 0.3
READING = 1000  # parts of a file, as which its reading is told
SHOWN = 300


class Meter:
    """Counts batches done of `total` and collects the training curve so far; other steps only say what goes on."""

    def __init__(self, watcher: Watcher | None, total: int) -> None:
        self.watcher, self.total, self.done = watcher, max(total, 1), 0
        self.rows: list[Row] = []
        self.next = monotonic() + INTERVAL

    def resume(self, rows: Sequence[Row], done: int) -> None:
        """Begin with the curve and the count of a run that was cancelled."""
        self.rows, self.done = list(rows), done

    def step(self, note: str, counts: bool = True) -> None:
        """Note one step; raises Cancelled when the watcher asks to stop."""
        self.done += counts
        if self.watcher is None or monotonic() < self.next:
            return
        elapsed = float(self.rows[-1]["Elapsed [s]"]) if self.rows else 0.0
        every = max(1, len(self.rows) // SHOWN)
        last = len(self.rows) - 1
        shown = tuple(row for i, row in enumerate(self.rows) if i % every == 0 or i == last or row["AUC"] is not None)
        total = max(self.total, self.done)
        if self.watcher(Progress(self.done, total, shown, elapsed, note)):
            raise Cancelled(f"The run was stopped: {note}.")
        self.next = monotonic() + INTERVAL


def reading(watcher: Watcher | None) -> Callable[[float, str], None]:
    """Return what tells how far a file is read, as parts of READING; raises Cancelled when the watcher asks to stop."""
    meter = Meter(watcher, READING)

    def watch(share: float, words: str) -> None:
        meter.done = round(share * READING)
        meter.step(words, counts=False)

    return watch
