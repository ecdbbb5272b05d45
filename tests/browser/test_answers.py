"""Does each page say its answer in its first 300 pixels, in every state, and does no chart cut or overprint a label?"""

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
# From clicks of some kilobytes to tables of 20 TB.
SCENARIOS = (
    "preset=tiny",
    "preset=dlrm-kaggle",
    "preset=dlrm-kaggle&model.num_tables=26&model.num_embeddings=60&model.embedding_dim=16",
    "preset=dlrm-terabyte",
    "preset=trainingcxl-rm1",
    "preset=optane-rm4&system=pmem",
    "preset=meta-856",
    "preset=mtrains-capacity",
    "preset=cached-embedding-kaggle",
    "preset=dlrm-terabyte&model.num_embeddings=1500000000",
)
# Labels of a chart that reach out of its picture, or lie on each other by more than a fifth of the smaller one.
WRONG = """() => [...document.querySelectorAll('[data-testid=stVegaLiteChart]')].flatMap(chart => {
  const svg = chart.querySelector('svg'); if (!svg) return [];
  const frame = svg.getBoundingClientRect(), found = [];
  const texts = [...svg.querySelectorAll('text')].filter(one => one.textContent.trim() && one.getAttribute('opacity') !== '0'
    && one.getBoundingClientRect().width > 0).map(one => [one.textContent.slice(0, 40), one.getBoundingClientRect()]);
  for (const [words, box] of texts)
    if (box.left < frame.left - 2 || box.right > frame.right + 2 || box.top < frame.top - 2 || box.bottom > frame.bottom + 2)
      found.push(`cut: ${words}`);
  texts.forEach(([words, box], at) => texts.slice(at + 1).forEach(([others, other]) => {
    const wide = Math.min(box.right, other.right) - Math.max(box.left, other.left);
    const high = Math.min(box.bottom, other.bottom) - Math.max(box.top, other.top);
    const smaller = Math.min(box.width * box.height, other.width * other.height);
    if (wide > 1 && high > 3 && wide * high > 0.2 * smaller && words !== others) found.push(`overlap: ${words} / ${others}`);
  }));
  return found;
})"""


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


@pytest.mark.parametrize("width", [1440, 820, 420])
@pytest.mark.parametrize("place", ["decide", "design", "search", "failures", "data"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_no_label_of_a_chart_is_cut_or_lies_on_another(server, visit, scenario, place, width):
    page = visit(f"{server}/{place}?{scenario}", viewport={"width": width, "height": 900})
    drawn(page)
    assert page.evaluate(WRONG) == []
