"""Do tables of unlike width, precision and optimizer train in their own bytes, cut anywhere, shared, and after flipped bits?"""

from dataclasses import replace
from itertools import accumulate, pairwise

import numpy as np
import pytest

from engine.errors import Cancelled
from engine.run import progress
from engine.run.curve import Curve
from engine.run.learner import Learner, row_spans, rows_from, stored_rows, with_flipped_bit, with_noted_flips
from engine.run.progress import Meter, Progress
from engine.run.run import follow_run
from engine.run.segment import Flip
from engine.run.shared_training import Training, functional_class, shared_outcome, untrained_resolve
from engine.run.training_curve import RunStopped, StoppedRun
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, projected_tables, with_values
from engine.scenario.storage import row_state, stored_bytes
from engine.service.stopped_runs import StoppedRunFile
from engine.simulate import simulate
from engine.training.lookup import _feature_starts, localise, look_up
from engine.training.loop import TrainedStretch, TrainingStopped, train
from engine.training.shape import (
    by_span,
    cross_size,
    dense_size,
    full_shape,
    mlp_size,
    offsets,
    projection_size,
    scaled_shape,
    step_flop,
)
from engine.training.spans import PlacedSpan, TableSpan, row_nbytes
from engine.training.weights import initial_weights, trained_arrays
from tests.cases import each
from tests.machines import counted_flow, ready, scenario
from tests.training.training_models import MIXED, all_rows, looked_up_rows, made_up_batch, made_up_run, model, state_bytes

NARROW = {
    **MIXED,
    "rows": (50, 5, 200, 200, 3, 70, 9, 150, 4, 100),
    "row_precision": ("fp32", "fp32", "fp16", "fp32", "fp32", "int8", "bf16", "fp16", "fp16", "int8"),
}
BATCHES = 12
KNOBS = {
    "model.embedding_dim": (4, 8, 6),
    "model.bottom_mlp": (5, 8, 8),
    "model.optimizer": ("sgd", "adagrad", "adam"),
    "model.row_precision": ("fp32", "fp16", "int8"),
    "model.learning_rate": 0.02,
    "run.batches": BATCHES,
    "run.evaluations": 3,
}


def run_of(shape, first=0, last=BATCHES, weights=None, **more) -> TrainedStretch:
    start, batches = made_up_run(shape, 16, BATCHES)
    return train(shape, weights or start, batches.__getitem__, first, last, **more)


def asked(**knobs) -> Scenario:
    return with_values(preset("tiny").scenario, {**KNOBS, **knobs})


def test_tables_alike_that_follow_each_other_share_a_block_and_no_row_is_padded():
    shape = model(**NARROW)
    weights, _ = made_up_run(shape, 16, BATCHES)
    per_table = list(zip(NARROW["rows"], NARROW["dim"], NARROW["optimizer"], NARROW["row_precision"], strict=True))
    exist = [len(rows) for rows in np.split(weights.rows, np.searchsorted(weights.rows, offsets(shape)[1:-1]))]
    assert len(exist) == 10 and sum(exist) == len(weights.rows) and len(weights.blocks) == 7
    kept = sum(
        count * 4 * (dim + row_state(optimizer, dim) + (precision == "int8"))
        for count, (_, dim, optimizer, precision) in zip(exist, per_table, strict=True)
    )
    assert sum(array.nbytes for block in weights.blocks for array in block) == kept
    assert kept == sum(len(rows) * row_nbytes(s) for rows, s in zip(by_span(shape, weights.rows), shape.spans, strict=True))
    stored = sum(
        count * (stored_bytes(precision, dim) + 4 * row_state(optimizer, dim))
        for count, (_, dim, optimizer, precision) in zip(exist, per_table, strict=True)
    )
    octets = stored_rows(shape, weights.blocks)
    assert octets.shape == (stored,) and stored == sum(rows * nbytes for rows, nbytes in row_spans(shape, weights.blocks))


def test_rows_come_back_from_their_bytes_to_the_bit_and_stand_one_after_another():
    shape = model(**NARROW)
    weights = run_of(shape).weights
    octets = stored_rows(shape, weights.blocks)
    for before, after in zip(weights.blocks, rows_from(shape, weights.blocks, octets), strict=True):
        assert [part.tobytes() for part in before] == [part.tobytes() for part in after]
    sizes = [nbytes for rows, nbytes in row_spans(shape, weights.blocks) for _ in range(rows)]
    vectors, kinds = [vector for _, vector in all_rows(weights)], kinds_of_rows(shape, weights)
    assert len(kinds) == len(vectors) == len(sizes) == len(weights.rows)
    for kind, vector, (start, stop) in zip(kinds, vectors, pairwise(accumulate(sizes, initial=0)), strict=True):
        if kind.precision in ("fp32", "fp16"):
            number = np.float32 if kind.precision == "fp32" else np.float16
            assert octets[start:stop].tobytes().startswith(vector.astype(number).tobytes())
    plain = model(rows=(30, 7), optimizer="adam")
    assert stored_rows(plain, made_up_run(plain, 16, 3)[0].blocks).ndim == 2, "alike rows are a matrix"


def kinds_of_rows(shape, weights):
    """Return the span of each row by the row's number alone."""
    tables = np.searchsorted(np.cumsum(shape.rows), weights.rows, side="right")
    kinds = [span for span in shape.spans for _ in range(span.tables)]
    return [kinds[table] for table in tables]


def test_sums_begin_where_the_tables_own_optimizer_has_sums():
    kinds = ("sgd", "rowwise-adagrad", "adagrad", "adam")
    shape = model(rows=(3,) * 4, pooling=(1,) * 4, optimizer=kinds, initial_accumulator=0.5, dense_optimizer="adam")
    weights = initial_weights(shape, np.arange(12), 1)
    assert [(block.states.shape[1], set(block.states.ravel().tolist())) for block in weights.blocks] == [
        (0, set()),
        (1, {0.5}),
        (4, {0.5}),
        (8, {0.0}),
    ]
    assert not weights.mlp_state.any() and weights.mlp_state.size == 2 * weights.mlp.size


def test_first_values_of_a_narrow_table_begin_those_of_a_wide_one():
    wide, mixed = model(rows=(30, 7), dim=9, bottom=(5, 9)), model(rows=(30, 7), dim=(9, 3), bottom=(5, 9))
    rows = np.arange(37)
    ours, theirs = (initial_weights(shape, rows, 4) for shape in (mixed, wide))
    for (row, vector), (_, long) in zip(all_rows(ours), all_rows(theirs), strict=True):
        assert vector.tolist() == long[: 9 if row < 30 else 3].tolist()


def test_pooled_vectors_stand_in_the_order_of_the_tables_each_of_its_own_width():
    shape = model(**{**NARROW, "row_precision": "fp32"}, interaction="concat")
    weights, (batch,) = made_up_run(shape, 20, 1, uneven=True)
    features, known = look_up(shape, weights, localise(shape, weights, batch)), dict(all_rows(weights))
    ends = np.cumsum([shape.bottom[-1], *NARROW["dim"]])
    assert features.shape == (20, ends[-1])
    for table, dim in enumerate(NARROW["dim"]):
        for sample in range(20):
            bag = batch.ids[slice(*batch.starts[table * 20 + sample :][:2])]
            expected = sum((known[int(row)] for row in bag), np.zeros(dim, np.float32))
            np.testing.assert_allclose(features[sample, ends[table] : ends[table + 1]], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("interaction", ["dot", "concat", "cross"])
def test_calls_cut_anywhere_end_in_the_bytes_of_one_and_another_seed_ends_elsewhere(interaction):
    shape = model(**NARROW, interaction=interaction, ranks=(3,) if interaction == "cross" else (), dense_optimizer="adam")
    whole = run_of(shape)
    for cut in range(1, BATCHES):
        half = run_of(shape, 0, cut)
        rest = run_of(shape, cut, BATCHES, half.weights)
        assert half.losses + rest.losses == whole.losses and state_bytes(rest.weights) == state_bytes(whole.weights)
    assert state_bytes(run_of(shape).weights) == state_bytes(whole.weights)
    other, batches = made_up_run(shape, 16, BATCHES, seed=2)
    assert train(shape, other, batches.__getitem__, 0, BATCHES).losses != whole.losses


@pytest.mark.parametrize("relaxed", [False, True])
def test_a_training_stopped_at_any_batch_goes_on_from_its_file_to_the_byte(relaxed, tmp_path):
    shape = model(**NARROW)
    wanted = {"relaxed": relaxed, "keep": frozenset({2, 9}), "record": frozenset({3, 8})}
    whole = run_of(shape, **wanted)
    for cut in range(1, BATCHES):

        def stop(n, step, batch, evaluation, cut=cut):
            if n + 1 == cut:
                raise Cancelled("Enough.")

        with pytest.raises(TrainingStopped) as stopped:
            run_of(shape, **wanted, on_batch=stop)
        file = StoppedRunFile(tmp_path / "store.sqlite", "0" * 32)
        assert file.save(StoppedRun(cut, cut, stopped.value.trained, Curve(), {})) == ""
        back = file.load().stretch
        ended = run_of(shape, cut, BATCHES, back.weights, **wanted, resume=back)
        assert ended.losses == whole.losses and state_bytes(ended.weights) == state_bytes(whole.weights)
        for n in (3, 8):
            for ours, theirs in zip(leaves(ended.recorded[n]), leaves(whole.recorded[n]), strict=True):
                assert ours.tobytes() == theirs.tobytes()


def leaves(recorded):
    return [*recorded.places, *(part for block in (*recorded.before, *recorded.after) for part in block)]


def test_relaxed_lookups_with_pooling_one_are_strict_to_the_bit_whatever_the_tables():
    shape = model(**{**NARROW, "pooling": (1,) * 10})
    assert state_bytes(run_of(shape, relaxed=True).weights) == state_bytes(run_of(shape).weights)


def test_recorded_rows_are_those_that_changed_and_their_values():
    shape = model(**NARROW)
    done = run_of(shape, record=frozenset({4}))
    before, after = (run_of(shape, last=n).weights for n in (4, 5))
    for old, new, places, was, became in zip(
        before.blocks, after.blocks, *(getattr(done.recorded[4], name) for name in ("places", "before", "after")), strict=True
    ):
        changed = np.flatnonzero((old.vectors != new.vectors).any(axis=1))
        assert np.isin(changed, places).all() and places.size and (np.diff(places.astype(np.int64)) > 0).all()
        for part in (0, 1):
            assert old[part][places].tobytes() == was[part].tobytes() and new[part][places].tobytes() == became[part].tobytes()


def test_a_flipped_bit_is_any_elements_and_the_only_one():
    shape = model(**NARROW)
    weights = run_of(shape).weights
    octets, struck = stored_rows(shape, weights.blocks), np.zeros(len(weights.blocks))
    ends = np.cumsum([rows * nbytes for rows, nbytes in row_spans(shape, weights.blocks)])
    for seed in range(1500):
        after = stored_rows(shape, with_flipped_bit(shape, weights, "table", Flip(0.5, 0, 0), seed).blocks)
        (byte,) = np.flatnonzero(octets != after)
        assert int(octets[byte] ^ after[byte]).bit_count() == 1
        struck[np.searchsorted(ends, byte, side="right")] += 1
    sizes = np.array([block.vectors.size for block in weights.blocks])
    expected = 1500 * sizes / sizes.sum()
    assert (np.abs(struck - expected) < 4.5 * np.sqrt(expected) + 1).all()
    dense = with_flipped_bit(shape, weights, "mlp", Flip(0.5, 0, 0), 1)
    assert stored_rows(shape, dense.blocks).tobytes() == octets.tobytes() and (dense.mlp != weights.mlp).sum() == 1


def test_a_flipped_bit_is_remembered_by_the_rows_number_among_all():
    shape, flip = model(**NARROW), Flip(0.5, 0, 0)
    weights = run_of(shape).weights
    octets = stored_rows(shape, weights.blocks)
    sizes = [nbytes for rows, nbytes in row_spans(shape, weights.blocks) for _ in range(rows)]
    begins = list(accumulate(sizes, initial=0))
    for seed in range(40):
        m = ready(scenario("tiny", "cxl-b", **{"faults.silent_corruption_where": "table", "data.seed": 1, "faults.seed": seed}))
        learner = Learner(shape, None, None, weights, weights, frozenset(), False)
        ((row, byte, bit),) = with_noted_flips(learner, m, (flip,)).flipped_bits
        after = stored_rows(shape, with_flipped_bit(shape, weights, "table", flip, seed).blocks)
        assert np.flatnonzero(octets != after).tolist() == [begins[row] + byte] and byte < sizes[row]
        assert octets[begins[row] + byte] ^ after[begins[row] + byte] == bit


def test_the_shape_is_the_scenarios_and_projects_the_tables_that_it_says():
    shape = full_shape(asked())
    assert [(span.dim, span.precision, span.optimizer, span.tables) for span in shape.spans] == [
        (4, "fp32", "sgd", 1),
        (8, "fp16", "adagrad", 1),
        (6, "int8", "adam", 1),
    ]
    assert shape.dense_optimizer == "sgd" and shape.projected == (shape.spans[0], shape.spans[2])
    assert projected_tables(asked().model) == (0, 2) and projection_size(shape) == 8 * (4 + 6)
    assert full_shape(asked(**{"model.dense_optimizer": "adam"})).dense_optimizer == "adam"
    joined = full_shape(asked(**{"model.interaction": "concat"}))
    assert joined.projected == () == projected_tables(asked(**{"model.interaction": "concat"}).model)
    assert joined.top_input == joined.features_width == 8 + 4 + 8 + 6
    wide = {"model.embedding_dim": 4, "model.projection_dim": 8, "model.optimizer": "sgd", "model.row_precision": "fp32"}
    (span,) = full_shape(asked(**wide)).projected
    assert span.tables == 3 and projected_tables(asked(**wide).model) == (0, 1, 2)


def test_projections_count_in_a_steps_work_and_a_twin_keeps_them_and_the_widths():
    given = asked(**{"model.bottom_mlp": (5, 64, 8), "model.top_mlp": (64, 1)})
    shape = full_shape(given)
    products = 8 * (4 * 3 // 2)
    by_hand = 5 * 64 + 64 * 8 + (8 + 6) * 64 + 64 + 8 * (4 + 6) + products
    assert step_flop(shape, 16) == 6 * 16 * by_hand
    small = scaled_shape(with_values(given, {"run.step_budget_GFLOP": 6 * 16 * by_hand / 2 / 1e9}), np.arange(1250))
    assert small.width_divisor >= 2 and small.spans == shape.spans and small.projected == shape.projected
    assert small.bottom[-1] == 8 and dense_size(shape) == mlp_size(shape) + cross_size(shape) + 80


def test_tables_fold_by_the_memory_of_each_tables_rows():
    rows = {"model.num_tables": 2, "model.num_embeddings": (10**6, 10**6), "model.pooling": (1, 1)}
    kinds = {"model.embedding_dim": (4, 8), "model.optimizer": ("sgd", "adam"), "model.row_precision": ("fp32", "int8")}
    seen = np.concatenate([np.arange(0, 10**6, 5), np.arange(10**6, 2 * 10**6, 10)])
    given = asked(**rows, **kinds)
    dense = 4 * dense_size(full_shape(given))
    needed = 200_000 * 16 + 100_000 * (32 + 64 + 4) + dense
    for spare, whole in ((1, True), (-1, False)):
        budget = {"run.memory_budget_GiB": (needed + spare) / 2**30}
        assert (scaled_shape(with_values(given, budget), seen).table_divisor == 1) == whole


def test_folded_tables_of_unlike_widths_train():
    shape = replace(model(**NARROW), table_divisor=4)
    weights, batches = made_up_run(shape, 16, BATCHES)
    done = train(shape, weights, batches.__getitem__, 0, BATCHES)
    assert len(weights.rows) <= sum(shape.folded) and np.isfinite(done.losses).all()
    assert all(array.dtype == np.float32 for _, array in trained_arrays(done.weights))


def test_a_table_that_no_batch_uses_has_an_empty_block():
    shape = model(rows=(30, 7, 5), pooling=(2, 1, 1), dim=(4, 3, 2))
    batch = made_up_batch(shape, 8, 1, uneven=True)
    starts = batch.starts.copy()
    starts[9:17] = starts[16:17] = starts[16]
    used = np.concatenate([batch.ids[: starts[8]], batch.ids[batch.starts[16] :]])
    starts = np.concatenate([starts[:9], np.full(8, starts[8]), batch.starts[17:] - batch.starts[16] + starts[8]])
    batch = replace(batch, ids=used, starts=starts)
    weights = initial_weights(shape, looked_up_rows([batch]), 1)
    assert len(weights.blocks[1].vectors) == 0
    done = train(shape, weights, lambda _: batch, 0, 3, relaxed=True, record=frozenset({1}))
    assert np.isfinite(done.losses).all() and stored_rows(shape, done.weights.blocks).size
    assert rows_from(shape, done.weights.blocks, stored_rows(shape, done.weights.blocks))[1].vectors.shape == (0, 3)


def trained(one: Scenario, shelf: dict[str, Training], watch=None, resume=None):
    """Train the class of a scenario, as a point does whose timing is that of tables alike."""
    plain = scenario("tiny", "dram", **{"run.batches": BATCHES, "run.training": False})
    m, group = ready(plain), functional_class(one)
    timed, _ = follow_run(m, counted_flow(plain, BATCHES), None, untrained_resolve(m))
    return shared_outcome(group, timed, None, Meter(watch, BATCHES), shelf, resume)


@pytest.mark.parametrize("system", ["dram", "cxl"])
def test_points_share_a_training_and_one_that_was_cancelled_goes_on_from_its_file(system, tmp_path, monkeypatch):
    """System cxl has a relaxed lookup."""
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    one, shelf = asked(system=system), dict[str, Training]()
    found = trained(one, shelf)
    assert len(shelf) == 1 and len(found.curve) == BATCHES and found.scores.auc is not None
    machine = with_values(one, {"machine.cxl_bandwidth_GBps": 7.0, "machine.num_gpus": 2})
    assert trained(machine, shelf) == found and len(shelf) == 1
    for cut in (1, 5, BATCHES - 1):

        def watch(now: Progress, cut=cut) -> bool:
            return now.note.startswith("training batch") and now.batches_done >= cut

        with pytest.raises(RunStopped) as stop:
            trained(one, {}, watch)
        file = StoppedRunFile(tmp_path / "store.sqlite", "1" * 32)
        assert file.save(stop.value.run) == ""
        again = dict[str, Training]()
        assert trained(one, again, None, file.load()) == found and again == shelf


QUICK = {"faults.detect_seconds": 1e-3, "faults.restart_seconds": 1e-3}


def learned(system: str, **faults):
    """Return a run's result through faults, and all that says what was learned; the bytes of int8 rows lose the sign of 0."""
    knobs = {"model.row_precision": ("fp32", "fp16", "int8"), **QUICK}
    found = simulate(asked(system=system, **knobs, **{f"faults.{name}": value for name, value in faults.items()}))
    assert found.ran
    last = {row["Batch"]: (row["Loss"], row["AUC"]) for row in found.training}
    return found, (last, found.results["Loss"], found.results["AUC"])


@each("system", ["cxl-b", "ssd", "cxl-d"], few=1)
def test_a_strict_recovery_brings_unlike_rows_and_projections_back_to_the_bit(system):
    """An undo log, a redo log."""
    whole, known = learned(system)
    span, recovered = whole.results["Elapsed [s]"], set()
    for share in np.linspace(0.05, 0.95, 7):
        done, found = learned(system, power_loss_at_seconds=(span * share, span * share * 1.2 + 2e-3))
        recovered.add(done.results["Recovery time [s]"])
        assert done.results["Recovery time [s]"] and found == known, share
    assert len(recovered) > 1, "batches have logs of unlike sizes"


@each("seed", range(6), few=3)
def test_flipped_bits_of_unlike_rows_outlive_a_recovery(seed):
    span = learned("cxl-b")[0].results["Elapsed [s]"]
    flips = {"silent_corruption_at_seconds": (span * 0.1, span * 0.3), "silent_corruption_where": "table", "seed": seed}
    _, known = learned("cxl-b", **flips)
    done, found = learned("cxl-b", **flips, power_loss_at_seconds=(span * 0.7,))
    assert done.results["Recovery time [s]"] and found == known


def test_each_list_parts_a_class_from_the_others():
    changes = [
        {"model.embedding_dim": (4, 8, 8)},
        {"model.optimizer": ("sgd", "adagrad", "sgd")},
        {"model.row_precision": ("fp32", "fp16", "bf16")},
        {"model.dense_optimizer": "adam"},
        {},
    ]
    assert len({functional_class(asked(**change)).name for change in changes}) == len(changes)


def test_lookups_are_divided_among_features_in_whole_numbers_as_the_counts_of_hot_bags_divide_them():
    for features in (2, 3, 10, 22, 97):
        for pooling in (features, 3 * features, 9 * features + 1):
            span, none = TableSpan(4, "fp32", "sgd", 1, features), slice(0, 0)
            place = PlacedSpan(span, slice(0, 1), none, none, np.array([pooling]), pooling)
            starts = _feature_starts(place, None, 3)
            by_hand = [sample * pooling + n * pooling // features for sample in range(3) for n in range(features)]
            assert starts.tolist() == [*by_hand, 3 * pooling]
