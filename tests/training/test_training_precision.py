"""Do rows and products of layers hold what their precision can, and do they learn as by definition and as in PyTorch?"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from engine.core.hashing import Purpose, key
from engine.scenario.storage import OPTIMIZERS, PRECISIONS, stored_bytes
from engine.training.layers import project_back
from engine.training.loop import train
from engine.training.optimizers import update_rows
from engine.training.precision import pack_rows, round_to_nearest, unpack_rows
from engine.training.products import operand
from engine.training.weights import copy_weights, initial_weights
from tests.cases import draw
from tests.oracles.stochastic_rounding import rounded, words
from tests.training.reference_dlrm import ReferenceDlrm
from tests.training.test_training_step import relaxed_and_strict
from tests.training.training_models import KAGGLE, MIXED, ORACLE_BATCH, ORACLE_STEPS, ORACLES, all_rows, made_up_run, model

NARROW, PRODUCTS = PRECISIONS[1:], ("tf32", "bf16", "fp16")
DIGITS = {"tf32": 2.0**-11, "bf16": 2.0**-8, "fp16": 2.0**-11}  # half a last place
ULP = {"fp16": 2.0**-11, "bf16": 2.0**-8, "int8": 1 / 127}


def narrow(precision, **changes):
    return model(row_precision=precision, learning_rate=0.05, **changes)


@pytest.mark.parametrize("precision", NARROW)
def test_first_values_are_the_nearest_of_the_precision(precision):
    full, less = (initial_weights(narrow(one), np.arange(37), 3).blocks[0].vectors for one in ("fp32", precision))
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
    weights = initial_weights(shape, np.arange(400), 5)
    with np.errstate(all="ignore"):
        tiny = 10.0 ** np.random.default_rng(1).uniform(-9, 4, (400, 6))  # subnormal in fp16, and of every size above
    gradient = (tiny * np.random.default_rng(2).choice([-1.0, 1.0], (400, 6))).astype(np.float32)
    vectors, used = weights.blocks[0].vectors, _one_use_each(400)
    before = vectors.copy()
    update_rows(shape, weights, used, np.hstack([np.zeros((400, 6), np.float32), gradient]), None, 7)
    stream = int(key(5, Purpose.ROUNDING, 7))
    exact = before - np.float32(0.05) * gradient
    expected = [rounded(precision, exact[row].astype(np.float64), words(stream, row, 6)) for row in range(400)]
    np.testing.assert_allclose(vectors, expected, rtol=1e-6, atol=0)


def _one_use_each(count):
    from engine.training.lookup import RowUses

    ends = np.arange(count + 1)
    return (RowUses(ends[:-1].astype(np.uint32), ends, ends[:-1].astype(np.int32), np.array([0, count])),)


@pytest.mark.parametrize("precision", NARROW)
def test_what_is_lost_and_won_by_rounding_is_nothing_on_average(precision):
    shape = narrow(precision, rows=(1,), pooling=(1,))
    start = initial_weights(shape, np.arange(1), 1)
    first = start.blocks[0].vectors
    step = np.abs(first).max() * ULP[precision] / 16 / 0.05  # far less than a last place: rounded to the nearest it is lost
    gradient = np.zeros((1, 8), np.float32)
    gradient[0, 4:] = step
    moved = []
    for batch in range(600):
        weights = copy_weights(start)
        update_rows(shape, weights, _one_use_each(1), gradient, None, batch)
        moved.append((first - weights.blocks[0].vectors)[0] / (0.05 * step))
    error = np.std(moved, axis=0) / np.sqrt(600)
    assert (np.abs(np.mean(moved, axis=0) - 1) < 4.5 * error + 0.01)[np.mean(moved, axis=0) != 0].all() and np.mean(moved) > 0.5


@pytest.mark.parametrize("precision", PRECISIONS)
def test_rows_take_their_bytes_and_come_back_from_them_to_the_bit(precision):
    shape = narrow(precision, optimizer="rowwise-adagrad", dim=5, bottom=(5, 5))
    weights, batches = made_up_run(shape, 16, 5)
    done = train(shape, weights, batches.__getitem__, 0, 5).weights
    (block,) = done.blocks
    stored = pack_rows(precision, *block)
    assert stored.shape[1] == stored_bytes(precision, 5) + 4
    vectors, states = unpack_rows(precision, 5, stored)
    assert vectors.tobytes() == block.vectors.tobytes() and states.tobytes() == block.states.tobytes()
    if precision != "int8":  # whose scale follows the row
        assert round_to_nearest(vectors, precision)[0].tobytes() == vectors.tobytes()


@pytest.mark.parametrize("precision", NARROW)
def test_relaxed_lookups_of_narrow_rows_differ_by_the_rounding_of_sums_alone(precision):
    relaxed, strict, losses = relaxed_and_strict(narrow(precision))
    np.testing.assert_allclose(*np.transpose(losses), rtol=1e-5 if precision != "int8" else 1e-4)
    assert np.mean(relaxed.blocks[0].vectors == strict.blocks[0].vectors) > 0.9


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("precision", NARROW)
def test_thirty_steps_agree_with_a_float64_reference_that_rounds_by_definition(precision, optimizer):
    shape = narrow(precision, optimizer=optimizer)
    weights, batches = made_up_run(shape, 16, 30)
    truth = ReferenceDlrm(shape, weights)
    ours = train(shape, weights, batches.__getitem__, 0, 30)
    np.testing.assert_allclose(ours.losses, [truth.step(batch) for batch in batches], rtol=ULP[precision] / 20)
    there = np.array([truth.table[int(row)] for row in weights.rows])
    scale = np.abs(there).max(axis=1, keepdims=True) if precision == "int8" else np.abs(there)
    off = np.abs(ours.weights.blocks[0].vectors - there) / scale
    assert np.mean(off > 1e-5) < 0.03 and off.max() < 4 * ULP[precision]  # where a last bit of fp32 turns the die


def test_tables_of_four_precisions_agree_with_a_float64_reference_that_rounds_by_definition():
    kinds = {"dim": (4, 2, 4, 3), "row_precision": PRECISIONS, "optimizer": ("sgd", "adam", "rowwise-adagrad", "sgd")}
    shape = model(rows=(30, 7, 20, 25), pooling=(1, 3, 2, 2), learning_rate=0.05, **kinds)
    weights, batches = made_up_run(shape, 16, 30)
    truth = ReferenceDlrm(shape, weights)
    ours = train(shape, weights, batches.__getitem__, 0, 30)
    np.testing.assert_allclose(ours.losses, [truth.step(batch) for batch in batches], rtol=ULP["int8"] / 20)
    off = {precision: [] for precision in PRECISIONS}
    for row, vector in all_rows(ours.weights):
        kind = truth.kinds[int(np.searchsorted(truth.ends, row, side="right"))]
        there = truth.table[row]
        scale = np.abs(there).max() if kind.precision == "int8" else np.abs(there)
        off[kind.precision] += (np.abs(vector - there) / scale).tolist()
    assert np.mean(np.array(off["fp32"]) > 1e-4) < 0.05
    for precision in NARROW:
        assert np.mean(np.array(off[precision]) > 1e-4) < 0.1 and max(off[precision]) < 4 * ULP[precision]


@pytest.mark.parametrize("precision", PRODUCTS)
def test_operands_of_products_are_the_nearest_of_their_precision(precision):
    values = (10.0 ** np.random.default_rng(1).uniform(-12, 4, 4000)).astype(np.float32)
    values[:8] = 0.0, 1.0, 1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-11, 1 + 3 * 2.0**-11, np.inf, -np.inf  # ties go to even
    values[8::2] *= -1
    nearest = ReferenceDlrm(model(matrix_precision=precision), made_up_run(model(), 4, 1)[0]).operand
    finite = np.isfinite(values)
    assert operand(values, precision)[finite].tobytes() == nearest(values[finite].astype(np.float64)).astype(np.float32).tobytes()
    assert (
        operand(values, precision)[~finite].tolist() == [np.inf, -np.inf] and np.isnan(operand(values * np.nan, precision)).all()
    )


@pytest.mark.parametrize("precision", PRODUCTS)
@pytest.mark.parametrize("dim", [4, (3, 4)])
def test_products_of_a_precision_agree_with_a_float64_reference_that_rounds_operands(precision, dim):
    shape = model(dim=dim, matrix_precision=precision, learning_rate=0.05)
    weights, batches = made_up_run(shape, 16, 30)
    truth = ReferenceDlrm(shape, weights)
    ours = train(shape, weights, batches.__getitem__, 0, 30)
    theirs = [truth.step(batch) for batch in batches]
    full = train(replace(shape, matrix_precision="fp32"), weights, batches.__getitem__, 0, 30).losses
    off, rounding = (np.abs(np.subtract(theirs, one)).max() for one in (ours.losses, full))
    assert off < rounding / 5 and rounding < 30 * DIGITS[precision], "as near as fp32 sums are, and far nearer than fp32 products"


def test_small_gradients_of_projections_are_not_lost_in_fp16():
    shape = model(dim=(3, 4), bottom=(5, 4))
    random = np.random.default_rng(1)
    features, slope = (random.normal(0, size, (16, width)).astype(np.float32) for size, width in ((1, 11), (1e-8, 12)))
    matrices, found = [random.normal(0, 1, (1, 4, 3)).astype(np.float32)], []
    for precision in ("fp32", "fp16"):
        slopes = [np.empty_like(matrices[0])]
        found.append([project_back(shape, matrices, slopes, features, slope, precision), *slopes])
    for exact, half in zip(*found, strict=True):
        np.testing.assert_allclose(half, exact, atol=0.01 * np.abs(exact).max())


@pytest.mark.slow
@pytest.mark.parametrize("precision", PRODUCTS)
def test_200_steps_of_a_precision_are_torchs_with_operands_rounded_and_near_its_autocast(precision):
    from tests.oracles.torch_dlrm import torch_losses

    shape = replace(ORACLES["kaggle-like"], matrix_precision=precision)
    weights, batches = made_up_run(shape, ORACLE_BATCH, ORACLE_STEPS)
    ours, full = (
        train(one, weights, batches.__getitem__, 0, ORACLE_STEPS).losses
        for one in (shape, replace(shape, matrix_precision="fp32"))
    )
    theirs = torch_losses(shape)
    off, rounding = (np.abs(np.subtract(theirs, one)[:10]).max() for one in (ours, full))
    assert off < rounding / 20, "later a last bit of fp32 makes another operand, and that another batch's"
    np.testing.assert_allclose(ours, theirs, rtol=DIGITS[precision])
    if precision != "tf32":  # which autocast does not have on a CPU
        np.testing.assert_allclose(ours, torch_losses(shape, autocast=True), rtol=DIGITS[precision])


@pytest.mark.slow
@pytest.mark.parametrize(("precision", "optimizer"), draw(list(product(NARROW, OPTIMIZERS)), 5))
def test_200_steps_are_no_further_from_torchs_than_two_of_torchs_from_each_other(precision, optimizer):
    from tests.oracles.torch_dlrm import torch_losses

    rate = {"sgd": 0.1, "adam": 0.001}.get(optimizer, 0.01)
    shape = model(**KAGGLE, row_precision=precision, optimizer=optimizer, learning_rate=rate)
    weights, batches = made_up_run(shape, ORACLE_BATCH, ORACLE_STEPS)
    ours = train(shape, weights, batches.__getitem__, 0, ORACLE_STEPS).losses
    theirs = [torch_losses(shape, seed) for seed in range(3)]
    own = max(np.abs(np.subtract(theirs[0], other)).max() for other in theirs[1:])
    assert np.abs(np.subtract(ours, theirs[0])).max() <= 2 * own and own < 0.05


@pytest.mark.slow
def test_200_steps_of_tables_of_several_precisions_are_as_near_to_torchs():
    from tests.oracles.torch_dlrm import torch_losses

    precisions = ("fp32", "fp16", "bf16", "fp16", "fp32", "int8", "fp32", "fp32", "fp16", "int8")
    shape = model(**MIXED, row_precision=precisions, dense_optimizer="adagrad")
    weights, batches = made_up_run(shape, ORACLE_BATCH, ORACLE_STEPS)
    ours = train(shape, weights, batches.__getitem__, 0, ORACLE_STEPS).losses
    theirs = [torch_losses(shape, seed) for seed in range(3)]
    own = max(np.abs(np.subtract(theirs[0], other)).max() for other in theirs[1:])
    assert np.abs(np.subtract(ours, theirs[0])).max() <= 2 * own and own < 0.05
