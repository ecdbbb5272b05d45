"""A fit of the generator to a data file: at the press of a button, with how well it follows, and a press that takes it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import streamlit as st

from engine.core.figures import count, exact, figure, percent
from engine.errors import EmberpoolError
from engine.insight.fitting import told
from engine.insight.fitting.fit import Fitted, fit_file, lookups_of
from engine.insight.fitting.shape import shape_of
from engine.scenario.scenario import Scenario, with_values
from engine.workload.readers.digest_check import digest_check
from pages.answers import data_file, later
from pages.data_page import workload_charts
from pages.graphics import chart
from pages.graphics.log_axes import log_ticks
from pages.ui import downloads, session
from pages.ui.plain import plain

ASKED = "fit of"
COLUMNS = (
    "Table",
    "Column",
    "Rows seen",
    "Rows",
    "Exponent",
    "Shift",
    "Hottest row [%]",
    "Seen once [%]",
    "Largest gap [points]",
)
NUMBERS = COLUMNS[4:]
FILE, FIT, PLAIN = "file", "fit", "fit without locality"


def fitted(path: str, digest: str) -> Fitted:
    """Return the fit to the file of this digest; raises BadFile, also where it is another file now."""
    with digest_check(Path(path), digest):
        return fit_file(lookups_of(Path(path)))


def reshape(scenario: Scenario) -> None:
    """Offer a model of the shape of the scenario's file where its own does not suit it."""
    try:
        file = data_file.file_of(scenario)
        shape = later.cached_result(shape_of, str(file.path), file.digest)
    except EmberpoolError:
        return  # the page has said it
    if changes := shape.changes(scenario):
        tables = f"{len(shape.pooling)} tables, {count(sum(shape.rows))} rows, {shape.dense} numbers"
        suited = with_values(scenario, changes)
        st.button(f"Take a model of the file's shape: {tables}", on_click=session.put, args=(session.base(), suited))


def draw(file: data_file.DataFile, base: Scenario, take: Callable[[Scenario], None]) -> None:
    """Draw the button, then the fit; `take` is called with the fitted scenario when it is taken."""
    tip = "Some seconds; a minute where the file is large."
    st.button("Fit the generator to this file", key="fit", help=tip, on_click=_ask, args=(file.digest,))
    if st.session_state.get(ASKED) != file.digest:
        return
    with st.spinner("Counting and fitting; some seconds, for large files a minute"), data_file.refusals(file):
        found = later.cached_result(fitted, str(file.path), file.digest)
    found = found if data_file.is_visible(file) else replace(found, columns=())  # names are content of the file
    st.markdown(f"**{plain(summary(found))}**")
    for sentence in told.warnings(found):
        st.warning(plain(sentence))
    st.button("Take the fitted model and data", key="take fit", type="primary", on_click=take, args=(found.scenario(base),))
    hits = pd.DataFrame(
        {"x": row["Rows held [%]"], "y": 100 - row[f"{title} [%]"], "name": name}
        for row in told.hits(found)
        for title, name in (("File", FILE), ("Fit", FIT), ("Without locality", PLAIN))
    )
    share, misses = "Cache of each table, share of its rows [%]", "Lookups that miss [%]"
    spec = workload_charts.lines(share, misses, (FILE, FIT, PLAIN), ticks=log_ticks(hits["x"]))
    chart.draw(
        hits,
        spec,
        key="fit hits",
        title=on_hits(found),
        subtitle=f"{misses} in an LRU cache of each table, by the share of its rows [%] that it holds",
        columns={"x": share, "y": misses, "name": "Lookups of"},
    )
    table = pd.DataFrame(told.rows(found))
    downloads.show(table[[name for name in COLUMNS if name in table]], dict.fromkeys(NUMBERS, "%.3g"))
    downloads.rows(table, "emberpool-fit", "Download the fit as CSV")
    st.code(f"python -m engine workload fit {file.path.name} --toml fitted.toml", language=None)


def _ask(digest: str) -> None:
    st.session_state[ASKED] = digest


def on_hits(found: Fitted) -> str:
    """Return how far the fit's hits in LRU caches are from the file's, at most."""
    apart = max(abs(of - fit) for of, fit in zip(*found.hits[:2], strict=True))
    return f"An LRU cache hits the fit's lookups as often as the file's, within {figure(100 * apart, 'points')}"


def summary(found: Fitted) -> str:
    """Return what was fitted to, and how far it is off in the table where it is most."""
    worst = max(found.tables, key=lambda one: one.file.apart(one.fit))
    apart = 100 * worst.file.apart(worst.fit)
    well = (
        f"off by at most {figure(apart, 'points')}, in {found.title(worst.table)}"
        if apart >= 0.1
        else "no further off than chance"
    )
    clicks = "" if found.click_rate is None else f", {percent(found.click_rate)} clicks"
    return f"Fitted to {count(found.counted)} samples (locality {exact(found.locality)}{clicks}): on held-back blocks {well}"
