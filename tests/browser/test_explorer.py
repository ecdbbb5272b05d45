"""The explorer in a real browser: can a newcomer do the whole job, and does a link bring it all back?"""

import csv
import io
import re
from zipfile import ZipFile

import pytest
from playwright.sync_api import expect

from engine.sweep import links
from pages.design_page.tiles import WAITING
from pages.knob_cards import strips
from pages.shell.places import NEW_PLACES, PLACES
from pages.ui import session
from tests.browser.conftest import READY, WINDOWS, assert_fits
from tests.browser.looks import (
    CANCEL,
    DOWNLOAD_RUN,
    FOCUS_NAME,
    MOST_TABS,
    WAIT_MS,
    assert_looks,
    button,
    by_key,
    field,
    wait_for_page,
)
from tests.cases import draw
from tests.service_fakes import wait_until

PAGES = [name.capitalize() for name in PLACES]


def settled(page):
    """Wait until the page has begun and ended its answer to the last action."""
    page.wait_for_timeout(250)
    page.wait_for_selector(READY, timeout=WAIT_MS)
    return page


def knob(page, path):
    """Return the text field of a knob."""
    return field(page, session.widget(path))


def write(page, path, value):
    """Write a value into the text field of a knob."""
    knob(page, path).fill(value)
    knob(page, path).press("Enter")
    settled(page)


def finding(page):
    return page.get_by_role("heading", level=2).first.inner_text()


def tiles(page):
    """Return the tiles' numbers by name, the last of each name winning: the full run's stand below the estimate's."""
    found = page.get_by_test_id("stMetric")
    texts = [found.nth(index).inner_text().splitlines() for index in range(found.count())]
    return {lines[0].strip(): lines[1].strip() for lines in ([line for line in text if line.strip()] for text in texts)}


def shared_link(page):
    page.get_by_role("button", name="Share").click()
    link = page.get_by_test_id("stCode").first.inner_text().strip()  # the code below it is Python
    page.keyboard.press("Escape")
    return link


def train(page):
    """Press the button, see progress, and wait for the end."""
    button(page, "run").click()
    expect(page.get_by_test_id("stProgress")).to_be_visible(timeout=WAIT_MS)
    expect(button(page, DOWNLOAD_RUN)).to_be_visible(timeout=WAIT_MS)
    settled(page)


def downloaded(page, key):
    """Return the rows of the CSV file that the button with this key saves, or of the one in its zip."""
    with page.expect_download() as waiting:
        button(page, key).click()
    content = waiting.value.path().read_bytes()
    if key == DOWNLOAD_RUN:
        with ZipFile(io.BytesIO(content)) as archive:
            content = archive.read("results.csv")
    return list(csv.DictReader(io.StringIO(content.decode())))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page_name", "heading"),
    [("explore", "trains|train"), *(pytest.param(old, r"\S", marks=pytest.mark.slow) for old in NEW_PLACES if old != "explore")],
)
def test_an_old_deep_link_to_a_cold_server_opens_its_new_place_in_its_frame(start_server, server, visit, page_name, heading):
    cold = start_server() if page_name == "sweep" else server  # the first test of this file finds a cold one anyway
    page = visit(f"{cold}/{page_name}?preset=tiny&machine.cxl_bandwidth_GBps=10&v=1&model=0.2")
    expect(page.get_by_role("heading", level=2).first).to_contain_text(re.compile(heading), timeout=WAIT_MS)
    expect(page.get_by_test_id("stTopNavLink")).to_have_text(PAGES)
    assert "machine.cxl_bandwidth_GBps=10.0" in settled(page).url and f"/{NEW_PLACES[page_name]}?" in page.url
    expect(page.get_by_role("dialog")).to_have_count(0)  # such as "Page not found"
    if NEW_PLACES[page_name] not in ("design", "evidence"):  # one has the knob on the page itself, on the other none acts
        page.get_by_test_id("stExpandSidebarButton").click()
    if NEW_PLACES[page_name] != "evidence":
        expect(knob(page, "machine.cxl_bandwidth_GBps")).to_have_value("10.0", timeout=WAIT_MS)


def test_the_whole_job_from_a_bad_link_and_four_knobs_to_a_shared_link_and_a_csv_file(server, visit):
    page = visit(f"{server}/design?preset=tiny&data.seed=4711&machine.cxl_bandwidth_GBps=nan")
    expect(page.get_by_role("alert")).to_contain_text(
        "machine.cxl_bandwidth_GBps=nan is not finite; choose a number from 0.1 to 1,000 GB/s."
    )
    expect(page.locator(".st-key-answer")).to_contain_text("a batch")
    assert page.get_by_test_id("stTopNavLink").count() > 0
    heading = page.get_by_role("heading", level=2).first
    before = finding(page)
    write(page, "machine.pmem_capacity_GB", "512")
    button(page, strips.SHOW_FLAT).click()  # on this machine the link changes nothing
    write(page, "machine.cxl_bandwidth_GBps", "16")
    by_key(page, "knob machine.near_data_compute").locator("label").first.click()
    settled(page)
    expect(page).to_have_url(re.compile("near_data_compute=off"))
    write(page, "policy.mlp_staleness_bound_batches", "3")
    expect(heading).not_to_have_text(before)
    page.get_by_test_id("stExpandSidebarButton").click()
    by_key(page, "group faults").locator("summary").click()
    write(page, "faults.power_loss_at_seconds", "0.002")
    train(page)
    assert page.get_by_test_id("stVegaLiteChart").count() >= 5
    numbers, link = tiles(page), shared_link(page)

    scenario = links.open_link(link).scenario
    assert (scenario.machine.pmem_capacity_GB, scenario.machine.cxl_bandwidth_GBps) == (512, 16)
    assert (scenario.machine.near_data_compute, scenario.policy.mlp_staleness_bound_batches) == (False, 3)
    assert scenario.faults.power_loss_at_seconds == (0.002,) and scenario.data.seed == 4711

    (row,) = downloaded(page, DOWNLOAD_RUN)
    held_out, error = numbers["Held-out AUC"].split(" ± ")
    assert float(row["AUC"]) == pytest.approx(float(held_out), rel=1e-2)
    assert float(row["AUC error"]) == pytest.approx(float(error), rel=0.15)
    assert row["machine.cxl_bandwidth_GBps"] == "16.0" and row["policy.mlp_staleness_bound_batches"] == "3"

    again = visit(link)
    expect(button(again, DOWNLOAD_RUN)).to_be_visible()
    wait_until(lambda: tiles(settled(again)) == numbers)  # the tiles are drawn once more when their ranges are known
    assert finding(again) == finding(page)
    assert page.outside == [] and again.outside == []


def test_a_first_visit_names_what_it_shows_cuts_no_word_and_has_few_ticks(server, visit):
    assert_looks(visit(f"{server}/start?preset=tiny", color_scheme="light", viewport={"width": 420, "height": 900}))


def test_a_page_looks_well_and_its_first_main_knob_is_few_tabs_from_the_start_of_the_main_content(server, visit):
    page = visit(f"{server}/design?preset=tiny", color_scheme="light", viewport={"width": 820, "height": 900})
    expect(knob(page, "machine.pmem_capacity_GB")).to_be_visible()
    assert_looks(page)
    page.get_by_test_id("stMain").focus()
    for _ in range(MOST_TABS + 4):  # the answer's text to copy, and the knob's help, constants and exact value come before
        page.keyboard.press("Tab")
        if page.evaluate(FOCUS_NAME) == "PMEM capacity [GB]":
            break
    assert page.evaluate(FOCUS_NAME) == "PMEM capacity [GB]"
    before = page.url
    page.keyboard.press("ArrowRight")
    page.wait_for_url(lambda url: url != before)


@pytest.mark.slow
def test_the_browsers_back_button_takes_a_knob_back(server, visit):
    page = visit(f"{server}/design?preset=tiny&machine.cxl_bandwidth_GBps=20&v=1&model=0.2")
    settled(page).wait_for_timeout(2100)
    write(page, "machine.cxl_bandwidth_GBps", "30")
    expect(page).to_have_url(re.compile("GBps=30.0"))
    page.wait_for_timeout(2100)
    page.go_back()
    expect(knob(settled(page), "machine.cxl_bandwidth_GBps")).to_have_value("20.0", timeout=WAIT_MS)
    expect(page).to_have_url(re.compile("GBps=20.0"), timeout=WAIT_MS)


@pytest.mark.slow
def test_a_running_training_is_found_again_after_a_reload_and_can_be_cancelled(server, visit):
    page = visit(f"{server}/design?preset=dlrm-kaggle&run.batches=20000&data.seed=99")
    button(settled(page), "run").click()
    expect(page.get_by_test_id("stProgress")).to_be_visible(timeout=WAIT_MS)
    settled(page).reload()
    expect(page.get_by_test_id("stProgress")).to_be_visible(timeout=WAIT_MS)
    page.locator(CANCEL).click()
    expect(page.get_by_text(re.compile("^Cancelled (at batch|before the first batch)"))).to_be_visible(timeout=WAIT_MS)
    expect(button(page, "run")).to_be_visible()


@pytest.mark.slow
@pytest.mark.parametrize(("page_name", "scheme", "width"), draw([(name, *window) for name in PLACES for window in WINDOWS], 8))
def test_a_page_fits_its_window_in_light_and_dark(server, visit, page_name, scheme, width):
    page = visit(f"{server}/{page_name}?preset=tiny", color_scheme=scheme, viewport={"width": width, "height": 900})
    expect(page.get_by_test_id("stMain").get_by_role("heading").first).to_be_visible(timeout=WAIT_MS)
    assert_fits(settled(page), scheme)
    assert len(page.screenshot()) > 10_000


@pytest.mark.slow
def test_a_knob_typed_right_after_another_one_takes_nothing_back(server, visit):
    page = visit(f"{server}/design?preset=cxl-memory")
    for number in range(1, 3):
        bandwidth, capacity = 10 + number, 300 + number
        knob(page, "machine.cxl_bandwidth_GBps").fill(str(bandwidth))
        knob(page, "machine.pmem_capacity_GB").fill(str(capacity))
        knob(page, "machine.pmem_capacity_GB").press("Enter")
        settled(page)
        expect(page).to_have_url(re.compile(f"capacity_GB={capacity}.0&.*bandwidth_GBps={bandwidth}.0&"), timeout=WAIT_MS)
        page.wait_for_timeout(100 * number)


@pytest.mark.slow
def test_the_ranges_follow_the_tiles_by_themselves_and_stay(server, visit):
    page = visit(f"{server}/design?preset=trainingcxl-rm4&data.batch_size=80")
    expect(page.get_by_text(re.compile("Under each number: its range in 9 of 10 draws"))).to_be_visible(timeout=WAIT_MS)
    assert settled(page).get_by_text(WAITING).count() == 0
    page.wait_for_timeout(1500)  # the timer has ended: nothing is drawn anew
    assert page.get_by_text(WAITING).count() == 0 and page.outside == []


@pytest.mark.slow
def test_explore_leads_to_the_evidence_of_calibrated_constants_and_back_with_the_same_scenario(server, visit):
    page = visit(f"{server}/design?preset=trainingcxl-rm1&machine.cxl_bandwidth_GBps=10&v=1&model=0.2")
    settled(page).get_by_test_id("stMain").get_by_role("link", name="see Evidence").click()
    expect(page.locator(".st-key-answer")).to_contain_text("published statements are met", timeout=WAIT_MS)
    expect(settled(page)).to_have_url(re.compile("/evidence.*machine.cxl_bandwidth_GBps=10.0"), timeout=WAIT_MS)


@pytest.mark.slow
def test_taking_an_own_models_lookups_back_leaves_the_preset_as_chosen(server, visit):
    page = visit(f"{server}/design?preset=tiny&model.pooling=7&data.batch_size=64")
    wait_for_page(page)
    preset = page.locator(".st-key-preset")
    expect(preset).to_contain_text("Your model (3 tables", timeout=WAIT_MS)
    page.locator(".st-key-chip-model-pooling button").first.click()
    expect(preset).to_contain_text("Model and machine", timeout=WAIT_MS)
    wait_for_page(page)
    assert "preset=tiny&data.batch_size=64" in page.url, page.url
