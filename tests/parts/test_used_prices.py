"""Prices of used parts: are they read, kept through years and links, and refused for a part that is sold new?"""

import pytest

from engine.__main__ import main
from engine.commands.listing import LISTS, _catalogue
from engine.core import catalog
from engine.core.constants import Constant
from engine.core.part_files import tables, use
from engine.errors import BadFile
from engine.hardware.device import assumed_part
from engine.hardware.devices.gpu import ACCELERATORS
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.sweep.links import link, open_link
from tests.hardware.test_catalog import TEXT, shelf
from tests.parts.conftest import shipped

__all__ = ["shelf"]
USED = Constant("price", 10, "USD", 8, 16, "stated", "a list", year=2022, used=True)
V100, H100 = TEXT["gpu/v100"], TEXT["gpu/h100-sxm"]
YEAR = "2024 = { value = 9, low = 8, high = 10, confidence = 'stated', source = 'a list', used = true }\n"


def test_a_used_price_is_kept_in_other_years_and_a_new_one_beside_it_stays_new():
    dated = USED.with_years({2024: (30, 20, 40, "stated", "a shop"), 2026: (5, 4, 6, "stated", "a stall")}, used=(2026,))
    assert [dated.in_year(year).used for year in (2019, 2022, 2024, 2025, 2026, 2030)] == [True, True, False, True, True, True]
    assert not USED.with_assumption(7).used  # a number of the scenario's own is of no market


def test_a_part_file_says_which_of_its_prices_are_used(shelf):
    shelf("gpu/old", V100.replace("[price.years]\n", "[price.years]\n" + YEAR.replace("true", "false")))
    shelf("gpu/new", V100.replace("used = true\n", "").replace("[price.years]\n", f"[price.years]\n{YEAR}"))
    old, new = ACCELERATORS["old"].price, ACCELERATORS["new"].price
    assert (old.used, old.in_year(2024).used, new.used, new.in_year(2024).used) == (True, False, False, True)
    assert not ACCELERATORS["h100-sxm"].price.used


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("used = true", "used = 1", r"gives price\.used = 1; write true for the price of a used part"),
        ("used = true", 'used = "yes"', r"gives price\.used = 'yes'; write true"),
        ("[price.years]\n", f"[price.years]\n{YEAR.replace('true', '7')}", r"price\.years\.2024\.used = 7"),
        ("[memory]\n", "[memory]\nused = true\n", "says 'used' of memory, which is not known"),
        ('state = "discontinued"', 'state = "on sale"', r"gives price\.used, the price of a used part, but the part is on sale"),
        ('state = "discontinued"', 'state = "announced"', "but the part is announced"),
    ],
)
def test_a_used_price_of_the_wrong_kind_or_of_a_part_that_is_sold_new_is_refused(old, new, says, shelf):
    shelf("gpu/other", V100.replace(old, new, 1))
    with pytest.raises(BadFile, match=says):
        ACCELERATORS["other"]


def test_the_price_of_a_used_part_in_another_year_is_refused_with_its_line(folder, capsys):
    text = H100.replace("[price.years]\n", f"[price.years]\n{YEAR}")
    path = folder.put("gpu/wrong", text)
    assert main(["list", "devices", "--check", str(path)]) == 2
    faults = capsys.readouterr().err.splitlines()
    line = text.splitlines().index(YEAR.strip()) + 1
    assert len(faults) == 1 and faults[0].startswith(f"{path}:{line}: gives price.years.2024, the price of a used part")


def test_a_wrong_price_of_a_part_on_sale_is_one_fault(folder, capsys):
    path = folder.put("gpu/wrong", shipped("gpu/h100-sxm").replace('unit = "USD"', 'unit = "EUR"'))
    assert main(["list", "devices", "--check", str(path)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_part_of_unknown_availability_may_have_a_used_price(shelf):
    start, end = V100.index("[availability]"), V100.index("[fp32-peak]")
    shelf("gpu/found", V100[:start] + V100[end:])
    assert catalog.availability("gpu", "found").state == "unknown" and ACCELERATORS["found"].price.used


def test_a_link_carries_that_a_price_is_used(folder):
    folder.put("gpu/mine", shipped("gpu/v100"))
    use.use_folder(folder.path)
    scenario = with_values(preset("dlrm-kaggle").scenario, {"machine.gpu": "mine", "machine.prices": "2023"})
    text = link(scenario)
    folder.elsewhere()
    machine = open_link(text).scenario.machine
    assert assumed_part(machine, "gpu", ACCELERATORS[machine.gpu]).price.used


def test_the_list_of_devices_says_which_prices_are_used():
    lines = [line for line in _catalogue(LISTS["devices"][0]()).splitlines() if line.startswith("gpu") and "price" in line]
    assert any("v100" in line and "price of 2023, used" in line for line in lines)
    assert not any("h100" in line and "used" in line for line in lines)


def test_no_part_of_the_catalogue_that_is_sold_new_has_the_price_of_a_used_one():
    for name, text in TEXT.items():
        content = catalog.loads(text)
        prices = [table for table in content.values() if isinstance(table, dict) and table.get("unit") in tables.MONEY]
        used = [table for price in prices for table in (price, *price.get("years", {}).values()) if table.get("used")]
        assert not used or content[tables.AVAILABILITY]["state"] == "discontinued", name
