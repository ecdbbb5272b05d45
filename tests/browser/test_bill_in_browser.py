"""The bill of Decide in a browser: does a price that is typed into it, in two presses, become a quote?"""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import READY
from tests.browser.looks import WAIT_MS, by_key, wait_for_page

pytestmark = pytest.mark.slow
ROW_PIXELS, COLUMNS_TO_PRICE = 35, 4


def test_a_price_typed_into_the_open_bill_is_in_the_link_and_the_bill_stays_open(server, visit):
    page = visit(f"{server}/decide?preset=tiny&parts=gpu%3Dh100-pcie,host%3Damx-2023", viewport={"width": 1440, "height": 1000})
    opener = by_key(page, "bill-popover").get_by_role("button").first
    expect(opener).to_be_visible(timeout=WAIT_MS)
    opener.click()
    table = by_key(page, "bill").get_by_test_id("stDataFrame")
    expect(table).to_be_visible(timeout=WAIT_MS)
    page.wait_for_timeout(500)
    box = table.bounding_box()
    page.mouse.click(box["x"] + 30, box["y"] + 1.5 * ROW_PIXELS)  # the first row's part
    for _ in range(COLUMNS_TO_PRICE):
        page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")  # opens the cell, as typing does
    page.wait_for_timeout(300)
    page.keyboard.type("12345.5", delay=50)
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"machine\.quotes=[a-z-]+(/|%2F)[a-z0-9.-]+(:|%3A)12345\.5"), timeout=WAIT_MS)
    expect(by_key(page, "bill")).to_be_visible(timeout=WAIT_MS)
    expect(by_key(page, "bill")).to_contain_text("The sum is", timeout=WAIT_MS)
    page.wait_for_selector(READY, timeout=WAIT_MS)
    wait_for_page(page)
    chip = by_key(page, "chip machine.quotes")
    expect(chip).to_contain_text(re.compile("Quotes .*12"), timeout=WAIT_MS)
