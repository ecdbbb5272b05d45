"""The map of Decide: winners over two axes, drawn while its cells are computed."""

from concurrent.futures import Future
from math import log
from typing import Any

import streamlit as st

from engine.analysis.verdict.decide import Verdict
from engine.analysis.verdict.outlook.axes import AXES
from engine.analysis.verdict.outlook.territory import DEFAULT_AXES, Territory
from engine.core.figures import figure, percent
from pages.answers import later
from pages.decide_page import costs, decide_charts, decide_tables, questions
from pages.graphics import chart
from pages.ui import session

X_AXIS_KEY, Y_AXIS_KEY, MAPS_KEY, STOPPED_KEY = "map across", "map up", "map drawn", "map stopped"
LABELS = {
    "size": "size of the tables",
    "lookups": "lookups a sample",
    "failures": "power losses a day",
    "pmem-price": "price of persistent memory",
    "dram-price": "price of DRAM",
    "link": "CXL link",
    "year": "year of prices",
}
COLUMNS = {
    "x": "",
    "y": "",
    "family": "Rows are held in",
    "system": "System",
    "software": "Software",
    "cost": "",
    "price": decide_charts.PRICE,
    "rate": decide_charts.RATE,
    "answered": "Computed",
}


def axes() -> tuple[str, str]:
    """Return the names of the chosen axes, which differ."""
    x_name, y_name = (
        str(st.session_state.get(key) or usual) for key, usual in zip((X_AXIS_KEY, Y_AXIS_KEY), DEFAULT_AXES, strict=True)
    )
    return (x_name, y_name) if x_name != y_name else (x_name, next(name for name in AXES if name != x_name))


def known_map(verdict: Verdict) -> tuple[Territory | None, Future[Territory] | None]:
    """Return the map so far, and the future with more cells.

    The future is None once the map is complete or stopped.
    """
    x_name, y_name = axes()
    maps = st.session_state.setdefault(MAPS_KEY, {})
    place = verdict.question, x_name, y_name
    territory: Territory | None = maps.get(place)
    while not (territory and territory.is_complete) and not st.session_state.get(STOPPED_KEY):
        next_answer = later.answer("map", questions.map_of, verdict, x_name, y_name, territory, long=True)
        if not next_answer.done() or next_answer.exception():
            return territory, next_answer
        territory = maps[place] = next_answer.result()
        while len(maps) > 8:
            del maps[next(iter(maps))]
    return territory, None


def draw(verdict: Verdict, territory: Territory | None, pending_answer: Future[Any] | None) -> None:
    """Draw the map's finding as its title, the map, and the choice of its axes."""
    if territory is None:
        st.markdown("**Which family is best where?** The map starts once the answer above is complete.")
        return
    x_axis, y_axis = AXES[territory.column_axis], AXES[territory.row_axis]
    frame = decide_tables.map_cells(territory, verdict)
    if pending_answer is not None:
        with st.container(horizontal=True, vertical_alignment="center", key="says-map"):
            st.progress(territory.share, f"{percent(territory.share)} of the map is computed")
            st.button("Stop", key="map stop", on_click=_stop, type="tertiary")
    families, cost_title = decide_charts.known_families(territory), costs.cost_title(verdict.question)
    spec = decide_charts.winners_map(x_axis.title, y_axis.title, x_axis.log, y_axis.log, families, cost_title)
    chart.draw(
        frame,
        spec,
        key="winners",
        title=finding(territory, verdict) if territory.is_complete else "Which family is best where?",
        subtitle=f"The best family over {x_axis.title} and {y_axis.title}, with {verdict.question.software.words}",
        columns=COLUMNS | {"x": x_axis.title, "y": y_axis.title, "cost": cost_title},
    )
    with st.container(horizontal=True, vertical_alignment="bottom", key="map-axes"):
        for key, name, label in (
            (X_AXIS_KEY, territory.column_axis, "Horizontal axis"),
            (Y_AXIS_KEY, territory.row_axis, "Vertical axis"),
        ):
            st.session_state.setdefault(key, name)
            names = list(AXES)
            st.selectbox(
                label, names, session.option_index(names, key), key=key, format_func=LABELS.__getitem__, on_change=_restart
            )


def finding(territory: Territory, verdict: Verdict) -> str:
    """Return a sentence on the winners along the question's row, and on families that win nowhere."""
    x_axis, y_axis = AXES[territory.column_axis], AXES[territory.row_axis]
    question_value = y_axis.value_of(verdict.question.base)
    rows = sorted({row for _, row in territory.cells})
    question_row = min(rows, key=lambda row: abs(log(y_axis.values[row] / question_value)) if question_value else row)
    winners_along = sorted((column, cell.winner.family) for (column, row), cell in territory.cells.items() if row == question_row)
    runs: list[tuple[str, float]] = []
    for column, family in winners_along:
        if not runs or runs[-1][0] != (family or decide_charts.NO_FAMILY):
            runs.append((family or decide_charts.NO_FAMILY, x_axis.values[column]))
    winner_texts = [runs[0][0], *(f"{family} from {_axis_text(start_value)}" for family, start_value in runs[1:])]
    losing_families = [name for name in decide_charts.COLOURS if name not in decide_charts.known_families(territory)]
    losers_text = f". Best nowhere: {', '.join(losing_families)}" if losing_families else ""
    return f"Best over {x_axis.title} on this map: {', '.join(winner_texts)}{losers_text}."


def _axis_text(number: float) -> str:
    return figure(number)


def _stop() -> None:
    st.session_state[STOPPED_KEY] = True


def _restart() -> None:
    st.session_state[STOPPED_KEY] = False
