"""The training curve of a run, in compact arrays."""

from array import array
from collections.abc import Iterator

from ..core.arrays import Row

AucWithError = tuple[float | None, float | None]


class Curve:
    """The training curve: a row for each trained batch in order.

    batches: the number of each row's batch; a batch that is run again comes again.
    ends: the end of the batch [s of the run].
    losses: the mean loss of the batch [nats].
    aucs: by the index of a row, the held-out AUC after the batch and its standard error.
    """

    def __init__(self) -> None:
        self.batches, self.ends, self.losses = array("q"), array("d"), array("d")
        self.aucs: dict[int, AucWithError] = {}

    def append(self, batch: int, end: float, loss: float, auc_with_error: AucWithError | None) -> None:
        """Add a row.

        `auc_with_error` is None if the model was not evaluated after the batch.
        """
        if auc_with_error is not None:
            self.aucs[len(self)] = auc_with_error
        self.batches.append(batch)
        self.ends.append(end)
        self.losses.append(loss)

    def copy(self) -> "Curve":
        """Return a copy, to which rows can be added."""
        copied = Curve()
        copied.batches, copied.ends, copied.losses, copied.aucs = self.batches[:], self.ends[:], self.losses[:], {**self.aucs}
        return copied

    def __len__(self) -> int:
        return len(self.batches)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Curve) and vars(self) == vars(other)

    def row(self, i: int) -> Row:
        """Return row `i`: Batch, Elapsed [s], Loss, AUC, AUC error.

        AUC and AUC error are None where the model was not evaluated.
        """
        area, error = self.aucs.get(i, (None, None))
        return {
            "Batch": self.batches[i],
            "Elapsed [s]": self.ends[i],
            "Loss": self.losses[i],
            "AUC": area,
            "AUC error": error,
        }

    def __iter__(self) -> Iterator[Row]:
        return map(self.row, range(len(self)))

    def thinned(self, stride: int) -> tuple[Row, ...]:
        """Return every `stride`-th row, all rows with an AUC, and the last row."""
        evaluated = (i for i, (area, _) in self.aucs.items() if area is not None)
        shown = {*range(0, len(self), stride), *evaluated, *range(max(len(self) - 1, 0), len(self))}
        return tuple(map(self.row, sorted(shown)))
