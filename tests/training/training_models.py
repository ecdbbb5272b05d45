"""Small models and batches for the tests of training, the same on every machine."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from engine.training.shape import Shape
from engine.training.spans import table_spans
from engine.training.weights import Weights, initial_weights, rows_of, trained_arrays
from engine.workload.batch import Batch


def model(
    dim: int | tuple[int, ...] = 4,
    optimizer: str | tuple[str, ...] = "sgd",
    row_precision: str | tuple[str, ...] = "fp32",
    features: int | tuple[int, ...] = 1,
    **changes: Any,
) -> Shape:
    """Return a small model: two tables with dots, one of them multi-hot, unless changed; a tuple has one value a table."""
    base: dict[str, Any] = {
        "rows": (30, 7),
        "pooling": (1, 3),
        "bottom": (5, 6, 4),
        "top": (8, 1),
        "interaction": "dot",
        "learning_rate": 0.1,
    }
    base |= changes
    tables = len(base["rows"])
    columns = (dim, row_precision, optimizer, features)
    kinds = [kind if isinstance(kind, tuple) else (kind,) * tables for kind in columns]
    return Shape(**{"spans": table_spans(*kinds), "dense_optimizer": kinds[2][0], **base})


def all_rows(weights: Weights) -> Iterator[tuple[int, np.ndarray]]:
    """Yield each row that exists with its vector, whatever block it is in."""
    return zip(weights.rows.tolist(), chain.from_iterable(block.vectors for block in weights.blocks), strict=True)


def state_bytes(weights: Weights) -> list[bytes]:
    """Return the bytes of all that training changes, and of the rows' numbers."""
    return [weights.rows.tobytes(), *(array.tobytes() for _, array in trained_arrays(weights))]


def uniforms(seed: int, count: int) -> np.ndarray:
    """Return (count,) float64 numbers in [0, 1): SplitMix64 of seed and position, in whole-array arithmetic."""
    word = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    word += np.array([seed], np.uint64) * np.uint64(0xD1B54A32D192ED03)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((word ^ (word >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53


def made_up_batch(shape: Shape, size: int, number: int, seed: int = 1, uneven: bool = False) -> Batch:
    """Return batch `number`: skewed ids, uniform dense features, and clicks that depend on both; `uneven` bags may be empty."""
    lookups = [size * pooling for pooling in shape.pooling]
    draws = np.split(uniforms(seed * 1000 + number, sum(lookups)), np.cumsum(lookups)[:-1])
    starts = np.concatenate(([0], np.cumsum(shape.rows)))
    tables = [np.int64(rows * draw**3) for rows, draw in zip(shape.rows, draws, strict=True)]
    ids = np.concatenate([start + table for start, table in zip(starts[:-1], tables, strict=True)])
    width = shape.bottom[0]
    values = uniforms(seed * 1000 + 500_000 + number, size * (width + 1)).reshape(size, width + 1)
    dense = (2.0 * values[:, :width] - 1.0).astype(np.float32)
    lean = dense[:, 0] + (tables[0].reshape(size, -1)[:, 0] % 2 - 0.5)
    labels = (values[:, width] < 1.0 / (1.0 + np.exp(-2.0 * lean))).astype(np.float32)
    return Batch(dense, ids, labels, thrown(shape, size, number, seed) if uneven else None)


def thrown(shape: Shape, size: int, number: int, seed: int) -> np.ndarray:
    """Return where bags begin if each lookup falls to any sample, the first samples more often."""
    draws = uniforms(seed * 1000 + 900_000 + number, size * sum(shape.pooling))
    parts = np.split(np.int64(size * draws**1.5), np.cumsum(np.array(shape.pooling) * size)[:-1])
    lengths = np.concatenate([np.bincount(part, minlength=size) for part in parts])
    return np.concatenate(([0], np.cumsum(lengths)))


def looked_up_rows(batches: Iterable[Batch]) -> np.ndarray:
    """Return the sorted rows that any of the batches looks up."""
    return rows_of(batch.ids for batch in batches)


def made_up_run(shape: Shape, size: int, count: int, seed: int = 1, uneven: bool = False) -> tuple[Weights, list[Batch]]:
    """Return initial weights for `count` batches, and the batches."""
    batches = [made_up_batch(shape, size, number, seed, uneven) for number in range(count)]
    return initial_weights(shape, looked_up_rows(batches), seed), batches


ORACLE_STEPS, ORACLE_BATCH = 200, 64
_LARGE = (2000,) * 8
KAGGLE = {
    "rows": (1460, 583, *_LARGE, 305, 24, 633, 3, 27, 10, 4, 18, 15, 105, 1000, 500, 250, 120, 60, 30),
    "pooling": (1,) * 26,
    "dim": 16,
    "bottom": (13, 64, 32, 16),
    "top": (64, 32, 1),
}
_BAGS = {"rows": (500, 50, 2000), "pooling": (2, 1, 5), "dim": 8, "bottom": (13, 32, 8), "top": (32, 16, 1)}
MIXED = {  # ten tables of five widths and four optimizers; the widest has no projection
    "rows": (500, 50, 2000, 2000, 3, 700, 90, 1500, 40, 1000),
    "pooling": (1, 3, 1, 2, 1, 1, 5, 1, 2, 1),
    "dim": (4, 4, 16, 64, 64, 8, 32, 16, 16, 4),
    "optimizer": (
        *("sgd", "sgd", "rowwise-adagrad", "adagrad", "adagrad"),
        *("adam", "sgd", "rowwise-adagrad", "rowwise-adagrad", "adagrad"),
    ),
    "bottom": (13, 64, 64),
    "top": (64, 32, 1),
    "learning_rate": 0.01,
    # Without it a row's first step is large even where its gradient is rounding alone, as torch's then is.
    "initial_accumulator": 1e-4,
}
TABLE_FEATURES = (1, 2, 1, 2, 1, 1, 3, 1, 1, 1)  # features of each of these tables, which divide its lookups
ORACLES = {
    "kaggle-like": model(**KAGGLE),
    "multi-hot": model(rows=(500, 50, 2000), pooling=(3, 3, 3), dim=8, bottom=(13, 32, 8), top=(32, 16, 1)),
    "concatenation": model(
        rows=(500, 50, 2000), pooling=(2, 1, 5), dim=8, bottom=(13, 32, 12), top=(32, 16, 1), interaction="concat"
    ),
    "cross": model(
        rows=(500, 50, 2000), pooling=(2, 1, 5), dim=8, bottom=(13, 32, 8), top=(32, 16, 1), interaction="cross", ranks=(5, 5, 5)
    ),
    "full cross": model(rows=(500, 50), pooling=(2, 1), dim=4, bottom=(13, 6), top=(8, 1), interaction="cross", ranks=(0, 0)),
    "rowwise-adagrad": model(**KAGGLE, optimizer="rowwise-adagrad", learning_rate=0.01),
    "adagrad": model(**KAGGLE, optimizer="adagrad", learning_rate=0.01),
    "two rates, sums begun": model(
        **KAGGLE, optimizer="rowwise-adagrad", learning_rate=0.005, row_rate=0.05, initial_accumulator=1e-5
    ),
    "adam": model(**KAGGLE, optimizer="adam", learning_rate=0.001),
    "mixed": model(**MIXED, dense_optimizer="sgd"),
    "mixed, adam": model(**{**MIXED, "learning_rate": 0.002}, row_rate=0.01, dense_optimizer="adam"),
    "mixed concatenation": model(**MIXED, interaction="concat", dense_optimizer="rowwise-adagrad"),
    "mixed cross": model(**MIXED, interaction="cross", ranks=(5, 0), dense_optimizer="adagrad"),
    "alike, projected": model(**{**KAGGLE, "dim": 6}, optimizer="adagrad", learning_rate=0.01, initial_accumulator=1e-4),
    "shared": model(**MIXED, features=TABLE_FEATURES, dense_optimizer="sgd"),
    "shared, averaged, no bottom": model(
        **{**MIXED, "bottom": (13,)}, features=TABLE_FEATURES, interaction="concat", stride=7, dense_optimizer="sgd"
    ),
    "uneven shared": model(**MIXED, features=TABLE_FEATURES, interaction="concat", dense_optimizer="adagrad"),
    "uneven mixed": model(**MIXED, dense_optimizer="adagrad"),
    "uneven": model(**_BAGS),
    "uneven concatenation": model(**{**_BAGS, "bottom": (13, 32, 12)}, interaction="concat"),
    # From sums of 0 a row's first gradient counts in full even where it is rounding alone, as one of torch's then is.
    "uneven rowwise-adagrad": model(**_BAGS, optimizer="rowwise-adagrad", learning_rate=0.01, initial_accumulator=1e-6),
    "uneven adagrad": model(**_BAGS, optimizer="adagrad", learning_rate=0.01),
    "uneven adam": model(**_BAGS, optimizer="adam", learning_rate=0.001),
}


def oracle_run(name: str) -> tuple[Weights, list[Batch]]:
    """Return initial weights and the batches of an oracle's model."""
    return made_up_run(ORACLES[name], ORACLE_BATCH, ORACLE_STEPS, uneven=name.startswith("uneven"))
