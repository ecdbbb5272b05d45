"""Replicated rows: the most popular rows, of which every GPU holds and trains a copy.

If all lookups of a pooled vector are of such rows, the vector is not sent to another GPU. In return, the GPUs sum the gradients
of the replicated rows of a batch, and each GPU updates its copies (hybrid embedding, as in HugeCTR).
"""

from typing import NamedTuple

import numpy as np

from ...core.memo import memoised
from ...core.row_sizes import RowBytes, mean_over_rows
from ...core.work import AllReduce, Pool, RowUpdates
from ...hardware.device import seconds
from ...hardware.devices.gpu import memory_bytes
from ...registry import load_variant
from ...scenario.scenario import Scenario, per_table, vectors_per_table
from ...units import FLOAT32, MiB
from ...workload.accesses import expected_accesses
from ...workload.bags import length_cv, length_generating_function
from ...workload.caching.expected_cache import hot_split, hot_unique, hottest_by_table
from ..row_kinds import RowKind, mean_kind, row_kinds
from ..steps.stashing import peak_bytes
from ..traffic import mlp_bytes, num_rows, rows_within, tables_apart
from .buffers import SENT_BYTES
from .crossing import Crossing

SIZES = tuple((MiB * np.geomspace(1 / 4, 16 * 1024, 17)).tolist())  # candidate bytes of copies, each twice the one before
WORTHWHILE = 0.95  # of the seconds without copies: a smaller gain is lost where other work waits for the second all-reduce


class Replicas(NamedTuple):
    """The replicated rows, and their expected use in a batch.

    rows: number of replicated rows.
    lookups: share of the batch's lookups that are of replicated rows.
    vectors: share of the batch's pooled vectors all of whose lookups are of replicated rows.
    unique: number of different replicated rows that the batch uses.
    """

    rows: float = 0.0
    lookups: float = 0.0
    vectors: float = 0.0
    unique: float = 0.0


NO_REPLICAS = Replicas()


@memoised(most=256)
def replicas(s: Scenario, rows: float) -> Replicas:
    """Return the expected use of the `rows` most popular rows as replicated rows."""
    if not rows:
        return NO_REPLICAS
    if rows >= num_rows(s):  # exactly 1: a rounding error left over would still start an exchange
        return Replicas(rows, 1.0, 1.0, float(expected_accesses(s).unique_rows.sum()))
    pooling, cv = np.array(per_table(s.model, "pooling"), dtype=np.float64), np.array(length_cv(s))
    features = np.array(vectors_per_table(s.model))
    hit_rates, bags = np.minimum(hottest_by_table(s, rows)[1], 1.0), pooling / features
    vectors = length_generating_function(bags, cv, hit_rates) if cv.any() else hit_rates**bags
    unique = hot_split(s, rows).hot * float(expected_accesses(s).unique_rows.sum())
    return Replicas(rows, float(hit_rates @ pooling / pooling.sum()), float(np.average(vectors, weights=features)), unique)


def choose_replicas(s: Scenario, pooled: Crossing, table_nbytes: float, vector_nbytes: float) -> Replicas:
    """Return the rows to replicate: as in `policy.replicated_rows`, or the fastest number.

    `pooled` is the exchange of pooled vectors without replicas. `table_nbytes` are the bytes of tables on the fullest GPU,
    `vector_nbytes` those of histories' vectors on the GPU that sends most. An automatic number is chosen only under the planner's
    sharding; candidates are the sizes that fit.
    """
    size_MiB = s.policy.replicated_rows
    if s.machine.num_gpus == 1 or size_MiB == 0:
        return NO_REPLICAS
    if size_MiB is not None:
        return replicas(s, rows_within(s, size_MiB * MiB))
    if not is_planned(s):
        return NO_REPLICAS
    room = memory_bytes(s.machine) - 2 * mlp_bytes(s) - peak_bytes(s, table_nbytes) - vector_nbytes
    best_replicas, best_seconds = NO_REPLICAS, _seconds(s, NO_REPLICAS, pooled)[0] * WORTHWHILE
    for rows in dict.fromkeys(rows_within(s, size) for size in SIZES if size <= room):
        candidate = replicas(s, rows)
        total_seconds, copy_seconds = _seconds(s, candidate, pooled)
        if rows and total_seconds < best_seconds:
            best_replicas, best_seconds = candidate, total_seconds
        if copy_seconds >= best_seconds:  # more rows cost no less
            break
    return best_replicas


def is_planned(s: Scenario) -> bool:
    """Return whether the planner shards the tables, a condition of automatic replicas."""
    return not s.policy.plan and s.policy.sharding in (None, "planner")


def vector_sent(s: Scenario, gradient: RowBytes) -> float:
    """Return the bytes of a row's gradient as it is sent over the network.

    `gradient`: the gradient's bytes in fp32. For unlike rows, the mean is returned.
    """
    element_bytes, vector_overhead = SENT_BYTES[s.machine.exchange_precision]
    return float(mean_over_rows(gradient, lambda nbytes: element_bytes * nbytes / FLOAT32 + vector_overhead))


def _replicated_row(s: Scenario, rows: float) -> RowKind:
    """Return the bytes of a batch's unique rows among the `rows` most popular ones."""
    kinds, _ = row_kinds(s)
    return kinds[0] if len(kinds) == 1 or not rows else mean_kind(s, hot_unique(s, rows))


def _seconds(s: Scenario, candidate: Replicas, pooled: Crossing) -> tuple[float, float]:
    """Return the seconds of a batch's exchanges and copies, and of the copies alone.

    There are two exchanges; copies have work of their own.
    """
    network, gpu = (load_variant("devices", name).build(s.machine) for name in ("network", "gpu"))
    exchange = pooled.work(1 - candidate.vectors)
    extra_rows = candidate.unique * (1 - 1 / s.machine.num_gpus)
    row = _replicated_row(s, candidate.rows)
    all_reduce = seconds(network, AllReduce(candidate.unique * vector_sent(s, row.gradient)))
    copy_seconds = all_reduce + seconds(gpu, RowUpdates(extra_rows, row.row))
    update = Pool(min(candidate.unique, 1.0), tables=tables_apart(s))  # a kernel or more; its bytes are spread either way
    launch = seconds(gpu, update)
    return float(2 * seconds(network, exchange) + copy_seconds + launch), float(copy_seconds + launch)
