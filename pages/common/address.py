"""The address bar: opens the link it holds, and keeps it the link of what is on the page."""

from time import monotonic
from urllib.parse import urlencode, urlsplit

import streamlit as st

from engine.analysis import linked
from engine.errors import BadInput
from engine.scenario.scenario import values
from engine.sweep import links
from engine.sweep.questions import Pairs, Questions
from pages.bar import bar as scenario_bar
from pages.bar import question
from pages.common import session
from pages.common.plain import plain
from pages.data import data_file
from pages.runs import history_runs
from pages.search import axes_panel, pinned, sweep_filters
from pages.search.axes_panel import MOST_AXES
from pages.systems import systems_panel

WRITTEN, AT, BANNER, OURS = "address written", "address written at", "banner", "redrawn by us"
SETTLED_SECONDS = 2.0
LOOPBACK = ("127.", "localhost", "[::1]")
NO_QUESTIONS = Questions()


def open_link() -> str:
    """Take over the link in the address bar if it is new to the session; return the sentence that refuses it, or ""."""
    pairs = [(key, value) for key in st.query_params for value in st.query_params.get_all(key)]
    ours = st.session_state.pop(OURS, False)
    if session.SCENARIO in st.session_state and (ours or not _went_back(pairs)):
        return ""
    opened = linked.opened_or_error(pairs) if len(urlencode(pairs)) <= links.MOST_CHARACTERS else _too_long(pairs)
    if isinstance(opened, BadInput):
        return str(opened)
    if len(opened.axes) > MOST_AXES:
        return f"The link sweeps {len(opened.axes)} knobs, the page at most {MOST_AXES}; for more, run python -m engine sweep."
    if refusal := sweep_filters.refusal(opened.questions, opened.axes) or _pin(opened):
        return refusal
    try:
        session.put(opened.preset, opened.scenario if pairs else data_file.with_data(opened.scenario))
    except BadInput as error:
        return str(error)
    st.session_state[session.SYSTEMS] = systems_panel.of_link(opened.axes)
    st.session_state[session.CRASH] = opened.crash
    question.put(opened.questions)
    axes_panel.put(opened.axes, opened.questions.sample)
    sweep_filters.put(opened.questions)
    session.ask(axes_panel.EXACT, opened.questions.mode)
    history_runs.put(opened.questions)
    st.session_state.update({BANNER: opened.banner, WRITTEN: pairs, AT: monotonic()})
    return ""


def _pin(opened: links.Opened) -> str:
    """Pin the points that a link names; return the sentence that refuses them, or ""."""
    if not opened.questions.pins and pinned.PINS not in st.session_state:
        return ""
    if not opened.axes:
        return "The link pins points (pins=) of no sweep; it needs its axes (axis=) too." if opened.questions.pins else ""
    sweep = axes_panel.swept_or_error(opened.scenario, opened.axes, opened.questions.sample)
    if isinstance(sweep, BadInput):
        return ""  # the page says why
    beyond = [point + 1 for point in opened.questions.pinned if point >= len(sweep)]
    if beyond:
        return f"The link pins point {beyond[0]:,} (pins=) of a sweep that has {len(sweep):,}; copy it again."
    pinned.put(sweep.digest, opened.questions.pinned)
    return ""


def redraw() -> None:
    """Draw the page once more by ourselves: the address that comes along may be from before our last write."""
    st.session_state[OURS] = True
    st.rerun()


def _too_long(pairs: Pairs) -> BadInput:
    try:
        linked.read(urlencode(pairs))
    except BadInput as error:
        return error
    raise ValueError("a link longer than the limit was opened")


def _went_back(pairs: Pairs) -> bool:
    """Whether the visitor went through the browser's history, which only changes the address.

    A widget moved just after another one sends the address from before our last write, so that a young
    write or a changed widget is no journey.
    """
    settled = monotonic() - st.session_state[AT] > SETTLED_SECONDS
    return bool(pairs) and pairs != st.session_state[WRITTEN] and settled and not _touched()


def _touched() -> bool:
    try:
        held = values(session.scenario())
        return any(session.read(path) != held[path] for path in session.touched())
    except BadInput:
        return True


def write(axes: tuple[str, ...] = (), crash: str = "", questions: Questions = NO_QUESTIONS) -> None:
    """Put the link of the session's scenario, and of the page's axes, questions or crash state, into the address bar."""
    pairs = links.query(session.scenario(), session.base(), axes, crash, questions)
    if pairs == st.session_state.get(WRITTEN) and st.query_params:
        return
    st.query_params.from_dict({key: [value for name, value in pairs if name == key] for key, _ in pairs})
    st.session_state.update({WRITTEN: pairs, AT: monotonic()})


def host() -> str:
    """Return the scheme and host that the visitor's browser asked, or "" where there is no browser."""
    asked = urlsplit(st.context.url or "")
    return f"{asked.scheme}://{asked.netloc}" if asked.netloc else ""


def bar(page: str, axes: tuple[str, ...] = (), crash: str = "", questions: Questions = NO_QUESTIONS, caution: str = "") -> None:
    """Keep the address current, and draw the link to copy in the scenario's bar, and a caution on the page's numbers."""
    write(axes, crash, question.said(questions))
    with scenario_bar.slot():
        _share(
            "It holds every knob and the seed; whoever opens it gets the same numbers, losses on the same kind of processor.",
            page,
            axes,
            crash,
            questions,
        )
    if caution:
        st.warning(plain(caution))
    if st.session_state.get(BANNER):
        st.info(plain(st.session_state[BANNER]))
    try:
        data_file.path_for(session.scenario())
    except BadInput as error:
        st.warning(plain(str(error)))


def share(page: str, what: str, questions: Questions) -> None:
    """Keep the address of a page without knobs current, and draw its link to copy; `what` says what the link holds."""
    write(questions=question.said(questions))
    with scenario_bar.slot():
        _share(what, page, (), "", questions)


def _share(what: str, page: str, axes: tuple[str, ...], crash: str, questions: Questions) -> None:
    with st.popover("Share"):
        st.caption(what)
        st.session_state[session.HERE] = links.link(
            session.scenario(), session.base(), page, axes, crash, question.said(questions)
        )
        if any(f"//{name}" in host() for name in LOOPBACK):
            st.caption("It opens on this computer alone; on another one, put its own explorer's address in front.")
        st.code(host() + st.session_state[session.HERE], language=None, wrap_lines=True)
