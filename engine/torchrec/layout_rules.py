"""TorchRec's rules for shards: where its release 1.8 looks for each row and column.

TorchRec accepts shards by other rules too, but then a lookup returns another row. The writer and the reader of plans both use
these rules, and tests/oracles trains plans in the installed TorchRec.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby, zip_longest
from typing import NamedTuple

from ..core.figures import count
from .embedding_tables import TorchRecTable

TABLE_WISE, COLUMN_WISE, ROW_WISE, DATA_PARALLEL = "table_wise", "column_wise", "row_wise", "data_parallel"
TABLE_ROW_WISE, TABLE_COLUMN_WISE, GRID = "table_row_wise", "table_column_wise", "grid_shard"
SHARDING_TYPES = (DATA_PARALLEL, TABLE_WISE, COLUMN_WISE, ROW_WISE, TABLE_ROW_WISE, TABLE_COLUMN_WISE, GRID)
ROW_TYPES = (ROW_WISE, TABLE_ROW_WISE, GRID)  # rows of a range of columns go over ranks in equal blocks
VECTOR = 4  # columns that FBGEMM's kernels take at a time: `_assert_local_cols_divisible_by_4` in TorchRec
MAX_COLUMNS = 1024  # of a shard: `legacy_max_embedding_dim` of FBGEMM's kernels
MAX_ROWS = 2**31 - 1  # of a shard: TorchRec counts rows of blocks in int32
MIN_COLUMNS = 32  # of a range, where a table has as many: TorchRec's planner cuts no finer
RankRun = tuple[int, ...]  # the ranks over which rows go; a rank that is named twice has two shares
TablePlan = tuple[RankRun, ...]  # the plan of a table: the run of each range of columns


class RankLayout(NamedTuple):
    """The number of ranks in all, and of each node or pod."""

    num_ranks: int
    ranks_per_node: int

    @property
    def nodes(self) -> int:
        """The number of whole nodes."""
        return self.num_ranks // self.ranks_per_node

    def node_ranks(self, rank: int) -> RankRun:
        """Return all ranks of a rank's node."""
        first_rank = rank - rank % self.ranks_per_node
        return tuple(range(first_rank, first_rank + self.ranks_per_node))

    def is_node(self, run: RankRun) -> bool:
        """Return whether a run of ranks has each rank of one node exactly once."""
        return tuple(sorted(run)) == self.node_ranks(min(run))


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


def sharding_type(table_plan: TablePlan, layout: RankLayout) -> str:
    """Return TorchRec's sharding type for the plan of a table, "" where there is none."""
    ranks = [rank for run in table_plan for rank in run]
    if len(ranks) == 1:
        return TABLE_WISE
    if len(ranks) == len(table_plan):
        in_node = layout.nodes > 1 and len({*map(layout.node_ranks, ranks)}) == 1 and len(set(ranks)) == len(ranks)
        return TABLE_COLUMN_WISE if in_node else COLUMN_WISE
    if len(table_plan) == 1 and sorted(ranks) == list(range(layout.num_ranks)):
        return ROW_WISE
    if all(map(layout.is_node, table_plan)):
        return TABLE_ROW_WISE if len(table_plan) == 1 else GRID
    return ""


def plan_shards(table: TorchRecTable, table_plan: TablePlan) -> Iterator[TableShard]:
    """Yield the shards of a table by a plan with a sharding type, columns first."""
    first_column = 0
    for run, columns in zip(table_plan, column_blocks(table.dim, len(table_plan)), strict=True):
        for rank, (rows, first_row) in zip(sorted(run), row_blocks(table.rows, len(run)), strict=True):
            yield TableShard(rows, columns, first_row, first_column, rank)
        first_column += columns


def row_blocks(rows: int, ranks: int) -> Iterator[tuple[int, int]]:
    """Yield the number of rows and the first row of each rank's block.

    TorchRec looks for row r on rank r // ceil(rows / ranks): blocks are equal and rounded up, the last are shorter or empty.
    """
    block = -(-rows // ranks)
    for rank in range(ranks):
        first_row = min(rows, rank * block)
        yield min(rows, first_row + block) - first_row, first_row


def column_blocks(dim: int, ranges: int) -> Iterator[int]:
    """Yield the number of columns of each range; the first ranges are wider.

    Widths are multiples of FBGEMM's vector where there are enough columns.
    """
    unit = VECTOR if dim % VECTOR == 0 and dim // VECTOR >= ranges else 1
    min_units, num_wider = divmod(dim // unit, ranges)
    yield from (unit * (min_units + (number < num_wider)) for number in range(ranges))


def plan_fault(table: TorchRecTable, table_plan: TablePlan, layout: RankLayout) -> str:
    """Return why TorchRec cannot train a table by a plan, "" where it can."""
    if not sharding_type(table_plan, layout):
        node = f", or all {layout.ranks_per_node} of a node" if layout.nodes > 1 else ""
        return f"its rows lie on some ranks only, but TorchRec cuts rows over all {count(layout.num_ranks, 'rank')}{node}"
    first_shards = (
        TableShard(next(row_blocks(table.rows, len(run)))[0], columns, 0, 0, min(run))  # the others of a range are no larger
        for run, columns in zip(table_plan, column_blocks(table.dim, len(table_plan)), strict=True)
    )
    return next(filter(None, map(shard_fault, first_shards)), "")


def shard_fault(shard: TableShard) -> str:
    """Return why FBGEMM's kernels cannot train a shard, "" where they can."""
    if not shard.columns or shard.columns % VECTOR:
        return f"rank {shard.rank} has a shard of {count(shard.columns, 'column')}, but kernels take multiples of {VECTOR}"
    if shard.columns > MAX_COLUMNS:
        return f"rank {shard.rank} has a shard of {count(shard.columns, 'column')}, but kernels take at most {count(MAX_COLUMNS)}"
    if shard.rows > MAX_ROWS:
        return f"rank {shard.rank} has a shard of {count(shard.rows, 'row')}, but kernels take at most {count(MAX_ROWS)}"
    return ""


def listing_fault(table: TorchRecTable, type_name: str, shards: Sequence[TableShard], layout: RankLayout) -> str:
    """Return why TorchRec would train a table wrongly by listed shards, "" where it would not.

    `shards` cover the table once, in the order of the plan, which TorchRec reads too.
    """
    if type_name == TABLE_WISE and len(shards) != 1:
        return f"it is {TABLE_WISE} with {count(len(shards))} shards, of which TorchRec takes that of rank {shards[0].rank} alone"
    if type_name in ROW_TYPES:
        fault = _row_fault(table, type_name, shards, layout)
    else:
        fault = next((_rows_apart(shard, table.rows, 0) for shard in shards if shard.rows != table.rows), "")
    return fault or next(filter(None, map(shard_fault, shards)), "")


def _row_fault(table: TorchRecTable, type_name: str, shards: Sequence[TableShard], layout: RankLayout) -> str:
    """Return why rows over ranks are not where TorchRec looks for them, "" where they are."""
    by_range = [[*block] for _, block in groupby(sorted(shards, key=_first_column), key=_first_column)]
    if type_name != GRID and len(by_range) > 1:
        return f"rank {by_range[1][0].rank} has a second range of columns, which {type_name} lacks; {GRID} has several"
    for blocks in by_range:
        ranks = tuple(range(layout.num_ranks)) if type_name == ROW_WISE else layout.node_ranks(blocks[0].rank)
        named_ranks = tuple(shard.rank for shard in blocks)
        if named_ranks != ranks:
            strays = [rank for rank, place in zip_longest(named_ranks, ranks) if rank not in (place, None)]
            fault = f"rank {strays[0]} is out of place" if strays else f"rank {ranks[len(named_ranks)]} lacks a shard"
            return f"{fault}: {type_name} has one on each of ranks {ranks[0]} to {ranks[-1]}, in order"
        for shard, (rows, first_row) in zip(blocks, row_blocks(table.rows, len(ranks)), strict=True):
            if shard.rows != rows or (rows and shard.row_offset != first_row):
                return _rows_apart(shard, rows, first_row)
    orders: dict[int, list[int]] = {}
    for shard in shards:
        orders.setdefault(shard.rank, []).append(shard.column_offset)
    if unlike := [rank for rank, order in sorted(orders.items()) if order != orders[layout.node_ranks(rank)[0]]]:
        return f"rank {unlike[0]} lists its ranges of columns in another order than the first rank of its node"
    return ""


def _first_column(shard: TableShard) -> int:
    return shard.column_offset


def _rows_apart(shard: TableShard, rows: int, first_row: int) -> str:
    """Return that a shard has other rows than those that TorchRec looks for on its rank."""
    expected_rows = _row_text(rows, first_row)
    return f"rank {shard.rank} has {_row_text(shard.rows, shard.row_offset)}, but TorchRec looks for {expected_rows} there"


def _row_text(rows: int, first_row: int) -> str:
    return f"rows {count(first_row)} to {count(first_row + rows - 1)}" if rows else "no rows"


def table_forms(table: TorchRecTable, layout: RankLayout, turn: int) -> dict[str, TablePlan]:
    """Return the plans by which TorchRec can train a table, by title.

    `turn` numbers the tables that are dealt to ranks, or to nodes, in turn.
    """
    min_ranges, ranges = -(-table.dim // MAX_COLUMNS), max(1, table.dim // MIN_COLUMNS)
    ranks, node = range(layout.num_ranks), layout.node_ranks(turn % layout.nodes * layout.ranks_per_node)

    def columns(runs: Sequence[RankRun], start: int) -> TablePlan:
        """Return runs in turn, one a range of columns."""
        return tuple(runs[(start + index) % len(runs)] for index in range(max(min_ranges, min(len(runs), ranges))))

    num_columns = max(min_ranges, min(layout.num_ranks, ranges))
    nodes = [layout.node_ranks(first_rank) for first_rank in ranks[:: layout.ranks_per_node]]
    forms = {
        "table-wise": ((turn % layout.num_ranks,),),
        "column-wise": columns([(rank,) for rank in ranks], turn * num_columns),
        "row-wise": (tuple(ranks),),
        "rows over a node's ranks": (node,),
        "columns over a node's ranks": columns([(rank,) for rank in node], turn // layout.nodes),
        "columns over nodes, rows over their ranks": columns(nodes, turn),
    }
    return {way: table_plan for way, table_plan in forms.items() if not plan_fault(table, table_plan, layout)}
