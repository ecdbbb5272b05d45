"""A search beyond the points of a sweep: the Pareto front anywhere on its axes, by estimates, confirmed by full runs."""

from dataclasses import dataclass
from typing import Literal

import pandas as pd
import streamlit as st
from joblib import cpu_count

from engine.analysis import choice, pareto
from engine.analysis.objective import Constraint, Objective, objective
from engine.analysis.search import search
from engine.core.figures import count
from engine.errors import EmberpoolError
from engine.hardware.prices import with_year
from engine.insight.running_costs import swept_dollars
from engine.results.result import Result
from engine.run import forecast
from engine.scenario.scenario import KNOBS, Scenario, values
from engine.sweep import links
from engine.sweep.axes import Axis
from engine.sweep.sweep import Sweep
from pages.answers import later, runs
from pages.search_page.points import sweep_filters, sweep_table
from pages.search_page.points.sweep_table import COST
from pages.ui import downloads, numbers, session, tables
from pages.ui.numbers import duration
from pages.ui.page_link import host
from pages.ui.plain import plain

FOUND, ASKED = "found by search", "asked of search"
EVALUATIONS, CONFIRMED = (200, 500, 1000, 2000), 5
FIRST = ("Step time [ms]", COST)
MOST_OBJECTIVES = 3


@dataclass(frozen=True, eq=False)
class Found:
    """What a search was asked, its front, and what it says."""

    asked: tuple[object, ...]
    wanted: tuple[Objective, ...]
    front: tuple[Result, ...]
    sentence: str


def draw(sweep: Sweep, base: Result | None) -> None:
    """Draw the form, and below it the front of the last search that was asked of these axes."""
    if base is None or not base.ran:
        return
    with st.container(border=True):
        st.markdown(
            "**Search the whole range of the axes** by estimates: ranges anywhere between their ends, lists at their values"
        )
        names = [name for name, value in base.results.items() if value is not None]
        left, right = st.columns((3, 1), vertical_alignment="bottom")
        first = [name for name in FIRST if name in names]
        chosen = left.multiselect("Improve", names, default=first, key="objectives", max_selections=MOST_OBJECTIVES)
        most = right.selectbox("Estimates at most", EVALUATIONS, index=1, key="evaluations")
        limits, axes = sweep_filters.held(), sweep_filters.axes(sweep.axes)
        bounds = tuple(limit for limit in limits if isinstance(limit, Constraint))
        if limits:
            st.caption(f"It keeps to the filters: {plain('; '.join(map(sweep_table.said, limits)))}.")
        asked = (sweep.base, axes, tuple(chosen), bounds, most)
        nothing = any(not axis.values and not axis.span for axis in axes)
        st.button("Search", key="search axes", disabled=not chosen or nothing, on_click=_ask)
        if st.session_state.pop(ASKED, False):
            _search(asked, sweep.base, axes, tuple(map(objective, chosen)), bounds, most)
        found: Found | None = st.session_state.get(FOUND)
        if found and found.asked == asked:
            _show(sweep, found)


def _ask() -> None:
    st.session_state[ASKED] = True


def _search(
    asked: tuple[object, ...],
    base: Scenario,
    axes: tuple[Axis, ...],
    wanted: tuple[Objective, ...],
    bounds: tuple[Constraint, ...],
    most: int,
) -> None:
    try:
        with st.spinner(f"Searching, by up to {count(most)} estimates"):
            found = later.worker_result(search, base, axes, wanted, bounds, most)
    except EmberpoolError as error:
        st.error(plain(str(error)))
        return
    sentence = f"{count(len(found.results))} estimates. {pareto.finding(found.columns, wanted, found.rank)}"
    if not found.front:
        sentence = choice.cheapest(found.columns, bounds, wanted[0].name).sentence
    unit = swept_dollars(base, [axis.path for axis in axes])
    st.session_state[FOUND] = Found(asked, wanted, found.front, with_year(sentence, unit))


def _show(sweep: Sweep, found: Found) -> None:
    st.markdown(plain(found.sentence))
    if not found.front:
        return
    step = max(len(found.front) // CONFIRMED, 1)
    some = [result.scenario for result in found.front[::step]][:CONFIRMED]
    full = dict(zip(some, runs.results(some, "full"), strict=True))
    table = front(sweep, found, full)
    links_to = {"Open": st.column_config.LinkColumn("Open", display_text="in Design")}
    height: Literal["content", "auto"] = "auto" if len(table) > downloads.MOST_ROWS else "content"
    st.dataframe(tables.with_system_titles(table), hide_index=True, height=height, column_config=links_to)
    downloads.rows(table, "emberpool-search", "Download this front as CSV")
    missing = [scenario for scenario, result in full.items() if result is None]
    if missing:
        wait = duration(forecast.sweep_seconds(missing, "full", cpu_count()))
        label = f"Confirm {len(missing)} of them by full runs: about {wait}"
        st.button(label, key="confirm", on_click=runs.start, args=(missing, "full", "Front of a search"))
        runs.follow(missing, "full", lambda status: runs.progress(status) if status and not status.ended else runs.note(status))


def front(sweep: Sweep, found: Found, full: "dict[Scenario, Result | None]") -> pd.DataFrame:
    """Return a row for each point of the front: its place, what was improved, the full run's numbers and the gap, its link."""
    rows = []
    for result in found.front:
        held, real = values(result.scenario), full.get(result.scenario)
        row: dict[str, object] = {KNOBS[axis.path].title: sweep_table.shown(held[axis.path]) for axis in sweep.axes}
        for one in found.wanted:
            row[one.name] = result.results.get(one.name)
            if real:
                row[f"{numbers.label(one.name)} of the full run"] = real.results.get(one.name)
                row[f"{numbers.label(one.name)}: gap"] = numbers.change(result.results.get(one.name), real.results.get(one.name))
        row["Open"] = host() + links.link(result.scenario, session.base())
        rows.append(row)
    return pd.DataFrame(rows)
