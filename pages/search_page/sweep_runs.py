"""A sweep's run as its page sees it: found again by what is asked, and its results held as one table that grows.

Tables are kept by the request's number, which no other request ever has; what is kept only saves time.
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
from engine.scenario.keys import How, key
from engine.scenario.scenario import Scenario
from engine.schedule.evaluate import RUNS, NotScheduled
from engine.store import columns, kept, requests
from engine.store.columns import Columns
from engine.store.database import opened, transaction
from engine.store.status import Status
from engine.store.status import status as status_of
from engine.sweep.sweep import Sweep
from pages.answers import later, runs
from pages.search_page.points import sweep_table
from pages.ui.plain import plain

HELD = 4  # sweeps whose tables stay in memory, each some 250 bytes a point
MANY, REDRAW_SECONDS = 5000, 5.0  # from so many points on charts are drawn more seldom
Draw = Callable[[Status | None], None]
TRIED = 1000  # points whose effort stands for all
AT_ONCE_SECONDS = 1.0  # what a visitor waits for unasked


@dataclass
class Shelf:
    """The table of one request as last read; a lock, since several visitors may look at one request."""

    found: Columns | None = None
    table: pd.DataFrame = field(default_factory=pd.DataFrame)
    lock: Lock = field(default_factory=Lock)
    at: float = 0.0


@lru_cache(maxsize=HELD)
def keys(sweep: Sweep, how: How) -> tuple[str, ...]:
    """Return the keys of a sweep's points, in order."""
    return tuple(key(point, how) for point in sweep)


@lru_cache(maxsize=HELD)
def places(sweep: Sweep) -> pd.DataFrame:
    """Return where each point of a sweep lies on its axes."""
    return later.worker_result(sweep_table.of_all, sweep) if len(sweep) > MANY else sweep_table.of_all(sweep)


@lru_cache(maxsize=HELD)
def _shelf(store: Path, request: int, name: str) -> Shelf:
    return Shelf()


def status(sweep: Sweep, how: How, link: str) -> Status | None:
    """Return the newest request for exactly this sweep, or None; its link finds it without making its points.

    Of many points, whose keys take seconds, that alone finds it.
    """
    number = requests.by_link(runs.STORE, link, how)
    if number is None and len(sweep) <= MANY:
        number = requests.latest(runs.STORE, keys(sweep, how))
    return None if number is None else status_of(runs.STORE, number)


def table(sweep: Sweep, how: How, status: Status | None) -> pd.DataFrame:
    """Return what is finished of a sweep, a row a point; of a request only what is new is read."""
    return _read(sweep, how, status).table


def _read(sweep: Sweep, how: How, status: Status | None) -> Shelf:
    """Return the shelf of a request, or of points that nobody asked for together, which are looked up less often."""
    shelf = _shelf(runs.STORE.resolve(), status.request if status else 0, f"{sweep.digest} {how}")
    with shelf.lock:
        if status is not None:
            found = columns.read(runs.STORE, status.request, shelf.found)
        elif shelf.found is None or monotonic() - shelf.at > REDRAW_SECONDS:
            found, shelf.at = _known(sweep, how), monotonic()
        else:
            found = shelf.found
        if found is not shelf.found:
            shelf.found, shelf.table = found, sweep_table.joined(places(sweep), found)
        return shelf


def _known(sweep: Sweep, how: How) -> Columns:
    """Return what is finished of points that nobody asked for together; many are looked up only once they are asked for."""
    if len(sweep) > MANY:
        return Columns({}, np.full(len(sweep), columns.UNFINISHED, np.uint8))
    return columns.known(runs.STORE, keys(sweep, how))


def at_once(sweep: Sweep, how: How) -> bool:
    """Estimate a sweep that takes less than a second and keep it, so that its page opens with the answer; return whether."""
    if how == "full" or seconds(sweep, how, len(sweep), 1) > AT_ONCE_SECONDS or version.code_has_changed():
        return False
    _estimated(runs.STORE.resolve(), sweep)
    return True


@lru_cache(maxsize=256)
def _estimated(store: Path, sweep: Sweep) -> None:
    """Estimate and keep what is missing, once; a point that is an error, such as one without its file, is left to a run."""
    shelf, names = _read(sweep, "estimate", None), keys(sweep, "estimate")
    left = np.flatnonzero(shelf.found.state == columns.UNFINISHED).tolist() if shelf.found else []
    rows = []
    for at, one in zip(left, results([sweep[at] for at in left], RUNS), strict=True):
        if not isinstance(one, NotScheduled):
            rows.append((names[at], kept.row_text(one)))
        elif not one.error:
            rows.append((names[at], kept.row_text(unscheduled_result(one))))
    with opened(store) as held, transaction(held):
        kept.keep(held, rows)
    shelf.found = None  # to be read again


def missing(sweep: Sweep, how: How, status: Status | None) -> int:
    """Return how many points are not finished, or ended without a result and can be tried again."""
    if status is not None:
        return status.total - status.done + status.failed
    found = _read(sweep, how, None).found
    return int(np.isin(found.state, (columns.UNFINISHED, columns.BROKEN)).sum()) if found else len(sweep)


def seconds(sweep: Sweep, how: How, missing: int, cores: int) -> float:
    """Return how long so many of a sweep's points are likely to take, judged by all of them or, of very many, by some."""
    some = _some(sweep)
    return forecast.sweep_seconds(some, how, cores) * missing / len(some)


def shared(sweep: Sweep, how: How) -> str:
    """Return the sentence that says how many trainings the sweep's full runs share; "" where they share none."""
    return forecast.sharing(_some(sweep)) if how == "full" and len(sweep) <= TRIED else ""


@lru_cache(maxsize=HELD)
def _some(sweep: Sweep) -> tuple[Scenario, ...]:
    return tuple(sweep[int(at)] for at in np.linspace(0, len(sweep) - 1, min(TRIED, len(sweep))))


def follow(find: Callable[[], Status | None], size: int, progress: Draw, results: Draw) -> None:
    """Draw progress and results; while a request runs, the first each second and the second every few.

    Both are drawn by themselves, so that an open list or a half-drawn box outlives a tick; the page is drawn anew when the
    request that `find` looks up begins or ends.
    """
    first = find()
    running = first is not None and not first.ended

    def tick() -> None:
        now = status_of(runs.STORE, first.request) if first and running else find()
        if running != (now is not None and not now.ended):
            st.rerun()
        if now and running:
            runs.keep_going(now)
        progress(now)

    every = REDRAW_SECONDS if size > MANY else 2 * runs.REFRESH_SECONDS
    st.fragment(_told(tick), run_every=runs.REFRESH_SECONDS if running else None)()
    st.fragment(_told(lambda: results(first)), run_every=every if running else None)()


def _told(draw: Callable[[], None]) -> Callable[[], None]:
    """Show an error's sentence: a fragment that draws itself again has no page around it."""

    def told() -> None:
        try:
            draw()
        except EmberpoolError as error:
            st.error(plain(str(error)))

    return told


def draw_progress(now: Status) -> None:
    """Draw how far a running request is and how many points a second it finishes, and the way to stop it."""
    runs.progress(now)
    rate = (now.total - now.done) / now.eta_seconds if now.eta_seconds else 0
    if rate >= 1:
        st.caption(f"{count(rate)} points per second.")
