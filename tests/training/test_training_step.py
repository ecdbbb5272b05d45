"""Is one training step the mathematics of DLRM? Oracles: a float64 reference, numeric gradients, plain loops."""

import numpy as np
import pytest

from engine.scenario.storage import OPTIMIZERS
from engine.training.layers import interact
from engine.training.lookup import localise, look_up, row_uses_of
from engine.training.step import step
from engine.training.weights import copy_weights, local_places
from tests.cases import each
from tests.training.reference_dlrm import ReferenceDlrm
from tests.training.training_models import all_rows, made_up_run, model, state_bytes

MIXED = {
    "rows": (30, 7, 20, 1, 40),
    "pooling": (1, 3, 2, 1, 4),
    "dim": (2, 4, 4, 7, 3),
    "optimizer": ("rowwise-adagrad", "sgd", "sgd", "adam", "adagrad"),
}
SHAPES = {
    "dot": model(),
    "concat": model(interaction="concat", bottom=(5, 6, 3)),
    "row-wise adagrad": model(optimizer="rowwise-adagrad", learning_rate=0.05),
    "adagrad": model(optimizer="adagrad", learning_rate=0.05),
    "adam": model(optimizer="adam", learning_rate=0.01),
    "cross": model(interaction="cross", bottom=(5, 6, 3), ranks=(2, 2, 2)),
    "full cross": model(interaction="cross", ranks=(0, 0), optimizer="adam", learning_rate=0.01),
    "rates of two, sums begun": model(optimizer="rowwise-adagrad", learning_rate=0.02, row_rate=0.3, initial_accumulator=1e-3),
    "adagrad, sums begun": model(optimizer="adagrad", learning_rate=0.02, row_rate=0.3, initial_accumulator=1e-2),
    "two rates": model(learning_rate=0.05, row_rate=2.0),
    "mixed": model(**MIXED, learning_rate=0.05),
    "mixed concat": model(**MIXED, learning_rate=0.05, interaction="concat"),
    "mixed cross": model(**MIXED, learning_rate=0.02, interaction="cross", ranks=(2, 0), dense_optimizer="adam"),
    "alike and projected": model(dim=3, optimizer="adagrad", dense_optimizer="sgd", learning_rate=0.05),
    "one row, one table": model(rows=(1,), pooling=(2,)),
    "no hidden layer": model(bottom=(5, 4), top=(1,)),
}


UNEVEN = ("dot", "row-wise adagrad", "adagrad", "adam", "concat", "mixed", "mixed concat")


@each(("name", "uneven"), [*((name, False) for name in SHAPES), *((name, True) for name in UNEVEN)], few=6)
def test_thirty_steps_agree_with_a_float64_reference(name, uneven):
    shape = SHAPES[name]
    weights, batches = made_up_run(shape, 16, 30, uneven=uneven)
    assert not uneven or all((np.diff(batch.starts) == 0).any() for batch in batches), "some bags are empty"
    truth = ReferenceDlrm(shape, weights)
    for number, batch in enumerate(batches):
        ours = step(shape, weights, localise(shape, weights, batch), number=number).loss
        assert ours == pytest.approx(truth.step(batch), rel=2e-5)
    for row, vector in all_rows(weights):
        np.testing.assert_allclose(vector, truth.table[row], rtol=1e-5, atol=1e-6)
    parts = [*truth.bottom, *truth.top, *truth.cross, [*truth.projections.values()]]
    expected = np.concatenate([array.ravel() for part in parts for array in part if array is not None])
    np.testing.assert_allclose(weights.mlp, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size", [1, 40, 3000])
@pytest.mark.parametrize("uneven", [False, True])
def test_uses_list_every_lookup_once_by_row_and_sample(size, uneven):
    shape = model(rows=(40_000, 7))
    weights, (batch,) = made_up_run(shape, size, 1, uneven=uneven)
    here = localise(shape, weights, batch)
    (found,) = row_uses_of(shape, here)
    lookups = [
        (int(row), sample)
        for _, sample, rows in ReferenceDlrm(shape, weights).bags(batch)
        for row in local_places(shape, weights, np.array(rows))
    ]
    counts, places = np.diff(found.first), here.lookups[0].places
    assert list(zip(np.repeat(found.unique, counts).tolist(), found.samples.tolist(), strict=True)) == sorted(lookups)
    np.testing.assert_array_equal(found.unique, np.unique(places))
    assert [len(np.unique(part)) for part in np.split(places, [size])] == np.diff(found.table).tolist()


def relaxed_and_strict(shape, count=12, uneven=False):
    weights, batches = made_up_run(shape, 16, count, uneven=uneven)
    relaxed, early, losses = copy_weights(weights), None, []
    here = [localise(shape, weights, batch) for batch in batches]
    for number, (batch, following) in enumerate(zip(here, [*here[1:], None], strict=True)):
        done = step(shape, relaxed, batch, early, following, number)
        early = done.early
        losses.append((done.loss, step(shape, weights, batch, number=number).loss))
    return relaxed, weights, losses


@pytest.mark.parametrize("optimizer", [*OPTIMIZERS, ("adam", "sgd")])
def test_relaxed_lookup_with_pooling_one_is_bit_identical_to_strict(optimizer):
    relaxed, strict, losses = relaxed_and_strict(model(pooling=(1, 1), optimizer=optimizer))
    assert all(ours == theirs for ours, theirs in losses)
    assert state_bytes(relaxed) == state_bytes(strict)


@pytest.mark.parametrize(
    ("optimizer", "dim"), [*((optimizer, 4) for optimizer in OPTIMIZERS), (("rowwise-adagrad", "adam"), (4, 3))]
)
def test_relaxed_lookup_of_uneven_bags_is_the_strict_one_up_to_the_order_of_sums(optimizer, dim):
    shape = model(pooling=(2, 3), dim=dim, optimizer=optimizer, learning_rate=0.02)
    relaxed, strict, losses = relaxed_and_strict(shape, uneven=True)
    np.testing.assert_allclose(*zip(*losses, strict=True), rtol=1e-6)
    for ours, theirs in zip(relaxed.blocks, strict.blocks, strict=True):
        np.testing.assert_allclose(ours.vectors, theirs.vectors, rtol=1e-5, atol=1e-7)


def test_evaluation_in_chunks_finds_each_samples_own_bags():
    shape = model()
    weights, (batch,) = made_up_run(shape, 50, 1, uneven=True)
    here = localise(shape, weights, batch)
    whole = look_up(shape, weights, here)
    np.testing.assert_array_equal(
        np.concatenate([look_up(shape, weights, here, at, at + 7) for at in range(0, 50, 7)])[:, 4:], whole[:, 4:]
    )
    empty = np.diff(batch.starts).reshape(2, 50) == 0
    assert empty.any() and not whole[:, 4:].reshape(50, 2, 4)[empty.T].any()


def test_huge_logits_give_a_finite_loss_and_gradient():
    shape = model()
    weights, (batch,) = made_up_run(shape, 8, 1)
    weights.mlp[:] *= 1e4
    done = step(shape, weights, localise(shape, weights, batch))
    assert np.abs(done.logits).max() > 1e6 and np.isfinite(done.loss) and np.isfinite(weights.blocks[0].vectors).all()


@pytest.mark.parametrize(("samples", "tables", "dim"), [(1, 3, 5), (16, 1, 16), (37, 33, 20)])
def test_each_product_is_summed_element_by_element(samples, tables, dim):
    shape = model(rows=(1,) * tables, pooling=(1,) * tables, dim=dim, bottom=(5, dim))
    features = np.random.default_rng(1).standard_normal((samples, (1 + tables) * dim), np.float32)
    vectors, products = features.reshape(samples, -1, dim), interact(shape, features)
    assert products[:, :dim].tobytes() == vectors[:, 0].tobytes()
    pairs = [(i, j) for i in range(1 + tables) for j in range(i)]
    expected = np.zeros((samples, len(pairs)), np.float32)
    for d in range(dim):
        expected += np.stack([vectors[:, i, d] * vectors[:, j, d] for i, j in pairs], axis=1)
    assert products[:, dim:].tobytes() == expected.tobytes()
