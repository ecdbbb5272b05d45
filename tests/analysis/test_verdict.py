"""Verdicts between machines: is the value at which a constant turns one where estimates on both sides disagree?"""

import pytest

from engine.analysis.uncertainty import find_turning_points, uncertain_constants
from engine.estimate import estimate
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from pages.design_page import questions

STEP, ENERGY = "Step time [ms]", "Energy per batch [J]"


def under(system, **assumed):
    """Return a machine of one module, whose step under `cxl` lies near that of a host with a GPU."""
    pairs = tuple((name.replace("__", "."), value) for name, value in assumed.items())
    return with_values(
        preset("optane-kaggle").scenario, {"system": system, "machine.pmem_capacity_GB": 128.0, "machine.assume": pairs}
    )


def ahead(one, other, metric, **assumed):
    found = [estimate(with_values(each, {"machine.assume": tuple(assumed.items())})).results[metric] for each in (one, other)]
    return found[0] - found[1]


@pytest.mark.slow
@pytest.mark.parametrize("metric", [STEP, ENERGY])
def test_a_verdict_holds_on_one_side_of_where_it_turns_and_no_other_constant_turns_it(metric):
    one, other = under("cxl"), under("cpu-gpu")
    found, own = {turn.name: turn for turn in find_turning_points(one, other, metric)}, ahead(one, other, metric)
    assert "host.embedding-software-per-batch" in found
    for name, constant in {**uncertain_constants(one), **uncertain_constants(other)}.items():
        signs = [ahead(one, other, metric, **{name: end}) * own > 0 for end in (constant.low, constant.high)]
        assert all(signs) == (name not in found), name
        if name in found:
            near, turn = 0.002 * (constant.high - constant.low), found[name]
            inside, outside = (
                (turn.turning_value + near, turn.turning_value - near)
                if turn.holds_above
                else (turn.turning_value - near, turn.turning_value + near)
            )
            assert ahead(one, other, metric, **{name: inside}) * own > 0 > ahead(one, other, metric, **{name: outside}) * own


def test_a_verdict_that_no_constant_turns_holds_over_each_whole_range():
    assert find_turning_points(under("cxl"), under("dram"), STEP) == find_turning_points(under("cxl"), under("cxl"), ENERGY) == ()


def test_the_page_says_while_what_a_comparison_holds():
    scenario = under("cxl")
    told = questions.result_bands(scenario, under("cpu-gpu"))[STEP].sentences[-1]
    assert told.startswith("This number stays on the same side of CPU-GPU's number while ")
    steps = [estimate(one).results[STEP] for one in (scenario, under("cpu-gpu"))]
    assert steps[0] < steps[1]  # so it is less while the host's software, which cpu-gpu waits for, takes long
    assert "host.embedding-software-per-batch is above" in told and "us (range: 100 to 5,000)" in told
    assert (
        questions.result_bands(scenario, under("dram"))[STEP]
        .sentences[-1]
        .endswith("DRAM's number over each constant's whole range.")
    )
    assert (
        len(questions.result_bands(scenario)[STEP].sentences)
        == len(questions.result_bands(scenario, scenario)[STEP].sentences)
        == 3
    )
