"""Moves: are the bytes of a batch those that the formulas give, and is what leaves one device what reaches the next?"""

from collections import Counter
from math import ceil

import pytest

from engine.amounts.repeats import expected_repeats
from engine.estimate import estimate
from engine.insight.data_movement import data_moves
from engine.registry import variant_names
from engine.scenario.scenario import with_values
from engine.simulate import simulate
from engine.systems.traffic import log_bytes
from engine.units import GB
from engine.workload.accesses import expected_accesses
from tests.cases import each
from tests.machines import PRESETS, SYSTEMS, ready, scenario

B, T, D, L = 128, 26, 16, 26  # preset dlrm-kaggle: samples, tables, elements of a vector, lookups of a sample
MLP = 13 * 512 + 512 + 512 * 256 + 256 + 256 * 64 + 64 + 64 * 16 + 16
SGD = {"model.optimizer": "sgd"}
ONE = {"machine.pmem_capacity_GB": 128.0}  # one Optane module, whose writes are a log's whole time
TOP = (27 * 26 // 2 + 16) * 512 + 512 + 512 * 256 + 256 + 256 + 1


def by_place(asked):
    found = Counter()
    for one in data_moves(asked):
        found[one.place] += one.nbytes
    return found


def by_task(asked):
    return {(one.task, one.device): one.nbytes for one in data_moves(asked)}


@each("system", SYSTEMS, few=14)
@each("name", PRESETS)
def test_what_moves_into_pmem_is_what_the_result_says_was_written(name, system):
    strict = {"policy.mlp_staleness_bound_batches": 0}  # else the run's last log may end half written
    asked = scenario(name, system, **strict)
    found, results = by_place(asked), estimate(asked).results
    written = found["pmem updated"] + found["pmem written"]
    assert written == pytest.approx((results["PMEM written [GB]"] or 0.0) * GB / asked.run.batches, rel=1e-9)


def test_a_batch_of_cxl_d_moves_what_the_formulas_say():
    asked = scenario("optane-kaggle", "cxl-d", **SGD)
    rows, found = float(expected_accesses(asked).unique_rows.sum()), by_place(asked)
    assert (asked.data.batch_size, asked.model.num_tables, asked.model.embedding_dim) == (B, T, D)
    assert found["pmem read"] == found["pmem updated"] == pytest.approx(rows * 4 * D)
    assert found["near-data pooled"] == pytest.approx((2 * B * L + rows) * 4 * D)  # pooled, accumulated, then updated
    assert found["cxl out"] == pytest.approx(B * T * 4 * D)
    assert found["cxl in"] == pytest.approx(8 * B * L + B * T * 4 * D + 4 * (MLP + TOP))
    assert found["pmem written"] == pytest.approx(rows * (4 * D + 8) + 4 * (MLP + TOP) + 4 * 64)


def test_without_near_data_compute_rows_cross_the_link_instead_of_pooled_vectors():
    for dedup in ("memory", "gpu", "off"):
        asked = scenario("trainingcxl-rm1", "cxl-b", **{"machine.near_data_compute": False, "policy.row_dedup": dedup})
        amounts, vector, found = expected_accesses(asked), 4 * asked.model.embedding_dim, by_place(asked)
        lookups, rows = float(amounts.lookups.sum()), float(amounts.unique_rows.sum())
        assert found["cxl out"] == pytest.approx((rows if dedup == "memory" else lookups) * vector)
        assert found["pmem updated"] == pytest.approx((lookups if dedup == "off" else rows) * vector)
        assert not found["near-data pooled"]


@each(("optimizer", "state", "beside"), [("rowwise-adagrad", 1, 1), ("adagrad", D, 1), ("adam", 2 * D, 2)])
def test_optimizer_state_is_updated_logged_and_crosses_where_the_gpu_updates_but_gradients_have_none(optimizer, state, beside):
    asked = scenario("optane-kaggle", "cxl-b", **{"model.optimizer": optimizer})
    rows, found = float(expected_accesses(asked).unique_rows.sum()), by_place(asked)
    row, mlp = 4 * (D + state), 4 * (1 + beside) * (MLP + TOP)
    assert found["pmem updated"] == pytest.approx(rows * row) and found["pmem read"] == pytest.approx(rows * 4 * D)
    assert found["pmem written"] == pytest.approx(rows * (row + 8) + mlp + 4 * 64)
    assert found["cxl in"] == pytest.approx(8 * B * L + B * T * 4 * D + mlp)
    bare = by_place(with_values(asked, {"machine.near_data_compute": False}))
    lines = 64 * ceil(row / 64)
    assert bare["cxl out"] == pytest.approx(rows * lines) and bare["cxl in"] == pytest.approx(8 * B * L + rows * lines + mlp)
    gpus = by_task(scenario("bagpipe-kaggle", "bagpipe", **{"model.optimizer": optimizer}))
    assert gpus["All-reduce", "network"] == by_task(scenario("bagpipe-kaggle", "bagpipe"))["All-reduce", "network"]


@each(("precision", "vector"), [("fp16", 2 * D), ("bf16", 2 * D), ("int8", D + 4)])
def test_narrow_rows_are_read_crossed_logged_and_updated_as_they_are_stored_but_many_recoveries_in_fp32(precision, vector):
    asked = scenario("optane-kaggle", "cxl-b", **{"model.row_precision": precision, "model.optimizer": "rowwise-adagrad"})
    rows, found = float(expected_accesses(asked).unique_rows.sum()), by_place(asked)
    mlp = 8 * (MLP + TOP)
    assert found["pmem read"] == pytest.approx(rows * vector) and found["pmem updated"] == pytest.approx(rows * (vector + 4))
    assert found["pmem written"] == pytest.approx(rows * (vector + 4 + 8) + mlp + 4 * 64)
    assert found["cxl out"] == pytest.approx(B * T * 4 * D) and found["cxl in"] == pytest.approx(8 * B * L + B * T * 4 * D + mlp)
    assert found["near-data pooled"] == pytest.approx((2 * B * L + rows) * 4 * D + 4 * rows)  # of row-wise Adagrad, a word
    bare = by_place(with_values(asked, {"machine.near_data_compute": False}))
    assert bare["cxl out"] == pytest.approx(rows * 64)  # a row of at most 40 B is one line
    moved = B * L * (vector + 4 * D) + B * T * 4 * D + 16 * 8 * B * L  # rows, gradients; pooled vectors; a sort of the indices
    assert bare["gpu pooled"] == pytest.approx(moved)
    host = by_task(with_values(asked, {"system": "pmem"}))
    there, back = (host[f"{way} hand-off", "pcie"] for way in ("Forward", "Backward"))
    assert (there, back) == (pytest.approx(B * L * vector), pytest.approx(B * L * 4 * D))
    full, narrow = (log_bytes(with_values(asked, {"model.row_precision": one})) for one in ("fp32", precision))
    assert full - narrow == 2 * B * L * (4 * D - vector)


@each(("megabytes", "share"), [(1e5, 0.0), (0.2, None), (0.0, 1.0)])
def test_rows_without_a_place_in_the_scratchpad_are_read_and_updated_lookup_by_lookup(megabytes, share):
    asked = scenario("trainingcxl-rm1", "cxl-b", **{"machine.near_data_scratchpad_MB": megabytes})
    amounts, vector, found = expected_accesses(asked), 4 * asked.model.embedding_dim, by_place(asked)
    lookups, rows = float(amounts.lookups.sum()), float(amounts.unique_rows.sum())
    again = expected_repeats(asked, megabytes * 1e6 / vector) if share is None else share * (lookups - rows)
    assert 0 < again < lookups - rows or share is not None
    assert found["pmem read"] == found["pmem updated"] == pytest.approx((rows + again) * vector, rel=1e-5)
    assert found["near-data pooled"] == pytest.approx(lookups * vector * 2 + found["pmem updated"], rel=1e-9)


def test_a_gpu_that_unites_rows_sends_each_gradient_once_and_leaves_the_logic_its_update():
    asked = scenario("trainingcxl-rm1", "cxl-b", **{"policy.row_dedup": "gpu"})
    amounts, vector, found = expected_accesses(asked), 4 * asked.model.embedding_dim, by_place(asked)
    lookups, rows = float(amounts.lookups.sum()), float(amounts.unique_rows.sum())
    assert found["near-data pooled"] == pytest.approx((lookups + rows) * vector)
    assert found["gpu pooled"] == pytest.approx(found["pmem read"] + 16 * 8 * lookups)  # it sorts what it unites
    assert found["pmem updated"] == pytest.approx(rows * vector) and found["pmem read"] == pytest.approx(lookups * vector)


@each(
    ("name", "system", "chain"),
    [
        ("bagpipe-kaggle", "bagpipe", (("Rows over network", "network"), ("Rows over network", "remote"))),
        ("bagpipe-kaggle", "bagpipe", (("Gather remote rows", "remote"), ("Rows to GPU", "pcie"))),
        ("bagpipe-kaggle", "bagpipe", (("Rows from GPU", "pcie"), ("Scatter remote rows", "remote"))),
        (
            "cached-embedding-kaggle",
            "cached-embedding",
            (("Gather missing rows", "host"), ("Missing rows to GPU", "pcie"), ("Scatter missing rows", "gpu")),
        ),
        ("proactive-cold", "cold-in-dram", (("Read cold rows", "dram"), ("Read cold rows", "pcie"))),
        ("dlrm-kaggle", "cxl-b", (("MLP log", "cxl"), ("MLP log", "pmem"))),
        ("dlrm-kaggle", "cxl", (("MLP log", "cxl"), ("MLP log", "pmem"))),
    ],
)
def test_what_leaves_one_device_reaches_the_next(name, system, chain):
    found = by_task(scenario(name, system))
    first, *others = (found[place] for place in chain)
    assert first > 0 and others == [pytest.approx(first, rel=1e-9)] * len(others)


def test_a_log_that_spans_batches_moves_its_share_of_the_mlp_in_each():
    strict, relaxed = (by_task(scenario("optane-kaggle", name, **SGD, **ONE))["MLP log", "pmem"] for name in ("cxl-b", "cxl"))
    assert strict == 4 * (MLP + TOP) and 0 < relaxed < strict / 10


@each("system", variant_names("systems"))
def test_every_task_of_every_system_says_what_it_moves(system):
    found = data_moves(scenario("optane-kaggle", system))
    assert found and all(one.nbytes >= 0 and (one.way or one.nbytes == 0) for one in found)
    assert sum(one.nbytes for one in found if one.way == "updated") > 0


def test_nothing_moves_in_what_does_not_fit():
    assert data_moves(scenario("optane-kaggle", "pmem", **{"machine.pmem_capacity_GB": 1.0, "machine.pmem_module_GB": 1.0})) == ()


@each("system", SYSTEMS)
def test_a_power_loss_loses_in_a_run_what_the_policies_say(system):
    asked = scenario("tiny", system, **{"run.training": False, "run.batches": 60})
    half = simulate(asked).results["Elapsed [s]"] / 2
    lost = simulate(
        scenario("tiny", system, **{"run.training": False, "run.batches": 60, "faults.power_loss_at_seconds": (half,)})
    )
    fault, recovered = lost.events
    says = ready(asked).log_policy.loss_clause
    assert (recovered["Batch"] == 0) == (says == "starts again") and fault["Batch"] > 2
    if says != "starts again":
        assert fault["Batch"] - 1 <= recovered["Batch"] <= fault["Batch"] + 1
        assert ("MLP" in recovered["What"].partition(";")[0].replace("embeddings and MLP", "")) == ("MLP" in says)


def test_a_strict_log_is_drawn_for_as_long_as_it_is_written_though_it_begins_after_the_top_part():
    line = estimate(scenario("optane-kaggle", "cxl-b", **SGD, **ONE)).timeline
    drawn, top = ([row for row in line if row["Task"] == task] for task in ("MLP log", "Top MLP"))
    seconds = 4 * (MLP + TOP) / (2.28 * GB)  # one Optane module's sequential writes
    assert [row["Batch"] for row in drawn] == [row["Batch"] for row in top]
    assert drawn[0]["End [ms]"] - drawn[0]["Start [ms]"] == pytest.approx(seconds * 1e3)
    assert drawn[0]["Start [ms]"] > top[0]["End [ms]"]
