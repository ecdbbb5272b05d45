"""The comparison of systems in a real browser, by an old link: does it draw, take a system, and save its results?"""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from pages.search_page import axes_panel
from pages.systems import systems_panel
from tests.browser.looks import WAIT_MS, by_key, field
from tests.browser.test_explorer import downloaded, settled, shared_link


@pytest.mark.slow
def test_a_link_compares_its_systems_and_one_more_can_be_added(server, visit):
    page = visit(f"{server}/compare?preset=dlrm-kaggle&machine.pmem_capacity_GB=128&axis=system:pmem,cxl,hotline&v=1&model=0.2")
    expect(page.get_by_text(re.compile("^Hotline trains dlrm-kaggle fastest of 3"))).to_be_visible(timeout=WAIT_MS)
    expect(settled(page).get_by_text("headline only").first).to_be_attached(timeout=WAIT_MS)
    assert [row["system"] for row in downloaded(page, "csv emberpool-compare")] == ["pmem", "cxl", "hotline"]
    page.get_by_test_id("stDataFrame").first.hover()
    expect(page.get_by_role("button", name="Search").first).to_be_visible(timeout=WAIT_MS)
    assert page.get_by_role("button", name="Download as CSV").count() == 0, "the table's own file would not disarm formulas"
    choice = by_key(page, systems_panel.CHOICE).get_by_role("combobox")
    choice.click()
    choice.press_sequentially("All in HBM", delay=50)
    expect(page.get_by_role("option", name="All in HBM")).to_be_visible(timeout=WAIT_MS)
    choice.press("Enter")
    choice.press("Escape")
    expect(page.get_by_text(re.compile("^All in HBM trains dlrm-kaggle fastest of 4"))).to_be_visible(timeout=WAIT_MS)
    assert parse_qs(urlsplit(settled(page).url).query)["axis"] == ["system:pmem,cxl,all-hbm,hotline"]
    link = shared_link(page)
    assert "/design?" in link and "axis=system:pmem,cxl,all-hbm,hotline" in link and page.outside == []
    with page.context.expect_page() as opening:
        by_key(page, "sweep over systems").get_by_role("link").click()
    swept = settled(opening.value)
    by_key(swept, axes_panel.AXES_UNFOLDED).locator("summary").click()  # folded, as these few points are computed at once
    expect(field(swept, "axis 0 values")).to_have_value("pmem,cxl,all-hbm,hotline", timeout=WAIT_MS)
