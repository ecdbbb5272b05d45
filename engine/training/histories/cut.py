"""The part of a batch that a model with histories is trained on."""

import numpy as np

from ...core.arrays import Ints
from ...workload.batch import Batch
from ..shape import Shape


def cut_batch(shape: Shape, batch: Batch, samples: int) -> Batch:
    """Return the first `samples` samples of a batch, with the last lookups of each history.

    A history longer than that of the shape is cut, a shorter one stays as it is.
    """
    ids, starts = cut_ids(shape, batch.ids, batch.starts, len(batch.labels), samples)
    return Batch(batch.dense[:samples], ids, batch.labels[:samples], starts)


def cut_ids(shape: Shape, ids: Ints, starts: Ints | None, size: int, samples: int) -> tuple[Ints, Ints | None]:
    """Return the (ids, starts of bags) of a batch that `cut_batch` keeps.

    The batch has `size` samples.
    """
    if shape.hstu is None:
        return ids, starts
    parts, lengths, position = list[Ints](), list[Ints](), 0
    for table, (lookups, trained) in enumerate(zip(shape.hstu.lookups, shape.pooling, strict=True)):
        bags = np.full(size, lookups or trained) if starts is None else np.diff(starts[table * size : (table + 1) * size + 1])
        count = int(bags.sum())
        ends, position = position + np.cumsum(bags[:samples]), position + count
        kept = np.minimum(bags[:samples], trained) if lookups else bags[:samples]
        parts.append(ids[np.repeat(ends - np.cumsum(kept), kept) + np.arange(kept.sum())])
        lengths.append(kept)
    cut = np.concatenate(([0], np.cumsum(np.concatenate(lengths)))) if starts is not None else None
    return np.concatenate(parts), cut
