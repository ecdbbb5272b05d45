"""The panel for the visitor's own data: give a file, accept its columns, train on it."""

from dataclasses import dataclass
from functools import partial

import streamlit as st

from engine.core.figures import count, percent
from engine.errors import BadFile, BadKnob, EmberpoolError, UndescribedTable
from engine.insight.fitting.shape import FileShape, shape_of
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from engine.workload.readers.traces.kinds import is_trace
from engine.workload.source import passes_over
from pages.answers import data_file
from pages.answers.data_file import DataFile
from pages.data_page import fit_view, reading
from pages.own_data import guess_panel, leading, ways
from pages.own_data.leading import Question
from pages.ui import session
from pages.ui.plain import escape_markdown

LABEL = "Your own data"
FORMATS = "a file of clicks (Criteo, TorchRec, Avazu, Taobao, MovieLens, Yambda, any table) or a trace"
START_PAGE, DATA_PAGE = "start", "data"
MOST_NAMES = 8


@dataclass(frozen=True)
class Setting:
    """Where the panel is used.

    page: its page. question: the page's question. base: the scenario that the file is added to.
    """

    page: str
    question: Question
    base: Scenario


def draw(page_question: Question, page: str, expanded: bool = False) -> None:
    """Draw the panel on a page: ways to give a file, its content, and buttons."""
    base = preset(session.base()).scenario if page == START_PAGE else session.scenario()
    setting = Setting(page, page_question, base)
    with st.expander(f"{LABEL}: {FORMATS}", expanded=expanded):
        try:
            ways.draw()
            if file := _given_file(page):
                _draw_file(setting, file)
        except EmberpoolError as error:
            _draw_error(error)


def draw_as_fragment(page_question: Question, page: str) -> None:
    """Draw the panel as a fragment of its page, for pages that take long."""

    def draw_fragment() -> None:
        leading.go_to_page(page)
        draw(page_question, page)

    st.fragment(draw_fragment)()


def _given_file(page: str) -> DataFile | None:
    """Return the file of the fields, else the scenario's visible file; raises BadFile."""
    if page != START_PAGE and not ways.is_given() and session.scenario().data.digest:
        try:
            file = data_file.file_of(session.scenario())
        except BadFile:
            return ways.given_file()
        if not data_file.is_visible(file):
            return None
        return guess_panel.with_mapping(file) if file.origin == data_file.UPLOADED else file
    return ways.given_file()


def _draw_file(setting: Setting, file: DataFile) -> None:
    """Draw a file's description, or why the file cannot be read."""
    try:
        with data_file.refusals(file):
            _draw_offer(setting, file)
    except UndescribedTable:
        guess_panel.draw(file, partial(_take_accepted, setting, file))
    except EmberpoolError as error:
        _draw_error(error)
        guess_panel.draw_accepted(file)


def _draw_error(error: EmberpoolError) -> None:
    remedy = error.remedy if isinstance(error, BadFile) else ""
    st.error(escape_markdown(str(error).removesuffix(remedy)))
    if remedy:
        st.code(remedy, language=None)


def _draw_offer(setting: Setting, file: DataFile) -> None:
    shape = None
    digest_note = f"Links name the file by its SHA-256, {file.digest[:12]}."
    if is_trace(file.path):
        st.markdown(
            f"**{escape_markdown(file.path.name)}** is a trace of lookups without labels; generated data can be fitted to it."
        )
    else:
        shape = shape_shown(file)
        if shape is None:
            return
        shape_note = (
            " The model gets the tables of the file, with the rows that the file has." if shape.changes(setting.base) else ""
        )
        st.markdown(
            f"**{escape_markdown(file.path.name)}** is ready: {escape_markdown(description(shape))}. {digest_note}{shape_note}"
        )
        guess_panel.draw_accepted(file)
        if shape.clicks is None:
            st.caption("The file has no labels, so no run can train on it; generated data can be fitted to it.")
        else:
            _presses(setting, file, shape)
    if not _is_shown(setting, file, shape):  # then the page shows the fit itself
        fit_view.draw(file, setting.base, partial(leading.put_question, setting.question, session.base()))


def shape_shown(file: DataFile) -> FileShape | None:
    """Return a file's shape, with a progress bar; None if cancelled. Raises BadFile."""
    shape: FileShape | None = reading.with_progress(file.path.name, shape_of, str(file.path), file.digest)
    return shape


def description(shape: FileShape) -> str:
    """Return a line on a file's format, samples, id columns, dense features, clicks and order."""
    clicks = "no labels" if shape.clicks is None else f"clicks: {percent(shape.clicks)}"
    names = ", ".join(shape.fields[:MOST_NAMES]) + (", ..." if len(shape.fields) > MOST_NAMES else "")
    ids = f"id fields: {len(shape.pooling)}{f' ({names})' if names else ''}"
    return (
        f"{shape.format}, {count(shape.samples, 'sample')}; {ids}, dense features: {shape.dense}, {clicks}; order: {shape.order}"
    )


def scenario_of(base: Scenario, file: DataFile, shape: FileShape) -> Scenario:
    """Return `base` with the file and a model of the file's shape; raises BadKnob."""
    return with_values(base, {**shape.changes(base), "data.digest": file.digest})


def _is_shown(setting: Setting, file: DataFile, shape: FileShape | None) -> bool:
    """Whether the page draws the file's popularity already.

    It does for a model of the file's shape.
    """
    suits = shape is not None and not shape.changes(setting.base)
    return setting.page == DATA_PAGE and suits and session.scenario().data.digest == file.digest


def _presses(setting: Setting, file: DataFile, shape: FileShape) -> None:
    """Draw the numbering of rows, the passes of a run, and the buttons."""
    scenario = scenario_of(setting.base, file, shape)
    if numbering := shape.numbering(scenario):
        st.caption(escape_markdown(numbering))
    st.caption(f"A run is {escape_markdown(passes_over(scenario, shape.training_samples))}.")
    page_question = setting.question
    ask = [("own data", page_question.words, page_question)] if page_question.words else []
    popularity = ("own popularity", "Show how the file's rows are used", Question("", DATA_PAGE, page_question.system))
    show = [] if _is_shown(setting, file, shape) else [popularity]
    with st.container(horizontal=True):
        train = session.base(), scenario, page_question.system
        st.button("Train on this file", key="own training", on_click=leading.train, args=train)
        for key, words, question in (*ask, *show):
            st.button(words, key=key, on_click=leading.put_question, args=(question, session.base(), scenario))


def _take_accepted(setting: Setting, file: DataFile) -> None:
    """Put a file with just accepted columns into the session; only in a callback.

    It does so where the page shows the file.
    """
    is_session_file = session.scenario().data.digest == file.digest
    if setting.page != DATA_PAGE and not is_session_file:
        return
    try:
        if ways.is_given():
            described = ways.given_file()
        elif file.origin == data_file.UPLOADED:
            described = guess_panel.with_mapping(file)
        else:
            described = data_file.register(file.path, file.origin)
        shape = described and shape_shown(described)
        if described and shape and shape.clicks is not None:
            leading.put_question(Question("", setting.page), session.base(), scenario_of(setting.base, described, shape))
    except (BadFile, BadKnob):
        return  # the panel shows the error when it is drawn
