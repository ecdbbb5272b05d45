"""Traffic: the rows and bytes that the batches of a run ask of a machine; the systems' view of the workload."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from ..core.arrays import Floats
from ..core.work import Amount, cross_parameters, mlp_parameters
from ..hardware.device import assumed_value
from ..hardware.devices.gpu import word_bytes
from ..hardware.framework import FRAMEWORKS
from ..scenario.scenario import Scenario, cross_ranks, per_table
from ..scenario.storage import mlp_state, row_state, stored_bytes
from ..units import FLOAT32, MiB
from ..workload.bags import uneven_tables

INDEX_BYTES = CHECKSUM_BYTES = 8
SORT_PASSES = 16  # a radix sort of 64-bit ids: eight passes, read and written
LENGTH_BYTES = 4  # of a bag, as TorchRec's KeyedJaggedTensor has them
EMBEDDING_LOGS, MLP_LOGS = 2, 3
SCALED = 8  # bytes that an int8 vector carries besides: its scale and its offset, as in FBGEMM
SENT = {"fp32": (FLOAT32, 0), "fp16": (2, 0), "int8": (1, SCALED)}  # bytes of an element, and of a vector


@dataclass(frozen=True)
class Traffic:
    """Amounts of one run; arrays have one value per batch, and so have `lookups` where batches differ.

    `rows`: unique rows; `raw_share`: share of lookups whose row the batch before has written; `misses`: rows that
    the system's cache must fetch; `cold`: unique rows that the batch before has not touched; `popular`: share of
    samples all of whose lookups meet hot rows, `popular_lookups`: share of lookups that these make; `evicted`: rows that the
    cache sends home; `missed`: lookups of rows that it did not hold when the batch began; `refused`: rows among both misses and
    evicted that the cache had no place for and that were used where they live; `again`: lookups that come back to a row for
    which near-data logic had no place (`systems.steps.repeated`); `fetched`: lines that the cache of a medium lacks when the
    batch begins; `returned`: changed lines that these push out; `refetched`: lines that the batch's own ones have pushed out
    when they are logged or updated; `clean`: its lines that are not among those written last;
    `lookup_skew` and `row_skew`: how many times the mean the part has that a plan gives most
    lookups, and most unique rows (`systems.balance`); `levels` (N, 4): rows by where they are found outside HBM, of a system
    with several memories (`systems.placement.levels`). Shares of lookups, and of pooled vectors, that meet nothing but rows
    which every GPU holds are `replicated_lookups`, `replicated_vectors`; such unique rows, `replicated_rows`. Bytes: of a row
    with its optimizer state, of what a lookup reads of it (all of it, where it has a checksum), of a row's gradient, of pooled
    vectors one way, of uneven bags' lengths, of all MLP parameters with optimizer state, of their gradients, of sorting a lookup.
    The GPU with most `tables` updates so many by themselves, or pieces of them.
    """

    rows: Floats
    raw_share: Floats
    misses: Floats
    cold: Floats
    popular: Floats
    popular_lookups: Floats
    evicted: Floats
    missed: Floats
    refused: Floats
    again: Floats
    fetched: Floats
    returned: Floats
    refetched: Floats
    clean: Floats
    lookup_skew: Floats
    row_skew: Floats
    levels: Floats
    replicated_lookups: Floats
    replicated_vectors: Floats
    replicated_rows: Floats
    lookups: Amount
    length_bytes: float
    row_bytes: int
    vector_bytes: int
    gradient_bytes: int
    pooled_bytes: float
    mlp_bytes: float
    mlp_gradient_bytes: float
    sort_nbytes: float
    tables: float

    @property
    def batches(self) -> int:
        """The number of batches."""
        return len(self.rows)

    @property
    def lookup_bytes(self) -> Amount:
        """Bytes of all looked-up vectors before pooling."""
        return self.lookups * self.vector_bytes

    @property
    def spread_bytes(self) -> Amount:
        """Bytes of a gradient for each lookup, before those of one row are summed."""
        return self.lookups * self.gradient_bytes

    @property
    def wider(self) -> int:
        """Bytes that a row's vector has more in fp32, in which it is added up, than as it is read."""
        return max(0, self.gradient_bytes - self.vector_bytes)

    @property
    def state_bytes(self) -> Floats:
        """Bytes of what an update needs of the batch's rows beyond what a lookup reads: the optimizer's state."""
        return self.rows * float(self.row_bytes - self.vector_bytes)

    @property
    def gpu_lookup_bytes(self) -> Amount:
        """Bytes that a GPU moves to look up and pool: rows that it reads and pooled vectors that it writes."""
        return self.lookup_bytes + self.pooled_bytes

    @property
    def gpu_spread_bytes(self) -> Amount:
        """Bytes that a GPU moves to bring gradients to their rows: the gradients, and a sort of the lookups' indices."""
        return self.spread_bytes + self.sort_bytes

    @property
    def sort_bytes(self) -> Amount:
        """Bytes that a GPU moves to sort the lookups' indices."""
        return self.lookups * self.sort_nbytes

    @property
    def hit_rate(self) -> float:
        """Share of lookups whose row the cache held when their batch began."""
        return 1 - float(self.missed.mean()) / float(np.mean(self.lookups))

    @property
    def far(self) -> Floats:
        """Unique rows outside HBM, of a system with several memories."""
        rows: Floats = self.levels.sum(axis=1)
        return rows

    @property
    def drives_share(self) -> float:
        """Share of unique rows that come from drives."""
        return float(self.levels[:, -1].sum() / self.rows.sum())

    @property
    def entry_bytes(self) -> int:
        """Bytes of one row in a row log: its number and its values."""
        return self.row_bytes + INDEX_BYTES

    @property
    def feature_bytes(self) -> Amount:
        """Bytes of the sparse features: one row index per lookup, and of uneven bags their lengths."""
        return self.lookups * INDEX_BYTES + self.length_bytes


BY_BATCH = tuple(name for name, kind in Traffic.__annotations__.items() if kind == Floats)
SKEWS = ("lookup_skew", "row_skew")
LEVELS = 4  # memories outside HBM, fastest first


def traffic(scenario: Scenario, **amounts: Any) -> Traffic:
    """Return the traffic of batches, of which `rows` and maybe more `amounts` are given, one value per batch each.

    Others are zero, but for each row that misses one goes, and one lookup misses; popular samples have their share of lookups.
    """
    model, samples, rows = scenario.model, scenario.data.batch_size, amounts["rows"]
    nothing: dict[str, Any] = dict.fromkeys(BY_BATCH, np.zeros_like(rows)) | dict.fromkeys(SKEWS, np.ones(len(rows)))
    nothing |= {"levels": np.zeros((len(rows), LEVELS)), "lookups": float(samples * sum(per_table(model, "pooling")))}
    come = amounts.get("misses", nothing["misses"])
    nothing |= {"popular_lookups": amounts.get("popular", nothing["popular"])}
    tables = min(amounts.pop("tables", np.inf), tables_apart(scenario))
    return Traffic(
        **{**nothing, "tables": tables, "evicted": come, "missed": come, **amounts},
        length_bytes=float(samples * uneven_tables(scenario) * LENGTH_BYTES),
        row_bytes=row_bytes(scenario),
        vector_bytes=vector_bytes(scenario),
        gradient_bytes=model.embedding_dim * FLOAT32,
        pooled_bytes=pooled_bytes(scenario),
        mlp_bytes=mlp_bytes(scenario),
        mlp_gradient_bytes=mlp_gradient_bytes(scenario),
        sort_nbytes=sort_nbytes(scenario),
    )


def sort_nbytes(scenario: Scenario) -> float:
    """Return the bytes that a GPU moves to sort the id of a lookup, and more where its software makes ids unique apart."""
    more = FRAMEWORKS[scenario.machine.framework].sparse_lookup
    return SORT_PASSES * INDEX_BYTES + (assumed_value(scenario.machine, "host", more) if keeps_state(scenario) else 0.0)


def tables_apart(scenario: Scenario) -> float:
    """Return the tables that software without a fused update updates one by one: all, but none under SGD."""
    return float(scenario.model.num_tables) if keeps_state(scenario) else 0.0


def keeps_state(scenario: Scenario) -> bool:
    """Return whether a row's update needs the sum of its gradients: SGD adds each as it comes."""
    return row_state(scenario.model.optimizer, scenario.model.embedding_dim) > 0


def pooled_bytes(scenario: Scenario) -> float:
    """Return the bytes of a batch's pooled vectors, one for each sample and table, in fp32."""
    return float(scenario.data.batch_size * scenario.model.num_tables * scenario.model.embedding_dim * FLOAT32)


def sent_bytes(s: Scenario) -> float:
    """Return the bytes of one table's pooled vectors for all samples of a batch, in the precision in which they are sent."""
    element, vector = SENT[s.machine.exchange_precision]
    return float(s.data.batch_size * (element * s.model.embedding_dim + vector))


def index_bytes(s: Scenario) -> float:
    """Return the bytes of a row's index, with its share of the lengths of uneven bags."""
    return INDEX_BYTES + LENGTH_BYTES * uneven_tables(s) / sum(per_table(s.model, "pooling"))


def num_rows(scenario: Scenario) -> float:
    """Return the rows of all embedding tables."""
    return float(sum(per_table(scenario.model, "num_embeddings")))


def table_bytes(scenario: Scenario) -> float:
    """Return the bytes of all embedding tables with their optimizer state."""
    return num_rows(scenario) * row_bytes(scenario)


def cached_rows(scenario: Scenario) -> float:
    """Return how many rows a system with a cache keeps in it."""
    return scenario.policy.cache_load_factor * num_rows(scenario)


def hot_rows(scenario: Scenario) -> float:
    """Return how many rows a system that splits hot from cold counts as hot."""
    return min(num_rows(scenario), scenario.policy.hot_rows_MiB * MiB // row_bytes(scenario))


def row_bytes(scenario: Scenario) -> int:
    """Return the bytes of an embedding row with its optimizer state and its checksum."""
    model = scenario.model
    values = stored_bytes(model.row_precision, model.embedding_dim) + FLOAT32 * row_state(model.optimizer, model.embedding_dim)
    return values + (CHECKSUM_BYTES if scenario.policy.row_checksums else 0)


def vector_bytes(scenario: Scenario) -> int:
    """Return the bytes of a row that a lookup reads: all of it where it has a checksum."""
    model = scenario.model
    return row_bytes(scenario) if scenario.policy.row_checksums else stored_bytes(model.row_precision, model.embedding_dim)


def mlp_bytes(scenario: Scenario) -> float:
    """Return the bytes of all MLP parameters with their optimizer state."""
    return mlp_gradient_bytes(scenario) * (1 + mlp_state(scenario.model.optimizer))


def mlp_gradient_bytes(scenario: Scenario) -> float:
    """Return the bytes of a gradient of all MLP parameters: of the parameters alone."""
    top, cross = top_widths(scenario), cross_ranks(scenario.model)
    return float(FLOAT32 * (mlp_parameters(scenario.model.bottom_mlp) + cross_parameters(top[0], cross) + mlp_parameters(top)))


def log_bytes(s: Scenario) -> float:
    """Return the bytes of the log region: two batches' rows with their indices, three MLP logs."""
    rows = s.data.batch_size * sum(per_table(s.model, "pooling"))
    rows = min(rows, sum(per_table(s.model, "num_embeddings")))
    return EMBEDDING_LOGS * float(rows) * (row_bytes(s) + INDEX_BYTES) + MLP_LOGS * mlp_bytes(s)


def activation_bytes(s: Scenario) -> float:
    """Return the bytes of GPU memory that come and go with a batch: gradients, and every layer's activations twice."""
    model, samples = s.model, ceil(s.data.batch_size / s.machine.num_gpus)
    widths = sum(model.bottom_mlp) + sum(model.top_mlp) + 2 * (model.num_tables + 1) * model.embedding_dim
    widths += sum(2 * top_widths(s)[0] + rank for rank in cross_ranks(model))
    return mlp_gradient_bytes(s) + 2.0 * word_bytes(s.machine) * samples * widths


def top_widths(scenario: Scenario) -> tuple[int, ...]:
    """Return the top MLP's widths with its input, which the feature interaction implies."""
    model = scenario.model
    bottom, vectors = model.bottom_mlp[-1], model.num_tables + 1
    pairs = vectors * (vectors - 1) // 2
    inputs = bottom + pairs if model.interaction == "dot" else bottom + model.num_tables * model.embedding_dim
    return (inputs, *model.top_mlp)


def part(amounts: Traffic, first: int, last: int) -> Traffic:
    """Return the traffic of batches `first` to `last` - 1."""
    return _each(amounts, lambda values: values[first:last])


def steady(amounts: Traffic, batches: int) -> Traffic:
    """Return `batches` batches of the expected amounts given as arrays of one value."""
    return _each(amounts, lambda values: np.repeat(values, batches, axis=0))


def _each(amounts: Traffic, change: Callable[[Floats], Floats]) -> Traffic:
    changed: dict[str, Any] = {name: change(getattr(amounts, name)) for name in BY_BATCH}
    lookups = amounts.lookups if isinstance(amounts.lookups, float) else change(amounts.lookups)
    return replace(amounts, lookups=lookups, **changed)
