"""The views of a sweep: charts of the filtered rows, each with its own widgets."""

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
from pages.search_page.points.sweep_marks import BEST_POINT, MEDIAN
from pages.search_page.points.sweep_table import COST, title
from pages.ui.plain import escape_markdown

FIXED_VALUES = "fixed"
REDUCTION_TITLES = {BEST_POINT: "at their best", MEDIAN: "at the median", FIXED_VALUES: "fixed"}
BOX, TURN = "box", "parallel turn"
MOST_SCALES = 7
MOST_NODES = 150  # marks up to which a browser draws SVG nodes, each with its words, faster than pixels
CANVAS = {"usermeta": {"embedOptions": {"renderer": "canvas"}}, "config": {"mark": {"aria": False}}}


@dataclass(frozen=True, eq=False)
class View:
    """The input of every view.

    sweep: the sweep.
    table: all finished rows.
    rows: the rows that pass the filters.
    metric: the result that the view shows.
    """

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
    picked_marks = _selected(key).get("pick") or []
    if picked_marks and picked_marks[0].get("point") is not None:
        pinned.pick_point(int(picked_marks[0]["point"]))


def _draw_figure(
    figure: Figure, key: str, view: View, hint: str = "", on_select: Callable[[], None] | None = None, title: str = ""
) -> Figure:
    """Draw a figure whose points can be picked.

    Its title is the finding or `title`; `hint` stands below.
    """
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
    if hint:
        st.caption(escape_markdown(hint))
    return figure


def _choose_axes(view: View) -> tuple[Axis, ...]:
    """Return the two axes that the visitor chose, or the only axis of the sweep."""
    titles = {axis.path: axis for axis in view.axes}
    if len(titles) == 1:
        return view.axes
    x_column, line_column = st.columns(2)
    first_path = x_column.selectbox("Horizontal axis", tuple(titles), key="across", format_func=title)
    rest = tuple(path for path in titles if path != first_path)
    second = line_column.selectbox("Second knob", rest, key=f"and beside {first_path}", format_func=title)
    return titles[first_path], titles[second]


def _reduce_other_axes(view: View, drawn_axes: Sequence[Axis]) -> tuple[pd.DataFrame, str]:
    """Return the rows to draw and their reduction, as the visitor chose for the other knobs."""
    other_axes = [axis for axis in view.axes if axis not in drawn_axes]
    if not other_axes:
        return view.rows, BEST_POINT
    names = ", ".join(KNOBS[axis.path].label for axis in other_axes)
    reduction = st.segmented_control(
        f"Other knobs: {names}",
        REDUCTION_TITLES,
        default=BEST_POINT,
        required=True,
        format_func=REDUCTION_TITLES.__getitem__,
        key="rest",
    )
    rows = view.rows
    for axis in other_axes if reduction == FIXED_VALUES else ():
        axis_steps = sweep_marks.steps_of_axis(rows[axis.path], KNOBS[axis.path].log)
        options = sorted(axis_steps.unique())
        step = st.select_slider(f"At {title(axis.path)}", options, key=f"at {axis.path}") if len(options) > 1 else options[0]
        rows = rows[axis_steps == step]
    return rows, BEST_POINT if reduction == FIXED_VALUES else reduction


def heat_map(view: View) -> Figure | None:
    """Draw the metric over two knobs."""
    drawn_axes = _choose_axes(view)
    if len(drawn_axes) == 1:
        return _draw_figure(sweep_figures.lines(view.rows, drawn_axes, view.metric, BEST_POINT), "lines", view)
    rows, reduction = _reduce_other_axes(view, drawn_axes)
    return _draw_figure(
        sweep_figures.heat_map(rows, (drawn_axes[0], drawn_axes[1]), view.metric, reduction, len(view.axes) > 2), "heat map", view
    )


def lines(view: View) -> Figure | None:
    """Draw the metric over one knob, a line for each value of a second one."""
    drawn_axes = _choose_axes(view)
    rows, reduction = _reduce_other_axes(view, drawn_axes)
    return _draw_figure(sweep_figures.lines(rows, drawn_axes, view.metric, reduction), "lines", view)


def pareto(view: View) -> Figure | None:
    """Draw a scatter of two metrics with the Pareto front.

    If the visitor drags a box, only its points stay in the table.
    """
    names, default_pair = sweep_table.differing_metrics(view.rows), sweep_figures.trade_pair(view.rows, view.metric)
    if default_pair is None:
        st.caption("Fewer than two results differ between the points, so there is no Pareto front.")
        return None
    x_column, y_column, colour_column = st.columns(3)
    x = x_column.selectbox("First result", names, index=names.index(default_pair[0]), key=f"pareto x {view.metric}")
    rest = [name for name in names if name != x]
    usual = next((name for name in sweep_figures.TRADE_METRICS if name in rest), rest[0])
    y = y_column.selectbox("Second result", rest, index=rest.index(usual), key=f"pareto y {x}")
    paths = ["", *(axis.path for axis in view.axes)]
    system_index = paths.index("system") if "system" in paths else 0
    colour = colour_column.selectbox(
        "Colour", paths, index=system_index, key="pareto colour", format_func=lambda path: title(path) if path else "none"
    )
    figure = sweep_figures.pareto(view.rows, x, y, colour)
    key = f"pareto {x} {y}"
    on_front = figure.marks.loc[figure.marks["front"], ["x", "y"]]
    places, count = len(on_front.drop_duplicates()), len(on_front)
    equal = f" ({count_of(count, 'point')}, some of them equal)" if count > places else ""
    front = f"The Pareto front has {count_of(places, 'result')}{equal}: no other point is better in both"
    return _draw_figure(
        figure,
        key,
        view,
        "Drag a box over points to keep only these points in the table below.",
        lambda: _boxed(key, x, y),
        front,
    )


def _boxed(key: str, x: str, y: str) -> None:
    _pick(key)
    box = _selected(key).get("brush") or {}
    st.session_state[BOX] = {x: tuple(box["x"]), y: tuple(box["y"])} if {"x", "y"} <= set(box) else {}


def rows_in_box(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows inside the box on the Pareto chart, if this chart is shown.

    Without a box all rows are returned.
    """
    if st.session_state.get(sweep_filters.VIEW) != "Pareto":
        return rows
    for name, (low, high) in st.session_state.get(BOX, {}).items():
        rows = rows[rows[name].between(min(low, high), max(low, high))] if name in rows else rows
    return rows


def parallel(view: View) -> Figure | None:
    """Draw each axis and some metrics as vertical scales; dragging along a scale adds a filter."""
    differ = sweep_table.differing_metrics(view.rows)
    default_results = [name for name in dict.fromkeys((view.metric, COST, "Energy per batch [J]")) if name in differ]
    extra = st.multiselect("Results beside the knobs", differ, default=default_results, key="scales", max_selections=MOST_SCALES)
    names = [*(axis.path for axis in view.axes), *extra]
    rows = view.rows.dropna(subset=names)
    if rows.empty or len(names) < 2:
        st.caption("No point has all these results.")
        return None
    figure, scales = sweep_figures.parallel(rows, names, view.metric)
    key = f"parallel {st.session_state.setdefault(TURN, 0)}"

    def brushed() -> None:
        box = _selected(key).get("brush") or {}
        if {"at", "y"} <= set(box):
            sweep_filters.add_filters(sweep_parallel.box_filters(scales, box))
            st.session_state[TURN] += 1  # a fresh chart, without the box

    return _draw_figure(figure, key, view, "Drag up or down along a scale to keep the points that cross it there.", brushed)


def draw_importance(view: View) -> Figure | None:
    """Draw the share of the metric's variance that each knob explains."""
    shares, rows_words = (
        sweep_findings.variance_shares(view.sweep, view.rows, view.metric),
        sweep_findings.filtered_rows_words(view.rows, view.table),
    )
    if not shares or not shares[0].high:
        st.caption(f"This result is the same {rows_words or 'at all points'}, so no knob matters.")
        return None
    figure, title = (
        sweep_figures.importance_figure(shares, view.metric),
        " ".join(share.sentence(view.metric, rows_words) for share in shares[:2]),
    )
    chart.draw(figure.marks, figure.spec, key="matters", title=title, subtitle=f"{figure.alt}. {figure.note}", alt=figure.alt)
    return figure


VIEWS: Mapping[str, Callable[[View], Figure | None]] = dict(
    zip(sweep_filters.VIEWS, (heat_map, lines, pareto, parallel, draw_importance), strict=True)
)


def default_view(axes: Sequence[Axis]) -> str:
    """Return the default view of a sweep with these axes."""
    return "Lines" if len(axes) == 1 else "Heat map"
