"""Traffic of the tables of each kernel, as parts of a batch's traffic."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..core.arrays import Floats
from ..scenario.scenario import Scenario, per_table
from ..systems.row_kinds import row_sizes
from ..systems.traffic import Traffic, table_states
from ..units import FLOAT32
from ..workload.accesses import lookups

Groups = Mapping[str, tuple[int, ...]]


def in_groups(groups: Iterable[Sequence[int]], by_table: Floats) -> Floats:
    """Return sums over the tables of each group of numbers by table, (..., T) to (G, ...)."""
    return np.array([by_table[..., list(tables)].sum(axis=-1) for tables in groups])


def with_groups(s: Scenario, whole: Traffic, groups: Groups, rows: Floats, looked_up: Floats, unique: Floats) -> Traffic:
    """Return traffic with that of each group of tables.

    rows, looked_up: unique rows and lookups of each group and batch, (G, N); unique: unique rows by table, (T,), for mixes of
    row sizes.
    """
    features, dims = (np.array(per_table(s.model, name)) for name in ("features", "embedding_dim"))
    stateful, pooled = np.array(table_states(s)) > 0, s.data.batch_size * FLOAT32 * features * dims
    counted = stateful if stateful.any() else np.ones_like(stateful)
    parts = []
    for number, (name, tables) in enumerate(groups.items()):
        mine = np.isin(np.arange(s.model.num_tables), tables)
        part = replace(
            whole,
            rows=rows[number],
            lookups=float(looked_up[number, 0]) if (looked_up[number] == looked_up[number, 0]).all() else looked_up[number],
            length_bytes=whole.length_bytes * float(mine.mean()),
            sizes=row_sizes(s, np.where(mine, unique, 0.0), by_lookup=np.where(mine, lookups(s), 0.0)),
            pooled_bytes=float(pooled[mine].sum()),
            tables=whole.tables * float((mine & counted).sum() / counted.sum()),
        )
        parts.append((name, part))
    return replace(whole, groups=tuple(parts))
