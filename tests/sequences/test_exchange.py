"""Vectors of histories between GPUs: unpooled, once a row with input dedup, and on a GPU that can time them."""

import random

import numpy as np
import pytest

from engine.amounts.expected import expected_amounts
from engine.errors import BadKnob
from engine.estimate import estimate
from engine.estimates import estimates
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import settle
from engine.simulate import simulate
from engine.systems.exchange.sent import sent_pieces, vector_nbytes
from engine.systems.steps.input_dedup import SCATTER, SORT, SUM
from engine.torchrec.answer import read_request
from engine.workload.accesses import sent_share, unique_shares
from tests.cases import each

V4 = preset("dlrm-v4-mi350x").scenario
SMALL = {
    "model.num_embeddings": (2000, 300, 700) + (400,) * 8,
    "model.pooling": (20,) * 3 + (1,) * 8,
    "data.batch_size": 64,
    "data.samples_per_user": 4.0,
    "run.batches": 3,
}
NO_DEDUP = {"policy.input_dedup": False}


def pooled_bytes(**knobs):
    """Return the bytes that cross between GPUs in one way, with rows spread over all of them."""
    return settle(with_values(V4, {**SMALL, **NO_DEDUP, **knobs})).placement.pooled.nbytes


def test_each_vector_of_a_history_leaves_its_owner_once_and_a_bag_leaves_every_owner():
    history_bytes, bag_bytes = 64 * 20 * 3 * 1024, 64 * 8 * 1024
    assert pooled_bytes() == pytest.approx(7 / 8 * history_bytes + 7 * bag_bytes)
    longer = pooled_bytes(**{"model.pooling": (40,) * 3 + (1,) * 8})
    assert longer - pooled_bytes() == pytest.approx(7 / 8 * history_bytes)
    assert pooled_bytes(**{"machine.exchange_precision": "fp32"}) == pytest.approx(2 * pooled_bytes())


@each("way", ["row-wise", "table-wise", "column-wise", "two-level", "planner"])
@each("gpus", [4, 16])
def test_a_plans_pieces_keep_the_bytes_of_all_vectors(way, gpus):
    s = with_values(V4, {**SMALL, "policy.sharding": way, "machine.num_gpus": gpus})
    pieces = settle(s).placement.balance.pieces
    apart = sent_pieces(s, pieces)
    nbytes = vector_nbytes(s)
    before, after = (np.bincount(plan.table, plan.width, minlength=11) for plan in (pieces, apart))
    assert np.allclose(before, after) and nbytes.shape == (11,)
    assert (apart.place[apart.table < 3] >= 0).all()
    bags = with_values(
        preset("dlrm-kaggle").scenario, {"system": "all-hbm", "machine.num_gpus": gpus, "policy.sharding": "row-wise"}
    )
    plan = settle(bags).placement.balance.pieces
    assert sent_pieces(bags, plan) is plan


def test_dedup_sends_each_row_of_a_batch_once_and_costs_a_sort_copies_and_sums():
    s = with_values(V4, SMALL)
    share = unique_shares(s)[:3]
    assert (share < 0.5).all() and sent_share(with_values(s, NO_DEDUP)) == 1
    bags = 7 * 64 * 8 * 1024
    deduped = settle(s).placement.pooled.nbytes - bags
    assert deduped == pytest.approx((pooled_bytes() - bags) * share.mean())
    tasks = {task.name: task for task in graph(s).tasks}
    assert SORT in tasks["Wait for index all-to-all"].predecessors and SUM in tasks["Wait for gradient all-to-all"].predecessors
    assert SCATTER in tasks["History layers"].predecessors and "Pooled all-to-all" not in tasks["History layers"].predecessors
    assert {SORT, SCATTER, SUM}.isdisjoint(task.name for task in graph(with_values(s, NO_DEDUP)).tasks)
    assert {SORT, SCATTER, SUM}.isdisjoint(task.name for task in graph(with_values(s, {"machine.num_gpus": 1})).tasks)


@pytest.mark.parametrize("system", ["cpu-only", "cpu-gpu", "bagpipe", "remote-no-cache"])
def test_dedup_does_nothing_where_hosts_or_servers_send_vectors(system):
    asked = {**SMALL, "system": system, "policy.sharding": None, "machine.matrix_precision": "fp32", "machine.num_gpus": 8}
    on, off = (estimate(with_values(V4, {**asked, "policy.input_dedup": dedup})) for dedup in (True, False))
    assert on.ran and dict(on.results) == dict(off.results)


def graph(s):
    """Return the tasks of a batch of expected traffic."""
    settled = settle(s)
    return settled.system.graph(settled, expected_amounts(settled))


def test_another_model_takes_no_list_of_the_references_tables():
    other = with_values(V4, {"model.name": "dlrm-kaggle"})
    assert other.data.zipf_exponents == other.data.bag_length_cv == () and other.data.history_cap == V4.data.history_cap
    assert with_values(V4, {"model.name": V4.model.name}) == V4


def test_many_points_are_each_as_one_alone():
    draw, axes = (
        random.Random(3),
        {
            "data.batch_size": (256, 1024, 8192),
            "data.history_cap": (3000, 4086, None),
            "data.samples_per_user": (1.0, 8.0, 40.0),
            "model.hstu_layers": (1, 3),
            "model.hstu_dim": (256, 512),
            "model.event_positions": (1, 2),
            "policy.input_dedup": (True, False),
            "policy.balanced_histories": (True, False),
            "machine.attention": ("triton", "fused"),
            "model.pooling": ((100,) * 3 + (1,) * 8, (2628,) * 3 + (1,) * 8),
            "machine.num_gpus": (4, 8, 16),
            "data.bag_length_cv": ((), (0.1,) * 3 + (0.0,) * 8),
            "model.hstu_concat": (True, False),
            "machine.framework": ("pytorch", "dlrm-v4"),
        },
    )
    points = [with_values(V4, {path: draw.choice(settings) for path, settings in axes.items()}) for _ in range(12)]
    for point, result in zip(points, estimates(points), strict=True):
        alone = estimate(point)
        assert (alone.ran, alone.outcome) == (result.ran, result.outcome)
        assert not alone.ran or dict(alone.results) == dict(result.results)


def test_what_cannot_be_answered_is_refused_with_the_remedy():
    replayed = estimate(
        with_values(preset("dlrm-v4-cxl").scenario, {"machine.gpu": "trainingcxl", "machine.matrix_precision": "fp32"})
    )
    assert not replayed.ran and "choose another GPU" in replayed.outcome
    trained = simulate(with_values(V4, {**SMALL, "run.training": True, "model.event_positions": 2}))
    assert not trained.ran and "set run.training=off" in trained.outcome
    with pytest.raises(BadKnob, match=r"model\.feature_kind=bag"):
        read_request(V4, '[{"num_embeddings": 10, "embedding_dim": 8, "feature_names": ["a"]}]')


def test_a_full_run_counts_the_rows_of_a_small_model_of_histories():
    result = simulate(with_values(V4, SMALL))
    assert result.ran and result.results["Step time [ms]"] > 300
