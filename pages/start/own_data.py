"""One's own data file: by its path on one's own computer, by upload on a server elsewhere."""

import ipaddress
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import streamlit as st

from engine.errors import BadFile, BadInput
from pages.common import session
from pages.common.plain import plain
from pages.data import data_file
from pages.start import questions
from pages.start.questions import Question

FOLDER = Path(".emberpool") / "uploads"


def draw(asked: Question) -> None:
    """Draw the way to a file of click logs, and what it is once it is known."""
    with st.expander("My own data: a Criteo file of click logs, plain or .gz"):
        try:
            found = _by_path() if at_home() else _by_upload()
        except BadInput as error:
            st.error(plain(str(error)))
            return
        if found:
            st.markdown(f"**{plain(found.path.name)}** is ready, known in links by its SHA-256 {found.digest[:12]}.")
            changes = {"data.digest": found.digest}
            st.button("Train on this file", key="own data", on_click=questions.ask, args=(asked, session.base(), changes))


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
    given = st.file_uploader("File", key="data upload", help="Kept on the server under its digest, for your links.")
    if given is None:
        return data_file.served()
    return kept(given.name, given.getvalue())


def kept(name: str, content: bytes) -> data_file.DataFile:
    """Keep an uploaded file under its digest, so that no other of the same name takes its place; raises BadFile."""
    target = FOLDER / f"{sha256(content).hexdigest()}{'.gz' * name.endswith('.gz')}"
    try:
        FOLDER.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            unfinished = target.with_suffix(f".{uuid4().hex}")
            unfinished.write_bytes(content)
            unfinished.replace(target)
    except OSError as error:
        raise BadFile(f"The file cannot be kept on the server ({error.strerror}); try again later.") from error
    return data_file.known(target)
