"""A chart on a page: its title, subtitle and source are inside the picture, and it is saved as SVG, PNG or CSV."""

from collections.abc import Callable, Mapping
from textwrap import wrap
from types import MappingProxyType
from typing import Any

import pandas as pd
import streamlit as st

from engine import version
from pages.graphics import pictures
from pages.graphics.charts import FIT, INK, OUTER, Spec
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
    """Draw a chart with the words inside it, and the way to save it; a frame without rows draws a sentence and no axes.

    `title` is the finding, `subtitle` what is drawn and its unit, `source` whose numbers stand beside ours; `alt` is for those
    who hear the page, by default title and subtitle. `columns` are the frame's columns that a file has, with their titles.
    """
    if frame.empty:
        st.caption(f"{title}: nothing to draw.")
        return
    frame, spec = with_system_titles(frame, spec)
    whole = titled(spec, title, subtitle, source, key)
    with st.container(key=f"chart-{key}"):
        st.vega_lite_chart(
            frame, whole, key=key, alt=alt or f"{title}. {subtitle}".strip(". "), on_select=on_select or "ignore", width="stretch"
        )
        _save(frame, whole, key, columns)


def with_system_titles(frame: pd.DataFrame, spec: Spec) -> tuple[pd.DataFrame, Spec]:
    """Return a frame and its specification with training systems under their titles, wherever a column holds nothing else."""
    if not (columns := tables.system_columns(frame)):
        return frame, spec
    return tables.with_system_titles(frame, columns), _in_titles(spec, {*columns}, palette.system_titles())


def _in_titles(part: Any, columns: set[str], titles: Mapping[str, str], within: bool = False) -> Any:
    """Return a part of a specification in which the lists of a channel of these columns, domain and order, have titles.

    A channel of another column keeps its words: a device can have the name of a training system.
    """
    if isinstance(part, dict):
        within = part["field"] in columns if isinstance(part.get("field"), str) else within
        return {key: _in_titles(held, columns, titles, within) for key, held in part.items()}
    if isinstance(part, list):
        return [
            titles.get(held, held) if within and isinstance(held, str) else _in_titles(held, columns, titles, within)
            for held in part
        ]
    return part


def titled(spec: Spec, title: str, subtitle: str = "", source: str = "", key: str = "") -> Spec:
    """Return a specification with its words: title, subtitle, and in its last line source and model version."""
    last = f"{source}; {SOURCE}" if source else SOURCE
    words = f"{subtitle.rstrip('.')}. {last}" if subtitle else last
    return {
        **FIT,
        "padding": PADDING,
        **spec,
        "config": {**AXES, **spec.get("config", {})},
        "title": {
            "text": {"expr": _broken(title, TITLE_LETTER)},
            "subtitle": {"expr": _broken(words, SUBTITLE_LETTER)},
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


def _broken(text: str, letter: float) -> str:
    """Return the Vega expression for a text in lines that fit into the picture's width."""
    lines = {width: wrap(text, max(int(width / letter), 12)) or [""] for width in WIDTHS}
    narrowest = _quoted(lines[WIDTHS[-1]])
    chosen, shown = narrowest, narrowest
    for width in reversed(WIDTHS[:-1]):
        if (now := _quoted(lines[width])) != shown:
            chosen, shown = f"{OUTER} >= {width} ? {now} : {chosen}", now
    return chosen


def _quoted(lines: list[str]) -> str:
    return "[" + ", ".join("'" + line.replace("\\", "\\\\").replace("'", "\\'") + "'" for line in lines) + "]"


def _save(frame: pd.DataFrame, spec: Spec, key: str, columns: Saved) -> None:
    """Draw the menu that saves a chart; its buttons are made once it is open."""
    with st.popover("Save", type="tertiary", key=f"save {key}", on_change="rerun") as menu:
        if not menu.open:
            return
        name = f"emberpool-{'-'.join(key.split())}"
        for label, make, kind in (("SVG", _svg, "image/svg+xml"), ("PNG", pictures.png, "image/png")):
            picture: Any = _later(make, spec, frame)
            st.download_button(label, picture, f"{name}.{label.lower()}", kind, on_click="ignore", key=f"{label} {key}")
        downloads.rows(frame, name, "CSV", columns)


def _svg(spec: Spec, frame: pd.DataFrame) -> bytes:
    return pictures.svg(spec, frame).encode()


def _later(make: Callable[[Spec, pd.DataFrame], bytes], spec: Spec, frame: pd.DataFrame) -> Callable[[], bytes]:
    return lambda: make(spec, frame)
