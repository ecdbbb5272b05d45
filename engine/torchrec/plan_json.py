"""Write sharding plans as the JSON that TorchRec dumps, and read such JSON back.

A plan is {"plan": {module: {table: {sharding_type, compute_kernel, ranks, shards, cache_params}}}}; a shard is {shard_offsets,
shard_sizes, placement}, rows first.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.arithmetic import total
from ..core.figures import count
from ..errors import BadInput, nearest_hint
from ..version import PROGRAM
from .embedding_tables import TorchRecTable
from .kernels import FUSED_UVM_CACHING, KERNELS, CacheSettings
from .layout_rules import (
    DATA_PARALLEL,
    GRID,
    ROW_WISE,
    SHARDING_TYPES,
    TABLE_ROW_WISE,
    RankLayout,
    TableShard,
    listing_fault,
    plan_shards,
    row_blocks,
)
from .sharding_plan import TableSharding
from .source_text import json_content

MODULE = "sparse_arch.embedding_bag_collection"  # where TorchRec's DLRM has its tables
PLACEMENT = re.compile(r"rank:(\d{1,9})(?:/.*)?")
DEFAULT_LOAD_FACTOR = 0.2


def plan_content(shardings: Sequence[TableSharding], local_ranks: int, module: str = MODULE) -> dict[str, Any]:
    """Return a plan as TorchRec dumps it, with `cache_params` where a table has a cache."""
    return {"plan": {module: {sharding.name: _table_content(sharding, local_ranks) for sharding in shardings}}}


def _table_content(sharding: TableSharding, local_ranks: int) -> dict[str, Any]:
    content: dict[str, Any] = {
        "sharding_type": sharding.sharding_type,
        "compute_kernel": sharding.kernel,
        "ranks": list(sharding.ranks),
        "shards": [
            {
                "shard_offsets": [shard.row_offset, shard.column_offset],
                "shard_sizes": [shard.rows, shard.columns],
                "placement": f"rank:{shard.rank}/cuda:{shard.rank % local_ranks}",
            }
            for shard in sharding.shards
        ],
    }
    if cache := sharding.cache:
        content["cache_params"] = {
            "algorithm": cache.algorithm,
            "load_factor": cache.load_factor,
            "prefetch_pipeline": cache.prefetch,
        }
    return content


def read_plan(text: str, tables: Sequence[TorchRecTable], layout: RankLayout) -> tuple[TableSharding, ...]:
    """Read a plan from JSON that Emberpool or TorchRec wrote, in the order of tables.

    Raises BadInput, which names the table.
    """
    content = json_content(text, "lines of the plan", "write them as TorchRec dumps a plan")
    content_by_table = dict(_table_contents(content, 0))
    names = [table.name for table in tables]
    if absent_names := [name for name in names if name not in content_by_table]:
        raise BadInput(
            f"The plan lacks {count(len(absent_names), 'table')} of {count(len(names))}, such as {absent_names[0][:60]!r}."
        )
    if unknown_names := [name for name in content_by_table if name not in set(names)]:
        raise BadInput(
            f"The plan has the table {unknown_names[0][:60]!r}, which is not among the tables; "
            f"{nearest_hint(unknown_names[0], tuple(names))}"
        )
    return tuple(_read_table(table, content_by_table[table.name], layout) for table in tables)


def _table_contents(content: Any, depth: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the tables of a plan by name; "plan" and the module's path around them may be absent."""
    if not isinstance(content, dict) or depth > 2:
        raise BadInput('The plan is not a map of tables; write {"plan": {module: {table: {"sharding_type": ...}}}}.')
    for name, part in content.items():
        if isinstance(part, dict) and "sharding_type" in part:
            yield name, part
        else:
            yield from _table_contents(part, depth + 1)


def _read_table(table: TorchRecTable, content: Mapping[str, Any], layout: RankLayout) -> TableSharding:
    sharding_type, kernel = content["sharding_type"], content.get("compute_kernel", KERNELS[0])
    for field, word, known_words in (("sharding_type", sharding_type, SHARDING_TYPES), ("compute_kernel", kernel, KERNELS)):
        if word not in known_words:
            raise _plan_error(table, f"{field} is {str(word)[:40]!r}; known are {', '.join(known_words)}")
    ranks = content.get("ranks") or []
    if not isinstance(ranks, list) or not all(_is_count(rank) for rank in ranks):
        raise _plan_error(table, f"ranks are {str(ranks)[:40]}; write a list of numbers")
    spec = content.get("sharding_spec")
    blocks = content.get("shards") or (spec.get("shards") if isinstance(spec, dict) else spec)
    if sharding_type == DATA_PARALLEL:
        shards = [TableShard(table.rows, table.dim, 0, 0, rank) for rank in range(layout.num_ranks)]
    elif blocks:
        shards = _read_shards(table, blocks, ranks)
    else:
        shards = _usual_shards(table, sharding_type, ranks, layout)
    if excess_rank := next((shard.rank for shard in shards if shard.rank >= layout.num_ranks), None):
        raise _plan_error(
            table, f"it lies on rank {excess_rank}, but there are {count(layout.num_ranks)}; give the topology of the plan"
        )
    if fault := listing_fault(table, sharding_type, shards, layout):
        raise _plan_error(table, f"{fault}; plan it anew, by `{PROGRAM} torchrec --plan` or TorchRec's planner")
    ordered = sorted(shards, key=lambda shard: (shard.column_offset, shard.row_offset, shard.rank))
    cache = _read_cache(table, content.get("cache_params"))
    return TableSharding(table.name, sharding_type, kernel, tuple(ordered), cache if kernel == FUSED_UVM_CACHING else None)


def _read_shards(table: TorchRecTable, blocks: Any, ranks: Sequence[int]) -> list[TableShard]:
    """Return the shards that a plan lists; raises BadInput unless they cover the table once."""
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise _plan_error(table, "shards are no list of objects")
    shards = []
    for number, block in enumerate(blocks):
        size, offset = (block.get(f"shard_{name}s", block.get(name)) for name in ("size", "offset"))
        if not all(isinstance(pair, list) and len(pair) == 2 and all(map(_is_count, pair)) for pair in (size, offset)):
            raise _plan_error(table, f"shard {number} needs shard_sizes and shard_offsets, two numbers each: rows, columns")
        stated_ranks = _stated_ranks(block, ranks[number] if number < len(ranks) else None)
        if not stated_ranks or not all(map(_is_count, stated_ranks.values())):
            raise _plan_error(table, f"shard {number} has no rank; write 'placement': 'rank:0/cuda:0'")
        shards.append(TableShard(size[0], size[1], offset[0], offset[1], next(iter(stated_ranks.values()))))
    if not _covered_once(table, shards):
        raise _plan_error(table, f"shards do not cover its {count(table.rows, 'row')} of {count(table.dim, 'column')} once")
    if ranks and len(ranks) != len(shards):
        raise _plan_error(table, f"ranks name {count(len(ranks), 'rank')} for {count(len(shards), 'shard')}; name one a shard")
    for number, block in enumerate(blocks):
        stated_ranks = _stated_ranks(block, ranks[number] if ranks else None)
        if len(set(stated_ranks.values())) > 1:
            statements = " but ".join(f"rank {rank} by its {field}" for field, rank in stated_ranks.items())
            raise _plan_error(table, f"shard {number} lies on {statements}; write the same rank in each")
    return shards


def _stated_ranks(block: Mapping[str, Any], listed_rank: Any) -> dict[str, Any]:
    """Return the rank of a shard by each field that states one; `listed_rank` is that of the table's `ranks`."""
    placement = PLACEMENT.fullmatch(str(block.get("placement", "")))
    ranks = {"placement": int(placement[1]) if placement else None, "rank": block.get("rank"), "place in ranks": listed_rank}
    return {field: rank for field, rank in ranks.items() if rank is not None}


def _covered_once(table: TorchRecTable, shards: Sequence[TableShard]) -> bool:
    """Return whether each element of a table lies in exactly one shard.

    Shards have as many elements as the table, lie inside of it, and no two shards overlap.
    """
    covered = total(shard.rows * shard.columns for shard in shards)
    row, column = (np.array([getattr(shard, f"{side}_offset") for shard in shards]) for side in ("row", "column"))
    row_end, column_end = (
        start + np.array([getattr(shard, side) for shard in shards]) for start, side in ((row, "rows"), (column, "columns"))
    )
    if covered != table.rows * table.dim or (row_end > table.rows).any() or (column_end > table.dim).any():
        return False
    filled_shards = np.flatnonzero((row_end > row) & (column_end > column))
    return all(
        (
            (row[filled_shards] < row_end[shard])
            & (row[shard] < row_end[filled_shards])
            & (column[filled_shards] < column_end[shard])
            & (column[shard] < column_end[filled_shards])
        ).sum()
        == 1
        for shard in filled_shards
    )


def _usual_shards(table: TorchRecTable, sharding_type: str, ranks: Sequence[int], layout: RankLayout) -> list[TableShard]:
    """Return the shards that TorchRec makes of a table by its type and ranks alone."""
    if sharding_type == GRID or (not ranks and sharding_type != ROW_WISE):
        raise _plan_error(table, "neither shards nor ranks say where it lies")
    if sharding_type not in (ROW_WISE, TABLE_ROW_WISE):
        return [*plan_shards(table, tuple((rank,) for rank in ranks))]
    if sharding_type == TABLE_ROW_WISE and len(ranks) == 1:
        ranks = layout.node_ranks(ranks[0])
    run = ranks or range(layout.num_ranks)
    blocks = zip(run, row_blocks(table.rows, len(run)), strict=True)
    return [TableShard(rows, table.dim, first_row, 0, rank) for rank, (rows, first_row) in blocks]


def _read_cache(table: TorchRecTable, params: Any) -> CacheSettings:
    """Return a table's cache; a setting that the plan lacks is TorchRec's default."""
    fields = params if isinstance(params, dict) else {}
    share = fields.get("load_factor")
    share = DEFAULT_LOAD_FACTOR if share is None else share
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
        raise _plan_error(table, f"load_factor is {str(share)[:40]}; write a share of rows above 0 and up to 1")
    algorithm = str(fields.get("algorithm") or "LRU").rpartition(".")[2].upper()
    return CacheSettings("LFU" if algorithm == "LFU" else "LRU", float(share), fields.get("prefetch_pipeline") is True)


def _is_count(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 10**12


def _plan_error(table: TorchRecTable, fact: str) -> BadInput:
    return BadInput(f"The plan of table {table.name[:60]!r}: {fact}.")
