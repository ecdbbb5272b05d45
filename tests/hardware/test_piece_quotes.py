"""Quotes of pieces: is a price of a module kept to the digit, merged with other quotes, and refused without a file?"""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.constants import Constant
from engine.core.part_files.lists import QUOTES, read_entries
from engine.errors import BadKnob
from engine.estimate import estimate
from engine.hardware.money.bill import BillItem
from engine.hardware.money.piece_quotes import piece_quote, with_piece_quote
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.schedule.machine import settle
from engine.systems.system import powered_devices
from tests.cases import examples

PRICE = Constant("DRAM price", 13.8, "USD/GB", 8, 37, "stated", "")
MODULE = BillItem("dram", "ddr4-3200", 16, PRICE, 34.359738368, size="32 GiB")
GPU = BillItem("gpu", "h200", 8, PRICE)
MEMORY = BillItem("embedding-server", "two-socket", 2, PRICE, 512.0, "memory-price")


@examples(200)
@given(st.decimals(0, 10**7, places=2), st.floats(0.1, 1e5))
def test_a_typed_price_of_a_piece_shows_again_as_typed(usd, units):
    item = replace(MODULE, units=units)
    quotes = QUOTES.settled("machine.quotes", with_piece_quote("", item, float(usd)))
    assert piece_quote(quotes, item) == float(usd)


def test_a_quote_is_in_the_unit_of_the_file_and_joins_the_others():
    quotes = with_piece_quote("gpu/h200:31000;chassis/gpu-8-sxm:45000", MODULE, 900.0)
    assert {entry.text for entry in read_entries(quotes)} == {
        "gpu/h200:31000",
        "chassis/gpu-8-sxm:45000",
        f"dram/ddr4-3200:{900 / 34.359738368!r}",
    }
    assert piece_quote(quotes, GPU) == 31000 and piece_quote(quotes, MEMORY) is None
    assert with_piece_quote(quotes, MODULE, None) == "gpu/h200:31000;chassis/gpu-8-sxm:45000"
    assert piece_quote(with_piece_quote(quotes, GPU, 29000.5), GPU) == 29000.5
    both = with_piece_quote(with_piece_quote("", MEMORY, 5120.0), replace(MEMORY, key="price", units=1.0), 8000.0)
    assert both == "embedding-server/two-socket/memory-price:10;embedding-server/two-socket:8000"
    assert with_piece_quote(both, MEMORY, None) == "embedding-server/two-socket:8000"
    for usd in (-1.0, 2e9, float("nan")):
        with pytest.raises(BadKnob, match=f"{usd!r} USD is not a price of h200; write USD from 0 to 1,000,000,000"):
            with_piece_quote(quotes, GPU, usd)
    with pytest.raises(BadKnob, match="remote storage has no file in the catalogue"):
        with_piece_quote("", BillItem("store", "remote storage", 1, PRICE), 1.0)


def test_a_quoted_module_costs_what_was_typed():
    base = with_values(preset("dlrm-kaggle").scenario, {"system": "cpu-gpu"})
    items = {item.kind: item for device in devices(base) for item in device.bill}
    quoted = with_values(base, {"machine.quotes": with_piece_quote("", items["dram"], 900.0)})
    again = {item.kind: item for device in devices(quoted) for item in device.bill}
    assert again["dram"].each == pytest.approx(900.0, rel=1e-15)
    saved = estimate(base).results["Capital cost [USD]"] - estimate(quoted).results["Capital cost [USD]"]
    assert saved == pytest.approx(items["dram"].count * (items["dram"].each - 900.0))


def devices(scenario):
    """Return the devices of a scenario's machine with all sizes chosen."""
    settled = settle(scenario).scenario
    return powered_devices(settled.system, settled.machine).values()
