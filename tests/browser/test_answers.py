"""Does each page say its answer in its first 300 pixels: found, refused, empty, and beside a link's bad value?"""

import pytest

from pages.shell.places import PLACES
from tests.browser.looks import STATES, WAIT_MS, wait_for_page

pytestmark = pytest.mark.slow
FIRST_PIXELS = 300


@pytest.mark.parametrize("state", (*PLACES, *STATES))
def test_a_page_says_its_answer_in_its_first_pixels(server, visit, state):
    link = state if "?" in state else f"{state}?preset=tiny"
    page = visit(f"{server}/{link}", viewport={"width": 1440, "height": 900})
    wait_for_page(page)
    opened = page.get_by_test_id("stExpandSidebarButton")
    if opened.count() and opened.is_visible():
        opened.click()
        page.wait_for_timeout(500)
    box = page.locator(".st-key-answer").first.bounding_box(timeout=WAIT_MS)
    assert box["y"] + box["height"] <= FIRST_PIXELS, box
