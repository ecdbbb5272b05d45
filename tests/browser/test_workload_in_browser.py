"""The Workload page in a real browser: does a size typed in GB answer, travel in the link, and save its table?"""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_explorer import ANSWER_MS, downloaded, settled, write


@pytest.mark.slow
def test_a_link_opens_the_page_and_a_cache_size_goes_into_the_link(server, visit):
    page = visit(f"{server}/workload?preset=dlrm-kaggle&policy.cache_load_factor=0.015&v=1&model=0.2")
    answer = page.get_by_role("heading", name=re.compile(r"1.5 % of the rows, hits 9\d\.\d % of lookups as LRU"))
    expect(answer).to_be_visible(timeout=ANSWER_MS)
    expect(settled(page).get_by_test_id("stVegaLiteChart")).to_have_count(5, timeout=ANSWER_MS)
    write(page, "Cache size [GB]", "1.08")
    expect(page.get_by_role("heading", name=re.compile("A cache of 1.08 GB, 50 % of the rows"))).to_be_visible(timeout=ANSWER_MS)
    expect(page).to_have_url(re.compile("cache_load_factor=0[.]4998"), timeout=ANSWER_MS)
    page.get_by_text("The numbers", exact=True).click()
    rows = downloaded(settled(page), "Download miss ratios as CSV")
    assert len(rows) == 17 and float(rows[-1]["Misses, LRU, one space of ids [%]"]) == 0
    assert page.outside == []
