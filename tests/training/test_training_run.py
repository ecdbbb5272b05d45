"""Is a run of training a fold: cut, repeated or in another process, the same bytes? And is it judged rightly?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import Cancelled, CannotRun
from engine.scenario.storage import OPTIMIZERS
from engine.training.lookup import localise
from engine.training.loop import auc, boundaries, evaluate, train
from engine.training.weights import copy, initial
from tests.training.training_models import made_up_batch, made_up_run, model, state_bytes, touched


def run(shape, first=0, last=20, weights=None, **more):
    start, batches = made_up_run(shape, 16, 20)
    return train(shape, weights or start, batches.__getitem__, first, last, **more)


@pytest.mark.parametrize(("optimizer", "precision"), [*((one, "fp32") for one in OPTIMIZERS), ("sgd", "bf16"), ("adam", "int8")])
def test_two_calls_end_in_the_bytes_of_one(optimizer, precision):
    shape = model(optimizer=optimizer, row_precision=precision)
    whole, half = run(shape), run(shape, 0, 9)
    rest = run(shape, 9, 20, half.weights)
    assert half.losses + rest.losses == whole.losses
    assert state_bytes(rest.weights) == state_bytes(whole.weights)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_relaxed_calls_join_to_float_tolerance(optimizer):
    shape = model(pooling=(2, 3), optimizer=optimizer)
    whole, half = run(shape, relaxed=True), run(shape, 0, 9, relaxed=True)
    rest = run(shape, 9, 20, half.weights, relaxed=True)
    np.testing.assert_allclose(half.losses + rest.losses, whole.losses, rtol=1e-5)


def test_evaluations_are_of_the_model_after_that_many_batches():
    shape = model()
    start, batches = made_up_run(shape, 16, 20)
    held_out = made_up_batch(shape, 50, 99)
    start = initial(shape, touched([*batches, held_out]), 1)
    done = train(shape, start, batches.__getitem__, 0, 20, held_out=held_out, evaluations=frozenset({0, 6, 20, 21}))
    assert sorted(done.evaluations) == [6, 20]
    after = train(shape, start, batches.__getitem__, 0, 6).weights
    assert done.evaluations[6] == evaluate(shape, after, localise(shape, after, held_out))


def test_every_batch_is_announced_to_who_may_stop_it():
    seen = []

    def follow(number, step, batch, evaluation):
        seen.append(number)
        if number == 3:
            raise Cancelled("Enough.")

    with pytest.raises(Cancelled):
        run(model(), on_batch=follow)
    assert seen == [0, 1, 2, 3]


def test_a_run_that_diverges_says_so_and_what_to_lower():
    with pytest.raises(CannotRun, match=r"diverged at batch \d+: its loss is (nan|inf); lower model\.learning_rate=1e\+30"):
        run(model(learning_rate=1e30))
    with pytest.raises(CannotRun, match=r"lower model\.learning_rate=0\.1 or model\.embedding_learning_rate=1e\+30\."):
        run(model(learning_rate=0.1, row_rate=1e30))


def test_boundaries_are_evenly_spread_and_end_with_the_run():
    assert sorted(boundaries(1000, 4)) == [250, 500, 750, 1000]
    assert sorted(boundaries(3, 10)) == [1, 2, 3]
    assert sorted(boundaries(10, 3)) == [4, 7, 10]


@given(st.lists(st.tuples(st.booleans(), st.integers(-3, 3)), min_size=1, max_size=40))
def test_auc_counts_the_pairs_that_are_in_order_and_ties_by_half(samples):
    labels = np.array([label for label, _ in samples], np.float32)
    logits = np.array([logit for _, logit in samples], np.float32)
    pairs = [(a > b) + 0.5 * (a == b) for a in logits[labels == 1] for b in logits[labels == 0]]
    assert auc(labels, logits) == (sum(pairs) / len(pairs) if pairs else None)


def test_an_evaluation_does_not_depend_on_the_chunk():
    shape = model()
    weights, (batch,) = made_up_run(shape, 77, 1)
    here = localise(shape, weights, batch)
    whole, pieces = evaluate(shape, weights, here), evaluate(shape, weights, here, chunk=10)
    assert pieces.loss == pytest.approx(whole.loss, rel=1e-6) and pieces.auc == pytest.approx(whole.auc, rel=1e-3)
    assert pieces.accuracy == whole.accuracy


def test_accuracy_is_the_share_of_logits_on_the_right_side():
    shape = model()
    weights, (batch,) = made_up_run(shape, 64, 1)
    weights = copy(weights)
    weights.mlp[-1] = 1e3  # the bias of the logit: every sample is called a click
    assert evaluate(shape, weights, localise(shape, weights, batch)).accuracy == np.mean(batch.labels)
