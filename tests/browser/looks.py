"""What a page must keep for eye, screen reader and keyboard: looked up in a page that a browser has drawn."""

import re
from pathlib import Path

import axe_playwright_python
from playwright.sync_api import expect

from tests.browser.conftest import READY, WAIT_MS

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
VIOLATIONS = """async () => (await axe.run(document, {resultTypes: ['violations']})).violations
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
STATES = (  # of pages beside the usual one: a value left out, nothing computed yet, does not fit, estimated points, faults
    "design?preset=tiny&machine.cxl_bandwidth_GBps=-3",
    "search?preset=tiny&axis=machine.cxl_bandwidth_GBps:8,16&mode=full",
    "design?preset=dlrm-terabyte&system=all-hbm&machine.num_gpus=1",
    "search?preset=tiny&axis=machine.cxl_bandwidth_GBps:8,16&axis=data.batch_size:32,64,128",
    "failures?preset=dlrm-kaggle&system=cxl&faults.power_loss_mtbf_hours=100",
    "decide?preset=dlrm-kaggle&require=throughput=1e12",
    "data?preset=dlrm-kaggle&data.digest=" + 64 * "0",
)
DOWNLOAD_RUN = "zip emberpool-cxl"  # key of the button that saves a full run of the first system
CANCEL = "[class*=st-key-cancel-] button"
MOST_TABS = 6
FOCUS_NAME = "document.activeElement.getAttribute('aria-label') || ''"


def by_key(page, key):
    """Return what a page draws with this key: Streamlit makes a class of it."""
    return page.locator(f".st-key-{re.sub('[^a-zA-Z0-9_-]', '-', key)}")


def button(page, key):
    """Return the button with this key."""
    return by_key(page, key).get_by_role("button")


def field(page, key):
    """Return the text field with this key."""
    return by_key(page, key).get_by_role("textbox")


def wait_for_page(page):
    """Wait for a page's charts and its last words, those that follow by themselves too."""
    expect(page.get_by_test_id("stMain").locator("h1, h2").first).to_be_visible(timeout=WAIT_MS)
    for _ in range(2):
        page.wait_for_timeout(300)
        page.wait_for_selector(READY, timeout=WAIT_MS)


def assert_looks(page):
    """Check that everything is named, no word is cut, and no axis has more than ten ticks."""
    wait_for_page(page)
    page.evaluate(AXE)
    page.evaluate(f"window.CHROME = {[*map(list, CHROME)]}")
    assert page.evaluate(VIOLATIONS) == []
    assert page.evaluate(CUT) == []
    assert page.evaluate(TICKS) == []
