"""Tables of unlike rows: popular rows, cold rows and rows that change over time have their own mix of sizes."""

import numpy as np
import pytest

from engine.amounts.expected import expected_amounts
from engine.amounts.hot_rows import hot_set
from engine.analysis.in_force import find_automatic_value
from engine.campaign.simulate import campaign_terms
from engine.core.row_sizes import mean_bytes
from engine.core.work import RowReads, RowUpdates
from engine.registry import load_variant
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import ready_machine, settle
from engine.systems.exchange.replicas import vector_sent
from engine.systems.row_kinds import kind_bytes, row_kinds
from engine.systems.traffic import cached_rows, mlp_bytes, num_rows, rows_within, table_bytes
from engine.workload.batch import offsets
from engine.workload.caching.expected_cache import hot_split, hot_unique, hottest_by_table, look_ahead_by_table, unique_by_table
from engine.workload.caching.unique_rows import expected_unique, look_ahead_rows
from engine.workload.source import source
from tests.cases import each

TABLES, BATCH = 8, 512
BASE = {
    "model.num_tables": TABLES,
    "model.num_embeddings": (40_000, 500) * 4,  # the large ones are narrow
    "model.embedding_dim": (16, 256) * 4,
    "model.pooling": (1, 1, 3, 3, 2, 2, 5, 5),
    "model.interaction": "concat",
    "model.optimizer": "sgd",
    "data.popularity": "zipf",
    "data.batch_size": BATCH,
    "run.training": False,
    "run.batches": 20,
}


def asked(system, **knobs):
    return with_values(preset("dlrm-kaggle").scenario, {"system": system, **BASE, **knobs})


def by_table(s, ids):
    """Unique rows of some ids by table."""
    return np.diff(np.searchsorted(np.unique(ids), offsets(s.model)))


def by_hand(s, capacity, batches=20):
    """The hot and all unique rows of a mean batch by table, counted from ids."""
    given = source(s)
    hot = hot_set(s, capacity, given)
    first, found = offsets(s.model), []
    for n in range(batches):
        rows = np.unique(given.ids(n))
        table = np.searchsorted(first, rows, side="right") - 1
        is_hot = (rows < hot.run_ends[table]) | np.isin(rows, hot.scattered_rows)
        found.append((by_table(s, rows[is_hot]), by_table(s, rows)))
    return np.mean(found, axis=0)


@each("share", [0.001, 0.02, 0.3])
def test_hot_rows_of_a_batch_by_table_are_those_counted_from_ids(share):
    s = asked("all-hbm")
    hot, _ = by_hand(s, share * num_rows(s))
    found = hot_unique(s, share * num_rows(s))
    assert found == pytest.approx(hot, rel=0.05, abs=2)
    assert found.sum() == pytest.approx(hot_split(s, share * num_rows(s)).hot * expected_unique(s, 1), rel=2e-3)


@each("batches", [1, 7, 20])
def test_rows_that_change_over_batches_by_table_are_those_counted_from_ids(batches):
    s = asked("pmem")
    ids = np.concatenate([source(s).ids(n) for n in range(batches)])
    assert unique_by_table(s, batches) == pytest.approx(by_table(s, ids), rel=0.03, abs=20)
    assert unique_by_table(s, batches).sum() == pytest.approx(expected_unique(s, batches), rel=2e-3)


def test_check_n_run_copies_changed_rows_of_their_own_size():
    s = asked("pmem")
    for period in (None, 10.0):
        plan = campaign_terms(s, "check-n-run", period=period)[0].plan
        elements = np.array([16.0, 256.0] * 4)
        sent = unique_by_table(s, plan.checkpoint_interval) @ (8 + 8 + elements / 2) + mlp_bytes(s)  # 4 bits an element
        assert plan.checkpoint_bytes["remote"] == pytest.approx(sent, rel=2e-3)
        assert plan.checkpoint_bytes["remote"] < table_bytes(s)


@each("system", ["cold-in-dram", "proactive"])
def test_cold_rows_are_what_popularity_leaves_outside_hbm(system):
    s = asked(system, **{"policy.cache_load_factor": 0.03})
    hot, unique = by_hand(s, cached_rows(s))
    cold = unique - hot
    by_count = float(cold @ kind_bytes(s, "row")) / cold.sum()
    settled = settle(s)
    found = mean_bytes(expected_amounts(settled).sizes.far_row)
    assert found == pytest.approx(by_count, rel=0.02)
    assert by_count < 0.8 * float(unique @ kind_bytes(s, "row")) / unique.sum(), "hot rows are the wide ones"
    kept = load_variant("systems", system).places(s)
    assert kept["hbm"] + kept["dram"] == pytest.approx(table_bytes(s))
    hottest_rows = hottest_by_table(s, cached_rows(s))[0]
    assert kept["hbm"] == pytest.approx(float(hottest_rows @ kind_bytes(s, "row")), rel=0.02)
    assert kept["hbm"] > 2 * cached_rows(s) * float(num_rows(s) ** -1 * table_bytes(s)), "as many of all rows are narrower"


def test_hotline_gathers_rows_lookup_by_lookup():
    s = asked("hotline", **{"policy.hot_rows_MiB": 0.2})
    settled = settle(s)
    amounts = expected_amounts(settled)
    tasks = {task.name: task.demands[0].work for task in load_variant("systems", "hotline").plan(settled, amounts)}
    pooling = np.array(BASE["model.pooling"])
    reads, writes = tasks["Gather other rows"], tasks["Write other rows"]
    assert isinstance(reads, RowReads) and isinstance(writes, RowUpdates)
    for work in (reads, writes):
        assert mean_bytes(work.row_bytes) == pytest.approx(float(pooling @ kind_bytes(s, "vector")) / pooling.sum())


@each("system", ["fae", "hotline"])
def test_popular_samples_update_hot_rows(system):
    s = asked(system, **{"policy.hot_rows_MiB": 0.2, "machine.num_gpus": 2})
    settled = settle(s)
    amounts = expected_amounts(settled)
    hot = hot_unique(s, load_variant("systems", system).hot(s))
    row = float(hot @ kind_bytes(s, "row")) / hot.sum()
    assert mean_bytes(amounts.sizes.hot.row) == pytest.approx(row)
    tasks = {task.name: task.demands[0].work for task in load_variant("systems", system).plan(settled, amounts)}
    assert mean_bytes(tasks["Hot update"].row_bytes) == pytest.approx(row)
    assert row > 1.05 * mean_bytes(amounts.row_bytes)


def test_replicated_rows_are_updated_on_each_gpu_by_their_own_size():
    s = asked("all-hbm", **{"machine.num_gpus": 4, "policy.replicated_rows": 0.2, "policy.sharding": "planner"})
    settled = settle(s)
    amounts = expected_amounts(settled)
    copies = settled.placement.replicas
    assert copies.rows
    hot, nbytes = hot_unique(s, copies.rows), kind_bytes(s, "row")
    tasks = {task.name: task.demands[0].work for task in load_variant("systems", "all-hbm").plan(settled, amounts)}
    update, unique = tasks["Embedding update"], unique_by_table(s)
    every = float((unique + 3 * hot) @ nbytes)
    assert float(update.rows[0]) * mean_bytes(update.row_bytes) == pytest.approx(every, rel=5e-3)
    sent = float(hot @ kind_bytes(s, "gradient")) / hot.sum()
    assert float(tasks["Replicated all-reduce"].nbytes[0]) == pytest.approx(float(amounts.replicated_rows[0]) * sent, rel=5e-3)


def test_a_row_has_a_gradient_however_many_features_share_its_table():
    like = with_values(preset("dlrm-kaggle").scenario, {"system": "all-hbm", "model.pooling": 4, "machine.num_gpus": 4})
    shared = with_values(like, {"model.features": 4})
    (kind,), _ = row_kinds(like)
    assert vector_sent(shared, kind.gradient) == vector_sent(like, kind.gradient) == 4 * like.model.embedding_dim
    fixed = {"policy.replicated_rows": 1.0, "policy.sharding": "planner"}
    sent = []
    for s in (with_values(like, fixed), with_values(shared, fixed)):
        settled = settle(s)
        tasks = load_variant("systems", "all-hbm").plan(settled, expected_amounts(settled))
        sent.append(next(task.demands[0].work.nbytes[0] for task in tasks if task.name == "Replicated all-reduce"))
    assert sent[0] == pytest.approx(sent[1])


def test_rows_that_look_ahead_holds_take_their_own_bytes():
    s = asked("bagpipe", **{"policy.look_ahead_batches": 8})
    rows = look_ahead_by_table(s)
    assert rows.sum() == pytest.approx(look_ahead_rows(s), rel=2e-3)
    held = load_variant("systems", "bagpipe").places(s)["hbm"]
    assert held == pytest.approx(s.machine.num_gpus * float(rows @ kind_bytes(s, "row")))
    last, held_rows, first = {}, np.zeros(TABLES), offsets(s.model)
    ids = [np.unique(source(s).ids(n)) for n in range(40)]
    for n, batch in enumerate(ids):
        last |= dict.fromkeys(batch.tolist(), n)
        ahead = set(np.concatenate(ids[n : n + 8]).tolist()) if n == 20 else set()
        mine = np.array(sorted(row for row in ahead if last.get(row, -100) > n - 8), dtype=np.int64)
        held_rows += np.diff(np.searchsorted(mine, first))
    wide = held_rows[1::2].sum() / held_rows.sum()
    assert rows[1::2].sum() / rows.sum() == pytest.approx(wide, abs=0.1)


@each("system", ["all-hbm", "hotline"])
def test_a_budget_of_all_bytes_holds_all_rows(system):
    s = ready_machine(asked(system)).scenario
    assert rows_within(s, table_bytes(s)) == rows_within(s, 2 * table_bytes(s)) == num_rows(s)


def test_the_budget_in_force_gives_back_the_rows_that_it_stands_for():
    knobs = {"machine.num_gpus": 16, "data.batch_size": 65536, "machine.network_bandwidth_GBps": 1.0, "machine.gpus_per_node": 1}
    s = asked("all-hbm", **knobs)
    rows = settle(s).placement.replicas.rows
    assert rows, "these tables are worth copies"
    shown = find_automatic_value(s, "policy.replicated_rows").setting
    again = settle(with_values(s, {"policy.replicated_rows": shown})).placement.replicas.rows
    assert again == pytest.approx(rows, abs=1)
