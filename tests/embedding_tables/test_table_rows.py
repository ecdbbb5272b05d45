"""A row of results for each table: do bytes, hits and times add up to those of the whole, and are hits those of a cache?"""

import json
from collections import OrderedDict
from dataclasses import replace

import numpy as np
import pytest

from engine.__main__ import main
from engine.embedding_tables.table_rows import table_rows, times_finding, times_note
from engine.estimate import estimate
from engine.registry import variant_names
from engine.scenario.presets import preset
from engine.scenario.scenario import per_table, with_values
from engine.schedule.machine import settle
from engine.systems.system import cache_policy
from engine.systems.traffic import table_bytes
from engine.workload.batch import offsets
from engine.workload.caching.expected_cache import expected_moves
from engine.workload.source import source
from tests.cases import each
from tests.embedding_tables.unlike_tables import mixed_scenario
from tests.machines import TINY

TIME, HITS = "Embedding time [ms]", "Hit rate [%]"


def rows_of(s, called=()):
    result = estimate(s)
    return result, table_rows(result, called)


@each("system", variant_names("systems"), few=8)
@each("alike", (True, False))
def test_bytes_lookups_and_times_of_all_tables_are_those_of_the_machine(system, alike):
    s = with_values(TINY if alike else mixed_scenario(7), {"system": system, "policy.cache_load_factor": 0.3})
    result, rows = rows_of(s)
    assert result.ran, result.outcome
    assert sum(row["Size [GB]"] for row in rows) == pytest.approx(table_bytes(s) / 1e9)
    assert [row["Lookups a batch"] for row in rows] == [s.data.batch_size * bags for bags in per_table(s.model, "pooling")]
    assert all(0 < row["Unique rows a batch"] <= min(row["Rows"], row["Lookups a batch"]) * (1 + 1e-9) for row in rows)
    busy = {}
    for row in result.breakdown:
        if row["Stage"] == "Embedding":
            busy[row["Device"]] = busy.get(row["Device"], 0.0) + row["Busy [s]"]
    assert sum(row[TIME] for row in rows) == pytest.approx(1e3 * max(busy.values()))
    assert times_note(result) and times_finding(rows)
    cache = settle(s).system.cache
    if cache:
        settled = settle(s).scenario
        moved = expected_moves(settled, cache_policy(settled, cache), cache.rows(settled), cache.at_once(settled))
        missed = sum(row["Lookups a batch"] * (1 - row[HITS] / 100) for row in rows)
        assert missed == pytest.approx(moved.missed_lookups, rel=0.01, abs=0.01)


def test_tables_alike_share_alike_and_one_of_twice_the_lookups_takes_more():
    s = with_values(
        TINY, {"model.num_tables": 4, "model.num_embeddings": (10**6,), "model.pooling": (1,), "data.popularity": "uniform"}
    )
    times = [row[TIME] for row in rows_of(s)[1]]
    assert times == pytest.approx([times[0]] * 4)
    times = [row[TIME] for row in rows_of(with_values(s, {"model.pooling": (1, 1, 2, 1)}))[1]]
    assert times[2] == pytest.approx(2 * times[0], rel=0.02)


def test_wider_rows_take_more_of_the_time():
    shape = {"model.num_tables": 2, "model.num_embeddings": (10**5,), "model.pooling": (5,), "model.embedding_dim": (8, 512)}
    s = with_values(TINY, {**shape, "model.interaction": "concat", "system": "pmem"})
    narrow, wide = (row[TIME] for row in rows_of(s)[1])
    assert wide > 3 * narrow


def missed_by_table(s, capacity, batches=60, warm=30):
    """Return the share of each table's lookups that miss an LRU cache that serves whole batches, their lookups shuffled."""
    held, missed, all_lookups, origin = OrderedDict(), np.zeros(s.model.num_tables), np.zeros(s.model.num_tables), source(s)
    shuffle = np.random.default_rng(1).permutation
    for n in range(batches):
        ids = shuffle(origin.ids(n))
        table = np.searchsorted(offsets(s.model), ids, side="right") - 1
        if n >= warm:
            absent = np.array([row not in held for row in ids.tolist()])
            missed += np.bincount(table[absent], minlength=len(missed))
            all_lookups += np.bincount(table, minlength=len(missed))
        for row in dict.fromkeys(ids.tolist()):
            held[row] = None
            held.move_to_end(row)
        while len(held) > max(capacity, len(set(ids.tolist()))):
            held.popitem(last=False)
    return missed / all_lookups


@pytest.mark.slow
def test_hits_by_table_are_those_of_a_cache_that_is_filled_and_counted():
    s = with_values(
        mixed_scenario(6, seed=3),
        {"system": "ssd", "policy.cache_load_factor": 0.05, "data.batch_size": 64, "data.popularity": "zipf"},
    )
    capacity = 0.05 * sum(per_table(s.model, "num_embeddings"))
    expected = np.array([row[HITS] / 100 for row in rows_of(s)[1]])
    counted = 1 - missed_by_table(s, capacity)
    assert np.ptp(counted) > 0.2, "tables of which one is as good as another show nothing"
    assert expected == pytest.approx(counted, abs=0.03)


def test_hot_rows_serve_the_lookups_of_what_they_hold():
    s = with_values(mixed_scenario(5), {"system": "fae", "policy.hot_rows_MiB": 0.05})
    hits = [row[HITS] for row in rows_of(s)[1]]
    assert all(0 <= hit <= 100 for hit in hits) and min(hits) < 90
    assert [row[HITS] for row in rows_of(with_values(s, {"policy.hot_rows_MiB": 1e6}))[1]] == pytest.approx([100.0] * 5)
    near = [
        row[HITS]
        for row in rows_of(with_values(mixed_scenario(5), {"system": "cold-in-dram", "policy.cache_load_factor": 0.1}))[1]
    ]
    assert all(0 < hit <= 100 for hit in near) and min(near) < 90


def test_each_table_says_which_parts_have_it_by_the_plan_in_force():
    plan = {"system": "all-hbm", "machine.num_gpus": 8, "policy.plan": "3;0-7;0/1;2+5;0-1/6-7"}
    rows = rows_of(with_values(mixed_scenario(5), plan))[1]
    assert [row["Parts"] for row in rows] == [
        "GPU 3",
        "GPUs 0 to 7, by rows",
        "GPUs 0, 1, by columns",
        "GPUs 2, 5, by rows",
        "GPUs 0, 1, 6, 7, by columns and rows",
    ]
    evenly = with_values(mixed_scenario(5), {"system": "remote-no-cache", "machine.embedding_servers": 4})
    assert {row["Parts"] for row in rows_of(evenly)[1]} == {"4 servers, evenly"}
    assert {row["Parts"] for row in rows_of(with_values(mixed_scenario(5), {"system": "fae"}))[1]} == {""}


def test_each_table_says_in_which_memory_it_lies():
    s = with_values(
        preset("dlrm-kaggle").scenario,
        {
            "system": "mtrains",
            "machine.gpu": "h100-sxm",
            "model.num_tables": 3,
            "model.num_embeddings": (1000, 3 * 10**9 // 2, 4 * 10**10),
            "policy.cache_load_factor": 0.001,
            "machine.host_dram_GiB": 128,
            "run.training": False,
        },
    )
    result, rows = rows_of(s)
    assert result.ran, result.outcome
    assert [row["Memory"] for row in rows] == ["HBM", "host DRAM", "drives"]
    assert [row[HITS] is None for row in rows] == [True, True, False], "only what lies on drives is behind a cache"
    assert {row["Memory"] for row in rows_of(with_values(TINY, {"system": "cxl"}))[1]} == {"PMEM"}


def test_what_cannot_run_has_no_rows():
    s = with_values(TINY, {"system": "cxl", "machine.num_gpus": 16})
    result, rows = rows_of(s)
    assert not result.ran and rows == () and times_note(result) == ""


def test_the_command_line_adds_tables_to_what_a_result_has_in_json(capsys):
    assert main(["run", "--estimate", "--preset", "tiny", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    s = preset("tiny").scenario
    assert {*found} == {*estimate(s).as_json(), "tables", "bill"} and len(found["tables"]) == s.model.num_tables
    assert [*found["tables"][0]][:6] == ["Table", "Rows", "Dim", "Lookups", "Precision", "Optimizer"]
    assert [row["Table"] for row in table_rows(replace(estimate(s)), ["a"] * s.model.num_tables)] == ["a"] * s.model.num_tables


@each(
    ("times", "found"),
    [
        ((1.0, 8.0, 1.0), "Table b takes 80 % of the embedding time, with 20 % of the bytes"),
        ((3.0, 3.0, 2.0, 2.0), "2 of 4 tables take 60 % of the embedding time, with 30 % of the bytes"),
        ((0.0, 0.0), "2 tables of 3.00 GB"),
    ],
)
def test_the_finding_counts_the_tables_that_take_half_of_the_time(times, found):
    rows = [
        {"Table": "abcd"[n], TIME: time, "Size [GB]": float((1, 2, 7 if len(times) == 3 else 3, 4)[n])}
        for n, time in enumerate(times)
    ]
    assert times_finding(rows) == found
