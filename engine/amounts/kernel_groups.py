"""Traffic of the tables of each kernel, as parts of a batch's traffic."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..core.arrays import Flags, Floats
from ..scenario.scenario import per_table
from ..systems.kernels.mixed import HOST
from ..systems.row_kinds import row_sizes
from ..systems.sharding import loaded
from ..systems.system import Settled
from ..systems.table_placement import Skews, skew
from ..systems.traffic import Traffic, stateful_lookups, table_states
from ..units import FLOAT32
from ..workload.accesses import lookups
from ..workload.row_spread import spreads

Groups = Mapping[str, tuple[int, ...]]


def _skews(settled: Settled, mine: Flags, by_node: bool) -> Skews:
    """Return how uneven the lookups and unique rows of some tables lie over GPUs, or over nodes, by the plan in force."""
    balance = settled.placement.balance
    if balance is None:
        return Skews()
    weights = np.broadcast_to(mine.astype(np.float64), (2, len(mine))).copy()
    amounts = loaded(spreads(settled.scenario), balance.pieces, balance.parts.number, weights)[:2]
    if by_node:
        amounts = np.array([np.bincount(balance.parts.group, weights=one) for one in amounts])
    return Skews(*map(skew, amounts))


def in_groups(groups: Iterable[Sequence[int]], by_table: Floats) -> Floats:
    """Return sums over the tables of each group of numbers by table, (..., T) to (G, ...)."""
    return np.array([by_table[..., list(tables)].sum(axis=-1) for tables in groups])


def with_groups(settled: Settled, whole: Traffic, groups: Groups, rows: Floats, looked_up: Floats, unique: Floats) -> Traffic:
    """Return traffic with that of each group of tables.

    rows, looked_up: unique rows and lookups of each group and batch, (G, N); unique: unique rows by table, (T,), for mixes of
    row sizes. How uneven a group lies over the parts is expected of the plan in force.
    """
    s = settled.scenario
    features, dims = (np.array(per_table(s.model, name)) for name in ("features", "embedding_dim"))
    stateful, pooled = np.array(table_states(s)) > 0, s.data.batch_size * FLOAT32 * features * dims
    counted = stateful if stateful.any() else np.ones_like(stateful)
    parts = []
    for number, (name, tables) in enumerate(groups.items()):
        mine = np.isin(np.arange(s.model.num_tables), tables)
        skews = _skews(settled, mine, by_node=name == HOST)
        part = replace(
            whole,
            lookup_skew=np.full_like(whole.rows, skews.lookups),
            row_skew=np.full_like(whole.rows, skews.rows),
            rows=rows[number],
            lookups=float(looked_up[number, 0]) if (looked_up[number] == looked_up[number, 0]).all() else looked_up[number],
            length_bytes=whole.length_bytes * float(mine.mean()),
            sizes=row_sizes(s, np.where(mine, unique, 0.0), by_lookup=np.where(mine, lookups(s), 0.0)),
            pooled_bytes=float(pooled[mine].sum()),
            stateful=stateful_lookups(s, mine),
            whole_tables=float(mine.sum()),
            tables=whole.tables * float((mine & counted).sum() / counted.sum()),
        )
        parts.append((name, part))
    return replace(whole, groups=tuple(parts))
