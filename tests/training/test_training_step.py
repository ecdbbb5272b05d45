"""Is one training step the mathematics of DLRM? Oracles: a float64 reference, numeric gradients, plain loops."""

import numpy as np
import pytest

from engine.scenario.storage import OPTIMIZERS
from engine.training.lookup import localise, look_up, uses
from engine.training.step import step
from engine.training.weights import copy, crosses, layers, local
from tests.cases import each
from tests.training.reference_dlrm import ReferenceDlrm
from tests.training.training_models import made_up_run, model

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
    "one row, one table": model(rows=(1,), pooling=(2,)),
    "no hidden layer": model(bottom=(5, 4), top=(1,)),
}


def reference(shape, weights):
    parts = (layers(shape, weights.mlp, part) for part in ("bottom", "top"))
    return ReferenceDlrm(shape, weights, *parts, crosses(shape, weights.mlp))


UNEVEN = ("dot", "row-wise adagrad", "adagrad", "adam", "concat")


@each(("name", "uneven"), [*((name, False) for name in SHAPES), *((name, True) for name in UNEVEN)])
def test_thirty_steps_agree_with_a_float64_reference(name, uneven):
    shape = SHAPES[name]
    weights, batches = made_up_run(shape, 16, 30, uneven=uneven)
    assert not uneven or all((np.diff(batch.starts) == 0).any() for batch in batches), "some bags are empty"
    truth = reference(shape, weights)
    for number, batch in enumerate(batches):
        ours = step(shape, weights, localise(shape, weights, batch), number=number).loss
        assert ours == pytest.approx(truth.step(batch), rel=2e-5)
    np.testing.assert_allclose(weights.table, [truth.table[int(row)] for row in weights.rows], rtol=1e-5, atol=1e-6)
    parts = [*truth.bottom, *truth.top, *truth.cross]
    expected = np.concatenate([array.ravel() for part in parts for array in part if array is not None])
    np.testing.assert_allclose(weights.mlp, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size", [1, 40, 3000])
@pytest.mark.parametrize("uneven", [False, True])
def test_uses_list_every_lookup_once_by_row_and_sample(size, uneven):
    shape = model(rows=(40_000, 7))
    weights, (batch,) = made_up_run(shape, size, 1, uneven=uneven)
    here = localise(shape, weights, batch)
    found = uses(shape, here)
    lookups = [
        (int(row), sample)
        for _, sample, rows in reference(shape, weights).bags(batch)
        for row in local(shape, weights, np.array(rows))
    ]
    counts = np.diff(found.first)
    assert list(zip(np.repeat(found.unique, counts).tolist(), found.samples.tolist(), strict=True)) == sorted(lookups)
    np.testing.assert_array_equal(found.unique, np.unique(here.places))
    assert [len(np.unique(part)) for part in np.split(here.places, [size])] == np.diff(found.table).tolist()


def relaxed_and_strict(shape, count=12, uneven=False):
    weights, batches = made_up_run(shape, 16, count, uneven=uneven)
    relaxed, early, losses = copy(weights), None, []
    here = [localise(shape, weights, batch) for batch in batches]
    for number, (batch, following) in enumerate(zip(here, [*here[1:], None], strict=True)):
        done = step(shape, relaxed, batch, early, following, number)
        early = done.early
        losses.append((done.loss, step(shape, weights, batch, number=number).loss))
    return relaxed, weights, losses


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_relaxed_lookup_with_pooling_one_is_bit_identical_to_strict(optimizer):
    relaxed, strict, losses = relaxed_and_strict(model(pooling=(1, 1), optimizer=optimizer))
    assert all(ours == theirs for ours, theirs in losses)
    assert relaxed.table.tobytes() == strict.table.tobytes() and relaxed.mlp.tobytes() == strict.mlp.tobytes()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_relaxed_lookup_of_uneven_bags_is_the_strict_one_up_to_the_order_of_sums(optimizer):
    relaxed, strict, losses = relaxed_and_strict(model(pooling=(2, 3), optimizer=optimizer, learning_rate=0.02), uneven=True)
    np.testing.assert_allclose(*zip(*losses, strict=True), rtol=1e-6)
    np.testing.assert_allclose(relaxed.table, strict.table, rtol=1e-5, atol=1e-7)


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
    assert np.abs(done.logits).max() > 1e6 and np.isfinite(done.loss) and np.isfinite(weights.table).all()
