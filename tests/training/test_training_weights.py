"""Are initial weights those of a full table, found fast, and reverted exactly?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.arrays import CACHE_LINE
from engine.core.hashing import GOLDEN, mix
from engine.errors import CannotRun
from engine.run.learner import rows_from, stored_rows
from engine.scenario.storage import OPTIMIZERS
from engine.training.lookup import localise
from engine.training.shape import distinct_ids, mlp_size
from engine.training.step import step
from engine.training.weights import (
    copy_weights,
    initial_weights,
    layers,
    local_places,
    restore_mlp,
    restore_rows,
    rows_at,
    trained_arrays,
)
from tests.cases import each
from tests.oracles.splitmix import mixed
from tests.training.training_models import looked_up_rows, made_up_run, model, state_bytes


def test_first_values_are_the_hash_of_seed_row_and_column():
    shape = model(rows=(16, 4))
    weights = initial_weights(shape, np.array([2, 17]), 9)
    mask = 2**64 - 1
    golden = int(GOLDEN)
    assert int(mix(np.uint64(12345))) == mixed(12345)
    vectors = weights.blocks[0].vectors
    for row, bound, values in ((2, 0.25, vectors[0]), (17, 0.5, vectors[1])):
        word = mixed(mixed((9 + golden) & mask) ^ ((row * golden) & mask))
        bits = [mixed((word + golden * (column + 1)) & mask) >> 40 for column in range(4)]
        assert values.tolist() == [np.float32(((2 * b + 1) / 2**24 - 1) * bound) for b in bits]


def test_another_seed_starts_elsewhere():
    shape, rows = model(), np.arange(37)
    one, two = initial_weights(shape, rows, 1), initial_weights(shape, rows, 2)
    assert (one.blocks[0].vectors != two.blocks[0].vectors).all() and (one.mlp != two.mlp).all()


def test_layers_are_views_that_cover_the_flat_vector_in_order():
    shape = model()
    flat = np.arange(mlp_size(shape), dtype=np.float32)
    parts = [*layers(shape, flat, "bottom"), *layers(shape, flat, "top")]
    assert [part.weight.shape for part in parts] == [(6, 5), (4, 6), (8, 7), (1, 8)]
    np.testing.assert_array_equal(np.concatenate([array.ravel() for part in parts for array in part]), flat)
    assert all(np.shares_memory(array, flat) for part in parts for array in part)


def test_first_layers_have_the_spread_of_the_reference_dlrm():
    shape = model(bottom=(5, 400, 4), top=(300, 1))
    weights = initial_weights(shape, np.arange(3), 1)
    (first, second), (third, _) = layers(shape, weights.mlp, "bottom"), layers(shape, weights.mlp, "top")
    for layer in (first, second, third):
        n, m = layer.weight.shape
        assert layer.weight.std() == pytest.approx(np.sqrt(2 / (m + n)), rel=0.1)
    assert first.bias.std() == pytest.approx(np.sqrt(1 / 400), rel=0.15)


@given(st.sets(st.integers(0, 10**12 - 1), min_size=1, max_size=60), st.integers(0, 10**12 - 1))
def test_places_are_those_of_a_sorted_search(rows, other):
    shape = model(rows=(10**12,), pooling=(1,))
    weights = initial_weights(shape, np.array(sorted(rows)), 1)
    ids = np.array(list(rows))
    np.testing.assert_array_equal(local_places(shape, weights, ids), np.searchsorted(weights.rows, ids))
    if other not in rows:
        with pytest.raises(CannotRun, match=f"Row {other} is not among"):
            local_places(shape, weights, np.array([*ids, other]))


@pytest.mark.parametrize("bad", [-1, -(2**63), 37, 2**62])
def test_a_row_outside_the_tables_is_refused(bad):
    shape = model()
    with pytest.raises(CannotRun, match="the tables hold rows 0 to 36"):
        initial_weights(shape, np.array([3, bad]), 1)
    with pytest.raises(CannotRun, match="is not among"):
        local_places(shape, initial_weights(shape, np.arange(37), 1), np.array([bad]))


def test_touched_rows_are_those_of_all_batches(monkeypatch):
    _, batches = made_up_run(model(), 8, 5)
    expected = sorted({int(row) for batch in batches for row in batch.ids})
    assert looked_up_rows(batches).tolist() == expected
    monkeypatch.setattr("engine.training.weights.MAX_PENDING_IDS", 10)
    assert looked_up_rows(iter(batches)).tolist() == expected


@given(st.lists(st.integers(-5, 5)))
def test_distinct_rows_are_sorted_and_none_is_lost(ids):
    assert distinct_ids(np.array(ids, np.int64)).tolist() == sorted(set(ids))


@pytest.mark.parametrize("optimizer", [*OPTIMIZERS, ("adam", "sgd")])
def test_revert_takes_embeddings_and_mlps_back_separately(optimizer):
    shape = model(optimizer=optimizer)
    weights, (batch,) = made_up_run(shape, 16, 1)
    before, after = copy_weights(weights), copy_weights(weights)
    here = localise(shape, after, batch)
    step(shape, after, here)
    places = [np.unique(lookups.places) for lookups in here.lookups]
    embeddings = copy_weights(after)
    restore_rows(embeddings, places, rows_at(before, places))
    rows, dense = state_bytes(embeddings)[:-2], state_bytes(embeddings)[-2:]
    assert rows == state_bytes(before)[:-2] != state_bytes(after)[:-2]
    assert dense == state_bytes(after)[-2:] != state_bytes(before)[-2:]
    restore_mlp(embeddings, before.mlp, before.mlp_state)
    assert state_bytes(embeddings) == state_bytes(before)


@each("precision", ["fp32", "fp16", "bf16", "int8"])
@each("optimizer", ["sgd", "rowwise-adagrad", "adam"])
def test_rows_and_layers_begin_on_a_cache_line_however_they_are_made(precision, optimizer):
    shape = model(rows=(3000, 700), dim=16, bottom=(5, 6, 16), row_precision=precision, optimizer=optimizer)
    weights = initial_weights(shape, np.arange(3700), 1)
    recovered = rows_from(shape, weights.blocks, stored_rows(shape, weights.blocks))
    made = [*trained_arrays(weights), *trained_arrays(copy_weights(weights))]
    for array in [array for _, array in made] + [array for block in recovered for array in block]:
        assert array.flags.c_contiguous and (array.size == 0 or array.ctypes.data % CACHE_LINE == 0)
    for block, again in zip(weights.blocks, recovered, strict=True):
        assert np.array_equal(block.vectors, again.vectors) and np.array_equal(block.states, again.states)
