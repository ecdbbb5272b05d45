"""Sharding plans as TorchRec has them, from our plans and back to `policy.plan`.

An entry of ours says for each range of a table's columns over which ranks its rows go. TorchRec knows whole tables, ranges of
columns on one rank each, rows over ranks, and both at once only over whole nodes.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

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
MOST_TEXT = int(KNOBS["policy.plan"].high or 0)
Run = tuple[int, ...]  # the ranks over which rows go, one that is named twice with two shares
Entry = tuple[Run, ...]  # the run of each range of columns


class RankLayout(NamedTuple):
    """Ranks in all, and of a node."""

    world: int
    local: int

    @property
    def nodes(self) -> int:
        """The number of whole nodes."""
        return self.world // self.local

    def is_node(self, run: Run) -> bool:
        """Return whether a run is all ranks of one node, each once."""
        first = min(run)
        return first % self.local == 0 and sorted(run) == list(range(first, first + self.local))


class TableShard(NamedTuple):
    """A block of a table on a rank: how many rows and columns, and the first of each."""

    rows: int
    columns: int
    row_offset: int
    column_offset: int
    rank: int


class TableSharding(NamedTuple):
    """How TorchRec shards a table; `shards` are ordered by columns, then rows."""

    name: str
    sharding_type: str
    kernel: str
    shards: tuple[TableShard, ...]
    cache: CacheSettings | None = None

    @property
    def ranks(self) -> tuple[int, ...]:
        """The rank of each shard."""
        return tuple(shard.rank for shard in self.shards)


def table_entries(pieces: Pieces, tables: int) -> tuple[Entry, ...]:
    """Return the entry of each table, (T,), of one of our plans."""
    entries: list[list[Run]] = [[] for _ in range(tables)]
    for table, place in zip(pieces.table.tolist(), pieces.place.tolist(), strict=True):
        entries[table].append((place,) if place >= 0 else pieces.runs[~place])
    return tuple(map(tuple, entries))


def torchrec_entry(table: TorchRecTable, entry: Entry, layout: RankLayout) -> Entry:
    """Return an entry as it is if TorchRec can have it, else one with the table's rows over all of its ranks."""
    return entry if _sharding_type(table, entry, layout) else (tuple(sorted({rank for run in entry for rank in run})),)


def _sharding_type(table: TorchRecTable, entry: Entry, layout: RankLayout) -> str:
    """Return TorchRec's name for an entry, "" where it has none."""
    ranks = [rank for run in entry for rank in run]
    if len(entry) == 1:
        return TABLE_WISE if len(ranks) == 1 else TABLE_ROW_WISE if layout.nodes > 1 and layout.is_node(entry[0]) else ROW_WISE
    if len(entry) > table.dim:
        return ""
    if len(ranks) == len(entry):
        in_node = layout.nodes > 1 and len({rank // layout.local for rank in ranks}) == 1 and len(set(ranks)) == len(ranks)
        return TABLE_COLUMN_WISE if in_node else COLUMN_WISE
    return GRID if all(layout.is_node(run) for run in entry) else ""


def table_sharding(table: TorchRecTable, entry: Entry, kernel: TableKernel, layout: RankLayout) -> TableSharding:
    """Return how TorchRec shards a table by an entry that it can have."""
    sharding_type, shards, start = _sharding_type(table, entry, layout), [], 0
    for run, columns in zip(entry, column_blocks(table.dim, len(entry)), strict=True):
        ranks = range(layout.world) if sharding_type == ROW_WISE else sorted(set(run))
        for rank, (rows, first) in zip(ranks, row_blocks(table.rows, [run.count(rank) for rank in ranks]), strict=True):
            shards.append(TableShard(rows, columns, first, start, rank))
        start += columns
    return TableSharding(table.name, sharding_type, kernel.kernel, tuple(shards), kernel.cache)


def row_blocks(rows: int, shares: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield how many rows each rank has by its shares, and its first: equal blocks, rounded up, so that the last are short."""
    block, share = -(-rows // sum(shares)), 0
    for own in shares:
        first, share = min(rows, share * block), share + own
        yield min(rows, share * block) - first, first


def column_blocks(dim: int, ranges: int) -> Iterator[int]:
    """Yield how many columns each range has: in whole vectors of FBGEMM where there are enough, the first ones wider."""
    unit = VECTOR if dim % VECTOR == 0 and dim // VECTOR >= ranges else 1
    least, wider = divmod(dim // unit, ranges)
    yield from (unit * (least + (number < wider)) for number in range(ranges))


def entry_of(sharding: TableSharding) -> Entry:
    """Return our entry for TorchRec's sharding of a table; one on each GPU becomes rows over all of them."""
    if sharding.sharding_type == DATA_PARALLEL:
        return (tuple(sorted(set(sharding.ranks))),)
    return tuple(
        tuple(shard.rank for shard in shards if shard.rows)
        for _, shards in groupby(sharding.shards, key=lambda shard: shard.column_offset)
    )


def plan_knob(entries: Sequence[Entry]) -> str:
    """Write entries as `policy.plan` reads them; raises BadInput for a text that the knob cannot take."""
    texts = ["/".join(map(run_text, entry)) for entry in entries]
    text = texts[0] if len(set(texts)) == 1 else ";".join(texts)
    if len(text) > MOST_TEXT:
        raise BadInput(
            f"The plan has {count(len(text))} characters as policy.plan, which takes {count(MOST_TEXT)}; read fewer tables."
        )
    return text


def run_text(run: Sequence[int]) -> str:
    """Return a run of ranks, neighbours as one range: "0-3+7"."""
    stretches = groupby(enumerate(run), key=lambda numbered: numbered[1] - numbered[0])
    parts = [[rank for _, rank in stretch] for _, stretch in stretches]
    return "+".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)
