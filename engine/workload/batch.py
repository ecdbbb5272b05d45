"""One batch of samples, and where the rows of each table start in the one space of row numbers."""

from dataclasses import dataclass

import numpy as np

from ..core.arrays import Ints, Singles
from ..scenario.groups import Model
from ..scenario.scenario import per_table


@dataclass(frozen=True, slots=True)
class Batch:
    """Samples to train on.

    `dense` is (B, F); `labels` is (B,), each 0 or 1; `ids` is (B * sum of pooling,) and holds global row
    numbers, table by table, sample by sample inside a table, so that a bag is a run of consecutive ids.
    """

    dense: Singles
    ids: Ints
    labels: Singles


def offsets(model: Model) -> Ints:
    """Return (T+1,) global numbers of each table's first row, then the number of all rows."""
    return _starts(per_table(model, "num_embeddings"))


def bag_layout(model: Model, batch_size: int) -> Ints:
    """Return (T+1,) positions in a batch's `ids` where each table's lookups start, then their number."""
    return _starts(per_table(model, "pooling")) * batch_size


def _starts(counts: tuple[int, ...]) -> Ints:
    return np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
