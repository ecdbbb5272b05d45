"""Background runs as pages see them: looked up by what is asked, so that a reload finds them again."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from engine.errors import EmberpoolError
from engine.results.result import Result
from engine.run.progress import Progress
from engine.scenario.keys import How, key
from engine.scenario.scenario import Scenario
from engine.service import service
from engine.service.stopped_runs import StoppedRunFile
from engine.store import database, kept, requests
from engine.store import status as store_status
from engine.store.status import Status
from pages.answers import data_file
from pages.ui import session as session_state
from pages.ui.numbers import duration, percent
from pages.ui.plain import plain

STORE = database.DEFAULT
REFRESH_SECONDS = 1.0
FORESEEABLE = 0.03  # the share from which on the time left is more than a guess
Scenarios = Sequence[Scenario]
key_of = lru_cache(maxsize=8192)(key)


def request(scenarios: Scenarios, how: How) -> Status | None:
    """Return the newest request for exactly these points, or None."""
    number = requests.latest(STORE, [key_of(scenario, how) for scenario in scenarios])
    return None if number is None else store_status.status(STORE, number)


def stopped(scenario: Scenario) -> tuple[Progress | None, int | None]:
    """Return how far a full run was when it was cancelled, and the batch from which it goes on; None for the first."""
    name = key_of(scenario, "full")
    return store_status.stopped(STORE, name), StoppedRunFile(STORE, name).batch()


def results(scenarios: Scenarios, how: How) -> list[Result | None]:
    """Return the finished results in the order of the scenarios, None for each unfinished one."""
    return [result for _, result in kept.outcomes(STORE, scenarios, how)]


def start(
    scenarios: Scenarios,
    how: How,
    title: str = "",
    link: str = "",
    ask: Callable[[Callable[[], object]], object] = lambda submit: submit(),
) -> None:
    """Ask for the scenarios in the background; shows the engine's sentence if they are refused.

    `title` says what it is, and `link` reopens it: by itself the page's own. `ask` asks, maybe in another process.
    """
    with _toasted():
        data, visitor = data_file.path_for(scenarios[0]), get_script_run_ctx()
        session = f"page {visitor.session_id}" if visitor else ""
        link = link or st.session_state.get(session_state.HERE, "")
        origin = partial(requests.submit, session=session, title=title, link=link, limit=requests.FOR_PAGES)
        ask(partial(origin, STORE.resolve(), scenarios, how, data))
        service.ensure_service(STORE)


def cancel(request: int) -> None:
    """Stop a request; shows the engine's sentence if the store is in trouble."""
    with _toasted():
        requests.cancel(STORE, request)


@contextmanager
def _toasted() -> Iterator[None]:
    try:
        yield
    except EmberpoolError as error:
        st.toast(plain(str(error)), duration="infinite")


def follow(scenarios: Scenarios, how: How, draw: Callable[[Status | None], None]) -> None:
    """Draw a request, and while it runs draw it again every second; the page is drawn anew when it ends.

    A cancelled request runs until its last batch under way has ended.
    """

    def runs(status: Status | None) -> bool:
        return status is not None and (not status.ended or bool(status.running))

    running = runs(request(scenarios, how))

    def look() -> None:
        try:
            _look()
        except EmberpoolError as error:  # a fragment that draws itself again has no page around it
            st.error(plain(str(error)))

    def _look() -> None:
        status = request(scenarios, how)
        if running != runs(status):
            st.rerun()
        if status and not status.ended:
            keep_going(status)
        draw(status)

    st.fragment(look, run_every=REFRESH_SECONDS if running else None)()


def keep_going(status: Status) -> None:
    """Hold a request that is looked at, see that somebody computes it, and say so where nobody can."""
    requests.renew(STORE, status.request)
    if trouble := service.ensure_service(STORE):
        st.warning(plain(trouble))


def progress(status: Status, what: str = "points") -> None:
    """Draw how far a request is, of how many of `what`, how long it still takes, and the way to stop it."""
    running = [point.progress for point in status.running if point.progress]
    share = (status.done + sum(point.share for point in running)) / status.total
    left = "" if status.eta_seconds is None or share < FORESEEABLE else f", about {duration(status.eta_seconds)} left"
    points = f"{status.done} of {status.total} {what}, " if status.total > 1 else ""
    bar, stop = st.columns((6, 1), vertical_alignment="bottom")
    bar.progress(
        min(share, 1.0), f"Running: {points}{percent(share)}{left}" if status.state == "running" else "Waiting for a free core"
    )
    stop.button("Cancel", key=f"cancel {status.request}", on_click=cancel, args=(status.request,), width="stretch")


def note(status: Status | None, what: str = "points") -> None:
    """Say why a request ended without all of `what` it asked for, where it did."""
    if status and status.state == "cancelled":
        kept_so_far = f"after {status.done} of {status.total} {what}, which are kept; running again goes on from there."
        st.info(f"Cancelled {kept_so_far if status.total > 1 else 'before the end; running again starts from the first batch.'}")
    elif status and (status.state == "failed" or status.failed):
        why = f"{status.failed} of {status.total} {what} have no result; the table says why." if status.total > 1 else ""
        if status.note or why:
            st.warning(plain(status.note or why))
