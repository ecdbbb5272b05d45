"""Traffic of the tables of each kernel, as parts of a batch's whole traffic."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..core.arrays import Flags, Floats
from ..scenario.scenario import per_table, vectors_per_table
from ..systems.kernels.mixed import HOST
from ..systems.row_kinds import row_sizes
from ..systems.sharding import loaded
from ..systems.system import Settled
from ..systems.table_placement import Skews, skew
from ..systems.traffic import Traffic, stateful_lookups, table_states
from ..units import FLOAT32
from ..workload.accesses import table_lookups
from ..workload.row_spread import spreads

Groups = Mapping[str, tuple[int, ...]]


def _skews(settled: Settled, in_group: Flags, by_node: bool) -> Skews:
    """Return the skews of some tables' lookups and unique rows over GPUs, or over nodes.

    The plan in force divides the tables.
    """
    balance = settled.placement.balance
    if balance is None:
        return Skews()
    weights = np.broadcast_to(in_group.astype(np.float64), (2, len(in_group))).copy()
    amounts = loaded(spreads(settled.scenario), balance.pieces, balance.parts.number, weights)[:2]
    if by_node:
        amounts = np.array([np.bincount(balance.parts.group, weights=amount) for amount in amounts])
    return Skews(*map(skew, amounts))


def sum_by_group(groups: Iterable[Sequence[int]], by_table: Floats) -> Floats:
    """Return numbers by table, (..., T), summed over the tables of each group: (G, ...)."""
    return np.array([by_table[..., list(tables)].sum(axis=-1) for tables in groups])


def add_group_traffic(
    settled: Settled, total_traffic: Traffic, groups: Groups, rows: Floats, looked_up: Floats, unique: Floats
) -> Traffic:
    """Return the total traffic with the traffic of each group of tables added.

    rows, looked_up: unique rows and lookups of each group in each batch, (G, N).
    unique: unique rows of each table, (T,), for mixes of row sizes.
    The skew of a group over the parts is the expected skew under the plan in force.
    """
    s = settled.scenario
    features, dims = np.array(vectors_per_table(s.model)), np.array(per_table(s.model, "embedding_dim"))
    stateful, pooled = np.array(table_states(s)) > 0, s.data.batch_size * FLOAT32 * features * dims
    counted_tables = stateful if stateful.any() else np.ones_like(stateful)
    parts = []
    for number, (name, tables) in enumerate(groups.items()):
        in_group = np.isin(np.arange(s.model.num_tables), tables)
        skews = _skews(settled, in_group, by_node=name == HOST)
        part = replace(
            total_traffic,
            lookup_skew=np.full_like(total_traffic.rows, skews.lookups),
            row_skew=np.full_like(total_traffic.rows, skews.rows),
            rows=rows[number],
            lookups=float(looked_up[number, 0]) if (looked_up[number] == looked_up[number, 0]).all() else looked_up[number],
            length_bytes=total_traffic.length_bytes * float(in_group.mean()),
            sizes=row_sizes(s, np.where(in_group, unique, 0.0), by_lookup=np.where(in_group, table_lookups(s), 0.0)),
            pooled_bytes=float(pooled[in_group].sum()),
            stateful=stateful_lookups(s, in_group),
            whole_tables=float(in_group.sum()),
            tables=total_traffic.tables * float((in_group & counted_tables).sum() / counted_tables.sum()),
        )
        parts.append((name, part))
    return replace(total_traffic, groups=tuple(parts))
