"""Convert Emberpool's sharding plans to TorchRec's, and TorchRec's to `policy.plan`.

Emberpool's plan of a table names, for each range of columns, the ranks that share the table's rows. TorchRec can train some of
these plans, by the rules of `layout_rules.py`.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from ..core.figures import count
from ..errors import BadInput
from ..scenario.scenario import KNOBS
from ..systems.sharding import Pieces
from .embedding_tables import TorchRecTable
from .kernels import CacheSettings, TableKernel
from .layout_rules import (
    DATA_PARALLEL,
    MAX_COLUMNS,
    MAX_ROWS,
    VECTOR,
    RankLayout,
    RankRun,
    TablePlan,
    TableShard,
    plan_fault,
    plan_shards,
    sharding_type,
    table_forms,
)

MAX_PLAN_TEXT = int(KNOBS["policy.plan"].high or 0)


class TableSharding(NamedTuple):
    """TorchRec's sharding of a table.

    name: name of the table.
    sharding_type: one of SHARDING_TYPES.
    kernel: compute kernel, one of `kernels.KERNELS`.
    shards: blocks of the table, ordered by columns, then rows.
    cache: cache of the table in HBM, None without one.
    """

    name: str
    sharding_type: str
    kernel: str
    shards: tuple[TableShard, ...]
    cache: CacheSettings | None = None

    @property
    def ranks(self) -> tuple[int, ...]:
        """The rank of each shard."""
        return tuple(shard.rank for shard in self.shards)


def plans_by_table(pieces: Pieces, tables: int) -> tuple[TablePlan, ...]:
    """Return the plan of each table, (T,), from the pieces of an Emberpool plan."""
    table_plans: list[list[RankRun]] = [[] for _ in range(tables)]
    for table, place in zip(pieces.table.tolist(), pieces.place.tolist(), strict=True):
        table_plans[table].append((place,) if place >= 0 else pieces.runs[~place])
    return tuple(map(tuple, table_plans))


def plans_by_way(
    tables: Sequence[TorchRecTable], table_plans: Sequence[TablePlan], layout: RankLayout
) -> dict[str, list[TablePlan]]:
    """Return plans that TorchRec can train in place of another, by description.

    Each way of sharding takes the tables that must change, or all tables; a table that cannot go that way goes the first way that
    it can. Raises BadInput for a table that no way can train.
    """
    changed_tables = [number for number, plan in enumerate(table_plans) if plan_fault(tables[number], plan, layout)]
    plans: dict[str, list[TablePlan]] = {}
    for subject, numbers in (("these go", changed_tables), ("all tables go", range(len(tables)))):
        forms = {number: checked_forms(tables[number], layout, turn) for turn, number in enumerate(numbers)}
        for way in dict.fromkeys(way for by_way in forms.values() for way in by_way):
            new_plans = {number: by_way.get(way) or next(iter(by_way.values())) for number, by_way in forms.items()}
            plans[f"{subject} {way}"] = [new_plans.get(number, plan) for number, plan in enumerate(table_plans)]
    return plans


def checked_forms(table: TorchRecTable, layout: RankLayout, turn: int = 0) -> dict[str, TablePlan]:
    """Return the plans of `table_forms`; raises BadInput where there is none."""
    if forms := table_forms(table, layout, turn):
        return forms
    if table.dim % VECTOR:
        cause = f"has {count(table.dim, 'column')}, but TorchRec's kernels take multiples of {VECTOR}"
        raise BadInput(f"Table {table.name[:60]!r} {cause}; set embedding_dim to {table.dim + -table.dim % VECTOR}.")
    raise BadInput(
        f"Table {table.name[:60]!r} has {count(table.rows, 'row')} of {count(table.dim, 'column')}, but TorchRec's kernels take "
        f"at most {count(MAX_ROWS)} rows of {count(MAX_COLUMNS)} columns on each of {count(layout.num_ranks, 'rank')}; "
        "give it fewer rows or columns, or more ranks."
    )


def table_sharding(table: TorchRecTable, table_plan: TablePlan, kernel: TableKernel, layout: RankLayout) -> TableSharding:
    """Return TorchRec's sharding of a table, by a plan that TorchRec can train."""
    shards = tuple(plan_shards(table, table_plan))
    return TableSharding(table.name, sharding_type(table_plan, layout), kernel.kernel, shards, kernel.cache)


def table_plan_of(sharding: TableSharding) -> TablePlan:
    """Return Emberpool's plan of a table for TorchRec's sharding.

    For a table that TorchRec copies to all GPUs, the plan cuts its rows over them instead.
    """
    if sharding.sharding_type == DATA_PARALLEL:
        return (tuple(sorted(set(sharding.ranks))),)
    return tuple(
        tuple(shard.rank for shard in shards) for _, shards in groupby(sharding.shards, key=lambda shard: shard.column_offset)
    )


def plan_knob(table_plans: Sequence[TablePlan]) -> str:
    """Return the plans of tables as the text of `policy.plan`.

    Raises BadInput for a text too long for the knob.
    """
    text = plan_text(table_plans)
    if len(text) > MAX_PLAN_TEXT:
        raise BadInput(
            f"The plan has {count(len(text), 'character')} as policy.plan, whose limit is {count(MAX_PLAN_TEXT)}; read a plan "
            "with fewer tables."
        )
    return text


def plan_text(table_plans: Sequence[TablePlan]) -> str:
    """Return the plans of tables as text, with one entry where all are alike."""
    texts = ["/".join(map(run_text, table_plan)) for table_plan in table_plans]
    return texts[0] if len(set(texts)) == 1 else ";".join(texts)


def run_text(run: Sequence[int]) -> str:
    """Return a run of ranks as text; neighbours become one range, as in "0-3+7"."""
    stretches = groupby(enumerate(run), key=lambda indexed_rank: indexed_rank[1] - indexed_rank[0])
    parts = [[rank for _, rank in stretch] for _, stretch in stretches]
    return "+".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
