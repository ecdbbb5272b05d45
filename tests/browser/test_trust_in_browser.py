"""Trust in a real browser: do the ranges come by themselves, and do open groups say which knobs do nothing?"""

import re

import pytest
from playwright.sync_api import expect

from engine.scenario.presets import preset
from engine.systems.system import constants
from pages.explore.tiles import WAITING
from tests.browser.test_explorer import ANSWER_MS, downloaded, settled


@pytest.mark.slow
def test_the_ranges_follow_the_tiles_by_themselves_and_stay(server, visit):
    page = visit(f"{server}/explore?preset=trainingcxl-rm4&data.batch_size=80")
    expect(page.get_by_text(re.compile(r"Under each tile: its range in 9 of 10 draws"))).to_be_visible(timeout=ANSWER_MS)
    assert settled(page).get_by_text(WAITING).count() == 0
    page.wait_for_timeout(1500)  # the timer has ended: nothing is drawn anew
    assert page.get_by_text(WAITING).count() == 0 and page.outside == []


@pytest.mark.slow
def test_the_estimates_csv_file_holds_the_constants_that_each_system_used(server, visit):
    page = visit(f"{server}/explore?preset=tiny")
    page.get_by_text("All results of the estimate").click()
    rows = {row["system"]: row for row in downloaded(page, "Download all systems as CSV")}
    assert float(rows["cxl"]["cxl.switch-hop [ns]"]) == constants(preset("tiny").scenario)["cxl.switch-hop"].value
    assert rows["pmem"]["cxl.switch-hop [ns]"] == "" and rows["pmem"]["pcie.software-hand-off [us]"] == "40"
