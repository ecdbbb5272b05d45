"""The page History in a real browser: is what was run found, reopened, shared and deleted?"""

import re

import pytest
from playwright.sync_api import expect

from engine.sweep import links
from tests.browser.test_explorer import ANSWER_MS, shared_link, write

AXES = ("data.seed:4711,4712", "system:pmem,cxl")


@pytest.mark.slow
def test_what_was_run_is_found_reopened_shared_and_deleted(server, visit):
    narrow = {"viewport": {"width": 420, "height": 1400}, "color_scheme": "dark"}
    page = visit(f"{server}/sweep?preset=tiny&{'&'.join(f'axis={axis}' for axis in AXES)}&v=1", **narrow)
    page.get_by_role("button", name="Run 4 points").click()
    expect(page.get_by_text("4 of 4 points finished, all done.")).to_be_visible(timeout=ANSWER_MS)

    page = visit(f"{server}/history", **narrow)
    write(page, "Find a run", "4711 done")
    expect(page.get_by_text(re.compile("^The lowest step time is"))).to_be_visible(timeout=ANSWER_MS)
    assert links.read(page.get_by_role("link", name="Reopen").get_attribute("href")).axes == AXES
    expect(page).to_have_url(re.compile("run=estimate"), timeout=ANSWER_MS)
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    page.get_by_test_id("stDataFrame").first.hover()
    expect(page.get_by_role("button", name="Search").first).to_be_visible(timeout=ANSWER_MS)
    assert page.get_by_role("button", name="Download as CSV").count() == 0, "the table's own file would not disarm formulas"

    link = shared_link(page)
    other = visit(link, **narrow)
    expect(other.get_by_role("link", name="Reopen")).to_be_visible(timeout=ANSWER_MS)
    other.get_by_role("button", name="Delete", exact=True).click()
    expect(other.get_by_text(re.compile("and 4 results that no other request has go for good"))).to_be_visible(timeout=ANSWER_MS)
    other.get_by_role("button", name="Delete for good").click()
    expect(other.get_by_role("link", name="Reopen")).to_have_count(0, timeout=ANSWER_MS)
    gone = visit(link, **narrow)
    expect(gone.get_by_text("is not in this server's history")).to_be_visible(timeout=ANSWER_MS)
    assert gone.outside == page.outside == []
