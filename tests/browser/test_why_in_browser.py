"""The page Why in a real browser, opened by a link: does it draw, answer a knob, and save its steps?"""

import pytest
from playwright.sync_api import expect

from tests.browser.test_explorer import ANSWER_MS, downloaded, settled, shared_link, write


@pytest.mark.slow
def test_a_link_takes_the_speed_up_apart_and_a_knob_changes_it(server, visit):
    page = visit(f"{server}/why?preset=trainingcxl-rm1&v=1&model=0.1")
    heading = page.get_by_role("heading", level=2).first
    expect(heading).to_contain_text("CXL is 4.3× faster than PMEM", timeout=ANSWER_MS)
    expect(settled(page).get_by_test_id("stVegaLiteChart")).to_have_count(4, timeout=ANSWER_MS)
    expect(page.get_by_test_id("stVegaLiteChart").first).to_contain_text("+0.137 ms", timeout=ANSWER_MS)
    page.get_by_text("The other way round", exact=True).click()
    expect(settled(page).get_by_test_id("stVegaLiteChart").first).to_contain_text("-0.056 ms", timeout=ANSWER_MS)
    page.get_by_text("Every step in numbers").click()
    rows = downloaded(page, "Download the steps as CSV")
    assert [row["Leads to"] for row in rows] == ["cxl-d", "cxl-d", "cxl-b", "cxl", "cxl"]
    write(page, "CXL bandwidth [GB/s], exact", "1")
    expect(heading).not_to_contain_text("4.3×", timeout=ANSWER_MS)
    link = shared_link(page)
    assert "/why?" in link and "machine.cxl_bandwidth_GBps=1.0" in link and page.outside == []
