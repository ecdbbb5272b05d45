"""A chart as a picture: SVG with the same bytes each time, PNG or PDF, drawn without a browser and without the network."""

import re
from collections.abc import Mapping, Sequence
from html import escape

import pandas as pd

from pages.graphics import letters
from pages.graphics.charts import Spec

VEGA_LITE = "6.1"  # the newest of the converter's versions that is not newer than the browser's
WIDTH, SHARPNESS = 900, 2
PRINT_DOTS, POINTS = 300, 72  # an inch
HEAD, LETTERS, LEADING, EDGE = 10, 8, 1.25, 4  # of print, in points: letters of title and caption, lines, the left edge
INK = "#1b1e23"
FONT = "Liberation Sans, Arial, sans-serif"
PAPER: Spec = {"background": "white", "config": {"font": FONT, "axis": {"labelFontSize": 12}}}
SIZE = re.compile(r'width="(?P<width>[\d.]+)" height="(?P<height>[\d.]+)"')
INCHES = re.compile(r'width="[\d.]+in" height="[\d.]+in" viewBox="0 0 (?P<box>(?P<width>[\d.]+) (?P<height>[\d.]+))"')
CLIP = re.compile(r"\b(clip|gradient_)\d+\b")


def svg(spec: Spec, marks: pd.DataFrame, prefix: str = "chart") -> str:
    """Draw a chart as SVG; names inside begin with `prefix`, so that several can stand in one page."""
    import vl_convert  # late: starting it takes a second

    drawn: str = vl_convert.vegalite_to_svg(_whole(spec, marks), vl_version=VEGA_LITE)
    order: dict[str, str] = {}
    return CLIP.sub(lambda found: order.setdefault(found[0], f"{prefix}-{len(order)}"), drawn)


def png(spec: Spec, marks: pd.DataFrame) -> bytes:
    """Draw a chart as PNG."""
    import vl_convert

    drawn: bytes = vl_convert.vegalite_to_png(_whole(spec, marks), vl_version=VEGA_LITE, scale=SHARPNESS)
    return drawn


def printed(spec: Spec, width: float, title: Sequence[str], caption: Sequence[str], legend: Mapping[str, str]) -> str:
    """Draw a figure that has its data as SVG of so many points, lines of a title and the legend above, of a caption below."""
    inner, size = _bare(spec)
    keys = len(title) * HEAD * LEADING + HEAD * LEADING
    above, below = keys + LETTERS, len(caption) * LETTERS * LEADING + LETTERS
    height = above + size[1] + below
    return letters.with_lengths(
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" role="img" '
        f'width="{width / POINTS:.4g}in" height="{height / POINTS:.4g}in" viewBox="0 0 {width:g} {height:g}">'
        f"<title>{escape(' '.join(title))}</title><desc>{escape(' '.join(caption))}</desc>"
        f'<rect width="{width:g}" height="{height:g}" fill="white"/>'
        f"{_lines(title, HEAD, HEAD * LEADING, 'bold')}"
        f"{_keys(legend, keys)}"
        f'<g transform="translate(0,{above:g})">{inner}</g>'
        f"{_lines(caption, LETTERS, above + size[1] + LETTERS * LEADING, 'normal')}</svg>"
    )


def bare_width(spec: Spec) -> float:
    """Return the width in points that a figure has by itself."""
    return _bare(spec)[1][0]


def _bare(spec: Spec) -> tuple[str, tuple[float, float]]:
    """Return what is inside a figure's SVG, and its width and height."""
    import vl_convert

    whole = {**spec, "background": "white", "config": {**spec.get("config", {}), "font": FONT}}
    drawn: str = vl_convert.vegalite_to_svg(whole, vl_version=VEGA_LITE)
    order: dict[str, str] = {}
    named = CLIP.sub(lambda found: order.setdefault(found[0], f"figure-{len(order)}"), drawn)
    head, _, rest = named.partition(">")
    found = SIZE.search(head)
    assert found is not None, "an SVG without a size"
    return rest.removesuffix("</svg>"), (float(found["width"]), float(found["height"]))


def _keys(legend: Mapping[str, str], y: float) -> str:
    """Return the legend as one line: a mark in its colour before each name."""
    found, x = "", float(EDGE)
    for name, colour in legend.items():
        found += f'<rect x="{x:g}" y="{y - 7:g}" width="8" height="8" fill="{colour}"/>'
        found += f'<text font-family="{FONT}" font-size="{LETTERS}px" fill="{INK}" x="{x + 11:g}" y="{y:g}">{escape(name)}</text>'
        x += 22 + 4 * len(name)
    return found


def _lines(lines: Sequence[str], size: float, first: float, weight: str) -> str:
    """Return lines of text from the figure's left edge as SVG."""
    spans = "".join(
        f'<tspan x="{EDGE}" y="{first + number * size * LEADING:g}">{escape(line)}</tspan>' for number, line in enumerate(lines)
    )
    return f'<text font-family="{FONT}" font-size="{size:g}px" font-weight="{weight}" fill="{INK}">{spans}</text>'


def pdf(drawn: str) -> bytes:
    """Return an SVG as PDF."""
    import vl_convert

    found: bytes = vl_convert.svg_to_pdf(_in_points(drawn))
    return found


def bitmap(drawn: str) -> bytes:
    """Return an SVG as PNG, as sharp as printers ask for."""
    import vl_convert

    found: bytes = vl_convert.svg_to_png(_in_points(drawn), ppi=PRINT_DOTS)
    return found


def _in_points(drawn: str) -> str:
    """Return a printed figure with its size in points, which the converter takes for an inch's 72nd part."""
    return INCHES.sub(
        lambda found: f'width="{found["width"]}" height="{found["height"]}" viewBox="0 0 {found["box"]}"', drawn, count=1
    )


def _whole(spec: Spec, marks: pd.DataFrame) -> Spec:
    """Return the specification with its rows, its own width, and a light paper for any theme."""
    held = marks.astype(object).where(marks.notna(), None)
    return {
        **spec,
        **PAPER,
        "config": {**spec.get("config", {}), **PAPER["config"]},
        "width": WIDTH,
        "data": {"values": held.to_dict("records")},
    }
