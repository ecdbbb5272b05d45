"""Sensitivity: do the tornado and the bands follow from the constants' ranges, and only from them?"""

import numpy as np
import pytest

from engine.analysis import uncertainty
from engine.analysis.uncertainty import bands, tornado, uncertain
from engine.estimate import estimate
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values

BASE = preset("trainingcxl-rm1").scenario
STEP = "Step time [ms]"


def test_the_update_rate_moves_an_update_bound_step_by_its_own_seconds():
    """The prototype's update is exposed alone: at 1 instead of 1.476 GB/s it takes 1.476 times as long."""
    swing = next(one for one in tornado(BASE, STEP) if one.name == "pmem.in-place-update-rate")
    embedding = 1e3 * sum(row["Exposed [s]"] for row in estimate(BASE).breakdown if row["Stage"] == "Embedding")
    own = estimate(BASE).results[STEP]
    assert swing.at_low - own == pytest.approx(embedding * (1.476 / swing.constant.low - 1), rel=1e-3)
    assert swing.at_high - own == pytest.approx(embedding * (1.476 / swing.constant.high - 1), rel=1e-3)


def test_the_widest_swing_comes_first_and_constants_without_effect_are_left_out():
    swings = tornado(BASE, STEP)
    widths = [swing.width for swing in swings]
    assert widths == sorted(widths, reverse=True) and min(widths) > 0
    assert not {"pmem.price", "cxl.card-price", "gpu.price"} & {swing.name for swing in swings}


def test_prices_and_sizes_alone_move_the_capital_cost():
    moving = {swing.name.partition(".")[2] for swing in tornado(BASE, "Capital cost [USD]")}
    assert {"price", "card-price"} <= moving <= {"price", "card-price", "capacity", "module-capacity"}


def test_bands_repeat_and_lie_between_the_extremes():
    first, again = bands(BASE, 16), bands(BASE, 16)
    assert first == again
    low, high = first[STEP]
    assert low < high
    certain = with_values(BASE, {"machine.assume": tuple((name, one.value) for name, one in uncertain(BASE).items())})
    own = estimate(BASE).results[STEP]
    assert bands(certain, 4)[STEP] == pytest.approx((own, own), rel=1e-12)


def test_draws_lie_below_a_constants_value_as_often_as_above_it_and_within_its_range():
    asked = preset("trainingcxl-rm1").scenario
    drawn = uncertainty.draws(asked, 400)
    for name, one in uncertainty.uncertain(asked).items():
        values = np.array([row[name] for row in drawn])
        assert one.low <= values.min() and values.max() <= one.high
        if one.low < one.value < one.high:
            assert (values < one.value).mean() == pytest.approx(0.5, abs=0.1)
