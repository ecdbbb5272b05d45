"""Quotes: a price for one part moves that part alone, and parts that are owned cost nothing up to their number."""

import re
from math import ceil

import pytest

from engine.analysis.choice import COST
from engine.errors import BadKnob
from engine.estimate import estimate
from engine.hardware.money.bill import BillItem, bill_price
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import ready_machine
from engine.sweep.links import link, open_link
from tests.cases import each
from tests.hardware.test_catalog import shelf
from tests.insight.test_prices import BOARD, KAGGLE, unpriced

__all__ = ["shelf", "unpriced"]
QUOTES, OWNED = "machine.quotes", "machine.owned_parts"
EIGHT = with_values(preset("dlrm-kaggle").scenario, {"system": "all-hbm", "machine.num_gpus": 16})


def items(scenario):
    """Return a machine's bill by kind and part."""
    return {(item.kind, item.part, item.key): item for device in ready_machine(scenario).devices.values() for item in device.bill}


def test_a_quote_moves_the_bill_of_its_part_alone_and_is_of_this_year_without_a_range():
    plain, quoted = items(EIGHT), items(with_values(EIGHT, {QUOTES: "gpu/h100-sxm:31000"}))
    gpu = quoted.pop(("gpu", "h100-sxm", "price"))
    assert (gpu.count, gpu.each, gpu.usd) == (16, 31000, 16 * 31000)
    assert (gpu.price.low, gpu.price.high, gpu.price.year, gpu.price.source) == (31000, 31000, 2026, "your quote")
    assert quoted == {name: item for name, item in plain.items() if name[0] != "gpu"}
    other = with_values(EIGHT, {QUOTES: "gpu/h200:31000"})
    assert items(other) == plain and other != EIGHT


def test_a_quote_for_a_unit_of_the_file_is_by_gb_for_memory_and_names_one_of_several_prices():
    dimms = items(with_values(EIGHT, {QUOTES: "dram/ddr5-4800:10"}))["dram", "ddr5-4800", "price"]
    assert dimms.each == pytest.approx(10 * dimms.units) and dimms.price.value == 10
    cards = items(with_values(EIGHT, {QUOTES: "network/roce/network-card-price:900"}))
    assert cards["network", "roce", "network-card-price"].usd == 16 * 900
    servers = with_values(KAGGLE, {"system": "remote-no-cache", QUOTES: "embedding-server/two-socket/memory-price:3"})
    assert items(servers)["embedding-server", "two-socket", "memory-price"].price.value == 3


def test_a_quote_gives_a_part_without_a_price_one_and_an_assumption_beats_it(unpriced):
    assert estimate(unpriced).results[COST] is None
    quoted = with_values(unpriced, {QUOTES: "gpu/priceless:30000"})
    assert quoted.machine.quotes.startswith("gpu/priceless~") and estimate(quoted).warnings == (BOARD,)
    dearer = with_values(quoted, {"machine.assume": (("gpu.price", 31000.0),)})
    assert estimate(dearer).results[COST] == pytest.approx(estimate(quoted).results[COST] + 8 * 1000)
    assert open_link(link(quoted)).scenario == quoted


REFUSED = [
    ("gpu/h201:3", "names 'h201', which is not known; did you mean h200?"),
    ("gpus/h200:3", "names the kind 'gpus', which is not known"),
    ("h200:3", "has the entry 'h200:3'; write gpu/h200:31000"),
    ("gpu/h200", "has the entry 'gpu/h200'"),
    ("gpu/h200:-1", "gives h200 the number -1; write USD from 0 to 1,000,000,000"),
    ("gpu/h200:nan", "gives h200 a number that cannot be read"),
    ("gpu/h200:1;gpu/h200:2", "names h200 twice, with different numbers"),
    ("gpu/h200/prize:1", "names the price 'prize'; did you mean price?"),
    ("fabric/nvlink-4:1", "names the kind 'fabric'"),
]


@each(("text", "says"), REFUSED)
def test_a_quote_that_cannot_be_read_is_refused_with_its_remedy(text, says):
    with pytest.raises(BadKnob, match=re.escape(f"machine.quotes {says}")):
        with_values(KAGGLE, {QUOTES: text})


def test_a_list_is_sorted_and_names_no_first_price():
    one = with_values(KAGGLE, {QUOTES: "gpu/h200/price:31000.0; chassis/gpu-8-sxm:45000"})
    assert one.machine.quotes == "chassis/gpu-8-sxm:45000;gpu/h200:31000"


@each(
    ("owned", "bought"),
    [("gpu/h100-sxm:10", 6), ("gpu/h100-sxm:16", 0), ("gpu/h100-sxm:99", 0), ("h100-sxm", 0), ("gpu/h200:9", 16)],
)
def test_owned_parts_are_finite_where_they_have_a_number(owned, bought):
    plain, some = items(EIGHT), items(with_values(EIGHT, {OWNED: owned}))
    gpu = some["gpu", "h100-sxm", "price"]
    assert gpu.bought == bought and gpu.usd == bought * gpu.each
    assert estimate(with_values(EIGHT, {OWNED: owned})).results[COST] == pytest.approx(bill_price(some.values()))
    assert {name: one for name, one in some.items() if name[0] != "gpu"} == {
        name: one for name, one in plain.items() if name[0] != "gpu"
    }


def test_owned_modules_go_to_the_host_first_and_then_to_expanders_of_their_grade():
    grades = {"system": "dram", "machine.host_dram": "ddr4-3200", "machine.expander_dram": "ddr4-3200"}
    scenario = with_values(KAGGLE, grades)
    host, expander = (ready_machine(scenario).devices[name].bill[0] for name in ("dram", "expander-dram"))
    sizes = [float(item.size.partition(" ")[0]) for item in (host, expander)]
    modules = ceil((host.count * sizes[0] + sizes[1]) / 64)  # of 64 GB, whatever size the machine has
    owned = with_values(scenario, {OWNED: f"dram/ddr4-3200:{modules}"})
    after = [ready_machine(owned).devices[name].bill[0] for name in ("dram", "expander-dram")]
    rest = (64 * modules - host.count * sizes[0]) // sizes[1]
    assert rest >= 1 and (after[0].bought, after[1].bought) == (0, max(expander.count - rest, 0))


def test_owned_modules_are_of_64_gb_and_hold_no_more_in_a_larger_machine():
    large = with_values(KAGGLE, {"machine.host_dram_GiB": 4096.0, "machine.host": "server", "machine.host_dram": "ddr4-3200"})
    item = ready_machine(with_values(large, {OWNED: "dram/ddr4-3200:16"})).devices["dram"].bill[0]
    assert item.size == "256 GiB" and item.owned == 16 * 64 / 256


@each(
    ("owned", "says"),
    [
        ("gpu/a100-80:0", "the number 0; write a whole number"),
        ("gpu/a100-80:1.5", "the number 1.5"),
        ("gpu/a100-80:x", "a number that cannot be read"),
    ],
)
def test_a_number_of_owned_parts_is_whole(owned, says):
    with pytest.raises(BadKnob, match=re.escape(says)):
        with_values(KAGGLE, {OWNED: owned})


def test_a_bill_with_a_part_without_a_price_has_no_sum_unless_it_is_owned():
    items = BillItem("gpu", "x", 2, None), BillItem("gpu", "y", 0, None)
    assert bill_price(items) is None and bill_price(items[1:]) == 0.0
    assert bill_price([BillItem("gpu", "x", 2, None, owned=2)]) == 0.0
