"""One's own data file: uploaded, chosen from what was named at start, or with the token by its path."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from engine.errors import BadFile, EmberpoolError, Undescribed
from engine.insight.fitting.shape import FileShape, shape_of
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from engine.workload.readers.traces.kinds import is_trace
from pages.answers import data_file
from pages.data_page import data_folder, fit_view, reading, uploads
from pages.gate import access
from pages.gate.typed_path import expanded
from pages.start_page import guess_panel, questions
from pages.start_page.questions import Question
from pages.ui import session
from pages.ui.numbers import percent
from pages.ui.plain import plain

PATH, UPLOAD, NAME = "data path", "data upload", "data name"


def draw(asked: Question) -> None:
    """Draw the way to a file of click logs, what it is once it is known, and the presses that train on it or fit to it."""
    with st.expander("My own data: a file of clicks (Criteo, TorchRec, Avazu, Taobao, MovieLens, Yambda, any table) or a trace"):
        try:
            if file := _given():
                _draw_file(asked, file)
        except EmberpoolError as error:
            _say(error)


def _draw_file(asked: Question, file: data_file.DataFile) -> None:
    """Draw what a file is, or why it cannot be read."""
    try:
        with data_file.refusals(file):
            _offer(asked, file)
    except Undescribed:
        guess_panel.draw(file)
    except EmberpoolError as error:
        _say(error)
        guess_panel.draw_accepted(file)


def _say(error: EmberpoolError) -> None:
    remedy = error.remedy if isinstance(error, BadFile) else ""
    st.error(plain(str(error).removesuffix(remedy)))
    if remedy:
        st.code(remedy, language=None)


def _offer(asked: Question, file: data_file.DataFile) -> None:
    base = preset(session.base()).scenario
    known = f"Links know it by its SHA-256 {file.digest[:12]}."
    if is_trace(file.path):
        st.markdown(f"**{plain(file.path.name)}** is a trace of lookups without labels: generated data can be fitted to it.")
    else:
        shape = reading.with_progress(file.path.name, shape_of, str(file.path), file.digest)
        clicks = "no labels" if shape.clicks is None else f"clicks: {percent(shape.clicks)}"
        fields = f"id fields: {len(shape.pooling)}, dense features: {shape.dense}, {clicks}"
        told = f"{shape.format}, {shape.samples:,} samples; {fields}; order: {shape.order}"
        changes = dict(shape.changes(base))
        own = " The model gets as many tables, with the rows that the file shows." if changes else ""
        st.markdown(f"**{plain(file.path.name)}** is ready: {plain(told)}. {known}{own}")
        guess_panel.draw_accepted(file)
        if shape.clicks is None:
            st.caption("Without labels no run can train on it: generated data can be fitted to it.")
        else:
            _presses(asked, file, base, shape, changes)
    fit_view.draw(file, base, lambda scenario: questions.put(asked, session.base(), scenario))


def _presses(asked: Question, file: data_file.DataFile, base: Scenario, shape: FileShape, changes: Mapping[str, object]) -> None:
    """Draw how the file's ids become rows, and the presses that train on it and show how its rows are used."""
    changes = {**changes, "data.digest": file.digest}
    if numbering := shape.numbering(with_values(base, changes)):
        st.caption(plain(numbering))
    popularity = replace(asked, page="data")
    with st.container(horizontal=True):
        for words, key, question in (
            ("Train on this file", "own data", asked),
            ("Show how its rows are used", "own popularity", popularity),
        ):
            st.button(words, key=key, on_click=questions.ask, args=(question, session.base(), changes))


def _given() -> data_file.DataFile | None:
    """Draw each way in which this visitor may give a file; return the file, of several the first, or None."""
    trusted, names = access.is_trusted(), data_folder.names()
    path = st.text_input("Path of the file on this computer", key=PATH, placeholder="/data/train.txt") if trusted else ""
    uploaded = st.file_uploader(
        "Upload a file, with those that belong to it",
        key=UPLOAD,
        accept_multiple_files=True,
        help="Kept under its digest, for your links.",
    )
    name = st.selectbox("File of the folder that was named at start", names, index=None, key=NAME) if names else None
    if not trusted:
        st.caption(access.HOW)
    if sum(map(bool, (path.strip(), uploaded, name))) > 1:
        st.caption("Several files are given here, of which the first is taken; empty its field for the next.")
    if path.strip():
        return data_file.register(expanded(path), data_file.TYPED)
    if uploaded:
        return _kept(uploaded)
    return data_folder.chosen(name) if name else data_file.start_file()


def _kept(uploaded: Sequence[UploadedFile]) -> data_file.DataFile:
    """Keep what a visitor has uploaded, who may see it from now on; raises BadFile."""
    if cut := next((file.name for file in uploaded if len(file.getvalue()) != file.size), ""):
        raise BadFile(f"{cut} did not arrive whole; upload it again.")
    contents = [(file.name, file.getvalue()) for file in uploaded]
    file = guess_panel.with_mapping(uploads.keep(contents), contents)
    st.session_state[data_file.UPLOADS] = {*st.session_state.get(data_file.UPLOADS, ()), file.digest}
    return file
