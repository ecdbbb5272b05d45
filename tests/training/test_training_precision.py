"""Are narrow rows those that their precision can hold, rounded as it says, and learned from as in PyTorch and by definition?"""

from dataclasses import replace

import numpy as np
import pytest

from engine.core.hashing import Purpose, key
from engine.scenario.storage import PRECISIONS, stored_bytes
from engine.training.loop import train
from engine.training.optimizers import update_rows
from engine.training.precision import nearest, packed, unpacked
from engine.training.weights import initial
from tests.oracles.stochastic_rounding import rounded, words
from tests.training.test_training_step import reference, relaxed_and_strict
from tests.training.training_models import ORACLE_BATCH, ORACLE_STEPS, ORACLES, made_up_run, model

NARROW = PRECISIONS[1:]
ULP = {"fp16": 2.0**-11, "bf16": 2.0**-8, "int8": 1 / 127}


def narrow(precision, **changes):
    return model(row_precision=precision, learning_rate=0.05, **changes)


@pytest.mark.parametrize("precision", NARROW)
def test_first_values_are_the_nearest_of_the_precision(precision):
    full, less = (initial(narrow(one), np.arange(37), 3).table for one in ("fp32", precision))
    if precision == "int8":
        scale = np.abs(full).max(axis=1, keepdims=True) / np.float32(127)
        assert np.abs(less - full).max() <= 0.5001 * scale.max() and np.allclose(np.rint(less / scale) * scale, less)
    else:
        known = full.astype(np.float16).astype(np.float32) if precision == "fp16" else _bf16(full)
        assert less.tobytes() == known.tobytes()


def _bf16(values):
    """Return the nearest numbers of eight digits, ties to even, in exact arithmetic."""
    fraction, power = np.frexp(values.astype(np.float64))
    return np.ldexp(np.rint(fraction * 2**8), power - 8).astype(np.float32)


@pytest.mark.parametrize("precision", NARROW)
def test_an_update_is_rounded_up_or_down_by_the_hash_of_seed_batch_row_and_element(precision):
    shape = narrow(precision, dim=6, bottom=(5, 6), rows=(400,), pooling=(1,))
    weights = initial(shape, np.arange(400), 5)
    with np.errstate(all="ignore"):
        tiny = 10.0 ** np.random.default_rng(1).uniform(-9, 4, (400, 6))  # subnormal in fp16, and of every size above
    gradient = (tiny * np.random.default_rng(2).choice([-1.0, 1.0], (400, 6))).astype(np.float32)
    before, used = weights.table.copy(), _one_use_each(400)
    update_rows(shape, weights, used, np.hstack([np.zeros((400, 6), np.float32), gradient]), None, 7)
    stream = int(key(5, Purpose.ROUNDING, 7))
    exact = before - np.float32(0.05) * gradient
    expected = [rounded(precision, exact[row].astype(np.float64), words(stream, row, 6)) for row in range(400)]
    np.testing.assert_allclose(weights.table, expected, rtol=1e-6, atol=0)


def _one_use_each(count):
    from engine.training.lookup import Uses

    ends = np.arange(count + 1)
    return Uses(ends[:-1].astype(np.uint32), ends, ends[:-1].astype(np.int32), np.array([0, count]))


@pytest.mark.parametrize("precision", NARROW)
def test_what_is_lost_and_won_by_rounding_is_nothing_on_average(precision):
    shape = narrow(precision, rows=(1,), pooling=(1,))
    start = initial(shape, np.arange(1), 1)
    step = np.abs(start.table).max() * ULP[precision] / 16 / 0.05  # far less than a last place: rounded to the nearest it is lost
    gradient = np.zeros((1, 8), np.float32)
    gradient[0, 4:] = step
    moved = []
    for batch in range(600):
        weights = replace(start, table=start.table.copy(), row_state=start.row_state.copy())
        update_rows(shape, weights, _one_use_each(1), gradient, None, batch)
        moved.append((start.table - weights.table)[0] / (0.05 * step))
    error = np.std(moved, axis=0) / np.sqrt(600)
    assert (np.abs(np.mean(moved, axis=0) - 1) < 4.5 * error + 0.01)[np.mean(moved, axis=0) != 0].all() and np.mean(moved) > 0.5


@pytest.mark.parametrize("precision", PRECISIONS)
def test_rows_take_their_bytes_and_come_back_from_them_to_the_bit(precision):
    shape = narrow(precision, optimizer="rowwise-adagrad", dim=5, bottom=(5, 5))
    weights, batches = made_up_run(shape, 16, 5)
    done = train(shape, weights, batches.__getitem__, 0, 5).weights
    stored = packed(precision, done.table, done.row_state)
    assert stored.shape[1] == stored_bytes(precision, 5) + 4
    table, state = unpacked(precision, 5, stored)
    assert table.tobytes() == done.table.tobytes() and state.tobytes() == done.row_state.tobytes()
    if precision != "int8":  # whose scale follows the row
        assert nearest(done.table, precision)[0].tobytes() == done.table.tobytes()


@pytest.mark.parametrize("precision", NARROW)
def test_relaxed_lookups_of_narrow_rows_differ_by_the_rounding_of_sums_alone(precision):
    relaxed, strict, losses = relaxed_and_strict(narrow(precision))
    np.testing.assert_allclose(*np.transpose(losses), rtol=1e-5 if precision != "int8" else 1e-4)
    assert np.mean(relaxed.table == strict.table) > 0.9


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("precision", NARROW)
def test_thirty_steps_agree_with_a_float64_reference_that_rounds_by_definition(precision, optimizer):
    shape = narrow(precision, optimizer=optimizer)
    weights, batches = made_up_run(shape, 16, 30)
    truth = reference(shape, weights)
    ours = train(shape, weights, batches.__getitem__, 0, 30)
    np.testing.assert_allclose(ours.losses, [truth.step(batch) for batch in batches], rtol=ULP[precision] / 20)
    there = np.array([truth.table[int(row)] for row in weights.rows])
    scale = np.abs(there).max(axis=1, keepdims=True) if precision == "int8" else np.abs(there)
    off = np.abs(ours.weights.table - there) / scale
    assert np.mean(off > 1e-5) < 0.03 and off.max() < 4 * ULP[precision]  # where a last bit of fp32 turns the die


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", ["sgd", "rowwise-adagrad", "adagrad", "adam"])
@pytest.mark.parametrize("precision", NARROW)
def test_200_steps_are_no_further_from_torchs_than_two_of_torchs_from_each_other(precision, optimizer):
    from tests.oracles.torch_dlrm import torch_losses

    rate = {"sgd": 0.1, "adam": 0.001}.get(optimizer, 0.01)
    shape = replace(ORACLES["kaggle-like"], row_precision=precision, optimizer=optimizer, learning_rate=rate)
    weights, batches = made_up_run(shape, ORACLE_BATCH, ORACLE_STEPS)
    ours = train(shape, weights, batches.__getitem__, 0, ORACLE_STEPS).losses
    theirs = [torch_losses(shape, seed) for seed in range(3)]
    own = max(np.abs(np.subtract(theirs[0], other)).max() for other in theirs[1:])
    assert np.abs(np.subtract(ours, theirs[0])).max() <= 2 * own and own < 0.05
