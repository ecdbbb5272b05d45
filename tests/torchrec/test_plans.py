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
from engine.torchrec.plan_json import plan_content, read_plan
from engine.torchrec.sharding_plan import (
    RankLayout,
    TableSharding,
    plan_knob,
    plans_by_table,
    table_plan_of,
    table_sharding,
    torchrec_table_plan,
)
from tests.cases import each, examples

LAYOUT = RankLayout(8, 4)
TABLE = TorchRecTable("t", 1003, 100, "fp16", ("f",))


def sharding(entry: str, table: TorchRecTable = TABLE, layout: RankLayout = LAYOUT) -> TableSharding:
    """Return TorchRec's sharding of a table by an entry of `policy.plan`."""
    (own,) = plans_by_table(parse_plan(entry, 1, layout.num_ranks), 1)
    return table_sharding(table, torchrec_table_plan(table, own, layout), TableKernel(FUSED), layout)


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
        ("2-5", "row_wise", [*range(8)]),
        ("0-3/4-7", "grid_shard", [*range(8)]),
        ("0-3/5", "row_wise", [*range(8)]),
        ("0-1/2-3", "table_row_wise", [0, 1, 2, 3]),
        ("0-1/2", "row_wise", [*range(8)]),
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
    assert [shard.rows for shard in sharding("2-4").shards] == [0, 0, *block_split(1003, 3), 0, 0, 0]
    assert [shard.rows for shard in sharding("0+0+1").shards] == [670, 333, 0, 0, 0, 0, 0, 0]


def test_columns_are_cut_at_whole_vectors_of_each_tables_own_width() -> None:
    def widths(dim: int, ranges: int) -> list[int]:
        entry = "/".join(map(str, range(ranges)))
        return [shard.columns for shard in sharding(entry, TABLE._replace(dim=dim)).shards]

    assert (widths(100, 3), widths(64, 2), widths(128, 4), widths(10, 3)) == ([36, 32, 32], [32, 32], [32] * 4, [4, 3, 3])
    assert [shard.columns for shard in sharding("0/1/2", TABLE._replace(dim=2)).shards] == [2] * 8  # too few: rows instead


def tiles(found: TableSharding, table: TorchRecTable) -> bool:
    """Return whether shards cover each row and column of a table once."""
    cells = [
        (row, column)
        for shard in found.shards
        for row in range(shard.row_offset, shard.row_offset + shard.rows)
        for column in range(shard.column_offset, shard.column_offset + shard.columns)
    ]
    return sorted(cells) == [(row, column) for row in range(table.rows) for column in range(table.dim)]


@examples(60)
@given(st.data())
def test_any_plan_tiles_its_tables_and_is_read_back(data: st.DataObject) -> None:
    local, nodes = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))
    layout = RankLayout(local * nodes, local)
    rank = st.integers(0, layout.num_ranks - 1)
    runs = st.one_of(
        rank.map(lambda one: (one,)),
        st.sets(rank, min_size=1).map(lambda ranks: tuple(sorted(ranks))),
        st.integers(0, nodes - 1).map(lambda node: tuple(range(node * local, node * local + local))),
    )
    tables, entries = [], []
    for number in range(data.draw(st.integers(1, 3))):
        tables.append(TABLE._replace(name=f"t{number}", rows=data.draw(st.integers(1, 30)), dim=data.draw(st.integers(1, 12))))
        entries.append(tuple(data.draw(st.lists(runs, min_size=1, max_size=3))))
    possible = [torchrec_table_plan(table, entry, layout) for table, entry in zip(tables, entries, strict=True)]
    plan = [table_sharding(table, entry, TableKernel(FUSED), layout) for table, entry in zip(tables, possible, strict=True)]
    assert all(tiles(found, table) for found, table in zip(plan, tables, strict=True))
    assert {rank for entry in entries for run in entry for rank in run} == {
        rank for entry in possible for run in entry for rank in run
    }
    back = read_plan(json.dumps(plan_content(plan, layout.ranks_per_node)), tables, layout)
    for table, found, mine, entry in zip(tables, back, plan, possible, strict=True):
        assert sorted(found.shards) == sorted(mine.shards) and found[:3] == mine[:3]
        with_rows = (run[: -(-table.rows // -(-table.rows // len(run)))] for run in entry)
        assert table_plan_of(found) == tuple(with_rows)
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
            {"sharding_spec": {"shards": [{"shard_sizes": [1003, 100], "shard_offsets": [0, 0], "placement": "rank:7/cuda:3"}]}},
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
