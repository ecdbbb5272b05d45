"""Is a plan of ours written as TorchRec has it, shard by shard, and read back to what it was?"""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadInput
from engine.systems.sharding import parse_plan
from engine.torchrec.embedding_tables import TorchRecTable
from engine.torchrec.kernels import FUSED, FUSED_UVM_CACHING, CacheSettings, TableKernel
from engine.torchrec.layout_rules import RankLayout, plan_fault, table_forms
from engine.torchrec.plan_json import plan_content, read_plan
from engine.torchrec.sharding_plan import (
    TableSharding,
    checked_forms,
    plan_knob,
    plans_by_table,
    plans_by_way,
    table_plan_of,
    table_sharding,
)
from tests.cases import each, examples

LAYOUT = RankLayout(8, 4)
TABLE = TorchRecTable("t", 1003, 100, "fp16", ("f",))


def sharding(entry: str, table: TorchRecTable = TABLE, layout: RankLayout = LAYOUT) -> TableSharding:
    """Return TorchRec's sharding of a table by an entry of `policy.plan`."""
    (own,) = plans_by_table(parse_plan(entry, 1, layout.num_ranks), 1)
    assert plan_fault(table, own, layout) == ""
    return table_sharding(table, own, TableKernel(FUSED), layout)


def block_split(rows: int, ranks: int) -> list[int]:
    """Return TorchRec's rows of each rank, as its documentation gives them: 10 over 4 ranks are 3, 3, 3, 1."""
    block = (rows + ranks - 1) // ranks
    return [max(0, min(block, rows - block * rank)) for rank in range(ranks)]


@each(
    ("entry", "name", "ranks"),
    [
        ("3", "table_wise", [3]),
        ("0/5", "column_wise", [0, 5]),
        ("5/7/4", "table_column_wise", [5, 7, 4]),
        ("5/5", "column_wise", [5, 5]),
        ("0-7", "row_wise", [*range(8)]),
        ("4-7", "table_row_wise", [4, 5, 6, 7]),
        ("0-3/4-7", "grid_shard", [*range(8)]),
        ("4-7/4-7", "grid_shard", [4, 5, 6, 7] * 2),
    ],
)
def test_an_entry_has_torchrecs_name_and_ranks(entry: str, name: str, ranks: list[int]) -> None:
    found = sharding(entry)
    assert (found.sharding_type, [*found.ranks]) == (name, ranks)


def test_rows_go_over_ranks_in_torchrecs_blocks() -> None:
    for rows in (1, 5, 8, 10, 1003):
        table = TABLE._replace(rows=rows)
        assert [shard.rows for shard in sharding("0-7", table).shards] == block_split(rows, 8)
        assert [shard.rows for shard in sharding("4-7", table).shards] == block_split(rows, 4)
        for shard in sharding("0-7", table).shards:
            block = -(-rows // 8)
            assert all(row // block == shard.rank for row in range(shard.row_offset, shard.row_offset + shard.rows))


@each("entry", ["2-5", "0+0+1", "0-3/5", "0-1/2-3", "0-1/2", "0-6", "0+0+1+2+3+4+5+6", "2-3+4-5", "0-7/0-7", "0-3/2-5"])
def test_rows_over_other_ranks_than_all_or_a_nodes_are_no_plan_of_torchrecs(entry: str) -> None:
    (own,) = plans_by_table(parse_plan(entry, 1, 8), 1)
    assert plan_fault(TABLE, own, LAYOUT).startswith("its rows lie on some ranks only")


@each(
    ("entry", "rows", "dim", "fault"),
    [
        ("3", 100, 10, "rank 3 has a shard of 10 columns, but kernels take multiples of 4"),
        ("0/1/2", 100, 8, "rank 0 has a shard of 3 columns"),
        ("2/1", 100, 2052, "rank 2 has a shard of 1,028 columns, but kernels take at most 1,024"),
        ("2/1", 100, 2048, ""),
        ("5", 2**31, 64, "rank 5 has a shard of 2,147,483,648 rows, but kernels take at most 2,147,483,647"),
        ("5", 2**31 - 1, 64, ""),
        ("4-7", 2**33 - 4, 64, ""),
        ("4-7", 2**33 - 3, 64, "rank 4 has a shard of 2,147,483,648 rows"),
    ],
)
def test_shards_that_no_kernel_takes_are_no_plan_of_torchrecs(entry: str, rows: int, dim: int, fault: str) -> None:
    (own,) = plans_by_table(parse_plan(entry, 1, 8), 1)
    assert plan_fault(TABLE._replace(rows=rows, dim=dim), own, LAYOUT).startswith(fault)
    assert bool(fault) == bool(plan_fault(TABLE._replace(rows=rows, dim=dim), own, LAYOUT))


def test_a_table_too_wide_or_too_long_for_one_rank_goes_the_ways_that_remain() -> None:
    ways = {
        (100, 2048): {"column-wise", "columns over a node's ranks", "columns over nodes, rows over their ranks"},
        (2**31, 64): {"row-wise", "rows over a node's ranks", "columns over nodes, rows over their ranks"},
        (2**33, 64): {"row-wise"},
        (2**31, 2048): {"columns over nodes, rows over their ranks"},
    }
    for (rows, dim), remaining in ways.items():
        assert {*table_forms(TABLE._replace(rows=rows, dim=dim), LAYOUT, 0)} == remaining
    assert table_forms(TABLE._replace(rows=100, dim=4096), RankLayout(1, 1), 0) == {
        way: ((0,),) * 4 for way in ("column-wise", "columns over a node's ranks", "columns over nodes, rows over their ranks")
    }


@each(
    ("rows", "dim", "said"),
    [
        (100, 10, "'t' has 10 columns, but TorchRec's kernels take multiples of 4; set embedding_dim to 12."),
        (100, 1, "set embedding_dim to 4."),
        (2**34, 64, "17,179,869,184 rows of 64 columns, but TorchRec's kernels take at most 2,147,483,647 rows"),
        (2**33, 2048, "8,589,934,592 rows of 2,048 columns"),
    ],
)
def test_a_table_that_no_way_can_train_is_refused(rows: int, dim: int, said: str) -> None:
    with pytest.raises(BadInput) as refused:
        checked_forms(TABLE._replace(rows=rows, dim=dim), LAYOUT)
    assert said in str(refused.value)


def test_a_plan_in_the_place_of_another_changes_the_tables_that_must_or_all() -> None:
    tables = [TABLE._replace(name=name, dim=dim) for name, dim in (("kept", 64), ("rows", 64), ("wide", 2048))]
    plans = plans_by_way(tables, [((3,),), ((0, 1),), ((2,),)], LAYOUT)
    assert plans["these go row-wise"][:2] == [((3,),), (tuple(range(8)),)]
    assert plans["these go row-wise"][2] == tuple((rank,) for rank in range(8)), "too wide for row-wise: its first way"
    assert plans["all tables go rows over a node's ranks"][:2] == [((0, 1, 2, 3),), ((4, 5, 6, 7),)]
    assert all(
        not plan_fault(table, plan, LAYOUT) for by_table in plans.values() for table, plan in zip(tables, by_table, strict=True)
    )


def test_columns_are_cut_at_whole_vectors_of_each_tables_own_width() -> None:
    def widths(dim: int, ranges: int) -> list[int]:
        entry = "/".join(map(str, range(ranges)))
        return [shard.columns for shard in sharding(entry, TABLE._replace(dim=dim)).shards]

    assert (widths(100, 3), widths(64, 2), widths(128, 4), widths(12, 2)) == ([36, 32, 32], [32, 32], [32] * 4, [8, 4])


def tiles(found: TableSharding, table: TorchRecTable) -> bool:
    """Return whether shards cover each row and column of a table once."""
    cells = [
        (row, column)
        for shard in found.shards
        for row in range(shard.row_offset, shard.row_offset + shard.rows)
        for column in range(shard.column_offset, shard.column_offset + shard.columns)
    ]
    return sorted(cells) == [(row, column) for row in range(table.rows) for column in range(table.dim)]


@examples(30)
@given(st.data())
def test_any_plan_tiles_its_tables_and_is_read_back(data: st.DataObject) -> None:
    local, nodes = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))
    layout = RankLayout(local * nodes, local)
    tables, possible = [], []
    for number in range(data.draw(st.integers(1, 3))):
        dim = 4 * data.draw(st.integers(1, 12)) + data.draw(st.sampled_from((0, 1100)))
        tables.append(TABLE._replace(name=f"t{number}", rows=data.draw(st.integers(1, 30)), dim=dim))
        forms = table_forms(tables[-1], layout, data.draw(st.integers(0, 20)))
        possible.append(data.draw(st.sampled_from([*forms.values()])))
    plan = [table_sharding(table, entry, TableKernel(FUSED), layout) for table, entry in zip(tables, possible, strict=True)]
    assert all(tiles(found, table) for found, table in zip(plan, tables, strict=True))
    back = read_plan(json.dumps(plan_content(plan, layout.ranks_per_node)), tables, layout)
    for found, mine, entry in zip(back, plan, possible, strict=True):
        assert found == mine and table_plan_of(found) == entry
    text = plan_knob(possible)
    assert plans_by_table(parse_plan(text, len(tables), layout.num_ranks), len(tables)) == tuple(possible)


def test_a_plan_is_written_as_torchrec_dumps_its_own() -> None:
    cache = CacheSettings("LFU", 0.2, True)
    found = table_sharding(TABLE, ((5,), (6,)), TableKernel(FUSED_UVM_CACHING, cache), LAYOUT)
    assert plan_content([found], 4, "sparse") == {
        "plan": {
            "sparse": {
                "t": {
                    "sharding_type": "table_column_wise",
                    "compute_kernel": "fused_uvm_caching",
                    "ranks": [5, 6],
                    "shards": [
                        {"shard_offsets": [0, 0], "shard_sizes": [1003, 52], "placement": "rank:5/cuda:1"},
                        {"shard_offsets": [0, 52], "shard_sizes": [1003, 48], "placement": "rank:6/cuda:2"},
                    ],
                    "cache_params": {"algorithm": "LFU", "load_factor": 0.2, "prefetch_pipeline": True},
                }
            }
        }
    }


def dumped(**fields: Any) -> str:
    return json.dumps(
        {"plan": {"ebc": {"t": {"sharding_type": "table_wise", "compute_kernel": "fused", "ranks": [1], **fields}}}}
    )


@each(
    ("fields", "entry"),
    [
        ({}, "1"),
        ({"ranks": None, "shards": [{"size": [1003, 100], "offset": [0, 0], "rank": 6}]}, "6"),
        (
            {
                "ranks": [7],
                "sharding_spec": {
                    "shards": [{"shard_sizes": [1003, 100], "shard_offsets": [0, 0], "placement": "rank:7/cuda:3"}]
                },
            },
            "7",
        ),
        ({"sharding_type": "row_wise", "ranks": None}, "0-7"),
        ({"sharding_type": "table_row_wise", "ranks": [4]}, "4-7"),
        ({"sharding_type": "column_wise", "ranks": [2, 0]}, "2/0"),
        ({"sharding_type": "data_parallel", "compute_kernel": "dense", "ranks": [*range(8)]}, "0-7"),
    ],
)
def test_a_plan_of_torchrecs_is_read_however_it_names_its_shards(fields: dict[str, Any], entry: str) -> None:
    (found,) = read_plan(dumped(**fields), [TABLE], LAYOUT)
    assert plan_knob([table_plan_of(found)]) == entry


def test_a_plan_is_read_without_its_outer_maps_too() -> None:
    table = json.loads(dumped())["plan"]["ebc"]
    assert read_plan(json.dumps(table), [TABLE], LAYOUT) == read_plan(dumped(), [TABLE], LAYOUT)
    (cached,) = read_plan(dumped(compute_kernel="fused_uvm_caching", cache_params={"load_factor": 0.3}), [TABLE], LAYOUT)
    assert cached.cache == CacheSettings("LRU", 0.3, False)


@each(
    ("text", "said"),
    [
        ("{", "not valid JSON"),
        ('{"a":' * 10**5, "nested too deeply"),
        ("[]", "not a map of tables"),
        ('{"plan": {"ebc": {"t": {"ranks": [0]}}}}', "not a map of tables"),
        ("{}", "lacks 1 table of 1, such as 't'"),
        (dumped().replace('"t"', '"u"'), "lacks 1 table"),
        (json.dumps({"t": json.loads(dumped())["plan"]["ebc"]["t"], "u": {"sharding_type": "table_wise"}}), "'u', which is not"),
        (dumped(sharding_type="diagonal"), "sharding_type is 'diagonal'"),
        (dumped(compute_kernel="quant"), "compute_kernel is 'quant'"),
        (dumped(ranks=[8]), "rank 8, but there are 8"),
        (dumped(ranks=[1, 2]), "table_wise with 2 shards"),
        (dumped(sharding_type="row_wise", ranks=[0, 1, 2, 3]), "rank 4 lacks a shard: row_wise has one on each of ranks 0 to 7"),
        (dumped(sharding_type="table_row_wise", ranks=[2, 3, 4, 5]), "rank 2 is out of place: table_row_wise has one on each"),
        (
            dumped(ranks=[1], shards=[{"size": [1003, 100], "offset": [0, 0], "placement": "rank:2/cuda:2"}]),
            "'t': shard 0 lies on rank 2 by its placement but rank 1 by its place in ranks",
        ),
        (
            dumped(ranks=None, shards=[{"size": [1003, 100], "offset": [0, 0], "rank": 3, "placement": "rank:2/cuda:2"}]),
            "rank 2 by its placement but rank 3 by its rank;",
        ),
        (dumped(ranks=[1, 2], shards=[{"size": [1003, 100], "offset": [0, 0], "rank": 1}]), "name 2 ranks for 1 shard"),
        (dumped(ranks="all"), "ranks are all"),
        (dumped(ranks=[]), "neither shards nor ranks"),
        (dumped(shards=[{"size": [1003, 99], "offset": [0, 0], "rank": 0}]), "do not cover its 1,003 rows of 100 columns"),
        (dumped(shards=[{"size": [1003, 100], "offset": [1, 0], "rank": 0}]), "do not cover"),
        (dumped(shards=[{"size": [1003, 50], "offset": [0, 0], "rank": rank} for rank in (0, 1)]), "do not cover"),
        (
            dumped(
                shards=[
                    {"size": size, "offset": offset, "rank": 0}
                    for size, offset in (([1003, 50], [0, 0]), ([0, 50], [0, 50]), ([1003, 50], [0, 25]))
                ]
            ),
            "do not cover",
        ),
        (dumped(shards=[{"size": [1003], "offset": [0, 0], "rank": 0}]), "shard 0 needs shard_sizes"),
        (dumped(ranks=[], shards=[{"size": [1003, 100], "offset": [0, 0]}]), "shard 0 has no rank"),
        (dumped(compute_kernel="fused_uvm_caching", cache_params={"load_factor": 2}), "load_factor is 2"),
    ],
)
def test_a_plan_that_does_not_fit_the_tables_is_refused(text: str, said: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_plan(text, [TABLE], LAYOUT)
    assert said in str(refused.value)


def test_a_plan_of_too_many_tables_for_the_knob_is_refused() -> None:
    with pytest.raises(BadInput, match=r"characters as policy\.plan"):
        plan_knob([((rank % 2, 3, 5, 7),) for rank in range(20_000)])


def listed(sharding_type: str, *blocks: tuple[int, int, int, int, int]) -> str:
    """Return a plan of the table with shards of rows, columns, first row, first column and rank."""
    shards = [
        {"shard_sizes": [rows, columns], "shard_offsets": [row, column], "placement": f"rank:{rank}/cuda:{rank % 4}"}
        for rows, columns, row, column, rank in blocks
    ]
    return dumped(sharding_type=sharding_type, ranks=[rank for *_, rank in blocks], shards=shards)


EVEN = [(126, 100, 126 * rank, 0, rank) for rank in range(7)] + [(121, 100, 882, 0, 7)]
NODE = [(251, 100, 251 * rank, 0, 4 + rank) for rank in range(3)] + [(250, 100, 753, 0, 7)]
GRID = [(rows, 52 if node else 48, row, 48 * node, rank - 4 + 4 * node) for node in (0, 1) for rows, _, row, _, rank in NODE]


@each(
    ("text", "said"),
    [
        (
            listed("row_wise", (502, 100, 0, 0, 0), (501, 100, 502, 0, 1), *((0, 100, 1003, 0, rank) for rank in range(2, 8))),
            "table 't': rank 0 has rows 0 to 501, but TorchRec looks for rows 0 to 125 there",
        ),
        (listed("row_wise", EVEN[1], EVEN[0], *EVEN[2:]), "rank 1 is out of place: row_wise has one on each of ranks 0 to 7"),
        (listed("row_wise", (127, 100, 0, 0, 0), (125, 100, 127, 0, 1), *EVEN[2:]), "rank 0 has rows 0 to 126"),
        (
            listed("row_wise", *((rows, 50, row, 50 * half, rank) for half in (0, 1) for rows, _, row, _, rank in EVEN)),
            "grid_shard",
        ),
        (listed("table_row_wise", (502, 100, 0, 0, 4), (501, 100, 502, 0, 5)), "rank 6 lacks a shard"),
        (listed("table_row_wise", *NODE[::-1]), "rank 7 is out of place"),
        (listed("grid_shard", *GRID[4:], *GRID[1::-1], *GRID[2:4]), "rank 1 is out of place"),
        (
            listed("grid_shard", *((*block[:4], block[4] % 4) for block in (*GRID[:4], *GRID[4:][:1])), *GRID[5:]),
            "out of place",
        ),
        (
            listed(
                "grid_shard", GRID[0], (*GRID[4][:4], 0), (*GRID[5][:4], 1), *GRID[1:4], *((*b[:4], b[4] - 4) for b in GRID[6:])
            ),
            "rank 1 lists its ranges of columns in another order",
        ),
        (listed("column_wise", (500, 100, 0, 0, 0), (503, 100, 500, 0, 1)), "rank 0 has rows 0 to 499, but TorchRec looks for"),
        (listed("column_wise", (1003, 50, 0, 0, 3), (1003, 50, 0, 50, 1)), "rank 3 has a shard of 50 columns, but kernels take"),
    ],
)
def test_a_plan_whose_rows_torchrec_would_look_for_elsewhere_is_refused(text: str, said: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_plan(text, [TABLE], LAYOUT)
    assert said in str(refused.value)


@each(
    "text",
    [
        listed("row_wise", *EVEN),
        listed("table_row_wise", *NODE),
        listed("grid_shard", *GRID),
        listed("grid_shard", *(block for pair in zip(GRID[:4], GRID[4:], strict=True) for block in pair)),
        listed("column_wise", (1003, 52, 0, 48, 1), (1003, 48, 0, 0, 1)),
        listed("table_column_wise", (1003, 48, 0, 0, 1), (1003, 52, 0, 48, 6)),
    ],
)
def test_a_plan_in_torchrecs_own_blocks_is_read_in_any_order_that_torchrec_takes(text: str) -> None:
    (found,) = read_plan(text, [TABLE], LAYOUT)
    assert tiles(found, TABLE)
