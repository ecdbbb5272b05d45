"""The tasks that people come with, walked from Start to an answer: by hand, and with the keyboard alone."""

import random
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from engine import version
from pages.failures_page import failure_settings
from pages.own_data import panel, ways
from pages.start_page import own_model, own_tables, questions
from tests.browser.conftest import TOKEN
from tests.browser.looks import DOWNLOAD_RUN, FOCUS_NAME, WAIT_MS, button, by_key, field, wait_for_page

pytestmark = pytest.mark.slow
MOST_ACTIONS, MOST_KEYS, MOST_PRESSES = 10, 70, 5
OWN = dict(zip(own_model.FIELDS, ("24", "3 M", "64", "10", "2048"), strict=True))  # values by knob
# What the answer must say: modules of PMEM, the link, near-data compute, staleness, and what it costs.
SAYS = (r"\d+ × 32 GB", r"GB/s", r"[Nn]ear-data", r"batch", r"USD")


def answered(page, verdict):
    """Wait until the smallest machine is found, and check what is said about it."""
    said = page.locator(".st-key-recommended")
    expect(said).to_contain_text(verdict, timeout=WAIT_MS)
    words = said.inner_text()
    assert [one for one in SAYS if not re.search(one, words)] == [], words


def test_ones_own_model_is_answered_on_one_page_in_ten_actions(server, visit):
    page, actions = visit(f"{server}/start"), 1
    wait_for_page(page)
    by_key(page, questions.QUESTION_KEY).get_by_text(questions.QUESTIONS[1].words).click()
    for path, value in OWN.items():
        field(page, f"own {path}").fill(value)
        page.keyboard.press("Tab")
        actions += 1
    expect(page.get_by_text("24 tables, 18.4 GB, 240 lookups a sample")).to_be_visible(timeout=WAIT_MS)
    button(page, "own").click()
    page.wait_for_url(re.compile("/design.*model.num_tables=24"), timeout=WAIT_MS)
    answered(page, "Yes, with another machine.")
    button(page, "take").click()
    page.wait_for_url(re.compile("machine.pmem_capacity_GB="), timeout=WAIT_MS)
    assert actions + 2 <= MOST_ACTIONS
    answered(page, "Yes, this machine is enough.")


def test_ones_own_model_is_answered_with_the_keyboard_alone(server, visit):
    page = visit(f"{server}/start")
    wait_for_page(page)
    page.get_by_test_id("stMain").focus()
    keys = 0

    def walk(there):
        nonlocal keys
        for _ in range(MOST_KEYS):
            page.keyboard.press("Tab")
            keys += 1
            if there(page.evaluate(FOCUS_NAME), page.evaluate("document.activeElement.innerText || ''")):
                return
        raise AssertionError(f"{keys} keys, now on {page.evaluate('document.activeElement.outerHTML')[:200]}")

    for path, value in OWN.items():
        walk(lambda named, shown, label=own_model.FIELDS[path][0]: named == label)
        page.keyboard.press("Control+A")
        page.keyboard.type(value)
    ask = button(page, "own").inner_text().strip()
    walk(lambda named, shown: shown.strip() == ask)
    expect(page.get_by_text("24 tables, 18.4 GB, 240 lookups a sample")).to_be_visible(timeout=WAIT_MS)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/decide.*model.num_tables=24"), timeout=WAIT_MS)
    expect(page.locator(".st-key-answer")).to_contain_text("Keep the tables", timeout=WAIT_MS)
    walk(lambda named, shown: shown.strip() == "Open in Design")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/design.*machine.chassis="), timeout=WAIT_MS)
    assert keys <= MOST_KEYS


def test_a_power_loss_in_mid_run_takes_two_clicks(server, visit):
    page = visit(f"{server}/design?preset=tiny")
    wait_for_page(page)
    axis = page.get_by_test_id("stVegaLiteChart").filter(has_text="Progress of the run")
    axis.scroll_into_view_if_needed()
    box = axis.locator("svg .role-frame > g > .background").first.bounding_box()
    page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    page.wait_for_url(re.compile("faults.power_loss_at_seconds="), timeout=WAIT_MS)
    wait_for_page(page)
    button(page, "run").click()
    expect(button(page, DOWNLOAD_RUN)).to_be_visible(timeout=WAIT_MS)
    expect(page.get_by_test_id("stMain")).to_contain_text(re.compile("1 power loss|[Rr]ecover"), timeout=WAIT_MS)


def test_what_failures_cost_takes_five_actions(server, visit):
    page, actions = visit(f"{server}/failures?preset=dlrm-kaggle"), 1
    wait_for_page(page)
    for key, value in ((failure_settings.FAILURES, "2"), (failure_settings.NODES, "64"), (failure_settings.MINUTES, "30")):
        field(page, key).fill(value)
        page.keyboard.press("Tab")
        wait_for_page(page)
        actions += 1
    said = page.locator(".st-key-answer")
    expect(said).to_contain_text(
        re.compile(r"3\.\d+ h and \d+ USD a month are lost with periodic full checkpoint"), timeout=WAIT_MS
    )
    page.wait_for_url(re.compile("policy.checkpoint_minutes=30"), timeout=WAIT_MS)
    box = said.bounding_box()
    assert box["y"] + box["height"] <= 300, box
    button(page, "take period").click()
    expect(said).to_contain_text("near the best period", timeout=WAIT_MS)
    assert actions + 1 <= 5


def test_a_table_of_clicks_becomes_popularity_and_a_training_with_auc_in_five_presses(server, visit, tmp_path):
    path, chance = tmp_path / "my clicks.csv", random.Random(7)
    users = [min(int(chance.paretovariate(0.6)), 90) for _ in range(1200)]
    rows = [
        f"u{user},i{chance.randrange(200)},c{n % 7},{chance.randrange(2)},{1_700_000_000 + n}\n" for n, user in enumerate(users)
    ]
    path.write_text("user,item,category,label,time\n" + "".join(rows))
    page, presses = visit(f"{server}/data?preset=tiny&token={TOKEN}"), 0
    wait_for_page(page)

    def press(there):
        nonlocal presses
        there.click()
        presses += 1

    press(page.get_by_text(panel.LABEL))
    field(page, ways.PATH).fill(f"'{path}'")
    page.keyboard.press("Enter")
    presses += 1
    press(button(page, "accept guess"))
    said = page.locator(".st-key-answer")
    expect(said).to_contain_text("counted in", timeout=WAIT_MS)
    expect(said).to_contain_text(re.compile("an LRU hit rate of .* %"))
    expect(said).to_contain_text("passes over 1,080 samples")
    expect(page.locator(".st-key-chart-tables").filter(has_text="item, ").first).to_be_visible(timeout=WAIT_MS)
    press(button(page, "train shown"))
    page.wait_for_url(re.compile("/design.*data.digest="), timeout=WAIT_MS)
    expect(button(page, DOWNLOAD_RUN)).to_be_visible(timeout=WAIT_MS)
    expect(page.get_by_test_id("stMain")).to_contain_text(re.compile("AUC"), timeout=WAIT_MS)
    assert presses <= MOST_PRESSES


def test_the_headline_figure_of_a_paper_takes_two_presses(server, visit):
    page = visit(f"{server}/evidence", accept_downloads=True)
    expect(page.locator(".st-key-answer")).to_contain_text("published statements are met", timeout=WAIT_MS)
    page.get_by_role("radio", name="TrainingCXL").click()
    with page.expect_download(timeout=WAIT_MS) as saved:
        button(page, "figure svg").click(timeout=WAIT_MS)
    drawn = Path(saved.value.path()).read_text()
    assert saved.value.suggested_filename == "emberpool-trainingcxl.svg" and drawn.startswith("<svg")
    assert all(word in drawn for word in ("5.2", "76.6", "IEEE Micro 43(2)", f"Emberpool, model {version.MODEL}"))
    shown = page.locator(".paper-figure img:visible")
    expect(shown).to_have_count(1)
    assert shown.evaluate("image => image.naturalWidth") == 672


def test_unlike_tables_that_are_pasted_on_start_are_answered_in_three_actions(server, visit):
    page = visit(f"{server}/start")
    wait_for_page(page)
    by_key(page, own_tables.OPEN).locator("summary").click()
    pasted = field(page, "tables pasted start")
    expect(pasted).to_be_visible(timeout=WAIT_MS)
    pasted.fill("name\tnum_embeddings\tembedding_dim\nusers\t30 M\t128\nitems\t2000000\t64\nzip\t40000\t16\n")
    button(page, "apply tables start").click()
    page.wait_for_url(re.compile("/decide.*model.embedding_dim=128"), timeout=WAIT_MS)
    expect(page.locator(".st-key-answer")).to_contain_text("Keep the tables", timeout=WAIT_MS)
    expect(page.get_by_text("3 tables of 32,040,000 rows in all, 16 to 128 wide")).to_be_visible(timeout=WAIT_MS)


def test_a_cell_of_the_grid_is_changed_by_keyboard_and_a_bad_one_refused(server, visit):
    page = visit(f"{server}/start")
    wait_for_page(page)
    by_key(page, own_tables.OPEN).locator("summary").click()
    grid = page.get_by_test_id("stDataFrame").first
    expect(grid).to_be_visible(timeout=WAIT_MS)
    for written, said in (
        ("many", "Row 1: column Rows: 'many' is not a number"),
        ("1000", "40 tables, 195 million rows, 49.9 GB"),
    ):
        cell = page.locator("#portal textarea")
        expect(cell).to_have_count(0, timeout=WAIT_MS)  # the field of the value before is gone
        for _ in range(60):  # a grid that is drawn again meanwhile has lost its selection
            grid.click(position={"x": 360, "y": 52})  # the cell of the first table's rows
            page.keyboard.press("Enter")
            page.wait_for_timeout(1500)  # the field of a cell is loaded when it is first opened
            if cell.count():
                break
        page.keyboard.press("Control+A")
        page.keyboard.type(written)
        expect(cell).to_have_value(written, timeout=WAIT_MS)
        page.keyboard.press("Enter")
        expect(page.get_by_text(said)).to_be_visible(timeout=WAIT_MS)
