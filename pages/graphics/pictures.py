"""A chart as SVG, PNG or PDF, drawn without browser or network.

The same chart always gives the same bytes of SVG.
"""

import re
from collections.abc import Mapping, Sequence
from html import escape

import pandas as pd

from pages.graphics import letters
from pages.graphics.charts import Spec

VEGA_LITE = "6.1"  # the converter's newest version up to the browser's
WIDTH, SHARPNESS = 900, 2
PRINT_DOTS, POINTS = 300, 72  # dots and points an inch
HEAD, LETTERS, LEADING, EDGE = 10, 8, 1.25, 4  # points in print: letters of title and caption, the left edge; LEADING is a factor
INK = "#1b1e23"
FONT = "Liberation Sans, Arial, sans-serif"
PAPER: Spec = {"background": "white", "config": {"font": FONT, "axis": {"labelFontSize": 12}}}
SIZE = re.compile(r'width="(?P<width>[\d.]+)" height="(?P<height>[\d.]+)"')
INCHES = re.compile(r'width="[\d.]+in" height="[\d.]+in" viewBox="0 0 (?P<box>(?P<width>[\d.]+) (?P<height>[\d.]+))"')
CLIP = re.compile(r"\b(clip|gradient_)\d+\b")


def svg(spec: Spec, marks: pd.DataFrame, prefix: str = "chart") -> str:
    """Return a chart as SVG.

    All names inside begin with `prefix`, so that several charts can stand in one page.
    """
    import vl_convert  # imported late: starting it takes a second

    svg_text: str = vl_convert.vegalite_to_svg(_with_rows(spec, marks), vl_version=VEGA_LITE)
    order: dict[str, str] = {}
    return CLIP.sub(lambda match: order.setdefault(match[0], f"{prefix}-{len(order)}"), svg_text)


def png(spec: Spec, marks: pd.DataFrame) -> bytes:
    """Return a chart as PNG."""
    import vl_convert

    png_bytes: bytes = vl_convert.vegalite_to_png(_with_rows(spec, marks), vl_version=VEGA_LITE, scale=SHARPNESS)
    return png_bytes


def print_svg(spec: Spec, width: float, title: Sequence[str], caption: Sequence[str], legend: Mapping[str, str]) -> str:
    """Return a figure as SVG with title, legend and caption; `width` is in points."""
    inner, size = _bare_svg(spec)
    keys = len(title) * HEAD * LEADING + HEAD * LEADING
    head_height, caption_height = keys + LETTERS, len(caption) * LETTERS * LEADING + LETTERS
    height = head_height + size[1] + caption_height
    return letters.add_lengths(
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" role="img" '
        f'width="{width / POINTS:.4g}in" height="{height / POINTS:.4g}in" viewBox="0 0 {width:g} {height:g}">'
        f"<title>{escape(' '.join(title))}</title><desc>{escape(' '.join(caption))}</desc>"
        f'<rect width="{width:g}" height="{height:g}" fill="white"/>'
        f"{_text_svg(title, HEAD, HEAD * LEADING, 'bold')}"
        f"{_legend_svg(legend, keys)}"
        f'<g transform="translate(0,{head_height:g})">{inner}</g>'
        f"{_text_svg(caption, LETTERS, head_height + size[1] + LETTERS * LEADING, 'normal')}</svg>"
    )


def bare_width(spec: Spec) -> float:
    """Return the width in points of a figure without texts."""
    return _bare_svg(spec)[1][0]


def _bare_svg(spec: Spec) -> tuple[str, tuple[float, float]]:
    """Return the content of a figure's SVG, and its width and height in points."""
    import vl_convert

    full_spec = {**spec, "background": "white", "config": {**spec.get("config", {}), "font": FONT}}
    svg_text: str = vl_convert.vegalite_to_svg(full_spec, vl_version=VEGA_LITE)
    order: dict[str, str] = {}
    renamed_svg = CLIP.sub(lambda match: order.setdefault(match[0], f"figure-{len(order)}"), svg_text)
    head, _, rest = renamed_svg.partition(">")
    size_match = SIZE.search(head)
    assert size_match is not None, "an SVG without a size"
    return rest.removesuffix("</svg>"), (float(size_match["width"]), float(size_match["height"]))


def _legend_svg(legend: Mapping[str, str], y: float) -> str:
    """Return the legend as one line: a mark in its colour before each name."""
    svg_text, x = "", float(EDGE)
    for name, colour in legend.items():
        svg_text += f'<rect x="{x:g}" y="{y - 7:g}" width="8" height="8" fill="{colour}"/>'
        svg_text += (
            f'<text font-family="{FONT}" font-size="{LETTERS}px" fill="{INK}" x="{x + 11:g}" y="{y:g}">{escape(name)}</text>'
        )
        x += 22 + 4 * len(name)
    return svg_text


def _text_svg(lines: Sequence[str], size: float, first_y: float, weight: str) -> str:
    """Return lines of text from the figure's left edge as SVG."""
    spans = "".join(
        f'<tspan x="{EDGE}" y="{first_y + number * size * LEADING:g}">{escape(line)}</tspan>' for number, line in enumerate(lines)
    )
    return f'<text font-family="{FONT}" font-size="{size:g}px" font-weight="{weight}" fill="{INK}">{spans}</text>'


def pdf(svg_text: str) -> bytes:
    """Return an SVG as PDF."""
    import vl_convert

    pdf_bytes: bytes = vl_convert.svg_to_pdf(_in_points(svg_text))
    return pdf_bytes


def bitmap(svg_text: str) -> bytes:
    """Return an SVG as PNG, in the resolution of print."""
    import vl_convert

    png_bytes: bytes = vl_convert.svg_to_png(_in_points(svg_text), ppi=PRINT_DOTS)
    return png_bytes


def _in_points(svg_text: str) -> str:
    """Return a printed figure with its size in points, which the converter expects."""
    return INCHES.sub(
        lambda match: f'width="{match["width"]}" height="{match["height"]}" viewBox="0 0 {match["box"]}"', svg_text, count=1
    )


def _with_rows(spec: Spec, marks: pd.DataFrame) -> Spec:
    """Return the specification with its rows, a fixed width, and a light background."""
    rows = marks.astype(object).where(marks.notna(), None)
    return {
        **spec,
        **PAPER,
        "config": {**spec.get("config", {}), **PAPER["config"]},
        "width": WIDTH,
        "data": {"values": rows.to_dict("records")},
    }
