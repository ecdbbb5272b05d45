"""Are batches well formed, repeatable, local where asked for, and clicked by a teacher that can be learnt?"""

import pickle
from heapq import heappop, heappush
from typing import Any

import numpy as np
import pytest

from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from engine.simulate import simulate
from engine.workload import generator
from engine.workload import generator as teacher
from engine.workload.batch import Batch, bag_layout, offsets
from engine.workload.locality import pop_repeat, push_repeat
from engine.workload.sampling import recipe
from engine.workload.source import MAX_KEPT_LOOKUPS, Generated, KeptIds, shared_source, source
from tests.cases import each

ONE = {"model.num_tables": 1, "model.interaction": "concat"}
SHAPES: list[dict[str, Any]] = [
    {},
    {"model.name": "tiny"},
    {**ONE, "model.num_embeddings": (1000,), "model.pooling": (1,)},
    {**ONE, "model.num_embeddings": (1,), "model.pooling": (1,), "model.bottom_mlp": (1, 16)},
    {**ONE, "model.num_embeddings": (5000,), "model.pooling": (80,), "data.popularity": "uniform"},
    {"model.num_tables": 856, "model.num_embeddings": (2000,), "data.held_out_samples": 15_000},
    {"data.popularity": "zipf", "data.zipf_exponent": 4.0},
]


def _scenario(changes: dict[str, Any]) -> Scenario:
    return with_values(preset("optane-kaggle").scenario, changes)


def _bytes(batch: Batch) -> bytes:
    return batch.dense.tobytes() + batch.ids.tobytes() + batch.labels.tobytes()


@pytest.mark.parametrize("locality", [0.0, 0.4])
def test_a_batch_has_its_bags_in_order_inside_their_tables(locality: float) -> None:
    scenario = _scenario({"model.name": "tiny", "data.locality": locality, "data.batch_size": 50})
    batch, layout, first = source(scenario).batch(3), bag_layout(scenario.model, 50), offsets(scenario.model)
    assert (batch.dense.shape, batch.ids.shape, batch.labels.shape) == ((50, 5), (50 * 6,), (50,))
    assert (batch.dense.dtype, batch.ids.dtype, batch.labels.dtype) == (np.float32, np.int64, np.float32)
    assert layout.tolist() == [0, 50, 150, 300]
    assert first.tolist() == [0, 50, 250, 1250]
    for table in range(3):
        bags = batch.ids[layout[table] : layout[table + 1]]
        assert first[table] <= bags.min() and bags.max() < first[table + 1]


@pytest.mark.parametrize("locality", [0.0, 0.4])
def test_batches_are_the_same_in_any_order_and_after_pickling(locality: float) -> None:
    scenario = _scenario({"model.name": "tiny", "data.locality": locality})
    forward, origin = source(scenario), source(scenario)
    wanted = [_bytes(forward.batch(n)) for n in range(6)]
    assert [_bytes(origin.batch(n)) for n in (5, 0, 3, 3)] == [wanted[n] for n in (5, 0, 3, 3)]
    assert _bytes(pickle.loads(pickle.dumps(origin)).batch(4)) == wanted[4]
    assert len(set(wanted)) == 6
    assert _bytes(forward.held_out()) == _bytes(origin.held_out())


def test_local_batches_survive_forgetting_the_old_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.workload.locality.MAX_KEPT_NBYTES", 1)
    scenario = _scenario({"model.name": "tiny", "data.locality": 0.4})
    origin = source(scenario)
    wanted = [origin.ids(n).tolist() for n in range(5)]
    assert [origin.ids(n).tolist() for n in (2, 0, 4)] == [wanted[2], wanted[0], wanted[4]]


def test_the_seed_and_nothing_else_changes_the_samples() -> None:
    first, other = source(_scenario({})), source(_scenario({"data.seed": 2}))
    assert (first.ids(0) != other.ids(0)).mean() > 0.1
    assert not np.array_equal(first.batch(0).dense, other.batch(0).dense)
    assert np.array_equal(first.ids(1), source(_scenario({"run.batches": 5, "machine.cxl_bandwidth_GBps": 8})).ids(1))


def test_repeats_leave_their_queue_as_they_leave_a_sorted_one() -> None:
    random = np.random.default_rng(4)
    due, row = np.empty(500), np.empty(500, dtype=np.int64)
    waiting: list[tuple[float, int]] = []
    for n in range(500):
        when = float(random.random())
        heappush(waiting, (when, n))
        push_repeat(due, row, len(waiting) - 1, when, n)
        if n % 3 == 2:
            assert (due[0], row[0]) == heappop(waiting)
            pop_repeat(due, row, len(waiting) + 1)
    for left in range(len(waiting), 0, -1):
        assert (due[0], row[0]) == heappop(waiting)
        pop_repeat(due, row, left)


def test_locality_keeps_popularity_and_brings_repeats_closer() -> None:
    rows = 20_000
    changes = {**ONE, "model.num_embeddings": (rows,), "data.popularity": "zipf", "data.batch_size": 2000}
    apart, local = (
        np.concatenate([source(_scenario({**changes, "data.locality": c})).ids(n) for n in range(100)]) for c in (0.0, 0.5)
    )
    share = np.array([(np.arange(1, rows + 1) ** -1.05)[low:high].sum() for low, high in ((0, 10), (100, 1000), (10_000, rows))])
    share /= (np.arange(1, rows + 1) ** -1.05).sum()
    for ids in (apart, local):
        seen = [((ids >= low) & (ids < high)).mean() for low, high in ((0, 10), (100, 1000), (10_000, rows))]
        assert seen == pytest.approx(share, rel=0.03)
    # Gaps shorter than half a mean gap: the Palm distribution of Poisson uses, and of uses with repeats after a fifth.
    p = 1000**-1.05 / (np.arange(1, rows + 1) ** -1.05).sum()
    poisson, repeating = 1 - np.exp(-0.5), 1 - np.exp(-0.25 - 0.1 * (1 - np.exp(-2.5))) * (0.5 + 0.5 * np.exp(-2.5))
    for ids, wanted in ((apart, poisson), (local, repeating)):
        gaps = np.concatenate([np.diff(np.flatnonzero(ids == row)) for row in range(980, 1020)])
        assert (gaps < 0.5 / p).mean() == pytest.approx(wanted, abs=0.03)


def _auc(labels: np.ndarray, scores: np.ndarray) -> float:
    rank = np.empty(len(scores))
    rank[np.argsort(scores)] = np.arange(1, len(scores) + 1)
    clicks = labels.sum()
    return float((rank[labels > 0].sum() - clicks * (clicks + 1) / 2) / (clicks * (len(labels) - clicks)))


@each("shape", SHAPES)
@each("seed", [1, 2], few=3)
def test_the_teacher_clicks_at_criteos_rate_and_can_be_learnt_to_an_auc_of_080(shape: dict[str, Any], seed: int) -> None:
    scenario = _scenario({"data.held_out_samples": 40_000, "data.seed": seed, **shape})
    sample, made_of = source(scenario).held_out(), recipe(scenario)
    bags = generator.prepare(made_of).bags
    scores = teacher.logits(teacher.hidden_model(made_of), sample.dense, sample.ids, bags)
    assert sample.labels.mean() == pytest.approx(0.256, abs=0.01)
    assert _auc(sample.labels, scores) == pytest.approx(0.80, abs=0.02)


def test_the_teachers_effects_are_standard_normal_and_averaged_over_bags() -> None:
    bags, samples = np.array([0, 1, 5]), 20_000
    ids = np.arange(5 * samples)
    effects = teacher.bag_effects(ids, bags, samples, np.uint64(9))
    alone = teacher.bag_effects(ids, np.array([0, 1]), 5 * samples, np.uint64(9))[:, 0]
    assert effects[:, 0] == pytest.approx(alone[:samples])
    assert effects[:, 1] == pytest.approx(alone[samples:].reshape(samples, 4).mean(axis=1))
    assert (alone.mean(), alone.std()) == pytest.approx((0, 1), abs=0.015)


def test_dense_features_are_what_reading_counts_would_give() -> None:
    dense = source(_scenario({"data.batch_size": 20_000})).batch(0).dense
    assert dense.min() > 0 and np.isfinite(dense).all()
    counts = np.log(np.expm1(dense.astype(np.float64)))
    standard = (counts - counts.mean(axis=0)) / counts.std(axis=0)
    assert np.abs((standard**3).mean(axis=0)).max() < 0.15
    assert ((standard**4).mean(axis=0)) == pytest.approx(np.full(13, 3.0), abs=0.3)


@pytest.mark.parametrize("changes", [{}, {"data.locality": 0.4}, {"data.bag_length_cv": (0.5,), "model.pooling": (4,)}])
def test_a_run_draws_each_batch_once_for_counts_rows_and_training(
    changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    s = with_values(preset("tiny").scenario, {"run.batches": 12, "data.seed": 4711, **changes})
    drawn: list[int] = []
    draw = Generated._draw
    monkeypatch.setattr(Generated, "_draw", lambda self, n: (drawn.append(n), draw(self, n))[1])
    result = simulate(s)
    assert drawn == list(range(12)) and len(result.training) == 12
    kept, anew = shared_source(s, file=None), source(s)
    assert [_bytes(kept.batch(n)) for n in range(12)] == [_bytes(anew.batch(n)) for n in range(12)]


def test_ids_beyond_four_bytes_are_kept_whole() -> None:
    kept, ids = KeptIds(3), np.array([0, 2**32, 2**40])
    for _ in range(2):
        assert kept.ids(0, lambda n: ids).tolist() == ids.tolist()


def test_a_run_of_too_many_lookups_keeps_no_ids() -> None:
    s = preset("tiny").scenario
    lookups = s.data.batch_size * int(offsets(s.model).size - 1)
    assert shared_source(with_values(s, {"run.batches": 10}), file=None).kept
    assert not shared_source(with_values(s, {"run.batches": 2 * MAX_KEPT_LOOKUPS // lookups}), file=None).kept
