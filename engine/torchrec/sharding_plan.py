"""Convert Emberpool's sharding plans to TorchRec's, and TorchRec's to `policy.plan`.

Emberpool's plan of a table names, for each range of columns, the ranks that share the table's rows. TorchRec knows whole tables,
ranges of columns on one rank each, and rows over ranks. TorchRec can cut both columns and rows only over whole nodes.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from ..core.arithmetic import total
from ..core.figures import count
from ..errors import BadInput
from ..scenario.scenario import KNOBS
from ..systems.sharding import Pieces
from .embedding_tables import TorchRecTable
from .kernels import CacheSettings, TableKernel

TABLE_WISE, COLUMN_WISE, ROW_WISE, DATA_PARALLEL = "table_wise", "column_wise", "row_wise", "data_parallel"
TABLE_ROW_WISE, TABLE_COLUMN_WISE, GRID = "table_row_wise", "table_column_wise", "grid_shard"
SHARDING_TYPES = (DATA_PARALLEL, TABLE_WISE, COLUMN_WISE, ROW_WISE, TABLE_ROW_WISE, TABLE_COLUMN_WISE, GRID)
VECTOR = 4  # columns that FBGEMM's kernels take at a time
MAX_PLAN_TEXT = int(KNOBS["policy.plan"].high or 0)
RankRun = tuple[int, ...]  # the ranks over which rows go; a rank that is named twice has two shares
TablePlan = tuple[RankRun, ...]  # the plan of a table: the run of each range of columns


class RankLayout(NamedTuple):
    """The number of ranks in all, and the number of ranks of a node."""

    num_ranks: int
    ranks_per_node: int

    @property
    def nodes(self) -> int:
        """The number of whole nodes."""
        return self.num_ranks // self.ranks_per_node

    def is_node(self, run: RankRun) -> bool:
        """Return whether a run of ranks has each rank of one node exactly once."""
        first_rank = min(run)
        return first_rank % self.ranks_per_node == 0 and sorted(run) == list(range(first_rank, first_rank + self.ranks_per_node))


class TableShard(NamedTuple):
    """A block of a table on a rank.

    rows: number of rows.
    columns: number of columns.
    row_offset: first row.
    column_offset: first column.
    rank: the rank that holds the block.
    """

    rows: int
    columns: int
    row_offset: int
    column_offset: int
    rank: int


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


def torchrec_table_plan(table: TorchRecTable, table_plan: TablePlan, layout: RankLayout) -> TablePlan:
    """Return a table's plan if TorchRec can express it, else a row-wise plan.

    The row-wise plan cuts the rows over all ranks that the table had.
    """
    return (
        table_plan
        if _sharding_type(table, table_plan, layout)
        else (tuple(sorted({rank for run in table_plan for rank in run})),)
    )


def _sharding_type(table: TorchRecTable, table_plan: TablePlan, layout: RankLayout) -> str:
    """Return TorchRec's sharding type for the plan of a table, "" where there is none."""
    ranks = [rank for run in table_plan for rank in run]
    if len(table_plan) == 1:
        return (
            TABLE_WISE if len(ranks) == 1 else TABLE_ROW_WISE if layout.nodes > 1 and layout.is_node(table_plan[0]) else ROW_WISE
        )
    if len(table_plan) > table.dim:
        return ""
    if len(ranks) == len(table_plan):
        in_node = (
            layout.nodes > 1 and len({rank // layout.ranks_per_node for rank in ranks}) == 1 and len(set(ranks)) == len(ranks)
        )
        return TABLE_COLUMN_WISE if in_node else COLUMN_WISE
    return GRID if all(layout.is_node(run) for run in table_plan) else ""


def table_sharding(table: TorchRecTable, table_plan: TablePlan, kernel: TableKernel, layout: RankLayout) -> TableSharding:
    """Return TorchRec's sharding of a table, by a plan that TorchRec can express."""
    sharding_type, shards, first_column = _sharding_type(table, table_plan, layout), [], 0
    for run, columns in zip(table_plan, column_blocks(table.dim, len(table_plan)), strict=True):
        ranks = range(layout.num_ranks) if sharding_type == ROW_WISE else sorted(set(run))
        for rank, (rows, first_row) in zip(ranks, row_blocks(table.rows, [run.count(rank) for rank in ranks]), strict=True):
            shards.append(TableShard(rows, columns, first_row, first_column, rank))
        first_column += columns
    return TableSharding(table.name, sharding_type, kernel.kernel, tuple(shards), kernel.cache)


def row_blocks(rows: int, shares: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the number of rows and the first row of each rank's block.

    `shares` are the ranks' shares of the rows. Blocks are equal and rounded up, so that the last blocks are shorter.
    """
    block, shares_before = -(-rows // total(shares)), 0
    for rank_share in shares:
        first_row, shares_before = min(rows, shares_before * block), shares_before + rank_share
        yield min(rows, shares_before * block) - first_row, first_row


def column_blocks(dim: int, ranges: int) -> Iterator[int]:
    """Yield the number of columns of each range; the first ranges are wider.

    Widths are multiples of FBGEMM's vector where there are enough columns.
    """
    unit = VECTOR if dim % VECTOR == 0 and dim // VECTOR >= ranges else 1
    min_units, num_wider = divmod(dim // unit, ranges)
    yield from (unit * (min_units + (number < num_wider)) for number in range(ranges))


def table_plan_of(sharding: TableSharding) -> TablePlan:
    """Return Emberpool's plan of a table for TorchRec's sharding.

    For a table that TorchRec copies to all GPUs, the plan cuts its rows over them instead.
    """
    if sharding.sharding_type == DATA_PARALLEL:
        return (tuple(sorted(set(sharding.ranks))),)
    return tuple(
        tuple(shard.rank for shard in shards if shard.rows)
        for _, shards in groupby(sharding.shards, key=lambda shard: shard.column_offset)
    )


def plan_knob(table_plans: Sequence[TablePlan]) -> str:
    """Return the plans of tables as the text of `policy.plan`.

    Raises BadInput for a text too long for the knob.
    """
    texts = ["/".join(map(run_text, table_plan)) for table_plan in table_plans]
    text = texts[0] if len(set(texts)) == 1 else ";".join(texts)
    if len(text) > MAX_PLAN_TEXT:
        raise BadInput(
            f"The plan has {count(len(text))} characters as policy.plan, whose limit is {count(MAX_PLAN_TEXT)}; read a plan "
            "with fewer tables."
        )
    return text


def run_text(run: Sequence[int]) -> str:
    """Return a run of ranks as text; neighbours become one range, as in "0-3+7"."""
    stretches = groupby(enumerate(run), key=lambda indexed_rank: indexed_rank[1] - indexed_rank[0])
    parts = [[rank for _, rank in stretch] for _, stretch in stretches]
    return "+".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
