"""The compared requests of Runs, as the page's link names them.

The link has how each request was computed, and the request's own link, which reopens it on any computer.
"""

from collections.abc import Sequence
from urllib.parse import quote

import streamlit as st

from engine.analysis.objective import column_name
from engine.scenario.keys import Fidelity
from engine.service import history
from engine.service.history import PastRequest
from engine.store import requests
from engine.sweep import links
from engine.sweep.links import OpenedLink
from engine.sweep.questions import LinkQuestions
from pages.answers import runs
from pages.ui import session
from pages.ui.page_link import LinkPart, PageLink
from pages.ui.plain import escape_markdown

LINK_RUNS_KEY, MISSING_RUNS_KEY, SAID_RUNS_KEY, WORDS = (
    "runs of the link",
    "runs that are not here",
    "runs in the link",
    "history words",
)
METRIC, FIRST_METRIC = "history metric", "Step time [ms]"
ROOM = links.MOST_CHARACTERS - 2000  # characters for runs; the rest is for the scenario
RUN_KIND_WORDS: dict[Fidelity, str] = {"estimate": "an estimate", "full": "a full run"}
SHARE_NOTE = (
    "This link opens the page Runs with the chosen runs beside each other; on another server, the page says how to run them."
)
ComparedRuns = tuple[tuple[Fidelity, str], ...]


def from_link(link: OpenedLink) -> None:
    """Set search, compared requests and metric to those of a link; call before drawing."""
    questions = link.questions
    st.session_state.update(
        {
            LINK_RUNS_KEY: links.compared_runs(questions),
            MISSING_RUNS_KEY: (),
            SAID_RUNS_KEY: questions.runs,
            WORDS: questions.find,
        }
    )
    session.take_choice(METRIC, column_name(questions.metric) if questions.metric else "")


def to_link() -> LinkPart:
    """Return the page's part of a link: requests, search words, metric.

    A request's number is only valid on this server; `run=` names the request for all servers.
    """
    words = (word for word in st.session_state.get(WORDS, "").split() if not word.startswith("#"))
    metric = session.choice(METRIC)
    link_metric = metric if metric != FIRST_METRIC else ""
    return LinkPart(
        questions=LinkQuestions(runs=st.session_state.get(SAID_RUNS_KEY, ()), find=" ".join(words), metric=link_metric)
    )


def find_runs() -> None:
    """Look up the compared requests of a new link in this store; call before drawing."""
    compared_runs: ComparedRuns = st.session_state.pop(LINK_RUNS_KEY, ())
    if not compared_runs:
        return
    request_by_run = {
        compared_run: requests.newest_by_link(runs.STORE, compared_run[1], compared_run[0]) for compared_run in compared_runs
    }
    st.session_state[MISSING_RUNS_KEY] = tuple(
        compared_run for compared_run, request in request_by_run.items() if request is None
    )
    st.session_state[WORDS] = " ".join(f"#{request}" for request in request_by_run.values() if request is not None)


def draw_missing() -> None:
    """Draw the compared requests that this store lacks, each with a link to run it."""
    missing_runs: ComparedRuns = st.session_state.get(MISSING_RUNS_KEY, ())
    if not missing_runs:
        return
    is_plural = len(missing_runs) > 1
    st.warning(
        f"{len(missing_runs)} of the compared runs {'are' if is_plural else 'is'} not on this server; open "
        f"{'each run' if is_plural else 'the run'} below, run it, and open this link again."
    )
    for number, (run_kind, link) in enumerate(missing_runs, 1):
        page = link.partition("?")[0].strip("/").capitalize()
        st.link_button(
            f"Open {escape_markdown(page)}: {RUN_KIND_WORDS[run_kind]} ({number} of {len(missing_runs)})",
            links.link_in_mode(link, run_kind),
        )


def runs_for_link(chosen_runs: Sequence[PastRequest]) -> tuple[str, ...]:
    """Return the chosen requests as a link names them.

    Requests that a link cannot name are left out, and requests for which the link has no room.
    """
    run_texts: list[str] = []
    for run in chosen_runs[: links.MOST_RUNS]:
        link = history.link(runs.STORE, run.request)
        text = f"{run.fidelity}:{link}"
        if link and text not in run_texts and requests.newest_by_link(runs.STORE, link, run.fidelity) is not None:
            run_texts.append(text)
    while len(quote("".join(run_texts))) > ROOM:
        run_texts.pop()
    return tuple(run_texts)


LINK = PageLink(to_link, from_link)
