"""Bagpipe: trainers look ahead, and cache remote rows that coming batches use.

The tables lie on embedding servers. A row stays in HBM as long as one of the next batches (policy.look_ahead_batches) uses it.
Fetching and most synchronisation overlap with training. Bagpipe saves time if the network limits system remote-no-cache. Source:
Agarwal et al., arXiv 2202.12429, and their published code.
"""

import numpy as np

from ...core.graph import Demand, Task
from ...core.row_sizes import mean_bytes
from ...core.work import AllReduce, Amount
from ...scenario.scenario import Scenario
from ...workload.caching.expected_cache import look_ahead_by_table
from ...workload.caching.unique_rows import look_ahead_rows, single_use_shares
from ..loop import training_loop
from ..row_kinds import kind_bytes, row_bytes, row_kinds
from ..steps import gpu, remote
from ..system import Cache, Settled, System
from ..traffic import Traffic, table_bytes

BULK = 50  # batches between two write-backs


def plan(settled: Settled, t: Traffic) -> tuple[Task, ...]:
    """Return the tasks of a batch: missing rows are fetched while the previous batch trains.

    Only rows that the next batch uses are synchronised at once. Every trainer fetches, holds and updates all rows of the batch,
    except rows that are used only once: each of these belongs to one trainer.
    """
    s = settled.scenario
    trainers, single_use = s.machine.num_gpus, single_use_shares(s)
    private_rows = np.minimum(single_use.last_use * t.evicted, t.cold)
    urgent_sync, deferred_sync = _synchronise(s, t, private_rows)
    return (
        training_loop(),
        *remote.fetch(t, (trainers - (trainers - 1) * single_use.passing) * t.misses, ("Embedding lookup",)),
        gpu.features(t, "Embedding lookup"),
        *gpu.train_step(
            settled,
            t,
            trainers * t.rows - (trainers - 1) * private_rows,
            ("Rows to GPU", "Sparse features"),
            ("Embedding update", *(task.name for task in urgent_sync)),
            spread_after=("Scatter remote rows", *(task.name for task in deferred_sync)),
        ),
        *urgent_sync,
        *deferred_sync,
        *remote.send_back(t, t.evicted, ("Embedding update",), background=True, calls=1 / BULK),
    )


def _synchronise(s: Scenario, t: Traffic, private_rows: Amount) -> tuple[tuple[Task, ...], tuple[Task, ...]]:
    """Return the tasks that sum gradients over trainers: of rows used next, and of other rows.

    `private_rows` belong to one trainer and are left out. One trainer alone has no such task.
    """
    if s.machine.num_gpus == 1:
        return (), ()
    rows = (t.rows - t.cold, t.cold - private_rows)
    soon, rest = ((Demand("network", AllReduce(gradient_rows * mean_bytes(t.sizes.unique.gradient))),) for gradient_rows in rows)
    return (
        (Task("Sync rows used next", "Transfer", soon, ("Gradient spreading",)),),
        (Task("Sync other rows", "Transfer", rest, ("Sync rows used next",), background=True),),
    )


def _ahead_bytes(s: Scenario) -> float:
    """Return the bytes of the rows that look-ahead holds on a GPU."""
    if len(row_kinds(s)[0]) == 1:
        return look_ahead_rows(s) * row_bytes(s)
    return float(look_ahead_by_table(s) @ kind_bytes(s, "row"))


SYSTEM = System(
    title="Bagpipe",
    summary="Tables on embedding servers behind a cache in HBM that knows coming batches; most transfers overlap training.",
    devices=("host", "gpu", "pcie", "network", "remote"),
    memory="servers",
    plan=plan,
    family="Look-ahead",
    baseline="remote-no-cache",
    parts_kind="servers",
    cache=Cache("look-ahead", look_ahead_rows),
    places=lambda s: {"servers": table_bytes(s), "hbm": s.machine.num_gpus * _ahead_bytes(s)},
    cites=("Agarwal et al., arXiv 2202.12429, and their published code",),
)
