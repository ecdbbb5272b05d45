"""Small models that read histories, and their step written from the formulas: in complex numbers, so that it gives gradients."""

from itertools import pairwise
from typing import Any

import numpy as np

from engine.training.histories.sizes import HstuShape
from engine.training.shape import Shape
from engine.training.weights import Weights
from engine.workload.batch import Batch
from tests.training.training_models import ORACLE_BATCH, ORACLE_STEPS, all_rows, made_up_run, model

EVENTS = 4  # lookups of each history


def history_model(**changes: Any) -> Shape:
    """Return a model of two tables of sequences among two tables of bags, one of them shared by two features."""
    base: dict[str, Any] = {
        "rows": (30, 12, 20, 15),
        "pooling": (EVENTS, 1, EVENTS, 3),
        "features": (EVENTS, 1, EVENTS, 2),
        "dim": (4, 3, 2, 3),
        "bottom": (5, 6, 3),
        "top": (4, 1),
        "interaction": "hstu",
        "hstu": HstuShape((EVENTS, 0, EVENTS, 0), layers=2, dim=6, heads=2, head_dim=3),
    }
    return model(**(base | changes))


ORACLES = {  # of 200 steps by PyTorch; three tables of 1,000 rows and one of bags
    name: history_model(
        rows=(1000, 1000, 1000, 50),
        pooling=(8, 8, 8, 2),
        features=(8, 8, 8, 1),
        dim=8,
        bottom=(13, 16, 8),
        top=(16, 1),
        hstu=HstuShape((8, 8, 8, 0), layers=2, dim=16, heads=2, head_dim=8),
        **optimizer,
    )
    for name, optimizer in {
        "sgd": {"learning_rate": 0.01},
        "adagrad": {"optimizer": "adagrad", "learning_rate": 0.005, "initial_accumulator": 0.1},
    }.items()
}


def oracle_run(name: str) -> tuple[Weights, list[Batch]]:
    """Return initial weights and the batches of an oracle's model.

    Rows begin 32 times larger than they do in a run: norms of tiny vectors enlarge rounding until no two programs agree.
    """
    weights, batches = made_up_run(ORACLES[name], ORACLE_BATCH, ORACLE_STEPS)
    for block in weights.blocks:
        block.vectors[:] *= 32
    return weights, batches


class ReferenceHstu:
    """An HSTU model in complex128: a parameter with a tiny imaginary part gives the derivative by it."""

    def __init__(self, shape: Shape, weights: Weights) -> None:
        self.shape = shape
        self.table = {row: vector.astype(complex) for row, vector in all_rows(weights)}
        self.flat = weights.mlp.astype(complex)
        self.kinds = [(span.dim, span.features) for span in shape.spans for _ in range(span.tables)]

    def take(self, *size: int) -> np.ndarray:
        """Return the next parameters of the flat vector."""
        count = int(np.prod(size))
        part, self.rest = self.rest[:count].reshape(size), self.rest[count:]
        return part

    def mlp(self, widths: tuple[int, ...], x: np.ndarray, last_relu: bool = False) -> np.ndarray:
        """Return the output of the next MLP of the flat vector."""
        for number, (n, m) in enumerate(pairwise(widths)):
            x = x @ self.take(m, n).T + self.take(m)
            x = np.where(x.real > 0, x, 0) if last_relu or number < len(widths) - 2 else x
        return x

    def vectors(self, batch: Batch) -> list[np.ndarray]:
        """Return each table's vectors (features, B, dim)."""
        size, tables, even = len(batch.labels), [], np.repeat(self.shape.pooling, len(batch.labels))
        starts = np.concatenate(([0], np.cumsum(even))) if batch.starts is None else batch.starts
        bags = [batch.ids[start:end] for start, end in pairwise(starts)]
        first = next(table for table, lookups in enumerate(self.shape.hstu.lookups) if lookups)
        self.filled = np.zeros((size, self.kinds[first][1]))
        for number, (dim, features) in enumerate(self.kinds):
            table = np.zeros((features, size, dim), complex)
            for sample, bag in enumerate(bags[number * size : (number + 1) * size]):
                cuts = [len(bag) * feature // features for feature in range(features + 1)]
                for feature, (start, end) in enumerate(pairwise(cuts)):
                    table[feature, sample] = sum(self.table[int(row)] for row in bag[start:end])
                if number == first:
                    self.filled[sample] = np.diff(cuts)
            tables.append(table)
        return tables

    def logits(self, batch: Batch) -> np.ndarray:
        """Return the logits of a batch, (B,)."""
        hstu, self.rest = self.shape.hstu, self.flat
        dense = self.mlp(self.shape.bottom, batch.dense.astype(complex), last_relu=True)
        top, self.rest = self.rest, self.rest[sum(n * m + m for n, m in pairwise((hstu.dim, *self.shape.top))) :]
        tables, half = self.vectors(batch), max(1, hstu.dim // 2)
        history = np.concatenate([t for t, lookups in zip(tables, hstu.lookups, strict=True) if lookups], axis=2)
        bags = [v for t, lookups in zip(tables, hstu.lookups, strict=True) if not lookups for v in t]
        width = history.shape[2]
        events = self.mlp((width, half, hstu.dim), history[:-1])
        candidate = self.mlp((width, hstu.dim, hstu.dim), history[-1:])
        others = [dense, *bags]
        by_width = [np.stack([v for v in others if v.shape[1] == dim]) for dim in sorted({v.shape[1] for v in others})]
        contexts = [self.mlp((vectors.shape[2], half, hstu.dim), vectors) for vectors in by_width]
        x = np.concatenate([*contexts, events, candidate]).transpose(1, 0, 2)
        for _ in range(hstu.layers):
            x = self.hstu(x, sum(map(len, contexts)))
        assert not self.rest.size
        self.rest = top
        return self.mlp((hstu.dim, *self.shape.top), x[:, -1])[:, 0]

    def hstu(self, x: np.ndarray, contexts: int) -> np.ndarray:
        """Return the output of the next HSTU layer for positions (B, S, D), position by position."""
        shape = self.shape.hstu
        width, positions = shape.heads * shape.head_dim, x.shape[1]
        u, v, q, k = np.split(silu(norm(x) @ self.take(4 * width, shape.dim).T + self.take(4 * width)), 4, axis=2)
        attended = np.zeros_like(v)
        is_filled = np.hstack([np.ones((len(x), contexts)), self.filled])
        for head in (slice(h * shape.head_dim, (h + 1) * shape.head_dim) for h in range(shape.heads)):
            for i in range(positions):
                seen = slice(max(i + 1, contexts))
                score = (q[:, i : i + 1, head] * k[:, seen, head]).sum(2) / np.sqrt(shape.head_dim)
                weight = silu(score) / positions * is_filled[:, seen]
                attended[:, i, head] = (weight[:, :, None] * v[:, seen, head]).sum(1)
        attended = norm(attended)
        gated = np.concatenate([attended, u, u * attended], axis=2) if shape.gated == 3 else u * attended
        return x + gated @ self.take(shape.dim, shape.gated * width).T + self.take(shape.dim)

    def loss(self, batch: Batch) -> complex:
        """Return the mean binary cross-entropy."""
        logits = self.logits(batch)
        return complex(np.mean(np.log1p(np.exp(logits)) - logits * batch.labels))

    def gradients(self, batch: Batch) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        """Return the loss's derivatives by the flat vector and by each row, of one complex step each."""
        tiny = 1e-30
        by_weight, by_row = np.empty(self.flat.size), {row: np.zeros(len(vector)) for row, vector in self.table.items()}
        for place, parts in [(by_weight, self.flat), *((by_row[row], vector) for row, vector in self.table.items())]:
            for k in range(parts.size):
                parts[k] += 1j * tiny
                place[k] = self.loss(batch).imag / tiny
                parts[k] = parts[k].real
        return by_weight, by_row


def norm(x: np.ndarray) -> np.ndarray:
    """Return vectors with mean 0 and variance 1."""
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-6)


def silu(x: np.ndarray) -> np.ndarray:
    """Return x times its logistic function."""
    return x / (1 + np.exp(-x))
