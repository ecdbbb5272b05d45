"""One's own data file: by its path on one's own computer, by upload on a server elsewhere."""

import ipaddress
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import streamlit as st

from engine.errors import BadFile, EmberpoolError
from engine.insight.fitting.shape import shape_of
from engine.scenario.presets import preset
from engine.workload.readers.traces.kinds import is_trace
from pages.common import session
from pages.common.numbers import percent
from pages.common.plain import plain
from pages.data import data_file, fit_view
from pages.design import later
from pages.start import questions
from pages.start.questions import Question

FOLDER = Path(".emberpool") / "uploads"
OTHER, MOST_NAME = re.compile(r"[^A-Za-z0-9._-]"), 80


def draw(asked: Question) -> None:
    """Draw the way to a file of click logs, what it is once it is known, and the presses that train on it or fit to it."""
    with st.expander("My own data: a file of clicks (Criteo, TorchRec, Avazu, Taobao, MovieLens, Yambda, any table) or a trace"):
        try:
            found = _by_path() if at_home() else _by_upload()
            if found:
                _offer(asked, found)
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


def at_home() -> bool:
    """Return whether only this computer can ask the server, so that a path may be read for whoever asks."""
    try:
        return ipaddress.ip_address(str(st.get_option("server.address"))).is_loopback
    except ValueError:
        return str(st.get_option("server.address")) == "localhost"


def _by_path() -> data_file.DataFile | None:
    path = st.text_input("Path of the file on this computer", key="data path", placeholder="/data/train.txt")
    return data_file.known(Path(path).expanduser()) if path.strip() else data_file.served()


def _by_upload() -> data_file.DataFile | None:
    given = st.file_uploader(
        "File, with those that belong to it",
        key="data upload",
        accept_multiple_files=True,
        help="Kept under its digest, for your links.",
    )
    if not given:
        return data_file.served()
    return kept({one.name: one.getvalue() for one in given})


def kept(files: Mapping[str, bytes]) -> data_file.DataFile:
    """Keep uploaded files that belong together in a folder named by their digest; raises BadFile.

    No other upload takes their place, whatever its name.
    """
    contents = {f"{OTHER.sub('_', name)[-MOST_NAME:].lstrip('.') or 'file'}": content for name, content in files.items()}
    digest = sha256(repr([(name, sha256(contents[name]).hexdigest()) for name in sorted(contents)]).encode()).hexdigest()
    target = FOLDER / digest
    try:
        if not target.exists():
            unfinished = FOLDER / f"{digest}.{uuid4().hex}"
            unfinished.mkdir(parents=True)
            for name, content in contents.items():
                (unfinished / name).write_bytes(content)
            if not target.exists():
                unfinished.replace(target)
    except OSError as error:
        raise BadFile(f"The file cannot be kept on the server ({error.strerror}); try again later.") from error
    main = [name for name in sorted(contents) if not name.endswith(".toml")]
    if not main:
        raise BadFile("These are no data: give the file itself with its mapping.")
    return data_file.known(target / next((name for name in main if "sparse" in name), main[0]))
