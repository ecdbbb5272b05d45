"""The views of a sweep, each an answer to one question about the same filtered rows, with the widgets it needs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from engine.core.figures import count as count_of
from engine.scenario.scenario import KNOBS
from engine.sweep.axes import Axis
from engine.sweep.sweep import Sweep
from pages.graphics import chart
from pages.search_page.points import (
    pinned,
    sweep_figures,
    sweep_filters,
    sweep_findings,
    sweep_marks,
    sweep_parallel,
    sweep_table,
)
from pages.search_page.points.sweep_figures import Figure
from pages.search_page.points.sweep_marks import BEST, MEDIAN
from pages.search_page.points.sweep_table import COST, title
from pages.ui.plain import plain

FIXED = "fixed"
REST = {BEST: "at their best", MEDIAN: "at the median", FIXED: "fixed"}
BOX, TURN = "box", "parallel turn"
MOST_SCALES = 7
MOST_NODES = 150  # marks that a browser draws faster as nodes of the page, each with its words, than as pixels
CANVAS = {"usermeta": {"embedOptions": {"renderer": "canvas"}}, "config": {"mark": {"aria": False}}}


@dataclass(frozen=True, eq=False)
class View:
    """What every view gets: the sweep, all finished rows, those that pass the filters, and the metric in question."""

    sweep: Sweep
    table: pd.DataFrame
    rows: pd.DataFrame
    metric: str

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of the sweep."""
        return self.sweep.axes


def _selected(key: str) -> Mapping[str, Any]:
    return dict(st.session_state[key].selection)


def _pick(key: str) -> None:
    found = _selected(key).get("pick") or []
    if found and found[0].get("point") is not None:
        pinned.pick(int(found[0]["point"]))


def _drawn(
    figure: Figure, key: str, view: View, more: str = "", on_select: Callable[[], None] | None = None, title: str = ""
) -> Figure:
    """Draw a figure whose points can be picked, under the finding or a `title`, with what to know about it."""
    if figure.marks.empty:
        st.caption("No point here has this result.")
        return figure
    alt = f"{figure.alt}; the table below has the same numbers"
    spec = {**figure.spec, **CANVAS} if len(figure.marks) > MOST_NODES else figure.spec
    chart.draw(
        figure.marks,
        spec,
        key=key,
        title=title or sweep_findings.finding(view.rows, view.axes, view.metric, None),
        subtitle=f"{figure.alt}. {figure.note}".strip(),
        alt=alt,
        on_select=on_select or (lambda: _pick(key)),
    )
    if more:
        st.caption(plain(more))
    return figure


def _two(view: View) -> tuple[Axis, ...]:
    """Let the visitor say which axes are drawn; one if the sweep has no other."""
    titles = {axis.path: axis for axis in view.axes}
    if len(titles) == 1:
        return view.axes
    left, right = st.columns(2)
    first = left.selectbox("Across", tuple(titles), key="across", format_func=title)
    rest = tuple(path for path in titles if path != first)
    second = right.selectbox("And", rest, key=f"and beside {first}", format_func=title)
    return titles[first], titles[second]


def _rest(view: View, drawn: Sequence[Axis]) -> tuple[pd.DataFrame, str]:
    """Let the visitor say where the other knobs stand; return the rows to draw and how to reduce them."""
    others = [axis for axis in view.axes if axis not in drawn]
    if not others:
        return view.rows, BEST
    names = ", ".join(KNOBS[axis.path].label for axis in others)
    how = st.segmented_control(
        f"Other knobs: {names}", REST, default=BEST, required=True, format_func=REST.__getitem__, key="rest"
    )
    rows = view.rows
    for axis in others if how == FIXED else ():
        held = sweep_marks.steps(rows[axis.path], KNOBS[axis.path].log)
        options = sorted(held.unique())
        at = st.select_slider(f"At {title(axis.path)}", options, key=f"at {axis.path}") if len(options) > 1 else options[0]
        rows = rows[held == at]
    return rows, BEST if how == FIXED else how


def heat_map(view: View) -> Figure | None:
    """Draw the metric over two knobs."""
    drawn = _two(view)
    if len(drawn) == 1:
        return _drawn(sweep_figures.lines(view.rows, drawn, view.metric, BEST), "lines", view)
    rows, how = _rest(view, drawn)
    return _drawn(sweep_figures.heat_map(rows, (drawn[0], drawn[1]), view.metric, how, len(view.axes) > 2), "heat map", view)


def lines(view: View) -> Figure | None:
    """Draw the metric over one knob, a line for each value of a second one."""
    drawn = _two(view)
    rows, how = _rest(view, drawn)
    return _drawn(sweep_figures.lines(rows, drawn, view.metric, how), "lines", view)


def pareto(view: View) -> Figure | None:
    """Draw two metrics against each other with the front; a box drawn over it keeps its points in the table."""
    names, first = sweep_table.differing(view.rows), sweep_figures.traded(view.rows, view.metric)
    if first is None:
        st.caption("Fewer than two results differ between the points, so there is nothing to trade.")
        return None
    left, middle, right = st.columns(3)
    x = left.selectbox("To trade", names, index=names.index(first[0]), key=f"pareto x {view.metric}")
    rest = [name for name in names if name != x]
    usual = next((name for name in sweep_figures.TRADED if name in rest), rest[0])
    y = middle.selectbox("Against", rest, index=rest.index(usual), key=f"pareto y {x}")
    paths = ["", *(axis.path for axis in view.axes)]
    at = paths.index("system") if "system" in paths else 0
    colour = right.selectbox(
        "Colour", paths, index=at, key="pareto colour", format_func=lambda path: title(path) if path else "none"
    )
    figure = sweep_figures.pareto(view.rows, x, y, colour)
    key = f"pareto {x} {y}"
    on_front = figure.marks.loc[figure.marks["front"], ["x", "y"]]
    places, count = len(on_front.drop_duplicates()), len(on_front)
    equal = f" ({count_of(count, 'point')}, some of them equal)" if count > places else ""
    front = f"{count_of(places, 'result')} on the front{equal}: no other is better in both"
    return _drawn(figure, key, view, "Drag a box to keep its points in the table below.", lambda: _boxed(key, x, y), front)


def _boxed(key: str, x: str, y: str) -> None:
    _pick(key)
    box = _selected(key).get("brush") or {}
    st.session_state[BOX] = {x: tuple(box["x"]), y: tuple(box["y"])} if {"x", "y"} <= set(box) else {}


def boxed(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows inside the box that was drawn over the Pareto chart in sight, all without one."""
    if st.session_state.get(sweep_filters.VIEW) != "Pareto":
        return rows
    for name, (low, high) in st.session_state.get(BOX, {}).items():
        rows = rows[rows[name].between(min(low, high), max(low, high))] if name in rows else rows
    return rows


def parallel(view: View) -> Figure | None:
    """Draw every axis and some metrics as vertical scales; dragging along one adds a filter."""
    differ = sweep_table.differing(view.rows)
    chosen = [name for name in dict.fromkeys((view.metric, COST, "Energy per batch [J]")) if name in differ]
    extra = st.multiselect("Results beside the knobs", differ, default=chosen, key="scales", max_selections=MOST_SCALES)
    names = [*(axis.path for axis in view.axes), *extra]
    rows = view.rows.dropna(subset=names)
    if rows.empty or len(names) < 2:
        st.caption("No point has all of these.")
        return None
    figure, scales = sweep_figures.parallel(rows, names, view.metric)
    key = f"parallel {st.session_state.setdefault(TURN, 0)}"

    def brushed() -> None:
        box = _selected(key).get("brush") or {}
        if {"at", "y"} <= set(box):
            sweep_filters.add(sweep_parallel.brushed(scales, box))
            st.session_state[TURN] += 1  # a fresh chart, without the box

    return _drawn(figure, key, view, "Drag up or down over a scale to keep what crosses it there.", brushed)


def matters(view: View) -> Figure | None:
    """Draw how much of the metric's variance each knob explains."""
    shares, among = sweep_findings.shares(view.sweep, view.rows, view.metric), sweep_findings.among(view.rows, view.table)
    if not shares or not shares[0].high:
        st.caption(f"This result is the same {among or 'everywhere'}, so no knob matters.")
        return None
    figure, title = (
        sweep_figures.matters(shares, view.metric),
        " ".join(share.sentence(view.metric, among) for share in shares[:2]),
    )
    chart.draw(figure.marks, figure.spec, key="matters", title=title, subtitle=f"{figure.alt}. {figure.note}", alt=figure.alt)
    return figure


VIEWS: Mapping[str, Callable[[View], Figure | None]] = dict(
    zip(sweep_filters.VIEWS, (heat_map, lines, pareto, parallel, matters), strict=True)
)


def first(axes: Sequence[Axis]) -> str:
    """Return the view that is drawn unless another is chosen."""
    return "Lines" if len(axes) == 1 else "Heat map"
