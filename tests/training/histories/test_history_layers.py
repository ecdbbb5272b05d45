"""Are HSTU layers the mathematics of their paper? Oracles: a loop in complex numbers, the timing's count of weights."""

from dataclasses import replace

import numpy as np
import pytest

from engine.hardware.sequence_layers import sequence_parameters
from engine.scenario.scenario import Scenario, with_values
from engine.training.histories.cut import cut_batch
from engine.training.histories.sizes import HstuShape
from engine.training.lookup import localise
from engine.training.loop import evaluate
from engine.training.shape import dense_size, full_shape, mlp_size
from engine.training.step import step
from engine.training.weights import copy_weights
from engine.workload.histories import history_shape
from tests.training.histories.history_models import EVENTS, ReferenceHstu, history_model
from tests.training.training_models import all_rows, made_up_run, state_bytes

RATE = 1024.0  # of SGD: a step is then its gradient, to all digits of a weight
MODELS = {
    "two layers": history_model(),
    "one event": history_model(
        pooling=(2, 1, 2, 3), features=(2, 1, 2, 2), hstu=HstuShape((2, 0, 2, 0), layers=1, dim=4, heads=1, head_dim=2)
    ),
    "candidate alone": history_model(
        pooling=(1, 1, 1, 3), features=(1, 1, 1, 2), hstu=HstuShape((1, 0, 1, 0), layers=1, dim=4, heads=3, head_dim=1)
    ),
    "gated attention alone": history_model(
        top=(12, 1), hstu=HstuShape((EVENTS, 0, EVENTS, 0), layers=1, dim=4, heads=2, head_dim=2, gated=1)
    ),
    "no bags": history_model(
        rows=(9,), pooling=(3,), features=3, dim=4, hstu=HstuShape((3,), layers=1, dim=4, heads=2, head_dim=2), bottom=(3, 2)
    ),
}


@pytest.mark.parametrize(("name", "uneven"), [*((name, False) for name in MODELS), ("one event", True)])
def test_every_gradient_is_that_of_a_complex_step(name: str, uneven: bool) -> None:
    shape = replace(MODELS[name], learning_rate=RATE)
    weights, (batch,) = made_up_run(shape, 9 if uneven else 2, 1, uneven=uneven)
    batch = cut_batch(shape, batch, len(batch.labels))
    assert not uneven or set(np.diff(batch.starts)[: len(batch.labels)]) >= {0, 1, 2}, "some histories are short, one is empty"
    reference, updated = ReferenceHstu(shape, weights), copy_weights(weights)
    by_weight, by_row = reference.gradients(batch)
    stepped = step(shape, updated, localise(shape, weights, batch))
    np.testing.assert_allclose(stepped.logits, reference.logits(batch).real, rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose((weights.mlp - updated.mlp) / RATE, by_weight, rtol=2e-4, atol=2e-7)
    assert (by_weight != 0).mean() > 0.5
    for (row, before), (_, after) in zip(all_rows(weights), all_rows(updated), strict=True):
        np.testing.assert_allclose((before - after) / RATE, by_row[row], rtol=2e-4, atol=2e-7)


@pytest.mark.parametrize("uneven", [False, True])
def test_an_evaluation_in_chunks_sees_each_samples_own_history(uneven: bool) -> None:
    shape = history_model()
    weights, (batch,) = made_up_run(shape, 20, 1, uneven=uneven)
    local = localise(shape, weights, batch)
    loss = step(shape, copy_weights(weights), local).loss
    assert [evaluate(shape, weights, local, chunk).loss for chunk in (3, 20)] == pytest.approx([loss, loss], rel=1e-6)


def test_no_position_sees_a_later_one_but_all_see_the_contexts() -> None:
    shape = history_model(hstu=HstuShape((EVENTS, 0, EVENTS, 0), layers=1, dim=6, heads=2, head_dim=3))
    weights, (batch,) = made_up_run(shape, 4, 1)
    logits = step(shape, copy_weights(weights), localise(shape, weights, batch)).logits
    for lookup in range(EVENTS):  # the candidate sees each event, whose row is changed here
        ids = batch.ids.copy()
        ids[lookup] = (ids[lookup] + 1) % 30
        changed = replace(batch, ids=ids)
        if np.isin(ids, weights.rows).all():
            other = step(shape, copy_weights(weights), localise(shape, weights, changed)).logits
            assert other[0] != logits[0] and np.array_equal(other[1:], logits[1:])


@pytest.mark.parametrize("precision", ["tf32", "bf16", "fp16"])
def test_a_narrow_precision_rounds_the_operands_alone(precision: str) -> None:
    exact, rounded = history_model(), history_model(matrix_precision=precision)
    weights, (batch,) = made_up_run(exact, 8, 1)
    for block in weights.blocks:
        block.vectors[:] *= 64  # norms of tiny vectors enlarge what rounding does to them
    ours, theirs = copy_weights(weights), copy_weights(weights)
    exact_loss = step(exact, ours, localise(exact, weights, batch)).loss
    loss = step(rounded, theirs, localise(rounded, weights, batch)).loss
    assert loss != exact_loss and loss == pytest.approx(exact_loss, rel=2e-2)
    change, other_change = ours.mlp - weights.mlp, theirs.mlp - weights.mlp
    assert 0 < np.linalg.norm(other_change - change) < 0.1 * np.linalg.norm(change)


def test_relaxed_lookup_of_histories_is_bit_identical_to_strict() -> None:
    shape = history_model(pooling=(EVENTS, 1, EVENTS, 1), features=(EVENTS, 1, EVENTS, 1), learning_rate=0.5)
    weights, batches = made_up_run(shape, 16, 6)
    relaxed, early = copy_weights(weights), None
    local = [localise(shape, weights, batch) for batch in batches]
    for number, (batch, following) in enumerate(zip(local, [*local[1:], None], strict=True)):
        stepped = step(shape, relaxed, batch, early, following, number)
        early = stepped.early
        assert stepped.loss == step(shape, weights, batch, number=number).loss
    assert state_bytes(relaxed) == state_bytes(weights)


@pytest.mark.parametrize(
    "changes", [{}, {"model.hstu_dim": 65, "model.hstu_heads": 3}, {"model.embedding_dim": 64}, {"model.hstu_concat": False}]
)
def test_the_trained_weights_are_as_many_as_the_timed_ones(changes: dict[str, object]) -> None:
    scenario = with_values(Scenario(), {"model.name": "dlrm-v4-hstu", **changes})
    shape, timed = full_shape(scenario), history_shape(scenario)
    assert timed is not None and shape.sequence is not None
    assert sequence_parameters(shape.sequence) == sequence_parameters(timed)
    assert (shape.sequence.contexts, shape.sequence.positions) == (timed.contexts, timed.positions)
    assert shape.top_input == scenario.model.hstu_dim
    assert dense_size(shape) == mlp_size(shape) + sequence_parameters(timed)
