"""Is what is trained the full model where it fits, and a documented twin of it where it does not?"""

import numpy as np
import pytest

from engine.errors import CannotRun
from engine.scenario.scenario import Scenario, with_values
from engine.training.shape import (
    cross_size,
    fold,
    full_shape,
    larger_budget,
    mlp_size,
    offsets,
    scale_note,
    scaled_shape,
    step_flop,
)
from engine.training.spans import TableSpan, row_nbytes
from tests.training.training_models import model

NONE = np.empty(0, np.int64)


def scenario(**changes):
    return with_values(Scenario(), {path.replace("__", "."): value for path, value in changes.items()})


def test_the_reference_dlrm_on_kaggle_has_its_published_number_of_mlp_parameters():
    shape = full_shape(scenario(model__name="dlrm-kaggle"))
    bottom = 13 * 512 + 512 + 512 * 256 + 256 + 256 * 64 + 64 + 64 * 16 + 16
    top_input = 16 + 27 * 26 // 2
    assert shape.top_input == 367 == top_input
    assert mlp_size(shape) == bottom + top_input * 512 + 512 + 512 * 256 + 256 + 256 + 1


def test_a_model_within_its_budgets_is_trained_as_it_is():
    shape = scaled_shape(scenario(model__name="dlrm-kaggle"), np.arange(1000))
    assert (shape.width_divisor, shape.table_divisor, scale_note(shape)) == (1, 1, "")


def test_hidden_widths_take_the_smallest_power_of_two_that_fits():
    given = scenario(model__name="rm1")
    shape = scaled_shape(given, NONE)
    by_hand = [13 * w + w * v + v * 32 + 672 * t + t * u + u for w, v, t, u in [(4096, 1024, 128, 32), (2048, 512, 64, 16)]]
    flop = [6 * 128 * weights for weights in by_hand]
    assert flop[0] > 1e9 >= flop[1] == step_flop(shape, 128)
    assert (shape.width_divisor, shape.bottom, shape.top) == (4, (13, 2048, 512, 32), (64, 16, 1))
    assert scale_note(shape) == (
        "Trained on a smaller model of the same form, with hidden MLP widths divided by 4; the timing uses the full model."
    )


def test_no_hidden_width_falls_below_one():
    shape = scaled_shape(scenario(model__name="tiny", model__bottom_mlp=(5, 64, 2, 4), run__step_budget_GFLOP=8e-5), NONE)
    assert shape.width_divisor == 8 and shape.bottom == (5, 8, 1, 4) and shape.top == (1, 1)


def test_tables_fold_by_the_smallest_power_of_two_that_fits():
    given = scenario(model__num_tables=2, model__num_embeddings=(10**9, 3), run__memory_budget_GiB=0.01)
    seen = np.arange(0, 10**9, 1000)
    shape = scaled_shape(given, seen)
    room = (0.01 * 2**30 - 4 * mlp_size(shape)) / (16 * 4)
    counts = {
        divisor: len(np.unique(seen % -(-(10**9) // divisor))) for divisor in (shape.table_divisor // 2, shape.table_divisor)
    }
    assert counts[shape.table_divisor] <= room < counts[shape.table_divisor // 2]
    assert f"1/{shape.table_divisor} of their rows" in scale_note(shape)


def test_a_folded_row_keeps_its_table_and_its_remainder():
    shape = model(rows=(10, 7, 1), pooling=(1, 1, 1), table_divisor=4)
    assert fold(shape, np.arange(18)).tolist() == [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 10, 11, 10, 11, 10, 11, 10, 17]
    assert offsets(shape).tolist() == [0, 10, 17, 18]


def test_a_budget_that_holds_not_even_the_narrowest_twin_is_raised_to_one_that_does():
    wide = {"model__num_tables": 40, "model__embedding_dim": 64, "data__batch_size": 4096, "model__bottom_mlp": (13, 512, 64)}
    needed = larger_budget(scenario(**wide))
    with pytest.raises(CannotRun, match=f"raise it to {needed:g}"):
        scaled_shape(scenario(**wide), NONE)
    assert step_flop(scaled_shape(scenario(**wide, run__step_budget_GFLOP=needed), NONE), 4096) <= needed * 1e9
    assert larger_budget(scenario(**wide, run__step_budget_GFLOP=needed)) is None
    assert larger_budget(scenario(**wide, run__training=False)) is None


def test_mlperfs_dcnv2_has_its_published_layers():
    shape = full_shape(scenario(model__name="dlrm-dcnv2"))
    features = 27 * 128  # of the dense vector and 26 tables
    assert (shape.ranks, shape.dense_optimizer, sum(shape.pooling)) == ((512,) * 3, "adagrad", 214)
    assert shape.spans == (TableSpan(128, "fp32", "adagrad", 26),)
    assert cross_size(shape) == 3 * (2 * 512 * features + features)
    top = features * 1024 + 1024 + 1024 * 1024 + 1024 + 1024 * 512 + 512 + 512 * 256 + 256 + 257
    assert mlp_size(shape, "top") == top


@pytest.mark.parametrize(("optimizer", "nbytes"), [("sgd", 16), ("rowwise-adagrad", 20), ("adagrad", 32), ("adam", 48)])
def test_a_row_takes_its_four_words_and_what_its_optimizer_keeps(optimizer, nbytes):
    assert row_nbytes(TableSpan(4, "fp32", optimizer, 1)) == nbytes


@pytest.mark.parametrize(
    ("changes", "knob"),
    [
        ({"model__name": "dlrm-kaggle", "run__step_budget_GFLOP": 1e-6}, "run.step_budget_GFLOP"),
        ({"model__num_tables": 10_000, "model__embedding_dim": 4096, "model__bottom_mlp": (13, 4096)}, "run.step_budget_GFLOP"),
        ({"model__embedding_dim": 4096, "model__interaction": "concat", "run__step_budget_GFLOP": 99.0}, "run.memory_budget_GiB"),
    ],
)
def test_what_no_twin_can_fit_is_refused_with_the_knob_to_raise(changes, knob):
    with pytest.raises(CannotRun, match=rf"{knob}=.*raise it"):
        scaled_shape(scenario(run__memory_budget_GiB=0.01, **changes), np.arange(9 * 26))
