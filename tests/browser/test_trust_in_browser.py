"""Trust in a real browser: do the ranges come by themselves, and do open groups say which knobs do nothing?"""

import re

import pytest
from playwright.sync_api import expect

from pages.explore.tiles import WAITING
from tests.browser.test_explorer import ANSWER_MS, settled


@pytest.mark.slow
def test_the_ranges_follow_the_tiles_by_themselves_and_stay(server, visit):
    page = visit(f"{server}/explore?preset=trainingcxl-rm4&data.batch_size=80")
    expect(page.get_by_text(re.compile(r"Under each tile: its range in 9 of 10 draws"))).to_be_visible(timeout=ANSWER_MS)
    assert settled(page).get_by_text(WAITING).count() == 0
    page.wait_for_timeout(1500)  # the timer has ended: nothing is drawn anew
    assert page.get_by_text(WAITING).count() == 0 and page.outside == []
