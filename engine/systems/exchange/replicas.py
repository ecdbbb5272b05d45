"""Replicated rows: the most popular rows of all tables, which every GPU holds and trains alike.

A pooled vector all of whose lookups meet such rows crosses to no other GPU; in return the GPUs sum the gradients of the
replicated rows that a batch touches, and each updates them (hybrid embedding, as HugeCTR has it).
"""

from typing import NamedTuple

import numpy as np

from ...core.memo import remembered
from ...core.work import AllReduce, AllToAll, Pool, RowUpdates
from ...hardware.device import seconds
from ...hardware.devices.gpu import memory_bytes
from ...registry import load
from ...scenario.scenario import Scenario, per_table
from ...units import MiB
from ...workload.accesses import expected
from ...workload.bags import generating, length_cv
from ...workload.expected_cache import hot_split, hottest
from ..traffic import activation_bytes, mlp_bytes, num_rows, row_bytes, sent_bytes
from .crossing import Crossing

SIZES = tuple((MiB * np.geomspace(1 / 4, 16 * 1024, 17)).tolist())  # bytes that are tried, each twice the one before

PAYS = 0.95  # of the seconds without copies: a smaller gain is lost where other work waits for one sum more


class Replicas(NamedTuple):
    """Rows that every GPU holds; the shares of a batch's lookups and of its vectors that need no other; unique rows of these."""

    rows: float = 0.0
    lookups: float = 0.0
    vectors: float = 0.0
    unique: float = 0.0


NONE = Replicas()


@remembered(most=256)
def replicas(s: Scenario, rows: float) -> Replicas:
    """Return what the popularity lets expect of so many replicated rows."""
    if not rows:
        return NONE
    if rows >= num_rows(s):  # exactly: what is left by rounding would still begin an exchange
        return Replicas(rows, 1.0, 1.0, float(expected(s).unique_rows.sum()))
    pooling, cv = np.array(per_table(s.model, "pooling"), dtype=np.float64), np.array(length_cv(s))
    mass = np.minimum(hottest(s, rows)[1], 1.0)
    whole = generating(pooling, cv, mass) if cv.any() else mass**pooling
    unique = hot_split(s, rows).hot * float(expected(s).unique_rows.sum())
    return Replicas(rows, float(mass @ pooling / pooling.sum()), float(whole.mean()), unique)


def chosen(s: Scenario, pooled: Crossing, held: float) -> Replicas:
    """Return the rows that are replicated where the fullest GPU has `held` bytes of tables, and vectors cross as `pooled`.

    As many MiB as the policy says; else as many as make a step shortest, of those that fit. None where tables are sharded in
    another way than the planner's.
    """
    asked = s.policy.replicated_rows
    if s.machine.num_gpus == 1 or asked == 0:
        return NONE
    if asked is not None:
        return replicas(s, min(num_rows(s), asked * MiB // row_bytes(s)))
    if s.policy.plan or s.policy.sharding not in (None, "planner"):
        return NONE
    room = memory_bytes(s.machine) - 2 * mlp_bytes(s) - activation_bytes(s) - held
    best, least = NONE, _seconds(s, NONE, pooled)[0] * PAYS
    for rows in dict.fromkeys(float(min(num_rows(s), size // row_bytes(s))) for size in SIZES if size <= room):
        one = replicas(s, rows)
        whole, copies = _seconds(s, one, pooled)
        if rows and whole < least:
            best, least = one, whole
        if copies >= least:  # more rows cost no less
            break
    return best


def vector_sent(s: Scenario) -> float:
    """Return the bytes of one vector as it is sent."""
    return sent_bytes(s) / s.data.batch_size


def _seconds(s: Scenario, one: Replicas, pooled: Crossing) -> tuple[float, float]:
    """Return the seconds of a batch that differ with what is replicated, both exchanges too, and those of the copies alone."""
    network, gpu = (load("devices", name).build(s.machine) for name in ("network", "gpu"))
    sent = AllToAll(*((1 - one.vectors) * nbytes for nbytes in pooled))
    more = one.unique * (1 - 1 / s.machine.num_gpus)
    summed = seconds(network, AllReduce(one.unique * vector_sent(s))) + seconds(gpu, RowUpdates(more, row_bytes(s)))
    spread = seconds(gpu, Pool(min(one.unique, 1.0)))  # a kernel more, of bytes that are spread either way
    return float(2 * seconds(network, sent) + summed + spread), float(summed + spread)
