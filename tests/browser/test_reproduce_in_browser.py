"""The Reproduce page in a real browser, opened by a link: does it run, draw and save every claim?"""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_explorer import ANSWER_MS, settled


@pytest.mark.slow
def test_explore_leads_to_the_evidence_of_calibrated_constants_and_back_with_the_same_scenario(server, visit):
    page = visit(f"{server}/explore?preset=trainingcxl-rm1&machine.cxl_bandwidth_GBps=10&v=1&model=0.2")
    settled(page).get_by_test_id("stMain").get_by_role("link", name="see Reproduce").click()
    expect(page.get_by_role("heading", name="Can I trust it?")).to_be_visible(timeout=ANSWER_MS)
    expect(settled(page)).to_have_url(re.compile("/reproduce.*machine.cxl_bandwidth_GBps=10.0"), timeout=ANSWER_MS)
