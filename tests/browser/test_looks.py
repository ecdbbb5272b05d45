"""Does every place keep to the rules of eye, screen reader and keyboard, in light and dark, wide and narrow?"""

from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import expect

from pages.common.frame import PLACES
from tests.browser.conftest import READY

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
FOUND = """async () => (await axe.run(document, {resultTypes: ['violations']})).violations
  .filter(one => ['serious', 'critical'].includes(one.impact))
  .flatMap(one => one.nodes.map(node => ({rule: one.id, html: node.html, says: node.failureSummary,
    by: CHROME.filter(([rule, where]) => rule === one.id && document.querySelector(node.target[0])?.matches(where)).length})))
  .filter(one => !one.by).map(one => [one.rule, one.html.slice(0, 200), one.says])"""
# What Streamlit itself draws and no means of ours reaches: rule, selector.
CHROME: tuple[tuple[str, str], ...] = ()
# Words that stand out of their tile, button or field.
CUT = """() => [...document.querySelectorAll(['[data-testid=stMetric]', 'button', '[data-baseweb=select]']
  .flatMap(one => [`[data-testid=stMain] ${one}`, `[data-testid=stMain] ${one} *`]).join())]
  .filter(one => one.offsetParent && one.clientWidth > 1 && one.scrollWidth > one.clientWidth + 1
    && getComputedStyle(one).display !== 'inline')
  .map(one => `${one.tagName} ${one.scrollWidth} > ${one.clientWidth}: ${one.textContent.slice(0, 60)}`)"""
TICKS = """() => [...document.querySelectorAll('[data-testid=stVegaLiteChart] .mark-text.role-axis-label')]
  .map(axis => [...axis.querySelectorAll('text')].filter(one => one.textContent && one.getAttribute('opacity') !== '0'
    && one.textContent.match(/^[\\u2212+\\d.,kMGT%]+$/)).map(one => one.textContent)).filter(said => said.length > 10)"""
WAIT_MS = 60_000
MOST_TABS = 6
HERE = "document.activeElement.getAttribute('aria-label') || ''"

slow = pytest.mark.slow
WARM = (("start", "light", 420), ("design", "light", 820))
SLOW = (
    *((place, scheme, 1400) for place in (*PLACES, "why", "compare") for scheme in ("light", "dark")),
    *((place, "dark", width) for place in ("start", "design") for width in (420, 820)),
)


@pytest.mark.parametrize(("place", "scheme", "width"), [*WARM, *(pytest.param(*one, marks=slow) for one in SLOW)])
def test_a_place_names_what_it_shows_cuts_no_word_and_has_few_ticks(server, visit, place, scheme, width):
    page = visit(f"{server}/{place}?preset=tiny", color_scheme=scheme, viewport={"width": width, "height": 900})
    drawn(page)
    page.evaluate(AXE)
    page.evaluate(f"window.CHROME = {[*map(list, CHROME)]}")
    assert page.evaluate(FOUND) == []
    assert page.evaluate(CUT) == []
    assert page.evaluate(TICKS) == []


def drawn(page):
    """Wait for a page's charts and its last words, those that follow by themselves too."""
    expect(page.get_by_test_id("stMain").locator("h1, h2").first).to_be_visible(timeout=WAIT_MS)
    for _ in range(2):
        page.wait_for_timeout(300)
        page.wait_for_selector(READY, timeout=WAIT_MS)


def test_the_first_main_knob_is_few_tabs_from_the_start_of_the_main_content(server, visit):
    page = visit(f"{server}/design?preset=tiny")
    expect(page.get_by_label("PMEM capacity [GB], exact")).to_be_visible(timeout=WAIT_MS)
    drawn(page)
    page.get_by_test_id("stMain").focus()
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        if page.evaluate(HERE) == "PMEM capacity [GB]":
            break
    assert page.evaluate(HERE) == "PMEM capacity [GB]"
    before = page.url
    page.keyboard.press("ArrowRight")
    page.wait_for_url(lambda url: url != before, timeout=WAIT_MS)


@slow
def test_no_key_reaches_the_closed_drawer_and_an_answered_question_leaves_the_keyboard_at_the_start_of_its_page(server, visit):
    page = visit(f"{server}/start?preset=tiny")
    drawn(page)
    for _ in range(MOST_TABS + len(PLACES)):
        page.keyboard.press("Tab")
        assert not page.evaluate("document.activeElement.closest('[data-testid=stSidebar]')"), "hidden, yet a stop"
    page.get_by_role("button", name="Ask about my model").press("Enter")
    page.wait_for_url("**/design?**", timeout=WAIT_MS)
    drawn(page)
    assert page.evaluate("document.activeElement.dataset.testid") == "stMain"
    page.keyboard.press("Tab")
    assert page.evaluate(HERE) == "Model and machine"
    page.get_by_test_id("stExpandSidebarButton").click()
    expect(page.get_by_label("Find a knob")).to_be_visible(timeout=WAIT_MS)


@slow
def test_the_projector_has_large_type_and_no_drawer_and_still_fits(server, visit):
    page = visit(f"{server}/design?preset=tiny", viewport={"width": 1400, "height": 900})
    drawn(page)
    size = "parseFloat(getComputedStyle(document.querySelector('[data-testid=stMain] h2')).fontSize)"
    before = page.evaluate(size)
    page.locator(".st-key-tail").get_by_role("button", name="?").click()
    page.get_by_text("Projector", exact=True).click()
    page.wait_for_function(f"{size} > {1.2 * before}", timeout=WAIT_MS)
    drawn(page)
    expect(page.get_by_test_id("stExpandSidebarButton")).to_be_hidden()
    assert page.evaluate(CUT) == []
    main = "document.querySelector('[data-testid=stMain]')"
    assert page.evaluate(f"{main}.scrollWidth - {main}.clientWidth") <= 1
    assert page.get_by_role("button", name="Run full training").bounding_box()["y"] < 900
