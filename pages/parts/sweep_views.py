"""The views of a sweep, each an answer to one question about the same filtered rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from engine.axes import Axis
from engine.scenario import KNOBS
from engine.sweep import Sweep
from pages.parts import numbers, sweep_charts, sweep_filters, sweep_findings, sweep_marks, sweep_parallel, sweep_pins, sweep_table
from pages.parts.sweep_marks import BEST, MEDIAN, lower_is_better
from pages.parts.sweep_table import COST, POINT, title

FIXED = "fixed"
REST = {BEST: "at their best", MEDIAN: "at the median", FIXED: "fixed"}
BOX = "box"
TRADED = (COST, "Energy per batch [J]", "Step time [ms]")  # what most often is wanted less of
MOST_SCALES, FEW = 7, 500


@dataclass(frozen=True)
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
        sweep_pins.pick(int(found[0]["point"]))


def _two(view: View) -> tuple[Axis, Axis | None]:
    """Let the visitor say which axes are drawn."""
    titles = {axis.path: axis for axis in view.axes}
    if len(titles) == 1:
        return view.axes[0], None
    left, right = st.columns(2)
    first = left.selectbox("Across", tuple(titles), key="across", format_func=title)
    rest = tuple(path for path in titles if path != first)
    second = right.selectbox("And", rest, key=f"and beside {first}", format_func=title)
    return titles[first], titles[second]


def _rest(view: View, drawn: Sequence[Axis | None]) -> tuple[pd.DataFrame, str]:
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


def heat_map(view: View) -> None:
    """Draw the metric over two knobs."""
    first, second = _two(view)
    if second is None:
        lines(view)
        return
    rows, how = _rest(view, (first, second))
    found = sweep_marks.grid(rows, (first.path, second.path), view.metric, how)
    if found.empty:
        st.caption("No point here has this result.")
        return
    log = sweep_marks.is_log(found["metric"])
    spec = sweep_charts.heat_map(
        title(first.path),
        title(second.path),
        view.metric,
        low_is_good=lower_is_better(view.metric),
        log=log,
        columns=found["first"].nunique(),
        spread=len(view.axes) > 2,
    )
    alt = f"{view.metric} over {title(first.path)} and {title(second.path)}; the table below has the same numbers"
    st.vega_lite_chart(found, spec, key="heat map", on_select=lambda: _pick("heat map"), selection_mode="pick", alt=alt)


def lines(view: View) -> None:
    """Draw the metric over one knob, a line for each value of a second one."""
    first, second = (view.axes[0], None) if len(view.axes) == 1 else _two_lines(view)
    rows, how = _rest(view, (first, second))
    by = [axis.path for axis in (first, second) if axis]
    found, many = (
        sweep_marks.few_lines(sweep_marks.reduced(rows, by, view.metric, how))
        if second
        else (
            sweep_marks.reduced(rows, by, view.metric, how),
            1,
        )
    )
    if found.empty:
        st.caption("No point here has this result.")
        return
    numeric = sweep_table.numeric(first)
    series = sweep_marks.series(found["second"]) if second else ()
    spec = sweep_charts.lines(
        title(first.path),
        view.metric,
        numeric,
        numeric and KNOBS[first.path].log,
        title(second.path) if second else "",
        series,
        sweep_marks.is_log(found["metric"]),
    )
    marks = found.assign(second=found["second"].astype(str)) if second else found
    alt = f"{view.metric} over {title(first.path)}"
    st.vega_lite_chart(marks, spec, key="lines", on_select=lambda: _pick("lines"), selection_mode="pick", alt=alt)
    if many > len(series) > 0:
        st.caption(f"{len(series)} of {many} lines, evenly chosen; all are in the table and the files.")
    if len(view.axes) > len(by) and how == MEDIAN:
        st.caption("Bands reach from the lowest to the highest point of the other knobs.")


def _two_lines(view: View) -> tuple[Axis, Axis | None]:
    return _two(view)


def pareto(view: View) -> None:
    """Draw two metrics against each other with the front; a box drawn over it keeps its points in the table."""
    names = sweep_table.differing(view.rows)
    if len(names) < 2:
        st.caption("Fewer than two results differ between the points, so there is nothing to trade.")
        return
    left, middle, right = st.columns(3)
    x = left.selectbox("To trade", names, index=names.index(view.metric) if view.metric in names else 0, key="pareto x")
    rest = [name for name in names if name != x]
    usual = next((name for name in TRADED if name in rest), rest[0])
    y = middle.selectbox("Against", rest, index=rest.index(usual), key="pareto y")
    paths = ["", *(axis.path for axis in view.axes)]
    at = paths.index("system") if "system" in paths else 0
    colour = right.selectbox(
        "Colour", paths, index=at, key="pareto colour", format_func=lambda path: title(path) if path else "none"
    )
    logs = (sweep_marks.is_log(view.rows[x]), sweep_marks.is_log(view.rows[y]))
    marks = sweep_marks.scatter(view.rows, x, y, colour, logs)
    series = sweep_marks.series(sweep_marks.steps(view.rows[colour], KNOBS[colour].log)) if colour else ()
    spec = sweep_charts.scatter(x, y, logs, title(colour) if colour else "", series, len(marks) <= FEW)
    st.markdown(f"{int(marks['front'].sum()):,} points on the front: no other is better in both.")
    alt = f"{y} against {x}, the Pareto front drawn; the table below has the same numbers"
    st.vega_lite_chart(marks, spec, key=f"pareto {x} {y}", on_select=lambda: _boxed(f"pareto {x} {y}", x, y), alt=alt)
    known = int(view.rows[[x, y]].notna().all(axis=1).sum())
    thinned = f"Showing {len(marks):,} of {known:,} points: one for each place that the eye can tell, and the whole front. "
    st.caption((thinned if len(marks) < known else "") + "Drag a box to keep its points in the table below.")


def _boxed(key: str, x: str, y: str) -> None:
    _pick(key)
    box = _selected(key).get("brush") or {}
    st.session_state[BOX] = {x: tuple(box["x"]), y: tuple(box["y"])} if {"x", "y"} <= set(box) else {}


def boxed(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows inside the box that was drawn over the Pareto chart, all without one."""
    for name, (low, high) in st.session_state.get(BOX, {}).items():
        rows = rows[rows[name].between(min(low, high), max(low, high))] if name in rows else rows
    return rows


def parallel(view: View) -> None:
    """Draw every axis and some metrics as vertical scales; dragging along one adds a filter."""
    differ = sweep_table.differing(view.rows)
    chosen = [name for name in dict.fromkeys((view.metric, COST, "Energy per batch [J]")) if name in differ]
    extra = st.multiselect("Results beside the knobs", differ, default=chosen, key="scales", max_selections=MOST_SCALES)
    names = [*(axis.path for axis in view.axes), *extra]
    rows = view.rows.dropna(subset=names)
    if rows.empty or len(names) < 2 or view.metric not in rows:
        st.caption("No point has all of these.")
        return
    scales = [sweep_parallel.scale(rows, name) for name in names]
    marks = sweep_parallel.marks(rows, scales, view.metric)
    spec = sweep_parallel.spec(tuple(title(name).replace("[", "\n[") for name in names), view.metric)
    turn = st.session_state.setdefault("parallel turn", 0)
    key = f"parallel {turn}"

    def brushed() -> None:
        box = _selected(key).get("brush") or {}
        if {"at", "y"} <= set(box):
            sweep_filters.add(sweep_parallel.brushed(scales, box))
            st.session_state["parallel turn"] = turn + 1

    st.vega_lite_chart(
        marks, spec, key=key, on_select=brushed, selection_mode="brush", alt="Where the points run between knobs and results"
    )
    best = min(sweep_parallel.MOST_LINES, len(rows))
    st.caption(
        f"Grey: where all {len(rows):,} points run, wider for more. Lines: the best {best}, darkest first. "
        "Drag up or down over a scale to keep what crosses it there."
    )


def matters(view: View) -> None:
    """Draw how much of the metric's variance each knob explains."""
    shares = sweep_findings.shares(view.sweep, view.table, view.metric)
    if not shares or not shares[0].high:
        st.caption("This result is the same everywhere, so no knob matters.")
        return
    st.markdown(" ".join(share.sentence(view.metric) for share in shares[:2]))
    bars = pd.DataFrame(
        [
            {"name": title(one.path), "share": 100 * one.alone, "low": 100 * one.low, "high": 100 * (one.total or one.high)}
            for one in shares
        ]
    )
    spec = sweep_charts.matters(f"Share of the variance of {numbers.label(view.metric).lower()} [%]")
    st.vega_lite_chart(bars, spec, key="matters", alt="How much of the differences each knob explains")
    grid = view.sweep.sampling.kind == "grid"
    st.caption(
        "Bars: what a knob explains alone. Lines reach to what it explains together with others."
        if grid
        else "Bars: what a knob explains alone. Lines: the range that would hold it in 95 of 100 samples."
    )


VIEWS: Mapping[str, Callable[[View], None]] = {
    "Heat map": heat_map,
    "Lines": lines,
    "Pareto": pareto,
    "Parallel": parallel,
    "What matters": matters,
}
__all__ = ["BOX", "POINT", "VIEWS", "View", "boxed"]
