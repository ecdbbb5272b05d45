"""The page Compare in a real browser, opened by a link: does it draw, take a system, and save its results?"""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.test_explorer import ANSWER_MS, downloaded, settled, shared_link


@pytest.mark.slow
def test_a_link_compares_its_systems_and_one_more_can_be_added(server, visit):
    page = visit(f"{server}/compare?preset=dlrm-kaggle&axis=system:pmem,cxl,hotline&v=1&model=0.2")
    heading = page.get_by_role("heading", level=2).first
    expect(heading).to_have_text(re.compile("^Hotline trains dlrm-kaggle fastest of 3"), timeout=ANSWER_MS)
    expect(settled(page).get_by_test_id("stVegaLiteChart")).to_have_count(4, timeout=ANSWER_MS)
    expect(page.get_by_test_id("stVegaLiteChart").nth(2)).to_contain_text("headline only", timeout=ANSWER_MS)
    assert [row["system"] for row in downloaded(page, "Download all results as CSV")] == ["pmem", "cxl", "hotline"]
    choice = page.get_by_role("combobox", name="Training systems")
    choice.fill("all-hbm")
    choice.press("Enter")
    choice.press("Escape")
    expect(heading).to_have_text(re.compile("^All in HBM trains dlrm-kaggle fastest of 4"), timeout=ANSWER_MS)
    assert parse_qs(urlsplit(settled(page).url).query)["axis"] == ["system:pmem,cxl,all-hbm,hotline"]
    link = shared_link(page)
    assert "/compare?" in link and "axis=system:pmem,cxl,all-hbm,hotline" in link and page.outside == []
    with page.context.expect_page() as opening:
        page.get_by_role("link", name="Sweep over them").click()
    expect(opening.value.get_by_label("Values of axis 1", exact=True)).to_have_value(
        "pmem,cxl,all-hbm,hotline", timeout=ANSWER_MS
    )


@pytest.mark.slow
def test_systems_are_trained_in_full_with_one_power_loss_for_all_and_found_again_after_a_reload(server, visit):
    page = visit(f"{server}/compare?preset=tiny&axis=system:pmem,cxl,dram&v=1&model=0.2")
    page.get_by_role("button", name=re.compile("^Lose it once")).click()
    expect(settled(page).get_by_label("Lose power at [s]", exact=True).last).not_to_have_value("", timeout=ANSWER_MS)
    page.get_by_role("button", name=re.compile("^Train 3 systems in full: about")).click()
    finding = page.get_by_text(re.compile("^All 3 reach an AUC of 0[.][0-9]{4}: .* again, dram runs [0-9]+ batches again$"))
    expect(finding).to_be_visible(timeout=2 * ANSWER_MS)
    expect(page.get_by_text(re.compile("^pmem and dram train the same to the bit"))).to_be_visible(timeout=ANSWER_MS)
    rows = downloaded(settled(page), "Download these runs as CSV")
    assert [row["system"] for row in rows] == ["pmem", "cxl", "dram"] and {
        row["faults.power_loss_at_seconds"] for row in rows
    } != {""}
    assert float(rows[2]["Lost batches"]) > float(rows[1]["Lost batches"]) > 0
    settled(page).reload()
    expect(finding).to_be_visible(timeout=ANSWER_MS)
    assert page.outside == []
