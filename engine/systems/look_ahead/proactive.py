"""Proactive: cold rows of the next batch are read while GPUs wait for exchanges.

Popular rows lie in HBM, cold rows in host memory. A row that this batch also trains is read again after its update. Only
headline results are known, as we have read only the abstract: IEEE CAL 23(2):203-206, 2024.
"""

from dataclasses import replace

from ...core.graph import Task
from ...workload.caching.expected_cache import hot_split
from ..exchange import collectives
from ..steps import far_memory
from ..system import Settled
from ..traffic import Traffic, cached_rows
from .cold_in_dram import SYSTEM as REACTIVE

READ_AHEAD, READ_TRAINED_AGAIN = "Read cold rows ahead", "Read trained rows again"


def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Return the tasks of a batch, with the next batch's cold rows read ahead.

    They are read while the GPUs are idle, during exchanges and the all-reduce. Hot rows are looked up after the previous batch's
    update.
    """
    s = settled.scenario
    if not s.policy.prefetch:
        return REACTIVE.plan(settled, t)
    split, ends = hot_split(s, cached_rows(s)), far_memory.end_of_batch(s)
    cold = t.rows * (1 - split.hot)
    arrived = collectives.index_exchange(settled)[1]
    read_ahead = far_memory.read_far_rows(
        settled, t, READ_AHEAD, far_memory.next_batch(cold), ("Embedding lookup",), background=True
    )
    reread = far_memory.read_far_rows(settled, t, READ_TRAINED_AGAIN, t.rows * split.cold_repeated, arrived, (*ends, READ_AHEAD))
    return (reread, *far_memory.step(settled, t, cold, (READ_TRAINED_AGAIN,)), read_ahead)


SYSTEM = replace(
    REACTIVE,
    title="Proactive",
    summary="Popular rows in HBM, other rows in host memory; those of the next batch are read during exchanges between GPUs.",
    plan=plan,
    cites=("Proactive embedding on cold data, IEEE CAL 23(2):203-206, 2024 (abstract)",),
)
