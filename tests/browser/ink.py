"""The ink of charts' labels in a browser: which stand out of their picture, which are cut, which overprint each other.

A box of a text in SVG reaches above and below its letters, so boxes are those of the ink: where the first letter begins on its
baseline, and how far the font's letters reach from there. A picture on a canvas notes each text as it is drawn.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from playwright.sync_api import Page

from tests.browser.conftest import READY
from tests.browser.looks import WAIT_MS

CLOSED = ", ".join(f"{selector} details:not([open]) > summary" for selector in ("[class*=section]", ".st-key-sure"))
MOST_SECTIONS = 12
STEADY_POLLS, POLL_MS, MOST_POLLS = 3, 200, 300  # a page is drawn once it looks alike so often
# A canvas holds its texts until it gets a new size, which is when Vega draws all of it again.
NOTES = """(() => {
  const pen = CanvasRenderingContext2D.prototype, fill = pen.fillText;
  const size = Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, 'width');
  Object.defineProperty(HTMLCanvasElement.prototype, 'width',
    {...size, set(value) { this.notes = new Map(); size.set.call(this, value); }});
  pen.fillText = function (text, x, y, ...rest) {
    const at = this.getTransform(), ink = this.measureText(text);
    const shown = this.globalAlpha > 0 && this.canvas.notes && String(text).trim();
    if (shown) this.canvas.notes.set([text, x, y, at].join(), {text: String(text), corners: [
      [-ink.actualBoundingBoxLeft, -ink.actualBoundingBoxAscent], [ink.actualBoundingBoxRight, -ink.actualBoundingBoxAscent],
      [ink.actualBoundingBoxRight, ink.actualBoundingBoxDescent], [-ink.actualBoundingBoxLeft, ink.actualBoundingBoxDescent],
    ].map(([dx, dy]) => { const end = new DOMPoint(x + dx, y + dy).matrixTransform(at); return [end.x, end.y]; })});
    return fill.call(this, text, x, y, ...rest);
  };
})()"""
# How a page and its charts stand now: alike some times, they have been drawn.
STANCE = """() => JSON.stringify([document.querySelector('[data-testid=stMain]')?.innerText.length,
  ...[...document.querySelectorAll('[data-testid=stVegaLiteChart]')].map(chart => {
  const picture = chart.querySelector('svg.marks, canvas.marks'), box = (picture || chart).getBoundingClientRect();
  return [box.width, box.height, box.y + scrollY, picture ? picture.querySelectorAll('text').length : -1,
    Math.round(chart.getBoundingClientRect().width)];
})])"""
UNDRAWN = """() => [...document.querySelectorAll('[data-testid=stVegaLiteChart]')].filter(chart =>
  chart.offsetParent && chart.getBoundingClientRect().width > 1 && !chart.querySelector('svg.marks, canvas.marks')).length
  + document.querySelectorAll('[data-testid=stSpinner], [data-testid=stSkeleton]').length"""
MEASUREMENT = """() => {
  const pen = document.createElement('canvas').getContext('2d');
  const seen = node => {
    for (let at = node; at && at.tagName !== 'svg'; at = at.parentElement) {
      const style = getComputedStyle(at);
      if (style.display === 'none' || style.visibility === 'hidden' || Number(style.opacity) === 0) return false;
    }
    return getComputedStyle(node).fill !== 'none' && Number(getComputedStyle(node).fillOpacity) > 0;
  };
  const inked = line => {
    const text = line.textContent, style = getComputedStyle(line);
    pen.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    const ink = pen.measureText(text), begin = line.getStartPositionOfChar(0), whole = line.closest('text');
    const [left, right] = [begin.x - ink.actualBoundingBoxLeft, begin.x + ink.actualBoundingBoxRight];
    const [top, bottom] = [begin.y - ink.actualBoundingBoxAscent, begin.y + ink.actualBoundingBoxDescent];
    return {text, corners: [[left, top], [right, top], [right, bottom], [left, bottom]].map(([x, y]) => {
      const end = new DOMPoint(x, y).matrixTransform(whole.getScreenCTM());
      return [end.x, end.y];
    })};
  };
  return [...document.querySelectorAll('[data-testid=stVegaLiteChart]')].flatMap(chart => {
    const picture = chart.querySelector('svg.marks, canvas.marks');
    const box = picture?.getBoundingClientRect(), around = chart.getBoundingClientRect();
    if (!picture || box.width < 1 || box.height < 1 || !chart.offsetParent) return [];
    const lines = picture.tagName === 'CANVAS'
      ? [...(picture.notes?.values() || [])].map(one => ({text: one.text,
          corners: one.corners.map(([x, y]) =>
            [box.x + x * box.width / picture.width, box.y + y * box.height / picture.height])}))
      : [...picture.querySelectorAll('text')].filter(seen)
          .flatMap(text => text.querySelector('tspan') ? [...text.querySelectorAll('tspan')] : [text])
          .filter(line => line.textContent.trim()).map(inked);
    const named = chart.closest('[class*=st-key-chart-], [class*=st-key-spark], [class*=st-key-strip-]');
    const key = [...(named?.classList || [])].find(one => /st-key-(chart|spark|strip)/.test(one)) || 'st-key-?';
    return [{name: key.replace('st-key-', ''), kind: picture.tagName, lines,
      frame: [Math.max(box.left, around.left), box.top, Math.min(box.right, around.right, innerWidth), box.bottom]}];
  });
}"""
Corner = tuple[float, float]


@dataclass(frozen=True)
class Label:
    """One line of a label: its text, and the corners of its ink in px of the page, in their order around it."""

    text: str
    corners: tuple[Corner, ...]


@dataclass(frozen=True)
class Picture:
    """A chart in a browser: the key that names it, its labels, its frame (left, top, right, bottom) in px."""

    name: str
    frame: tuple[float, float, float, float]
    labels: tuple[Label, ...]


def wait_for_charts(page: Page) -> None:
    """Wait until all charts of a page have been drawn and nothing of them moves any more."""
    previous, repeats = "", 0
    for _ in range(MOST_POLLS):
        page.wait_for_selector(READY, timeout=WAIT_MS)
        stance = page.evaluate(STANCE)
        repeats = repeats + 1 if stance == previous and not page.evaluate(UNDRAWN) else 0
        if repeats >= STEADY_POLLS:
            return
        previous = stance
        page.wait_for_timeout(POLL_MS)
    raise AssertionError(f"the charts of {page.url} are not drawn: {previous}")


def pictures(page: Page) -> list[Picture]:
    """Return the charts that a page shows."""
    return [Picture(chart["name"], tuple(chart["frame"]), _labels(chart["lines"])) for chart in page.evaluate(MEASUREMENT)]


def _labels(lines: list[Any]) -> tuple[Label, ...]:
    return tuple(Label(line["text"], tuple((x, y) for x, y in line["corners"])) for line in lines)


def faults(picture: Picture, slack: float = 1.0) -> Iterator[str]:
    """Yield a sentence for each label that leaves the frame by more than `slack` px, is cut short, or overprints another."""
    left, top, right, bottom = picture.frame
    for label in picture.labels:
        overhang = max(max(left - x, x - right, top - y, y - bottom) for x, y in label.corners)
        if overhang > slack:
            yield f"{picture.name}: {label.text!r} stands {overhang:.1f} px out of the picture"
        if label.text.endswith("…"):
            yield f"{picture.name}: {label.text!r} is cut short"
    for index, earlier_label in enumerate(picture.labels):
        for later_label in picture.labels[index + 1 :]:
            if overlap(earlier_label.corners, later_label.corners) > slack and not _twice(earlier_label, later_label):
                yield f"{picture.name}: {earlier_label.text!r} and {later_label.text!r} overprint each other"


def overlap(rectangle: tuple[Corner, ...], other_rectangle: tuple[Corner, ...]) -> float:
    """Return by how many px two rectangles, however turned, reach into each other; 0 or less where they do not."""
    depth = float("inf")
    for corners in (rectangle, other_rectangle):
        for (x, y), (to_x, to_y) in pairwise(corners[:3]):
            length = ((to_x - x) ** 2 + (to_y - y) ** 2) ** 0.5 or 1.0
            axis = ((to_x - x) / length, (to_y - y) / length)
            spans = [sorted(px * axis[0] + py * axis[1] for px, py in polygon) for polygon in (rectangle, other_rectangle)]
            depth = min(depth, min(spans[0][-1], spans[1][-1]) - max(spans[0][0], spans[1][0]))
    return depth


def _twice(label: Label, other_label: Label) -> bool:
    """Whether the same text stands in the same place twice, such as a halo under its label."""
    matches = (abs(a - b) < 1 for a_b in zip(label.corners, other_label.corners, strict=True) for a, b in zip(*a_b, strict=True))
    return label.text == other_label.text and all(matches)


def open_sections(page: Page) -> None:
    """Open every closed section of a page's main part, one after the other, and wait for what is in them."""
    closed = page.get_by_test_id("stMain").locator(CLOSED)
    for _ in range(MOST_SECTIONS):
        if not closed.count():
            return
        closed.first.click()
        wait_for_charts(page)
