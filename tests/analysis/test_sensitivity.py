"""Sensitivity: do the tornado and the bands follow from the constants' ranges, and only from them?"""

import numpy as np
import pytest

from engine.analysis import uncertainty
from engine.analysis.uncertainty import bands, draws, tornado, uncertain_constants
from engine.estimate import estimate
from engine.registry import all_variants
from engine.scenario.presets import preset, preset_names
from engine.scenario.scenario import with_values
from engine.systems.capacity import fit
from engine.systems.system import constants
from tests.cases import each
from tests.hardware.test_catalog import TEXT, shelf

__all__ = ["shelf"]

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


def test_prices_alone_move_the_capital_cost():
    moving = {swing.name.partition(".")[2] for swing in tornado(BASE, "Capital cost [USD]")}
    assert moving == {"price", "card-price"}


OFFERED = {  # by device, what vendors offer several of
    "pmem": {"module-capacity", "interleave-set", "link-lanes", "link-generation"},
    "expander-dram": {"capacity", "channels"},
    "ssd": {"capacity"},
    "gpu": {"memory"},
    "host": {"sockets", "DRAM-channels", "PCIe-lanes", "PCIe-generation"},
    "chassis": {"network-cards", "sockets", "DIMM-slots", "GPU-places", "free-PCIe-lanes", "drive-bays", "expander-bays"},
}


def test_choices_are_what_vendors_offer_several_of():
    found = {}
    for device, kind in all_variants("devices").items():
        declared = {one.name.replace(" ", "-") for part in kind.parts().values() for one in part if one.choice}
        found |= {device: declared} if declared else {}
    assert found == OFFERED


@each("name", preset_names())
def test_a_choice_is_never_drawn_and_nothing_else_with_a_range_is_left_out(name):
    scenario = preset(name).scenario
    used = constants(scenario)
    choices = {path for path, one in used.items() if one.choice}
    assert choices and not choices & {*uncertain_constants(scenario)}
    given = {path for path, _ in scenario.machine.assume}
    assert {path for path, one in used.items() if one.low < one.high} - choices - given == {*uncertain_constants(scenario)}


def test_a_choice_of_a_file_of_ones_own_or_assumed_stays_a_choice(shelf):
    shelf("media/crystal", TEXT["media/optane-100"])
    own = with_values(preset("optane-kaggle").scenario, {"machine.pmem": "crystal"})
    assumed = with_values(own, {"machine.assume": (("pmem.module-capacity", 256.0),)})
    for scenario, value in ((own, 128), (assumed, 256)):
        one = constants(scenario)["pmem.module-capacity"]
        assert one.choice and one.value == value and one.low < one.high
        assert "pmem.module-capacity" not in {
            *uncertain_constants(scenario),
            *(path for row in draws(scenario, 4) for path in row),
        }
    assert fit(assumed).scenario.machine.pmem_capacity_GB == 2 * fit(own).scenario.machine.pmem_capacity_GB


def test_modules_of_the_usual_size_no_longer_make_the_step_uncertain():
    """Two modules of 512 GB instead of six of 128 GB are slower than any draw."""
    rm1 = preset("optane-rm1").scenario
    low, high = bands(rm1)[STEP]
    one_module = estimate(with_values(rm1, {"machine.pmem_module_GB": 512.0, "machine.pmem_capacity_GB": 1024.0})).results[STEP]
    assert low < estimate(rm1).results[STEP] < high < one_module


def test_bands_repeat_and_lie_between_the_extremes():
    first, again = bands(BASE, 16), bands(BASE, 16)
    assert first == again
    low, high = first[STEP]
    assert low < high
    certain = with_values(BASE, {"machine.assume": tuple((name, one.value) for name, one in uncertain_constants(BASE).items())})
    own = estimate(BASE).results[STEP]
    assert bands(certain, 4)[STEP] == pytest.approx((own, own), rel=1e-12)


def test_draws_lie_below_a_constants_value_as_often_as_above_it_and_within_its_range():
    asked = preset("trainingcxl-rm1").scenario
    drawn = uncertainty.draws(asked, 400)
    for name, one in uncertainty.uncertain_constants(asked).items():
        values = np.array([row[name] for row in drawn])
        assert one.low <= values.min() and values.max() <= one.high
        if one.low < one.value < one.high:
            assert (values < one.value).mean() == pytest.approx(0.5, abs=0.1)
