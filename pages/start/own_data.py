"""One's own data file: uploaded, chosen from what was named at start, or with the token by its path."""

from collections.abc import Sequence

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from engine.errors import BadFile, EmberpoolError
from engine.insight.fitting.shape import shape_of
from engine.scenario.presets import preset
from engine.workload.readers.traces.kinds import is_trace
from pages.common import session
from pages.common.numbers import percent
from pages.common.plain import plain
from pages.data import data_file, data_folder, fit_view, uploads
from pages.data.typed_path import expanded
from pages.design import later
from pages.gate import access
from pages.start import questions
from pages.start.questions import Question

PATH, UPLOAD, NAME = "data path", "data upload", "data name"


def draw(asked: Question) -> None:
    """Draw the way to a file of click logs, what it is once it is known, and the presses that train on it or fit to it."""
    with st.expander("My own data: a file of clicks (Criteo, TorchRec, Avazu, Taobao, MovieLens, Yambda, any table) or a trace"):
        try:
            if file := _given():
                with data_file.refusals(file):
                    _offer(asked, file)
        except EmberpoolError as error:
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
        with st.spinner("Reading it"):
            shape = later.found(shape_of, str(file.path), file.digest)
        fields = f"id fields: {len(shape.pooling)}, dense features: {shape.dense}, clicks: {percent(shape.clicks)}"
        told = f"{shape.format}, {shape.samples:,} samples; {fields}; order: {shape.order}"
        changes = dict(shape.changes(base))
        own = " The model gets as many tables, with the rows that the file shows." if changes else ""
        st.markdown(f"**{plain(file.path.name)}** is ready: {plain(told)}. {known}{own}")
        changes["data.digest"] = file.digest
        st.button("Train on this file", key="own data", on_click=questions.ask, args=(asked, session.base(), changes))
    fit_view.draw(file, base, lambda scenario: questions.put(asked, session.base(), scenario))


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
        return data_file.known(expanded(path), data_file.TYPED)
    if uploaded:
        return _kept(uploaded)
    return data_folder.chosen(name) if name else data_file.served()


def _kept(uploaded: Sequence[UploadedFile]) -> data_file.DataFile:
    """Keep what a visitor has uploaded, who may see it from now on; raises BadFile."""
    if cut := next((file.name for file in uploaded if len(file.getvalue()) != file.size), ""):
        raise BadFile(f"{cut} did not arrive whole; upload it again.")
    file = uploads.keep((file.name, file.getvalue()) for file in uploaded)
    st.session_state[data_file.UPLOADS] = {*st.session_state.get(data_file.UPLOADS, ()), file.digest}
    return file
