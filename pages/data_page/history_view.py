"""The fit of users' histories: how the file is read, lengths beside their law, and duplicates of a batch."""

import pandas as pd
import streamlit as st

from engine.core.figures import count, figure
from engine.insight.fitting.fit import GeneratorFit
from engine.insight.fitting.histories import report
from engine.insight.fitting.histories.fit import DEFAULT_CAP, HistoryFit, HistoryWindow, window_of
from engine.scenario.scenario import Scenario
from pages.data_page import workload_charts
from pages.graphics import chart
from pages.graphics.log_axes import log_ticks
from pages.ui import downloads, session
from pages.ui.plain import escape_markdown

BAGS_KEY, CAP_KEY = "fit bags", "fit cap"
FILE, FIT = "file", "fit"
LENGTH, SHARE = "Events of a history", "Histories of at most so many events [%]"


def is_wanted() -> bool:
    """Return whether histories that a file states are fitted as sequences."""
    session.keep_widgets(BAGS_KEY, CAP_KEY)  # which are not drawn while a fit is computed
    return not st.session_state.get(BAGS_KEY)


def window(base: Scenario) -> HistoryWindow:
    """Return the window of the visitor's cap, else of the scenario's, and the scenario's batch."""
    cap, batch = window_of(base)
    return HistoryWindow(st.session_state.get(CAP_KEY) or cap, batch)


def draw(fit: GeneratorFit) -> None:
    """Draw the fit of a file's histories and the choices of its reading; nothing for a file that states none."""
    if not fit.histories:
        if not is_wanted():
            draw_bags_toggle()
        return
    conclusion, *sentences = report.history_sentences(fit.histories, fit.titles)
    st.markdown(escape_markdown(conclusion))
    draw_choices(fit.histories)
    st.markdown(escape_markdown(" ".join(sentences)))
    _draw_lengths(fit.histories)
    downloads.show(duplicates(fit.histories, fit.titles), dict.fromkeys((f"{FILE} [%]", f"{FIT} [%]"), "%.3g"))


def draw_choices(fit: HistoryFit | None = None) -> None:
    """Draw the choices of bags and of the cap, of a file whose histories were fitted or, without `fit`, refused."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        draw_bags_toggle()
        if not st.session_state.get(BAGS_KEY):
            cap = count(fit.cap) if fit and fit.is_cap_given else f"the file's longest, at most {count(DEFAULT_CAP)}"
            label = "Longest history [events]"
            st.number_input(label, min_value=1, max_value=1_000_000, value=None, key=CAP_KEY, placeholder=cap, width=320)


def draw_bags_toggle() -> None:
    """Draw the choice to read one lookup a sample of each column."""
    st.toggle(
        "One lookup a sample, no histories",
        key=BAGS_KEY,
        help="Reads a lookup of each column in each sample, as counting and training do.",
    )


def _draw_lengths(fit: HistoryFit) -> None:
    """Draw the cumulative shares of lengths in the file and by the law."""
    frame = lengths(fit)
    chart.draw(
        frame,
        workload_charts.lines(LENGTH, SHARE, (FILE, FIT), ticks=log_ticks(frame["x"])),
        key="history lengths",
        title=f"The fitted law of lengths is off by at most {figure(100 * fit.largest_length_gap, 'percentage points')}",
        subtitle=f"{SHARE}, in the file and by a cut log-normal law of the same mean and spread",
        columns={"x": LENGTH, "y": SHARE, "name": "Histories of"},
    )


def lengths(fit: HistoryFit) -> pd.DataFrame:
    """Return the cumulative shares of lengths [%]: x, y, and name (file or fit)."""
    rows = pd.DataFrame(fit.length_rows(), columns=["low", "x", FILE, FIT])
    shares = rows[[FILE, FIT]].cumsum() * 100
    return pd.concat([pd.DataFrame({"x": rows["x"], "y": shares[name], "name": name}) for name in (FILE, FIT)], ignore_index=True)


def duplicates(fit: HistoryFit, titles: tuple[str, ...]) -> pd.DataFrame:
    """Return what is different of a batch's lookups [%], in the file and by the fit."""
    names = ["events", *(f"rows of {titles[table]}" for table in fit.fields.events)]
    shares = zip((fit.counted.events, *fit.counted.rows), (fit.expected.events, *fit.expected.rows), strict=True)
    rows = [(name, 100 * file_share, 100 * fit_share) for name, (file_share, fit_share) in zip(names, shares, strict=True)]
    return pd.DataFrame(rows, columns=["Different of a batch's lookups", f"{FILE} [%]", f"{FIT} [%]"])
