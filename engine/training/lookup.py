"""The embedding lookup: a batch's pooled vectors, and the samples that use each row."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..core.arrays import Index, Ints, Places, Singles, Slots, aligned_empty
from ..core.jit import entry_kernel, inner_kernel, prefetch_line
from ..workload.batch import Batch
from .histories.cut import cut_batch
from .shape import Shape, placed_spans
from .spans import PlacedSpan, TableSpan
from .weights import Weights, first_places, local_places

FEWEST_BITS, MOST_BITS = 8, 14  # bits of a digit; the histogram of the most stays in the processor's second cache

LINE = 16  # fp32 elements in a line of the processor's cache
ROWS_AHEAD = 16  # rows ahead that are prefetched: the best of 8, 16 and 32


class SpanLookups(NamedTuple):
    """The lookups of a batch in one span of tables.

    places: the place of each looked-up row in the span's block of rows, in the order of `Batch.ids`.
    starts: the index in `places` at which each bag starts; None if all samples have the same number of lookups.
    """

    places: Places
    starts: Ints | None = None


@dataclass(frozen=True, slots=True, eq=False)
class LocalBatch:
    """A batch whose lookups are places in blocks of rows, not global ids.

    dense, labels: the dense features and the labels of the samples.
    lookups: the lookups in each span of tables.
    history_lengths: the lookups of each sample's history, (B,); None if all have those of the model.
    """

    dense: Singles
    labels: Singles
    lookups: tuple[SpanLookups, ...]
    history_lengths: Ints | None = None


class RowUses(NamedTuple):
    """For each row of a block that a batch uses, the samples that use it.

    The update sums the gradients of duplicate rows in the order of this list.

    unique: the places of the U used rows, ascending, (U,).
    first: `samples[first[u]:first[u + 1]]` are the samples that use row `unique[u]`, (U + 1,).
    samples: the samples sorted by row, and for each row in their order in the batch.
    table: `unique[table[t]:table[t + 1]]` are the used rows of table t of the span.

    In a table that several features share, each pair (sample, feature) counts as a sample, as in `by_feature`.
    """

    unique: Places
    first: Ints
    samples: Slots
    table: Ints


class EarlyLookup(NamedTuple):
    """The next batch's lookup, made before this batch's update and then corrected by the update.

    features: the dense vector's columns and the pooled vectors, (B, features width).
    uses: for each block of rows, the samples that use each row.
    """

    features: Singles
    uses: tuple[RowUses, ...]


class SortBuffers(NamedTuple):
    """Buffers for the radix sort of one table's lookups.

    keys: the places to sort.
    spare_keys, spare_samples: room for the sorted places and their samples.
    ends: the position of each digit's bucket.
    """

    keys: Places
    spare_keys: Places
    spare_samples: Slots
    ends: Ints


def localise(shape: Shape, weights: Weights, batch: Batch, samples: int | None = None) -> LocalBatch:
    """Return `batch` with the place of each looked-up row in the weights' blocks.

    A model that reads histories takes only the first `samples` samples, all by default, and the histories of its shape.
    Raises CannotRun for a row that does not exist in `weights`.
    """
    if shape.hstu:
        batch = cut_batch(shape, batch, len(batch.labels) if samples is None else samples)
    places, size, lookup_start = local_places(shape, weights, batch.ids), len(batch.labels), 0
    lookups = []
    for first_row, place in zip(first_places(weights.blocks)[:-1], placed_spans(shape), strict=True):
        bags = slice(place.tables.start * size, place.tables.stop * size + 1)
        starts = None if batch.starts is None else batch.starts[bags] - lookup_start
        count = size * place.lookups if starts is None else int(starts[-1])
        span_places = places[lookup_start : lookup_start + count]
        if first_row:
            span_places -= np.uint32(first_row)
        lookups.append(SpanLookups(span_places, starts if place.span.features == 1 else _feature_starts(place, starts, size)))
        lookup_start += count
    lengths = None
    if shape.hstu and batch.starts is not None:
        table = next(table for table, history in enumerate(shape.hstu.lookups) if history)
        lengths = np.diff(batch.starts[table * size : (table + 1) * size + 1])
    return LocalBatch(batch.dense, batch.labels, tuple(lookups), lengths)


def _feature_starts(place: PlacedSpan, starts: Ints | None, size: int) -> Ints:
    """Return the bag starts of features that share the tables of a span.

    They divide a sample's lookups among them.
    The bags are those of a batch of `features` times as many samples.
    """
    if starts is None:
        starts = np.concatenate(([0], np.cumsum(np.repeat(place.pooling, size))))
    features = place.span.features
    bag_starts = starts[:-1, None] + np.diff(starts)[:, None] * np.arange(features) // features
    return np.append(bag_starts.reshape(-1), starts[-1])


def by_feature(columns: Singles, span: TableSpan) -> Singles:
    """Return a span's columns (B, width) as an array (B * features, tables * dim).

    Each pair (sample, feature) becomes one row, since `features` features share each table.
    """
    cut = columns.reshape(len(columns), span.tables, span.features, span.dim).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(cut).reshape(len(columns) * span.features, span.tables * span.dim)


def by_sample(vectors: Singles, span: TableSpan) -> Singles:
    """Return an array (B * features, tables * dim) as a span's columns (B, width).

    The function is the inverse of `by_feature`.
    """
    cut = vectors.reshape(-1, span.features, span.tables, span.dim).transpose(0, 2, 1, 3)
    return cut.reshape(len(cut), span.width)


def look_up(shape: Shape, weights: Weights, batch: LocalBatch, start: int = 0, stop: int | None = None) -> Singles:
    """Return the (B, features width) array of pooled vectors of samples `start` to `stop` - 1.

    The first columns are left free for the dense vector; then follow the sum-pooled vectors, table by table.
    The vector of an empty bag is zero.
    """
    size = len(batch.labels)
    stop = size if stop is None else min(stop, size)
    features = aligned_empty((stop - start, shape.features_width))
    for block, (places, starts), place in zip(weights.blocks, batch.lookups, placed_spans(shape), strict=True):
        num_features = place.span.features
        if num_features == 1:
            _pool(block.vectors, places, place.pooling, starts, size, start, place.columns.start, features)
            continue
        vectors = np.empty(((stop - start) * num_features, place.span.tables * place.span.dim), np.float32)
        _pool(block.vectors, places, place.pooling, starts, size * num_features, start * num_features, 0, vectors)
        features[:, place.columns] = by_sample(vectors, place.span)
    return features


def row_uses_of(shape: Shape, batch: LocalBatch) -> tuple[RowUses, ...]:
    """Return for each block of rows the samples of `batch` that use each row."""
    size, parts = len(batch.labels), zip(batch.lookups, placed_spans(shape), strict=True)
    return tuple(_span_uses(lookups, place.pooling, size * place.span.features) for lookups, place in parts)


def _span_uses(lookups: SpanLookups, pooling: Ints, size: int) -> RowUses:
    places, starts = lookups
    count = places.size
    unique, samples = np.empty(count, np.uint32), np.empty(count, np.int32)
    row_uses = RowUses(unique, np.empty(count + 1, np.int64), samples, np.zeros(pooling.size + 1, np.int64))
    max_lookups = max(1, size * int(pooling.max()) if starts is None else int(np.diff(starts[::size]).max()))
    keys, spare = np.empty((2, max_lookups), np.uint32)
    room = SortBuffers(keys, spare, np.empty(max_lookups, np.int32), np.empty(1 << MOST_BITS, np.int64))
    num_rows = _sort_by_row(places, pooling, starts, size, row_uses, room)
    return row_uses._replace(unique=unique[:num_rows], first=row_uses.first[: num_rows + 1])


@inner_kernel
def prefetch_row(vectors: Singles, places: Places, position: Index) -> None:
    """Prefetch the row that is looked up ROWS_AHEAD positions after `position`.

    At the end of `places` this is the last row. Prefetching changes no result.
    """
    row = places[min(position + ROWS_AHEAD, places.size - 1)]
    for d in range(0, vectors.shape[1], LINE):
        prefetch_line(vectors, row, d)


@entry_kernel
def _pool(
    vectors: Singles,
    places: Places,
    pooling: Ints,
    starts: Ints | None,
    batch_size: int,
    start: int,
    column: int,
    features: Singles,
) -> None:
    """Write each bag's sum into its columns of `features`, table by table."""
    dim = vectors.shape[1]
    table_start = 0
    for table in range(pooling.size):
        length = pooling[table]
        for sample in range(features.shape[0]):
            pooled = features[sample, column : column + dim]
            bag_start = table_start + (start + sample) * length
            bag_end = bag_start + length
            if starts is not None:
                bag = table * batch_size + start + sample
                bag_start, bag_end = starts[bag], starts[bag + 1]
            for d in range(dim):
                pooled[d] = np.float32(0.0)
            for lookup in range(bag_start, bag_end):
                prefetch_row(vectors, places, lookup)
                vector = vectors[places[lookup]]
                for d in range(dim):
                    pooled[d] += vector[d]
        table_start += batch_size * length
        column += dim


@entry_kernel
def _sort_by_row(
    places: Places, pooling: Ints, starts: Ints | None, batch_size: int, row_uses: RowUses, room: SortBuffers
) -> int:
    """Sort each table's lookups by place, stably, and mark the start of each place.

    Return the number of places.
    """
    table_start, num_rows, keys = 0, 0, room.keys
    for t in range(pooling.size):
        count = batch_size * pooling[t] if starts is None else starts[(t + 1) * batch_size] - table_start
        table_samples = row_uses.samples[table_start : table_start + count]
        keys[:count] = places[table_start : table_start + count]
        for sample in range(batch_size):
            bag_start, bag_end = sample * pooling[t], (sample + 1) * pooling[t]
            if starts is not None:
                bag = t * batch_size + sample
                bag_start, bag_end = starts[bag] - table_start, starts[bag + 1] - table_start
            table_samples[bag_start:bag_end] = sample
        _sort(keys[:count], table_samples, room)
        for k in range(count):
            if k == 0 or keys[k] != keys[k - 1]:
                row_uses.unique[num_rows] = keys[k]
                row_uses.first[num_rows] = table_start + k
                num_rows += 1
        table_start += count
        row_uses.table[t + 1] = num_rows
    row_uses.first[num_rows] = table_start
    return num_rows


@inner_kernel
def _sort(keys: Places, values: Slots, room: SortBuffers) -> None:
    """Sort keys and their values in place: radix sort, the lowest digit first, over the bits that differ.

    A digit has about as many values as there are keys, so that the histogram costs no more than they do.
    """
    bits, ends = FEWEST_BITS, room.ends
    while bits < MOST_BITS and 1 << bits < keys.size:
        bits += 1
    mask = np.uint32((1 << bits) - 1)
    low, high = keys[0], keys[0]  # without keys the value read here does not matter
    for key in keys:
        low, high = min(low, key), max(high, key)
    for shift in range(0, 32, bits):
        if (high - low) >> np.uint32(shift) == 0:
            return
        for digit in range(1 << bits):
            ends[digit] = 0
        for key in keys:
            ends[((key - low) >> np.uint32(shift)) & mask] += 1
        total = 0
        for digit in range(1 << bits):
            total, ends[digit] = total + ends[digit], total
        for k in range(keys.size):
            digit = ((keys[k] - low) >> np.uint32(shift)) & mask
            room.spare_keys[ends[digit]], room.spare_samples[ends[digit]] = keys[k], values[k]
            ends[digit] += 1
        for k in range(keys.size):
            keys[k], values[k] = room.spare_keys[k], room.spare_samples[k]
