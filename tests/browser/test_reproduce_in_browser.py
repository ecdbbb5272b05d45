"""The Reproduce page in a real browser, opened by a link: does it run, draw and save every claim?"""

import re

import pytest
from playwright.sync_api import expect

from engine.scenario.presets import preset, preset_names
from tests.browser.test_explorer import ANSWER_MS, PAGES, downloaded, settled

CLAIMS = sum(len(preset(name).claims) for name in preset_names())


@pytest.mark.slow
def test_a_link_runs_every_claim_and_saves_them(server, visit):
    page = visit(f"{server}/reproduce?preset=tiny&machine.cxl_bandwidth_GBps=10&v=1&model=0.2")
    expect(page.get_by_role("heading", name="Can I trust it?")).to_be_visible(timeout=ANSWER_MS)
    expect(page.get_by_test_id("stSidebarNav").get_by_role("link")).to_have_text(PAGES)
    expect(page.get_by_text(re.compile(f"^{CLAIMS} claims: .* within tolerance"))).to_be_visible(timeout=2 * ANSWER_MS)
    expect(settled(page).get_by_test_id("stVegaLiteChart")).to_have_count(7)
    assert page.get_by_test_id("stProgress").count() == 0 and "machine.cxl_bandwidth_GBps=10.0" in page.url
    rows = downloaded(page, "Download all claims as CSV")
    assert len(rows) == CLAIMS and {row["Verdict"] for row in rows} == {"✓ within", "prediction"}
    assert page.outside == []


@pytest.mark.slow
def test_explore_leads_to_the_evidence_of_calibrated_constants_and_back_with_the_same_scenario(server, visit):
    page = visit(f"{server}/explore?preset=trainingcxl-rm1&machine.cxl_bandwidth_GBps=10&v=1&model=0.2")
    settled(page).get_by_test_id("stMain").get_by_role("link", name="see Reproduce").click()
    expect(page.get_by_role("heading", name="Can I trust it?")).to_be_visible(timeout=ANSWER_MS)
    expect(settled(page)).to_have_url(re.compile("/reproduce.*machine.cxl_bandwidth_GBps=10.0"), timeout=ANSWER_MS)
