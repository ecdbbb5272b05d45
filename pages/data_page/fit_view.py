"""The fit of the generator to a data file: its button, its accuracy, and its use."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pandas as pd
import streamlit as st

from engine.core.arithmetic import total
from engine.core.figures import count, exact, figure, percent
from engine.errors import BadFile, EmberpoolError
from engine.insight.fitting import reports
from engine.insight.fitting.fit import DEFAULT_WINDOW, GeneratorFit, fit_file, lookups_of
from engine.insight.fitting.histories.fit import HistoryWindow
from engine.insight.fitting.shape import shape_of
from engine.scenario.scenario import Scenario, with_values
from engine.workload.readers.digest_check import digest_check
from pages.answers import data_file, later
from pages.data_page import history_view, workload_charts
from pages.graphics import chart
from pages.graphics.log_axes import log_ticks
from pages.ui import downloads, session
from pages.ui.plain import escape_markdown

FITTED_DIGEST_KEY = "fit of"
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
FILE, FIT, FIT_WITHOUT_LOCALITY = "file", "fit", "fit without locality"


def fit_of_file(path: str, digest: str, histories: bool = True, window: HistoryWindow = DEFAULT_WINDOW) -> GeneratorFit:
    """Return the fit to the file with this digest; raises BadFile if the file has changed.

    Histories that the file states become sequences, cut by `window`, unless `histories` is False.
    """
    with digest_check(Path(path), digest):
        return fit_file(lookups_of(Path(path), histories=histories), window=window)


def reshape(scenario: Scenario) -> None:
    """Offer a model of the file's shape if the scenario's model does not suit the file."""
    try:
        file = data_file.file_of(scenario)
        shape = later.cached_result(shape_of, str(file.path), file.digest)
    except EmberpoolError:
        return  # the page has shown the error
    if changes := shape.changes(scenario):
        tables = f"{count(len(shape.pooling), 'table')}, {count(total(shape.rows), 'row')}, {count(shape.dense, 'dense feature')}"
        suited = with_values(scenario, changes)
        st.button(
            f"Use a model of the file's shape: {tables}",
            key="take shape",
            on_click=session.hold_variation,
            args=(session.base(), suited),
        )


def draw(file: data_file.DataFile, base: Scenario, take: Callable[[Scenario], None]) -> None:
    """Draw the button, then the fit; `take` is called with the fitted scenario."""
    tip = "This takes some seconds, and about a minute for a large file."
    st.button("Fit the generator to this file", key="fit", help=tip, on_click=_ask, args=(file.digest,))
    if st.session_state.get(FITTED_DIGEST_KEY) != file.digest:
        return
    words = "Counting lookups and fitting the generator: some seconds, about a minute for a large file"
    reading = history_view.is_wanted(), history_view.window(base)
    try:
        with data_file.refusals(file):
            later.draw_when_known(words, partial(_draw_fit, file, base, take), fit_of_file, str(file.path), file.digest, *reading)
    except BadFile as error:  # of histories, perhaps: the file may still be read without them
        st.error(escape_markdown(str(error)))
        history_view.draw_choices()


def _draw_fit(file: data_file.DataFile, base: Scenario, take: Callable[[Scenario], None], fit: GeneratorFit) -> None:
    fit = fit if data_file.is_visible(file) else replace(fit, columns=())  # names are content of the file
    st.markdown(f"**{escape_markdown(summary(fit))}**")
    for sentence in reports.fit_warnings(fit):
        st.warning(escape_markdown(sentence))
    history_view.draw(fit)
    st.button("Use the fitted model and data", key="take fit", type="primary", on_click=take, args=(fit.scenario(base),))
    hits = pd.DataFrame(
        {"x": row["Rows held [%]"], "y": 100 - row[f"{title} [%]"], "name": name}
        for row in reports.hit_rate_rows(fit)
        for title, name in (("File", FILE), ("Fit", FIT), ("Without locality", FIT_WITHOUT_LOCALITY))
    )
    share, misses = "Cache of each table, share of its rows [%]", "Lookups that miss [%]"
    spec = workload_charts.lines(share, misses, (FILE, FIT, FIT_WITHOUT_LOCALITY), ticks=log_ticks(hits["x"]))
    chart.draw(
        hits,
        spec,
        key="fit hits",
        title=hits_sentence(fit),
        subtitle=f"{misses} in an LRU cache of each table, by the share of the table's rows [%] that it holds",
        columns={"x": share, "y": misses, "name": "Lookups of"},
    )
    table = pd.DataFrame(reports.fit_rows(fit))
    downloads.show(table[[name for name in COLUMNS if name in table]], dict.fromkeys(NUMBERS, "%.3g"))
    downloads.rows(table, "emberpool-fit", "Download the fit as CSV")
    st.code(f"python -m engine workload fit {file.path.name} --toml fitted.toml", language=None)


def _ask(digest: str) -> None:
    st.session_state[FITTED_DIGEST_KEY] = digest


def hits_sentence(fit: GeneratorFit) -> str:
    """Return a sentence on the largest difference in hit rate of LRU caches: fit against file."""
    largest_gap = max(abs(file_hits - fit_hits) for file_hits, fit_hits in zip(*fit.hits[:2], strict=True))
    return f"LRU hit rates of fitted data and of the file differ by at most {figure(100 * largest_gap, 'percentage points')}"


def summary(fit: GeneratorFit) -> str:
    """Return a sentence on the fit's size, and on its error in the worst table."""
    worst_table = max(fit.tables, key=lambda table_fit: table_fit.file_shares.largest_gap(table_fit.fit_shares))
    gap_points = 100 * worst_table.file_shares.largest_gap(worst_table.fit_shares)
    accuracy_text = (
        f"it is off by at most {figure(gap_points, 'percentage points')}, in {fit.title(worst_table.table)}"
        if gap_points >= 0.1
        else "it is off by no more than chance"
    )
    clicks = "" if fit.click_rate is None else f", {percent(fit.click_rate)} clicks"
    return (
        f"The generator is fitted to {count(fit.samples_counted, 'sample')} (locality {exact(fit.locality)}{clicks}); "
        f"on blocks that the fit did not see, {accuracy_text}"
    )
