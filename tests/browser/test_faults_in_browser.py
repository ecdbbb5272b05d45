"""The page Faults in a real browser: does a click choose the rates, does the link carry it, is the table saved?"""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_explorer import ANSWER_MS, downloaded, settled


@pytest.mark.slow
def test_rates_and_protection_are_chosen_on_the_page_and_travel_in_the_link(server, visit):
    page = visit(f"{server}/faults?preset=trainingcxl-rm1&v=1&model=0.2")
    expect(page.get_by_role("heading", name=re.compile("No fault is asked for"))).to_be_visible(timeout=ANSWER_MS)
    settled(page).get_by_role("button", name="Power lost once a day").click()
    heading = page.get_by_role("heading", name=re.compile(r"A fault every 24 h: .* of the time useful"))
    expect(heading).to_be_visible(timeout=ANSWER_MS)
    expect(page).to_have_url(re.compile("faults.power_loss_mtbf_hours=24"), timeout=ANSWER_MS)
    expect(settled(page).get_by_test_id("stVegaLiteChart")).to_have_count(6, timeout=ANSWER_MS)
    page.get_by_text("Every protection in numbers", exact=True).click()
    rows = downloaded(settled(page), "Download the protections as CSV")
    ratios = [float(row["Effective training time ratio"]) for row in rows if row["Effective training time ratio"]]
    assert len(ratios) > 8 and ratios == sorted(ratios, reverse=True)
    assert page.outside == []
