"""Traffic: rows and bytes that the batches of a run demand of a machine."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from ..core.arithmetic import remaining_share, total
from ..core.arrays import Flags, Floats
from ..core.memo import memoised
from ..core.points.numbers import as_array, as_float, as_int
from ..core.row_sizes import RowBytes, lengthened_rows, mean_bytes
from ..core.work import Amount, cross_parameters, mlp_parameters
from ..hardware.device import assumed_value
from ..hardware.devices.gpu import word_bytes
from ..hardware.framework import FRAMEWORKS
from ..hardware.sequence_layers import sequence_activations, sequence_parameters
from ..scenario.scenario import (
    Scenario,
    cross_ranks,
    dense_optimizer,
    is_sequential,
    per_table,
    projected_tables,
    projection_dim,
    vectors_per_table,
)
from ..scenario.storage import mlp_state, row_state
from ..units import FLOAT32, MiB
from ..workload.accesses import sent_share
from ..workload.bags import uneven_bags
from ..workload.caching.expected_cache import popularity_sums
from ..workload.histories import history_shape
from .exchange.buffers import vector_buffers
from .row_kinds import LEVELS, RowSizes, kind_bytes, row_bytes, row_kinds, row_sizes

INDEX_BYTES = 8
SORT_PASSES = 16  # a radix sort of 64-bit ids: eight passes, read and written
LENGTH_BYTES = 4  # bytes of a bag's length, as in TorchRec's KeyedJaggedTensor
EMBEDDING_LOGS, MLP_LOGS = 2, 3


@dataclass(frozen=True)
class Traffic:
    """The amounts of a run's batches; an array has a number per batch, (N,).

    rows, raw_share: unique rows; share of lookups whose row the previous batch has written.
    misses, evicted: rows that the system's cache fetches, and rows that it sends back to their memory.
    missed_lookups, refused: lookups of rows not cached when the batch began; missed rows that the cache has no place for.
    cold: unique rows that the previous batch has not used.
    popular, popular_lookups: share of samples all of whose lookups are of hot rows, and the share of lookups in these samples.
    repeated_reads: repeated lookups of rows that have no place in near-data logic's scratchpad (`systems.steps.repeated`).
    missed_lines, written_back_lines: lines that a medium's cache lacks when the batch begins; lines it evicts for them, changed.
    refetched_lines, clean_lines: lines of the batch evicted before their log or update; lines not among those written last.
    lookup_skew, row_skew: lookups and unique rows of the busiest part over the mean of all parts (`systems.balance`).
    levels: rows by memory outside HBM, (N, 4), for a system with tables in several memories (`systems.placement.Levels`).
    replicated_lookups, replicated_vectors: shares that use replicated rows only. replicated_rows: unique replicated rows.
    gpu_rows: unique rows of each GPU's own samples, summed over the GPUs, where memory joins the GPUs' gradients.
    sizes: bytes of rows. pooled_bytes: bytes of pooled vectors, one way. length_bytes: bytes of the lengths of uneven bags.
    mlp_bytes, mlp_gradient_bytes: bytes of MLP parameters with optimizer state; bytes of their gradients.
    sort_nbytes: bytes moved to sort one lookup's id. tables: tables or pieces that the fullest GPU updates one by one.
    stateful, whole_tables: share of lookups in tables with optimizer state; number of tables.
    sent_share: share of the lookups that reach the GPUs with the rows, all without input dedup.
    groups: the traffic of the tables of each kernel, for a system with kernels by table.
    """

    rows: Floats
    raw_share: Floats
    misses: Floats
    cold: Floats
    popular: Floats
    popular_lookups: Floats
    evicted: Floats
    missed_lookups: Floats
    refused: Floats
    repeated_reads: Floats
    missed_lines: Floats
    written_back_lines: Floats
    refetched_lines: Floats
    clean_lines: Floats
    lookup_skew: Floats
    row_skew: Floats
    levels: Floats
    replicated_lookups: Floats
    replicated_vectors: Floats
    replicated_rows: Floats
    gpu_rows: Floats
    lookups: Amount
    length_bytes: float
    sizes: RowSizes
    pooled_bytes: float
    mlp_bytes: float
    mlp_gradient_bytes: float
    sort_nbytes: float
    tables: float
    stateful: float
    whole_tables: float
    sent_share: float = 1.0
    groups: tuple[tuple[str, "Traffic"], ...] = ()

    @property
    def batches(self) -> int:
        """The number of batches."""
        return len(self.rows)

    @property
    def row_bytes(self) -> RowBytes:
        """Bytes of each of the batch's unique rows with its optimizer state."""
        return self.sizes.unique.row

    @property
    def vector_bytes(self) -> RowBytes:
        """Bytes that a lookup reads of each unique row."""
        return self.sizes.unique.vector

    @property
    def moved_bytes(self) -> RowBytes:
        """Bytes of each row that a cache or a server sends and receives."""
        return self.sizes.moved_row.row

    @property
    def moved_nbytes(self) -> Any:
        """Mean bytes of a row that a cache or a server sends and receives."""
        return mean_bytes(self.sizes.moved_row.row)

    @property
    def fp32_extra_bytes(self) -> Any:
        """Mean additional bytes of a looked-up vector if converted to fp32 for pooling."""
        return mean_bytes(self.sizes.by_lookup.fp32_extra)

    @property
    def lookup_bytes(self) -> Amount:
        """Bytes of the vectors of all lookups before pooling."""
        return self.lookups * mean_bytes(self.sizes.by_lookup.vector)

    @property
    def spread_bytes(self) -> Amount:
        """Bytes of a gradient for each lookup, before the gradients of a row are summed."""
        return self.lookups * mean_bytes(self.sizes.by_lookup.gradient)

    @property
    def gpu_lookup_bytes(self) -> Amount:
        """Bytes that a GPU moves to look up and pool: rows read, pooled vectors written."""
        return self.sent_share * (self.lookup_bytes + self.pooled_bytes)

    @property
    def gpu_spread_bytes(self) -> Amount:
        """Bytes that a GPU moves to sort indices and spread gradients to rows."""
        return self.sent_share * (self.spread_bytes + self.sort_bytes)

    @property
    def sort_bytes(self) -> Amount:
        """Bytes that a GPU moves to sort the lookups' indices."""
        return self.lookups * self.sort_nbytes

    @property
    def hit_rate(self) -> float:
        """Share of lookups in cached tables whose row was cached when the batch began."""
        looked_up = next((part.lookups for name, part in self.groups if name == "uvm-cache"), self.lookups)
        return as_float(remaining_share(as_float(self.missed_lookups.mean()), as_float(np.mean(looked_up))))

    @property
    def far_rows(self) -> Floats:
        """Unique rows outside HBM, for a system with tables in several memories."""
        rows: Floats = self.levels.sum(axis=1)
        return rows

    @property
    def drives_share(self) -> float:
        """Share of the batches' unique rows that are read from drives."""
        return as_float(self.levels[:, -1].sum() / self.rows.sum())

    @property
    def entry_bytes(self) -> RowBytes:
        """Bytes of each row in a row log: its number and its values."""
        return lengthened_rows(self.row_bytes, INDEX_BYTES)

    @property
    def feature_bytes(self) -> Amount:
        """Bytes of sparse features: an index per lookup, and the lengths of uneven bags."""
        return self.lookups * INDEX_BYTES + self.length_bytes


BY_BATCH = tuple(name for name, kind in Traffic.__annotations__.items() if kind == Floats)
SKEWS = ("lookup_skew", "row_skew")


def traffic(s: Scenario, **amounts: Any) -> Traffic:
    """Return the traffic of batches, with `rows` and other `amounts` per batch.

    Missing amounts are 0, with some exceptions. Evicted rows and missed lookups equal the missed rows, popular samples have their
    share of lookups, and GPUs have the batch's unique rows.
    """
    samples, rows = s.data.batch_size, amounts["rows"]
    defaults: dict[str, Any] = dict.fromkeys(BY_BATCH, np.zeros(len(rows))) | dict.fromkeys(SKEWS, np.ones(len(rows)))
    defaults |= {"levels": np.zeros((len(rows), LEVELS)), "lookups": as_float(samples * total(per_table(s.model, "pooling")))}
    defaults["gpu_rows"] = rows
    come = amounts.get("misses", defaults["misses"])
    defaults |= {"popular_lookups": amounts.get("popular", defaults["popular"])}
    tables = min(amounts.pop("tables", np.inf), tables_apart(s))
    sizes = amounts.pop("sizes", None) or row_sizes(s)
    return Traffic(
        **{**defaults, "tables": tables, "evicted": come, "missed_lookups": come, **amounts},
        length_bytes=as_float(samples * uneven_bags(s) * LENGTH_BYTES),
        sizes=sizes,
        pooled_bytes=pooled_bytes(s),
        mlp_bytes=mlp_bytes(s),
        mlp_gradient_bytes=mlp_gradient_bytes(s),
        sort_nbytes=sort_nbytes(s),
        stateful=stateful_lookups(s),
        whole_tables=as_float(s.model.num_tables),
        sent_share=sent_share(s),
    )


def sort_nbytes(s: Scenario) -> float:
    """Return the bytes that a GPU moves to sort one lookup's id."""
    update_bytes = FRAMEWORKS[s.machine.framework].sparse_lookup
    share = stateful_lookups(s)
    return SORT_PASSES * INDEX_BYTES + (share * assumed_value(s.machine, "host", update_bytes) if share else 0.0)


def stateful_lookups(s: Scenario, tables: Flags | None = None) -> float:
    """Return the share of lookups, of all or these `tables` (T,), with optimizer state."""
    states = table_states(s)
    if all(states) or not any(states):
        return float(bool(states[0]))
    pooling = np.array(per_table(s.model, "pooling")) * (1 if tables is None else tables)
    return as_float(pooling[np.array(states) > 0].sum() / pooling.sum())


def tables_apart(s: Scenario) -> float:
    """Return the number of tables updated one by one without a fused update; 0 under SGD."""
    return as_float(sum(map(bool, table_states(s))))


@memoised(most=16, each_point_alone=True)
def table_states(s: Scenario) -> tuple[int, ...]:
    """Return each table's words of optimizer state of a row of one element, (T,)."""
    return tuple(row_state(optimizer, 1) for optimizer in per_table(s.model, "optimizer"))


def pooled_bytes(s: Scenario) -> float:
    """Return the bytes of a batch's pooled vectors of all tables, in fp32."""
    return as_float(s.data.batch_size * elements(s) * FLOAT32)


@memoised(most=16, each_point_alone=True)
def elements(s: Scenario) -> int:
    """Return the number of elements of a sample's pooled vectors together."""
    vectors, dims = vectors_per_table(s.model), per_table(s.model, "embedding_dim")
    return as_int(total(count * dim for count, dim in zip(vectors, dims, strict=True)))


@memoised(most=16, each_point_alone=True)
def vector_count(s: Scenario) -> int:
    """Return the number of a sample's vectors, of bags and of sequences."""
    return as_int(total(vectors_per_table(s.model)))


@memoised(most=16, each_point_alone=True)
def num_rows(s: Scenario) -> float:
    """Return the number of rows of all embedding tables."""
    return as_float(total(per_table(s.model, "num_embeddings")))


def table_bytes(s: Scenario) -> float:
    """Return the bytes of all embedding tables with their optimizer state."""
    return as_float(num_rows(s) * row_bytes(s))


def table_nbytes(s: Scenario) -> Floats:
    """Return the bytes of each embedding table with its optimizer state, (T,)."""
    return as_array(per_table(s.model, "num_embeddings")) * kind_bytes(s, "row")


def cached_rows(s: Scenario) -> float:
    """Return the number of rows that the row cache of a system holds."""
    return s.policy.cache_load_factor * num_rows(s)


def hot_rows(s: Scenario) -> float:
    """Return the number of hot rows of a system with hot and cold rows."""
    return rows_within(s, s.policy.hot_rows_MiB * MiB)


def hot_bytes(s: Scenario) -> float:
    """Return the bytes of the hot rows of a system with hot and cold rows."""
    return hottest_bytes(s, hot_rows(s))


def rows_within(s: Scenario, nbytes: float) -> float:
    """Return how many of the most popular rows of all tables fit `nbytes`."""
    if len(row_kinds(s)[0]) == 1:
        return as_float(min(num_rows(s), nbytes // row_bytes(s)))
    if nbytes >= table_bytes(s):  # classes of rows sum up to slightly fewer
        return num_rows(s)
    rows, cumulative_bytes = _by_popularity(s)
    return as_float(np.floor(np.interp(nbytes, cumulative_bytes, rows)))


def hottest_bytes(s: Scenario, rows: float) -> float:
    """Return the bytes of the `rows` most popular rows of all tables."""
    if len(row_kinds(s)[0]) == 1:
        return as_float(rows * row_bytes(s))
    return as_float(np.interp(rows, *_by_popularity(s)))


@memoised(most=16, each_point_alone=True)
def _by_popularity(s: Scenario) -> tuple[Floats, Floats]:
    """Return cumulative rows and bytes by falling popularity, by classes of equal popularity."""
    return popularity_sums(s, kind_bytes(s, "row"))


def mlp_bytes(scenario: Scenario) -> float:
    """Return the bytes of all MLP parameters with their optimizer state."""
    return mlp_gradient_bytes(scenario) * (1 + mlp_state(dense_optimizer(scenario.model)))


def mlp_gradient_bytes(scenario: Scenario) -> float:
    """Return the bytes of the gradients of all MLP parameters."""
    top, cross = top_widths(scenario), cross_ranks(scenario.model)
    projections = total(layers * inputs * outputs for layers, _, inputs, outputs in projection_layers(scenario))
    histories = history_shape(scenario)
    projections += sequence_parameters(histories) if histories else 0
    dense = mlp_parameters(scenario.model.bottom_mlp) + cross_parameters(top[0], cross) + mlp_parameters(top)
    return as_float(FLOAT32 * (dense + projections))


def projection_layers(scenario: Scenario) -> tuple[tuple[int, int, int, int], ...]:
    """Return (layers, vectors of a sample, input width, output width) of projections, by input width."""
    layers, vectors = Counter[int](), Counter[int]()
    features, dims = vectors_per_table(scenario.model), per_table(scenario.model, "embedding_dim")
    for table in projected_tables(scenario.model):
        layers[dims[table]] += 1
        vectors[dims[table]] += features[table]
    return tuple((layers[dim], vectors[dim], dim, projection_dim(scenario.model)) for dim in sorted(layers))


@memoised(most=16, each_point_alone=True)
def log_bytes(s: Scenario) -> float:
    """Return the bytes of the log region: two batches' rows and three MLP logs."""
    entry_nbytes = [as_int(row) + INDEX_BYTES for row in kind_bytes(s, "row")]
    rows, pooling = (per_table(s.model, name) for name in ("num_embeddings", "pooling"))
    batch = s.data.batch_size * total(bags * nbytes for bags, nbytes in zip(pooling, entry_nbytes, strict=True))
    tables = total(row_count * nbytes for row_count, nbytes in zip(rows, entry_nbytes, strict=True))
    return EMBEDDING_LOGS * as_float(min(batch, tables)) + MLP_LOGS * mlp_bytes(s)


def activation_bytes(s: Scenario) -> float:
    """Return the bytes of GPU memory of a batch: MLP gradients, activations and their gradients.

    Vectors that a GPU sends to others are not included.
    """
    model, samples = s.model, ceil(s.data.batch_size / s.machine.num_gpus)
    widths = total(model.bottom_mlp) + total(model.top_mlp) + 2 * max(per_table(model, "embedding_dim"))
    widths += total(vectors * outputs for _, vectors, _, outputs in projection_layers(s))
    widths += total(2 * top_widths(s)[0] + rank for rank in cross_ranks(model))
    if histories := history_shape(s):
        widths += sequence_activations(histories)
    return as_float(mlp_gradient_bytes(s) + 2.0 * word_bytes(s.machine) * samples * widths + total(vector_buffers(s)[:2]))


def top_widths(scenario: Scenario) -> tuple[int, ...]:
    """Return the top MLP's widths, the input width from the feature interaction first."""
    model = scenario.model
    if is_sequential(model):
        return (model.hstu_dim, *model.top_mlp)
    bottom, vectors = model.bottom_mlp[-1], vector_count(scenario) + 1
    pairs = vectors * (vectors - 1) // 2
    inputs = bottom + pairs if model.interaction == "dot" else ceil((bottom + elements(scenario)) / model.interaction_stride)
    return (inputs, *model.top_mlp)


def batch_range(amounts: Traffic, start: int, end: int) -> Traffic:
    """Return the traffic of batches `start` to `end` - 1."""
    return _map_batches(amounts, lambda values: values[start:end])


def repeat_batch(amounts: Traffic, batches: int) -> Traffic:
    """Return the traffic of `batches` batches with the amounts of one expected batch."""
    return _map_batches(amounts, lambda values: np.repeat(values, batches, axis=0))


def _map_batches(amounts: Traffic, change: Callable[[Floats], Floats]) -> Traffic:
    """Return the traffic with `change` applied to each array by batch."""
    mapped: dict[str, Any] = {name: change(getattr(amounts, name)) for name in BY_BATCH}
    lookups: Any = amounts.lookups
    lookups = change(lookups) if np.ndim(lookups) else lookups
    groups = tuple((name, _map_batches(part, change)) for name, part in amounts.groups)
    return replace(amounts, lookups=lookups, groups=groups, **mapped)
