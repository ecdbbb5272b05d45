"""How far a run has come: an immutable snapshot that can be stored and drawn while the run goes on."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..core.arrays import Row


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
