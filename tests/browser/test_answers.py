"""Does each page say its answer in its first 300 pixels: found, refused, empty, and beside a link's bad value?"""

import pytest

from pages.shell.places import PLACES
from tests.browser.looks import WAIT_MS, drawn

pytestmark = pytest.mark.slow
FIRST_PIXELS = 300
STATES = (
    *PLACES,
    "design?preset=tiny&machine.cxl_bandwidth_GBps=-3",  # a value that is left out
    "search?preset=tiny&axis=machine.cxl_bandwidth_GBps:8,16&mode=full",  # nothing computed yet
    "design?preset=dlrm-terabyte&system=all-hbm&machine.num_gpus=1",  # does not fit
)


@pytest.mark.parametrize("state", STATES)
def test_a_page_says_its_answer_in_its_first_pixels(server, visit, state):
    link = state if "?" in state else f"{state}?preset=tiny"
    page = visit(f"{server}/{link}", viewport={"width": 1440, "height": 900})
    drawn(page)
    opened = page.get_by_test_id("stExpandSidebarButton")
    if opened.count() and opened.is_visible():
        opened.click()
        page.wait_for_timeout(500)
    box = page.locator(".st-key-answer").first.bounding_box(timeout=WAIT_MS)
    assert box["y"] + box["height"] <= FIRST_PIXELS, box
