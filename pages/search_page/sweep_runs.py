"""The run of a sweep: its request, and its results in one growing table.

A request is found by its link or its points.
Tables are cached by the request's number, which no other request ever has.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from threading import Lock
from time import monotonic

import numpy as np
import pandas as pd
import streamlit as st

from engine import version
from engine.core.figures import count
from engine.errors import EmberpoolError
from engine.estimates import results
from engine.results.explanation import unscheduled_result
from engine.run import forecast
from engine.scenario.keys import Fidelity, key
from engine.scenario.scenario import Scenario
from engine.schedule.evaluate import RUNS, NotScheduled
from engine.store import metric_columns, requests, result_rows
from engine.store.database import open_store, transaction
from engine.store.metric_columns import Columns
from engine.store.status import RequestStatus
from engine.store.status import status as status_of
from engine.sweep.sweep import Sweep
from pages.answers import later, runs, turns
from pages.search_page.points import sweep_table
from pages.ui.plain import escape_markdown

MAX_TABLES = 4  # sweeps with tables in memory, each some 250 bytes a point
MANY_POINTS, REDRAW_SECONDS = 5000, 5.0  # points from which charts are redrawn less often; seconds between those redraws
Draw = Callable[[RequestStatus | None], None]
SAMPLE_SIZE = 1000  # points that the forecast of a sweep's time is made from
AT_ONCE_SECONDS = 1.0  # sweeps that take at most this long are estimated without a button


@dataclass
class RequestTable:
    """The results of one request, as read from the store so far.

    columns: the columns, None before the first read.
    table: the frame of finished points.
    lock: keeps visitors of one request from reading at the same time.
    read_at: time of the last read [s, monotonic].
    """

    columns: Columns | None = None
    table: pd.DataFrame = field(default_factory=pd.DataFrame)
    lock: Lock = field(default_factory=Lock)
    read_at: float = 0.0


@lru_cache(maxsize=MAX_TABLES)
def keys(sweep: Sweep, mode: Fidelity) -> tuple[str, ...]:
    """Return the keys of a sweep's points, in order."""
    return tuple(key(point, mode) for point in sweep)


@lru_cache(maxsize=MAX_TABLES)
def axis_values(sweep: Sweep) -> pd.DataFrame:
    """Return each point's values on the axes of a sweep, a row for each point."""
    return later.worker_result(sweep_table.sweep_places, sweep) if len(sweep) > MANY_POINTS else sweep_table.sweep_places(sweep)


@lru_cache(maxsize=MAX_TABLES)
def _shelf(store: Path, request: int, name: str) -> RequestTable:
    return RequestTable()


def status(sweep: Sweep, mode: Fidelity, link: str) -> RequestStatus | None:
    """Return this visitor's newest request for exactly this sweep, or a finished one of others, or None.

    The request is found by its link, without making the points. A sweep of at most MANY points is also found by its points' keys;
    for more points these take seconds.
    """
    number = requests.newest_by_link(runs.STORE, link, mode, runs.user())
    if number is None and len(sweep) <= MANY_POINTS:
        number = requests.newest_request(runs.STORE, keys(sweep, mode), runs.user())
    return None if number is None else status_of(runs.STORE, number)


def table(sweep: Sweep, mode: Fidelity, status: RequestStatus | None) -> pd.DataFrame:
    """Return the finished points of a sweep, a row for each point.

    Only results that are new since the last call are read.
    """
    return _read_shelf(sweep, mode, status).table


def _read_shelf(sweep: Sweep, mode: Fidelity, status: RequestStatus | None) -> RequestTable:
    """Return the shelf of a request.

    Without a request, points are looked up every REDRAW_SECONDS at most.
    """
    shelf = _shelf(runs.STORE.resolve(), status.request if status else 0, f"{sweep.digest} {mode}")
    places = axis_values(sweep)  # may wait for a worker, which nobody should do with the lock
    with shelf.lock:
        if status is not None:
            finished_columns = metric_columns.columns_of_request(runs.STORE, status.request, shelf.columns)
        elif shelf.columns is None or monotonic() - shelf.read_at > REDRAW_SECONDS:
            finished_columns, shelf.read_at = _known_columns(sweep, mode), monotonic()
        else:
            finished_columns = shelf.columns
        if finished_columns is not shelf.columns:
            shelf.columns, shelf.table = finished_columns, sweep_table.finished_table(places, finished_columns)
        return shelf


def _known_columns(sweep: Sweep, mode: Fidelity) -> Columns:
    """Return the stored results of points without a request.

    More than MANY points are not looked up.
    """
    if len(sweep) > MANY_POINTS:
        return Columns({}, np.full(len(sweep), metric_columns.UNFINISHED, np.uint8))
    return metric_columns.columns_of_keys(runs.STORE, keys(sweep, mode))


def estimate_small_sweep(sweep: Sweep, mode: Fidelity) -> bool:
    """Estimate and store a sweep if that takes less than a second.

    Return whether it was done.
    """
    if mode == "full" or forecast_seconds(sweep, mode, len(sweep), 1) > AT_ONCE_SECONDS or version.code_has_changed():
        return False
    _estimated(runs.STORE.resolve(), sweep)
    return True


@lru_cache(maxsize=256)
def _estimated(store: Path, sweep: Sweep) -> None:
    """Estimate and store missing points, once.

    A point in error, such as one without its file, is left to a run.
    """
    shelf, names = _read_shelf(sweep, "estimate", None), keys(sweep, "estimate")
    unfinished = np.flatnonzero(shelf.columns.state == metric_columns.UNFINISHED).tolist() if shelf.columns else []
    with turns.leave_turn():  # this takes up to a second, and is stored also if the visitor leaves
        rows = _estimated_rows(sweep, unfinished, names)
        with open_store(store) as database, transaction(database):
            result_rows.store_results(database, rows)
    shelf.columns = None  # forces a fresh read


def _estimated_rows(sweep: Sweep, places: list[int], names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the keys and rows of the estimates of points."""
    rows = []
    for place, estimate in zip(places, results([sweep[place] for place in places], RUNS), strict=True):
        if not isinstance(estimate, NotScheduled):
            rows.append((names[place], result_rows.row_text(estimate)))
        elif not estimate.error:
            rows.append((names[place], result_rows.row_text(unscheduled_result(estimate))))
    return rows


def missing_points(sweep: Sweep, mode: Fidelity, status: RequestStatus | None) -> int:
    """Return the number of points that are unfinished, or have failed and can be tried again."""
    if status is not None:
        return status.total - status.finished_points + status.failed
    finished_columns = _read_shelf(sweep, mode, None).columns
    return (
        int(np.isin(finished_columns.state, (metric_columns.UNFINISHED, metric_columns.BROKEN)).sum())
        if finished_columns
        else len(sweep)
    )


def forecast_seconds(sweep: Sweep, mode: Fidelity, point_count: int, cores: int) -> float:
    """Return the forecast time [s] of `point_count` points of a sweep.

    The forecast is made from a sample of the points.
    """
    sample = _sample_points(sweep)
    return forecast.sweep_seconds(sample, mode, cores) * point_count / len(sample)


def sharing_sentence(sweep: Sweep, mode: Fidelity) -> str:
    """Return a sentence on the trainings that the sweep's full runs share.

    The sentence is "" if they share none.
    """
    return forecast.shared_training_note(_sample_points(sweep)) if mode == "full" and len(sweep) <= SAMPLE_SIZE else ""


@lru_cache(maxsize=MAX_TABLES)
def _sample_points(sweep: Sweep) -> tuple[Scenario, ...]:
    return tuple(sweep[int(place)] for place in np.linspace(0, len(sweep) - 1, min(SAMPLE_SIZE, len(sweep))))


def draw_and_follow(
    first_status: RequestStatus | None, find: Callable[[], RequestStatus | None], size: int, progress: Draw, results: Draw
) -> None:
    """Draw progress and results, and redraw them while a request runs.

    Progress is redrawn each second, and results every few seconds.
    Both are fragments, so that an open list or a half-drawn box survives. The whole page is drawn again when the request that
    `find` returns begins or ends. first_status: of this request now. size: the number of the sweep's points.
    """
    running = first_status is not None and not first_status.is_ended

    def tick() -> None:
        request_status = status_of(runs.STORE, first_status.request) if first_status and running else find()
        if running != (request_status is not None and not request_status.is_ended):
            st.rerun()
        if request_status and running:
            runs.renew_request(request_status)
        progress(request_status)

    results_seconds = REDRAW_SECONDS if size > MANY_POINTS else 2 * runs.REFRESH_SECONDS
    st.fragment(_with_error_shown(tick), run_every=runs.REFRESH_SECONDS if running else None)()
    st.fragment(_with_error_shown(lambda: results(first_status)), run_every=results_seconds if running else None)()


def _with_error_shown(draw: Callable[[], None]) -> Callable[[], None]:
    """Return `draw` with errors shown as sentences.

    A fragment that redraws has no page around the fragment to show errors.
    """

    def draw_or_error() -> None:
        try:
            draw()
        except EmberpoolError as error:
            st.error(escape_markdown(str(error)))

    return draw_or_error


def draw_progress(request_status: RequestStatus) -> None:
    """Draw a running request's progress with a cancel button, and its rate in points a second."""
    runs.progress(request_status)
    rate = (
        (request_status.total - request_status.finished_points) / request_status.eta_seconds if request_status.eta_seconds else 0
    )
    if rate >= 1:
        st.caption(f"{count(rate, 'point')} per second.")
