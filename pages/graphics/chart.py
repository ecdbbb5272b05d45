"""A chart with title, subtitle and source in the picture, saved as SVG, PNG, CSV."""

from collections.abc import Callable, Mapping
from textwrap import wrap
from types import MappingProxyType
from typing import Any

import pandas as pd
import streamlit as st

from engine import version
from pages.graphics import pictures
from pages.graphics.charts import FIT_WIDTH, INK, PICTURE_WIDTH, Spec
from pages.ui import downloads, palette, tables

WIDTHS = (1100, 900, 740, 600, 480, 380, 300, 240)  # of pictures, in pixels: a title is broken for the first that fits
TITLE, SUBTITLE = {"fontSize": 15, "fontWeight": 600}, {"subtitleFontSize": 12, "subtitleFontWeight": "normal"}
TITLE_LETTER, SUBTITLE_LETTER = 7.9, 6.4  # pixels of a letter in the mean, with what stands left of the plot as reserve
# From the right end of its axis a title has the room under the names of the rows too. A number half of which would stand right
# of the picture is left out.
PADDING = {"left": 1, "right": 5, "top": 1, "bottom": 8}  # pixels around what is drawn
AXES: Spec = {
    "axisX": {"titleAnchor": "end", "titlePadding": 4, "labelPadding": 6},
    "axisXQuantitative": {"labelBound": 4},
    "legend": {"offset": 10},
}
SOURCE = f"Emberpool, model {version.MODEL}"
Saved = Mapping[str, str]


def draw(
    frame: pd.DataFrame,
    spec: Spec,
    *,
    key: str,
    title: str,
    subtitle: str = "",
    source: str = "",
    alt: str = "",
    columns: Saved = MappingProxyType({}),
    on_select: Callable[[], None] | None = None,
) -> None:
    """Draw a chart with its texts and the menu that saves it.

    A frame without rows gives a sentence and no axes.
    title: the finding. subtitle: the drawn quantity and its unit. source: the source of published numbers.
    alt: the text for screen readers, by default title and subtitle.
    columns: the frame's columns that a saved file has, with their titles.
    """
    if frame.empty:
        st.caption(f"{title}: nothing to draw.")
        return
    frame, spec = with_system_titles(frame, spec)
    full_spec = add_titles(spec, title, subtitle, source, key)
    with st.container(key=f"chart-{key}"):
        st.vega_lite_chart(
            frame,
            full_spec,
            key=key,
            alt=alt or f"{title}. {subtitle}".strip(". "),
            on_select=on_select or "ignore",
            width="stretch",
        )
        _draw_save_menu(frame, full_spec, key, columns)


def with_system_titles(frame: pd.DataFrame, spec: Spec) -> tuple[pd.DataFrame, Spec]:
    """Return a frame and its specification with titles of training systems for their names.

    Columns that hold only names of systems are changed.
    """
    if not (columns := tables.system_columns(frame)):
        return frame, spec
    return tables.with_system_titles(frame, columns), _in_titles(spec, {*columns}, palette.system_titles())


def _in_titles(part: Any, columns: set[str], titles: Mapping[str, str], in_channel: bool = False) -> Any:
    """Return a part of a specification with titles in these columns' domains and orders.

    A channel of another column keeps its words: a device can have the name of a training system.
    """
    if isinstance(part, dict):
        in_channel = part["field"] in columns if isinstance(part.get("field"), str) else in_channel
        return {key: _in_titles(subpart, columns, titles, in_channel) for key, subpart in part.items()}
    if isinstance(part, list):
        return [
            titles.get(subpart, subpart)
            if in_channel and isinstance(subpart, str)
            else _in_titles(subpart, columns, titles, in_channel)
            for subpart in part
        ]
    return part


def add_titles(spec: Spec, title: str, subtitle: str = "", source: str = "", key: str = "") -> Spec:
    """Return a specification with title, subtitle, source and model version."""
    source_line = f"{source}; {SOURCE}" if source else SOURCE
    words = f"{subtitle.rstrip('.')}. {source_line}" if subtitle else source_line
    return {
        **FIT_WIDTH,
        "padding": PADDING,
        **spec,
        "config": {**AXES, **spec.get("config", {})},
        "title": {
            "text": {"expr": _line_expression(title, TITLE_LETTER)},
            "subtitle": {"expr": _line_expression(words, SUBTITLE_LETTER)},
            "anchor": "start",
            "frame": "bounds",
            "offset": 10,
            "limit": 0,
            "subtitleColor": INK,
            "subtitlePadding": 4,
            **TITLE,
            **SUBTITLE,
        },
        "usermeta": {**spec.get("usermeta", {}), "key": key, "title": title, "subtitle": words},
    }


def _line_expression(text: str, letter: float) -> str:
    """Return the Vega expression of a text in lines that fit the picture's width."""
    lines = {width: wrap(text, max(int(width / letter), 12)) or [""] for width in WIDTHS}
    narrowest = _vega_list(lines[WIDTHS[-1]])
    expression, narrower_lines = narrowest, narrowest
    for width in reversed(WIDTHS[:-1]):
        if (wider_lines := _vega_list(lines[width])) != narrower_lines:
            expression, narrower_lines = f"{PICTURE_WIDTH} >= {width} ? {wider_lines} : {expression}", wider_lines
    return expression


def _vega_list(lines: list[str]) -> str:
    return "[" + ", ".join("'" + line.replace("\\", "\\\\").replace("'", "\\'") + "'" for line in lines) + "]"


def _draw_save_menu(frame: pd.DataFrame, spec: Spec, key: str, columns: Saved) -> None:
    """Draw the menu that saves a chart; its buttons are made once it is open."""
    with st.popover("Save", type="tertiary", key=f"save {key}", on_change="rerun") as menu:
        if menu.open:
            draw_save_buttons(frame, spec, key, columns)


def draw_save_buttons(frame: pd.DataFrame, spec: Spec, key: str, columns: Saved, rows: pd.DataFrame | None = None) -> None:
    """Draw the buttons that save a chart as SVG and PNG, and its table, or `rows` in place of it, as CSV."""
    name = f"emberpool-{'-'.join(key.split())}"
    for label, make, kind in (("SVG", _svg, "image/svg+xml"), ("PNG", pictures.png, "image/png")):
        picture: Any = _later(make, spec, frame)
        st.download_button(label, picture, f"{name}.{label.lower()}", kind, on_click="ignore", key=f"{label} {key}")
    downloads.rows(frame if rows is None else rows, name, "CSV", columns)


def _svg(spec: Spec, frame: pd.DataFrame) -> bytes:
    return pictures.svg(spec, frame).encode()


def _later(make: Callable[[Spec, pd.DataFrame], bytes], spec: Spec, frame: pd.DataFrame) -> Callable[[], bytes]:
    return lambda: make(spec, frame)
