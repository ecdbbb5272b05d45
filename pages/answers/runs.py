"""Background runs for pages, found by their scenarios, so that a reloaded page finds them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial

import streamlit as st

from engine.core.arithmetic import total
from engine.errors import EmberpoolError
from engine.results.result import Result
from engine.run.progress import Progress
from engine.scenario.keys import Fidelity, key
from engine.scenario.scenario import Scenario
from engine.service import service
from engine.service.stopped_runs import StoppedRunFile
from engine.store import database, requests, result_rows
from engine.store import status as store_status
from engine.store.requests import User
from engine.store.status import RequestStatus
from pages.answers import data_file
from pages.gate import access
from pages.ui import session as session_state
from pages.ui.numbers import duration, percent
from pages.ui.plain import escape_markdown

STORE = database.DEFAULT
REFRESH_SECONDS = 1.0
MIN_ETA_SHARE = 0.03  # the share from which on the time left is more than a guess
Scenarios = Sequence[Scenario]
key_of = lru_cache(maxsize=8192)(key)


def user() -> User:
    """Return this visitor as the store knows them; a visitor with the token is an operator."""
    return User(access.visitor(), access.is_trusted())


def request(scenarios: Scenarios, run_kind: Fidelity) -> RequestStatus | None:
    """Return this visitor's newest request for exactly these points, or a finished one of others, or None.

    run_kind: estimates or full runs.
    """
    number = requests.newest_request(STORE, [key_of(scenario, run_kind) for scenario in scenarios], user())
    return None if number is None else store_status.status(STORE, number)


def stopped_progress(scenario: Scenario) -> tuple[Progress | None, int | None]:
    """Return a cancelled full run's progress, and the batch at which it can continue.

    Each is None where there is none.
    """
    name = key_of(scenario, "full")
    return store_status.stopped_progress(STORE, name), StoppedRunFile(STORE, name).batch()


def results(scenarios: Scenarios, run_kind: Fidelity) -> list[Result | None]:
    """Return the finished results in the order of the scenarios, None for each unfinished one."""
    return [result for _, result in result_rows.stored_results(STORE, scenarios, run_kind)]


def start(
    scenarios: Scenarios,
    run_kind: Fidelity,
    title: str = "",
    link: str = "",
    ask: Callable[[Callable[[], object]], object] = lambda submit: submit(),
) -> None:
    """Request the scenarios' results in the background; show the error's sentence if refused.

    title: the name of the request. link: the link that reopens it, by default the page's own. ask: calls the function that
        submits, for example in another process.
    """
    with _errors_as_toasts():
        data_path, visitor = data_file.path_for(scenarios[0]), user()
        link = link or st.session_state.get(session_state.PAGE_LINK, "")
        limit = requests.FOR_COMMANDS if visitor.is_operator else requests.FOR_PAGES
        origin = partial(requests.submit, owner=visitor.owner, title=title, link=link, limit=limit)
        ask(partial(origin, STORE.resolve(), scenarios, run_kind, data_path))
        service.ensure_service(STORE)


def cancel(request: int) -> None:
    """Stop a request; show the engine's sentence if it is another visitor's, or if the store cannot be used."""
    with _errors_as_toasts():
        requests.cancel(STORE, request, user())


@contextmanager
def _errors_as_toasts() -> Iterator[None]:
    try:
        yield
    except EmberpoolError as error:
        st.toast(escape_markdown(str(error)), duration="infinite")


def draw_while_running(scenarios: Scenarios, run_kind: Fidelity, draw: Callable[[RequestStatus | None], None]) -> None:
    """Call `draw` each second while a request runs; redraw the page when the request ends.

    A cancelled request still finishes the batches that it is computing.
    """

    def runs(status: RequestStatus | None) -> bool:
        return status is not None and (not status.is_ended or bool(status.running))

    running = runs(request(scenarios, run_kind))

    def look() -> None:
        try:
            _look()
        except EmberpoolError as error:  # no page around a redrawn fragment shows the error
            st.error(escape_markdown(str(error)))

    def _look() -> None:
        status = request(scenarios, run_kind)
        if running != runs(status):
            st.rerun()
        if status and not status.is_ended:
            renew_request(status)
        draw(status)

    st.fragment(look, run_every=REFRESH_SECONDS if running else None)()


def renew_request(status: RequestStatus) -> None:
    """Tell the store that a request is still watched, and start a service if none computes it.

    Show a warning if it cannot be computed.
    """
    requests.renew_lease(STORE, status.request, user())
    if trouble := service.ensure_service(STORE):
        st.warning(escape_markdown(trouble))


def progress(status: RequestStatus, unit_name: str = "points") -> None:
    """Draw a request's progress, the remaining time, and the button that stops it.

    `unit_name` is the noun for its points.
    """
    running = [point.progress for point in status.running if point.progress]
    share = (status.finished_points + total(point.share for point in running)) / status.total
    time_left = "" if status.eta_seconds is None or share < MIN_ETA_SHARE else f", about {duration(status.eta_seconds)} left"
    points = f"{status.finished_points} of {status.total} {unit_name}, " if status.total > 1 else ""
    bar, stop = st.columns((6, 1), vertical_alignment="bottom")
    bar.progress(
        min(share, 1.0),
        f"Running: {points}{percent(share)}{time_left}" if status.state == "running" else "Waiting for a free processor core",
    )
    stop.button("Cancel", key=f"cancel {status.request}", on_click=cancel, args=(status.request,), width="stretch")


def draw_end_note(status: RequestStatus | None, unit_name: str = "points") -> None:
    """Draw why a request has ended without all its points, if it has."""
    if status and status.state == "cancelled":
        finished = f"after {status.finished_points} of {status.total} {unit_name}"
        kept_so_far = f"{finished}. Their results are kept; a new run computes only the others."
        st.info(f"Cancelled {kept_so_far if status.total > 1 else 'before the end. A new run starts from the first batch.'}")
    elif status and (status.state == "failed" or status.failed):
        reason = f"{status.failed} of {status.total} {unit_name} have no result; the table says why." if status.total > 1 else ""
        if status.note or reason:
            st.warning(escape_markdown(status.note or reason))
