"""What a knob moves: is each change the ratio of two estimates, and is a knob flat only where nothing moves?"""

import pytest

from engine.insight.knobs.front import MOST_KNOBS, by_effect, front_knobs, is_read
from engine.insight.knobs.moves import change_words, is_flat, moved_sentence, moves
from engine.insight.knobs.sold import first_not_sold, neighbours
from engine.insight.knobs.stops import CAPACITY
from engine.insight.knobs.strips import Stop, Strip, strips
from engine.insight.relaxation import LINK
from engine.registry import variant_names
from engine.scenario.presets import EXPLORED, preset, preset_names
from engine.scenario.scenario import KNOBS, with_values
from engine.schedule.machine import sized_scenario
from tests.cases import each

NAN, NEAR, BOUND = float("nan"), "machine.near_data_compute", "policy.mlp_staleness_bound_batches"


def strip_of(path, *stops, own=0, enough=None):
    return Strip(path, own, stops, None, (), enough, "")


def stop(value, seconds=1.0, joules=1.0, dollars=1.0, refused=""):
    return Stop(value, str(value), seconds, joules, dollars, refused)


@pytest.mark.parametrize(
    ("ratio", "words"),
    [(15.0, "× 15.0"), (2.0, "× 2.00"), (1.25, "+25 %"), (0.851, "\N{MINUS SIGN}14.9 %"), (0.01, "\N{MINUS SIGN}99 %")],
)
def test_a_ratio_in_words(ratio, words):
    assert change_words(ratio) == words


def test_a_number_is_compared_from_its_least_to_its_largest_value():
    strip = strip_of(CAPACITY, stop(128.0), stop(256.0, 0.8, 3.0, 5.0), stop(512.0, 0.8, 15.0, 25.0), enough=256.0)
    assert moved_sentence(strip) == "Step: \N{MINUS SIGN}20 %, none beyond 256. Energy: × 15.0. Price: × 25.0."
    assert not is_flat(strip)


def test_a_value_inside_that_is_best_is_named():
    strip = strip_of(LINK, stop(8.0, 1.0, 2.0), stop(16.0, 0.5, 1.0), stop(32.0, 1.0, 1.9))
    assert moved_sentence(strip) == "Step: least at 16. Energy: least at 16. Price: nothing."


def test_words_are_compared_with_the_fastest_other_and_a_switch_from_off_to_on():
    gpus = strip_of("machine.gpu", stop("a", 2.0), stop("b", 3.0), stop("c", 1.0, dollars=NAN), own=0)
    assert moved_sentence(gpus) == "a → c: Step: \N{MINUS SIGN}50 %. Energy: nothing. Price: unknown."
    logic = strip_of(NEAR, Stop(False, "off", 1.0, 1.0, 1.0), Stop(True, "on", 1.0, 1.0, 2.5), own=1)
    assert moved_sentence(logic) == "off → on: Step: nothing. Energy: nothing. Price: × 2.50."


def test_a_knob_is_flat_only_where_time_energy_and_price_are():
    assert is_flat(strip_of(LINK, stop(1.0), stop(2.0, 1.009, 0.995, 1.0)))
    for field in ("seconds", "joules", "dollars"):
        assert not is_flat(strip_of(LINK, stop(1.0), stop(2.0, **{field: 1.011})))
    assert is_flat(strip_of(LINK, stop(1.0), stop(2.0, NAN, NAN, NAN, "does not fit")))
    assert moved_sentence(strip_of(LINK, stop(1.0), stop(2.0, NAN, NAN, NAN, "Does not fit."))) == "Does not fit."


@each("path", [CAPACITY, LINK, NEAR, BOUND, "data.batch_size"], few=3)
def test_each_move_is_what_the_strips_ends_say(path):
    (strip,) = strips(preset(EXPLORED).scenario, [path])
    running = [one for one in strip.stops if not one.refused]
    for move, field in zip(moves(strip), ("seconds", "joules", "dollars"), strict=True):
        numbers = [getattr(one, field) for one in running]
        assert (move.first, move.last, move.least, move.most) == (numbers[0], numbers[-1], min(numbers), max(numbers))


def test_the_explored_preset_has_all_its_main_knobs_in_front():
    scenario = preset(EXPLORED).scenario
    paths = front_knobs(scenario)
    found = by_effect(scenario, strips(scenario, paths))
    main = {path for path, knob in KNOBS.items() if knob.main and path != "system"}
    assert main < {*found.acting} and not found.flat and not found.unread
    assert found.acting[MOST_KNOBS:] == ("machine.num_gpus",)


@each("system", variant_names("systems"), few=6)
def test_front_knobs_are_those_that_the_system_reads(system):
    scenario = with_values(preset("dlrm-kaggle").scenario, {"system": system})
    paths = front_knobs(scenario)
    assert all(is_read(scenario, path) for path in paths) and len({*paths}) == len(paths)
    assert "data.batch_size" in paths or len(paths) >= MOST_KNOBS
    assert ("machine.pmem_capacity_GB" in paths) == (system in ("pmem", "pcie", "cxl-d", "cxl-b", "cxl", "mtrains"))


@each("name", preset_names(), few=8)
def test_no_strip_shows_more_than_one_stop_beyond_what_is_sold(name):
    scenario = preset(name).scenario
    for strip in strips(scenario, [CAPACITY, LINK, "machine.pcie_bandwidth_GBps", "machine.network_bandwidth_GBps"]):
        unsold = [one for one in strip.stops[strip.own_index + 1 :] if one.not_sold]
        assert len(unsold) <= 1 and (not unsold or unsold[0] == strip.stops[-1])


def test_neighbours_on_sale_are_modules_and_cards():
    settled = sized_scenario(preset(EXPLORED).scenario)
    assert neighbours(settled, CAPACITY, 128.0) == (96.0, 160.0)
    assert neighbours(settled, LINK, 25.83) == (12.915, 49.61)
    assert first_not_sold(settled, LINK, {3: 99.2, 4: 128.0, 5: 256.0}) == (
        4,
        "The fastest product carries 99.2 GB/s (×16 Gen6, 121 GB/s raw).",
    )
    assert first_not_sold(settled, CAPACITY, {0: 128.0, 1: 8 * 32.0}) is None
    key, reason = first_not_sold(settled, CAPACITY, {0: 128.0, 1: 8 * 32.0, 2: 9 * 32.0, 3: 4096.0}) or (0, "")
    assert key == 2 and "9 expander bays; two-socket has 8" in reason


def test_a_value_in_force_that_nobody_sells_is_shown_and_marked():
    (capacity,) = strips(with_values(preset(EXPLORED).scenario, {CAPACITY: 512.0}), [CAPACITY])
    assert capacity.own_stop.knob_value == 512.0 and capacity.own_stop.not_sold
    assert [bool(one.not_sold) for one in capacity.stops] == [one.knob_value > 256.0 for one in capacity.stops]
    assert len([one for one in capacity.stops if one.knob_value > 512.0]) == 1


def test_where_nothing_runs_all_values_near_the_present_one_are_offered():
    (link,) = strips(with_values(preset(EXPLORED).scenario, {CAPACITY: 32.0}), [LINK])
    assert all(one.refused for one in link.stops) and len(link.stops) > 4
