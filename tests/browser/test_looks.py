"""Does every place keep to the rules of eye, screen reader and keyboard, in light and dark, wide and narrow?"""

from itertools import product

import pytest
from playwright.sync_api import expect

from pages.shell import projector
from pages.shell.places import PLACES
from tests.browser.looks import (
    AXE,
    CANCEL,
    CUT,
    FOCUS_NAME,
    MOST_TABS,
    STATES,
    VIOLATIONS,
    WAIT_MS,
    assert_looks,
    button,
    by_key,
    field,
    wait_for_page,
)
from tests.cases import draw

pytestmark = pytest.mark.slow
WINDOWS = (
    *((place, scheme, 1400) for place in (*PLACES, "why", "compare") for scheme in ("light", "dark")),
    *((place, "dark", width) for place in ("start", "design") for width in (420, 820)),
)


@pytest.mark.parametrize(("place", "scheme", "width"), draw(WINDOWS, 12))
def test_a_place_names_what_it_shows_cuts_no_word_and_has_few_ticks(server, visit, place, scheme, width):
    assert_looks(visit(f"{server}/{place}?preset=tiny", color_scheme=scheme, viewport={"width": width, "height": 900}))


@pytest.mark.parametrize(("state", "scheme"), draw(list(product(STATES, ("light", "dark"))), 7))
def test_what_is_refused_empty_or_computed_is_named_and_uncut_too(server, visit, state, scheme):
    assert_looks(visit(f"{server}/{state}", color_scheme=scheme, viewport={"width": 1400, "height": 900}))


def test_a_running_training_is_named_and_uncut_too(server, visit):
    page = visit(f"{server}/design?preset=dlrm-kaggle&run.batches=2000", viewport={"width": 1400, "height": 900})
    wait_for_page(page)
    button(page, "run").click()
    expect(page.locator(CANCEL)).to_be_visible(timeout=WAIT_MS)
    page.evaluate(AXE)
    page.evaluate("window.CHROME = []")
    assert page.evaluate(VIOLATIONS) == [] and page.evaluate(CUT) == []


def test_no_key_reaches_the_closed_drawer_and_an_answered_question_leaves_the_keyboard_at_the_start_of_its_page(server, visit):
    page = visit(f"{server}/start?preset=tiny")
    wait_for_page(page)
    for _ in range(MOST_TABS + len(PLACES)):
        page.keyboard.press("Tab")
        assert not page.evaluate("document.activeElement.closest('[data-testid=stSidebar]')"), "hidden, yet a stop"
    button(page, "own").press("Enter")
    page.wait_for_url("**/decide?**", timeout=WAIT_MS)
    wait_for_page(page)
    assert page.evaluate("document.activeElement.dataset.testid") == "stMain"
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUS_NAME).startswith("Your model")
    page.get_by_test_id("stExpandSidebarButton").click()
    expect(field(page, "find")).to_be_visible(timeout=WAIT_MS)


def test_the_projector_has_large_type_and_no_drawer_and_still_fits(server, visit):
    page = visit(f"{server}/design?preset=tiny", viewport={"width": 1400, "height": 900})
    wait_for_page(page)
    size = "parseFloat(getComputedStyle(document.querySelector('[data-testid=stMain] h2')).fontSize)"
    before = page.evaluate(size)
    for _ in range(3):  # a page that is drawn anew closes what was just opened
        page.locator(".st-key-tail").get_by_role("button", name="Glossary").click()
        page.wait_for_timeout(2000)
        if by_key(page, projector.PROJECTOR_KEY).count():
            break
    by_key(page, projector.PROJECTOR_KEY).locator("label").click()
    page.wait_for_function(f"{size} > {1.2 * before}", timeout=WAIT_MS)
    wait_for_page(page)
    expect(page.get_by_test_id("stExpandSidebarButton")).to_be_hidden()
    assert page.evaluate(CUT) == []
    main = "document.querySelector('[data-testid=stMain]')"
    assert page.evaluate(f"{main}.scrollWidth - {main}.clientWidth") <= 1
    expect(by_key(page, "recommended")).not_to_contain_text("searching", timeout=WAIT_MS)  # its sentences take room
    box = button(page, "run").bounding_box()
    assert box["y"] + box["height"] <= 900, box
