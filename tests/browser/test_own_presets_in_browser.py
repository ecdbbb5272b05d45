"""A preset of one's own, saved, listed and opened; a link and a CSV file on a browser that lacks it; actions are counted."""

import csv
import io
import re

import pytest
from playwright.sync_api import expect

from engine.scenario.presets import scenario_file
from engine.sweep import links
from pages.shell import own_presets
from tests.browser.conftest import READY, WAIT_MS
from tests.browser.looks import assert_looks, button, by_key, field, wait_for_page
from tests.browser.test_explorer import shared_link

pytestmark = pytest.mark.slow
MOST_ACTIONS, MOST_ACTIONS_ELSEWHERE = 6, 3
CHANGED = "design?preset=tiny&machine.cxl_bandwidth_GBps=12.3&data.batch_size=24"


def test_an_own_preset_is_saved_listed_and_opened_in_six_actions_and_its_link_opens_elsewhere(
    start_server, server, visit, tmp_path_factory
):
    folder, actions = tmp_path_factory.mktemp("presets"), 0
    here = start_server("--presets", str(folder))
    page = visit(f"{here}/{CHANGED}")
    wait_for_page(page)

    by_key(page, "preset-slot").get_by_role("button").click()
    field(page, own_presets.NAME_FIELD).fill("lab-box")
    page.keyboard.press("Tab")
    save = button(page, own_presets.SAVE)
    expect(save).to_be_enabled(timeout=WAIT_MS)
    with page.expect_download() as download:
        save.click()
    actions += 3
    assert download.value.suggested_filename == "lab-box.toml"
    download.value.save_as(folder / "lab-box.toml")
    page.keyboard.press("Escape")

    page.get_by_role("link", name="Start").click()
    opening = button(page, "own lab-box")
    expect(opening).to_be_visible(timeout=WAIT_MS)
    page.get_by_text("Is CXL enough for my model?").click()
    page.wait_for_selector(READY)
    opening.click()
    actions += 3
    assert actions <= MOST_ACTIONS
    page.wait_for_url(re.compile("/design.*from=lab-box"), timeout=WAIT_MS)
    wait_for_page(page)
    link = shared_link(page)
    scenario = links.open_link(link).scenario
    assert (scenario.machine.cxl_bandwidth_GBps, scenario.data.batch_size) == (12.3, 24)
    assert scenario_file(folder / "lab-box.toml").data == scenario.data

    other = visit(link.replace(here, server))  # a computer without the file
    expect(other.get_by_text("Made from the preset lab-box of its author")).to_be_visible(timeout=WAIT_MS)
    assert_looks(other)
    other.get_by_text("All results, and the source of each constant").click()
    short = button(other, "csv emberpool-estimates")
    expect(short).to_be_visible(timeout=WAIT_MS)
    with other.expect_download() as download:
        short.click()
    actions = 3  # the link, the section, the button
    assert actions <= MOST_ACTIONS_ELSEWHERE
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    assert len(rows[0]) < 40 and rows[0]["machine.cxl_bandwidth_GBps"] == "12.3"
    assert rows[0]["link"].startswith(server) and links.open_link(rows[0]["link"]).scenario.machine == scenario.machine
