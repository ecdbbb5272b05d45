"""The map of Decide: who wins over two axes, as its cells become known."""

from concurrent.futures import Future
from math import log
from typing import Any

import streamlit as st

from engine.analysis.verdict.decide import Verdict
from engine.analysis.verdict.outlook.axes import AXES
from engine.analysis.verdict.outlook.territory import USUAL, Territory
from engine.core.figures import figure, percent
from pages.answers import later
from pages.decide_page import decide_charts, decide_tables, questions
from pages.graphics import chart
from pages.ui import session

ACROSS, UP, DRAWN, STOPPED = "map across", "map up", "map drawn", "map stopped"
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
    "cost": "Cost of a billion samples [USD]",
    "price": "Machine [USD]",
    "rate": "Samples/s",
    "answered": "Computed",
}


def axes() -> tuple[str, str]:
    """Return the axes that are chosen, two different ones."""
    across, up = (str(st.session_state.get(key) or usual) for key, usual in zip((ACROSS, UP), USUAL, strict=True))
    return (across, up) if across != up else (across, next(name for name in AXES if name != across))


def asked(verdict: Verdict) -> tuple[Territory | None, Future[Territory] | None]:
    """Return the map as far as it is known, and the answer that brings more of it; None once it is whole or stopped."""
    across, up = axes()
    drawn = st.session_state.setdefault(DRAWN, {})
    place = verdict.question, across, up
    known: Territory | None = drawn.get(place)
    while not (known and known.whole) and not st.session_state.get(STOPPED):
        more = later.answer("map", questions.map_of, verdict, across, up, known, long=True)
        if not more.done() or more.exception():
            return known, more
        known = drawn[place] = more.result()
        while len(drawn) > 8:
            del drawn[next(iter(drawn))]
    return known, None


def draw(verdict: Verdict, known: Territory | None, more: Future[Any] | None) -> None:
    """Draw the map's title, which is its finding, the map, and the choice of its axes."""
    if known is None:
        st.markdown("**Who wins where?** The map begins once the rows above are whole.")
        return
    across, up = AXES[known.across], AXES[known.up]
    frame = decide_tables.map_cells(known, verdict)
    if more is not None:
        with st.container(horizontal=True, vertical_alignment="center", key="says-map"):
            st.progress(known.share, f"{percent(known.share)} of the map is known")
            st.button("Stop", key="map stop", on_click=_stop, type="tertiary")
    families = decide_charts.known_families(known)
    spec = decide_charts.winners_map(across.title, up.title, across.log, up.log, families)
    chart.draw(
        frame,
        spec,
        key="winners",
        title=finding(known, verdict) if known.whole else "Who wins where?",
        subtitle=f"The cheapest family over {across.title} and {up.title}",
        columns=COLUMNS | {"x": across.title, "y": up.title},
    )
    with st.container(horizontal=True, vertical_alignment="bottom", key="map-axes"):
        for key, name, label in ((ACROSS, known.across, "Across"), (UP, known.up, "Up")):
            st.session_state.setdefault(key, name)
            names = list(AXES)
            st.selectbox(label, names, session.place(names, key), key=key, format_func=LABELS.__getitem__, on_change=_restart)


def finding(known: Territory, verdict: Verdict) -> str:
    """Return what the map shows: who wins along the row of the question, and which families win nowhere."""
    across, up = AXES[known.across], AXES[known.up]
    here = up.here(verdict.question.base)
    rows = sorted({row for _, row in known.cells})
    at = min(rows, key=lambda row: abs(log(up.values[row] / here)) if here else row)
    along = sorted((column, cell.winner.family) for (column, row), cell in known.cells.items() if row == at)
    runs: list[tuple[str, float]] = []
    for column, family in along:
        if not runs or runs[-1][0] != (family or decide_charts.NOBODY):
            runs.append((family or decide_charts.NOBODY, across.values[column]))
    told = [runs[0][0], *(f"{family} from {_short(value)}" for family, value in runs[1:])]
    never = [name for name in decide_charts.COLOURS if name not in decide_charts.known_families(known)]
    none = f". Nowhere: {', '.join(never)}" if never else ""
    return f"{across.title} on this map: {', '.join(told)}{none}."


def _short(value: float) -> str:
    return figure(value)


def _stop() -> None:
    st.session_state[STOPPED] = True


def _restart() -> None:
    st.session_state[STOPPED] = False
