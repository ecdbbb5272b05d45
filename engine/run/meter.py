"""Tells a watcher how far a run is, a few times a second; the clock never reaches a result."""

from time import monotonic

from ..core.arrays import Row
from ..errors import Cancelled
from .progress import Progress, Watcher

INTERVAL = 0.3
SHOWN = 300


class Meter:
    """Counts batches done of `total` and collects the training curve so far; other steps only say what goes on."""

    def __init__(self, watcher: Watcher | None, total: int) -> None:
        self.watcher, self.total, self.done = watcher, max(total, 1), 0
        self.rows: list[Row] = []
        self.next = monotonic() + INTERVAL

    def step(self, note: str, counts: bool = True) -> None:
        """Note one step; raises Cancelled when the watcher asks to stop."""
        self.done += counts
        if self.watcher is None or monotonic() < self.next:
            return
        elapsed = float(self.rows[-1]["Elapsed [s]"]) if self.rows else 0.0
        every = max(1, len(self.rows) // SHOWN)
        shown = tuple(row for i, row in enumerate(self.rows) if i % every == 0 or row["AUC"] is not None)
        total = max(self.total, self.done)
        if self.watcher(Progress(self.done, total, shown, elapsed, note)):
            raise Cancelled(f"The run was stopped: {note}.")
        self.next = monotonic() + INTERVAL
