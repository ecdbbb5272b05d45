"""What is really trained: the model of a scenario, perhaps with its tables folded and its hidden widths divided."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from ..core.arrays import Ints
from ..units import FLOAT32

Part = Literal["bottom", "top"]
PARTS: tuple[Part, Part] = ("bottom", "top")


@dataclass(frozen=True, slots=True)
class Shape:
    """A DLRM to train: equal shapes train the same function.

    `rows` are the rows of the full model's tables; of table t, `folded[t]` exist once rows are taken modulo them.
    `bottom` runs from dense features to its output; `top` starts after the interaction and ends in 1.
    Widths are already divided by `width_divisor`, a power of two like `table_divisor`; 1 is the full model.
    """

    rows: tuple[int, ...]
    pooling: tuple[int, ...]
    dim: int
    bottom: tuple[int, ...]
    top: tuple[int, ...]
    interaction: str
    optimizer: str
    learning_rate: float
    width_divisor: int = 1
    table_divisor: int = 1

    @property
    def num_tables(self) -> int:
        """How many embedding tables there are."""
        return len(self.rows)

    @property
    def folded(self) -> tuple[int, ...]:
        """Rows of each table that can exist."""
        return tuple(-(-rows // self.table_divisor) for rows in self.rows)

    @property
    def adagrad(self) -> bool:
        """Whether the optimizer keeps a state beside the weights."""
        return self.optimizer == "adagrad"

    @property
    def features_width(self) -> int:
        """Elements of a sample's features: the bottom MLP's output, then one pooled vector per table."""
        return self.bottom[-1] + self.num_tables * self.dim

    @property
    def top_input(self) -> int:
        """Width of what the interaction hands to the top MLP."""
        return self.features_width if self.interaction == "concat" else self.bottom[-1] + pairs(self.num_tables)

    def widths(self, part: Part) -> tuple[int, ...]:
        """Return the widths of one MLP, its input first."""
        return self.bottom if part == "bottom" else (self.top_input, *self.top)


def pairs(num_tables: int) -> int:
    """Return how many pairwise products the dense vector and `num_tables` pooled vectors have."""
    return num_tables * (num_tables + 1) // 2


def offsets(shape: Shape) -> Ints:
    """Return (T+1,) global numbers of each full table's first row, then the number of all rows."""
    return np.concatenate(([0], np.cumsum(shape.rows, dtype=np.int64)))


def fold(shape: Shape, ids: Ints) -> Ints:
    """Return the global rows that stand for `ids` once tables are folded; `ids` themselves when they are not."""
    if shape.table_divisor == 1:
        return ids
    starts = offsets(shape)
    table = np.searchsorted(starts, ids, side="right") - 1
    first = starts[table]
    rows: Ints = first + (ids - first) % np.array(shape.folded)[table]
    return rows


def row_nbytes(shape: Shape) -> int:
    """Return the bytes that one row takes: its vector, and row-wise Adagrad's one number."""
    return FLOAT32 * (shape.dim + shape.adagrad)


def mlp_size(shape: Shape, *parts: Part) -> int:
    """Return the number of weights and biases of the named MLPs, or of both."""
    return sum(n * m + n for part in parts or PARTS for m, n in pairwise(shape.widths(part)))


def step_flop(shape: Shape, batch_size: int) -> float:
    """Return the floating-point operations of a step: forward, and twice that backward, without the embeddings."""
    weights = sum(n * m for part in PARTS for m, n in pairwise(shape.widths(part)))
    products = shape.dim * pairs(shape.num_tables) if shape.interaction == "dot" else 0
    return 6.0 * batch_size * (weights + products)
