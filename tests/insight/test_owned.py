"""Knobs of costs: what does a machine cost that trains fewer hours, or some of whose parts are owned already?"""

import pickle
import re
from dataclasses import replace

import pytest

from engine.analysis.choice import COST
from engine.core import catalog
from engine.errors import BadKnob
from engine.estimate import estimate
from engine.insight.running_costs import assumptions, running_costs
from engine.scenario import keys
from engine.scenario.knobs import write
from engine.scenario.scenario import KNOBS, with_values
from engine.schedule.machine import ready_machine
from engine.sweep.links import link, open_link
from tests.cases import each
from tests.hardware.test_catalog import TEXT, shelf
from tests.insight.test_prices import BOARD, KAGGLE, unpriced
from tests.parts.conftest import folder

__all__ = ["folder", "shelf", "unpriced"]
HOURS_KNOB, OWNED = "machine.training_hours_a_month", "machine.owned_parts"


def test_a_machine_that_trains_fewer_hours_is_written_off_over_those_and_says_so():
    own, half = (running_costs(estimate(with_values(KAGGLE, {HOURS_KNOB: hours}))) for hours in (730, 365))
    assert own == running_costs(estimate(KAGGLE)) and half.capital == own.capital
    assert half.kwh_month == own.kwh_month / 2 and half.electricity_month == pytest.approx(own.electricity_month / 2)
    seconds = 1e9 / estimate(KAGGLE).results["Throughput [samples/s]"]
    assert half.per_billion_samples - own.per_billion_samples == pytest.approx(own.capital * seconds / (5 * 12 * 730 * 3600))
    told = assumptions(with_values(KAGGLE, {HOURS_KNOB: 200}))
    assert "the machine trains 200 of 730 hours a month" in told and "Training all the time would favour larger machines." in told
    assert "trains all the time" in assumptions(KAGGLE) and "favour" not in assumptions(KAGGLE)
    for hours in (0, 731):
        with pytest.raises(BadKnob, match="out of range"):
            with_values(KAGGLE, {HOURS_KNOB: hours})


def cost(scenario, owned=""):
    """Return the USD of a machine some of whose parts are owned."""
    return estimate(with_values(scenario, {OWNED: owned})).results[COST]


OWN = [  # a device, what it is under which system, and how that is owned
    ("gpu", "all-hbm", "a100-80"),
    ("host", "all-hbm", "server"),
    ("chassis", "all-hbm", "gpu-4-sxm"),
    ("dram", "cpu-gpu", "ddr4-3200"),
    ("pmem", "pmem", "optane-100"),
    ("ssd", "ssd", "p5800x"),
    ("near-data", "cxl", "fpga"),
    ("remote", "remote-no-cache", "embedding-server"),
    ("gatherer", "hotline", "gather-card"),
    ("expander-dram", "dram", "cmm-d-256"),
]


@each(("device", "system", "owned"), OWN)
def test_a_part_that_is_owned_costs_nothing_but_its_power(device, system, owned):
    scenario = with_values(KAGGLE, {"system": system, "machine.expander": "cmm-d-256" if system == "dram" else None})
    before, after = ready_machine(scenario).devices, ready_machine(with_values(scenario, {OWNED: owned})).devices
    assert before[device].price > 0 and after[device].price == 0
    assert {name: replace(one, bill=()) for name, one in after.items()} == {
        name: replace(one, bill=()) for name, one in before.items()
    }
    assert cost(scenario, owned) == pytest.approx(cost(scenario) - before[device].price)
    assert {**estimate(with_values(scenario, {OWNED: owned})).results, COST: 0} == {**estimate(scenario).results, COST: 0}


def test_several_owned_parts_are_one_list_whatever_their_order():
    one = with_values(KAGGLE, {OWNED: "server; a100-80;a100-80"})
    assert one == with_values(KAGGLE, {OWNED: "a100-80;server"}) and one.machine.owned_parts == "a100-80;server"
    assert open_link(link(one)).scenario == one
    everything = with_values(KAGGLE, {OWNED: ";".join(KNOBS[OWNED].parts.words())})
    assert estimate(everything).results[COST] == ready_machine(KAGGLE).devices["cxl"].price


def test_the_grade_in_force_counts_and_an_other_grade_does_not():
    host = with_values(KAGGLE, {"machine.host": "amx-2023"})
    assert cost(host, "ddr5-4800") == pytest.approx(cost(host) - ready_machine(host).devices["dram"].price)
    assert cost(host, "ddr4-3200") == cost(host)
    assert cost(with_values(host, {"machine.host_dram": "ddr4-3200"}), "ddr5-4800") == cost(
        with_values(host, {"machine.host_dram": "ddr4-3200"})
    )


@each(("owned", "says"), [("a100-8", "did you mean a100-80?"), ("embedding-servers", "did you mean embedding-server?")])
def test_an_unknown_owned_part_is_refused_with_the_nearest(owned, says):
    with pytest.raises(BadKnob, match=re.escape(f"machine.owned_parts names {owned!r}, which is not known; {says}")):
        with_values(KAGGLE, {OWNED: f"server;{owned}"})


def test_knobs_later_than_keys_change_no_key_and_no_link_at_their_defaults():
    later = {path: knob for path, knob in KNOBS.items() if knob.added_later}
    assert {*later} >= {OWNED, HOURS_KNOB}
    rows = [row for row in keys.key_lines(KAGGLE) if row.partition("=")[0] in later]
    assert rows == [] and not any(path in link(KAGGLE) for path in later)
    for path, value in ((OWNED, "server"), (HOURS_KNOB, 100.0)):
        moved = with_values(KAGGLE, {path: value})
        assert keys.key(moved, "estimate") != keys.key(KAGGLE, "estimate") and path in link(moved)
        assert f"{path}={write(KNOBS[path], value)}" in keys.key_lines(moved)
        assert keys.key(with_values(moved, {path: KNOBS[path].default}), "estimate") == keys.key(KAGGLE, "estimate")


def test_an_owned_part_without_a_price_costs_nothing_and_a_changed_file_is_still_owned(unpriced, shelf):
    owned = with_values(unpriced, {OWNED: "priceless"})
    assert estimate(owned).results[COST] > 0 and estimate(owned).warnings == (BOARD,)
    assert "priceless~" in owned.machine.owned_parts and open_link(link(owned)).scenario == owned
    shelf("gpu/priceless", TEXT["gpu/h100-sxm"].replace("= 3350", "= 8000"))
    catalog.look_again()
    renewed = with_values(owned, {"machine.gpu": "priceless"})
    assert renewed.machine.gpu != owned.machine.gpu
    assert estimate(renewed).results[COST] == estimate(owned).results[COST]


def test_an_owned_part_of_ones_own_travels_with_links_and_pickles_though_no_device_is_it(folder):
    folder.elsewhere(folder.path)
    one = with_values(KAGGLE, {OWNED: "mine;server"})
    address, packed = link(one), pickle.dumps(one)
    folder.elsewhere()
    with pytest.raises(BadKnob, match="'mine', which is not known"):
        with_values(KAGGLE, {OWNED: "mine"})
    assert open_link(address).scenario.machine.owned_parts == one.machine.owned_parts
    folder.elsewhere()
    again = pickle.loads(packed)
    assert again == one and estimate(again).results[COST] == cost(KAGGLE, "server")
