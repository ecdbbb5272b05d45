"""The ways to give a data file: a typed path, an upload, or a name.

A typed path needs the token. Names are those of files in the folder named at start.
"""

from collections.abc import Sequence

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from engine.errors import BadFile
from pages.answers import data_file
from pages.answers.data_file import DataFile
from pages.data_page import data_folder, uploads
from pages.gate import access, upload_limits
from pages.gate.typed_path import expand_path
from pages.own_data import guess_panel

PATH, UPLOAD, NAME = "data path", "data upload", "data name"


def draw() -> None:
    """Draw each way to give a file that this visitor may use."""
    trusted, names = access.is_trusted(), data_folder.names()
    if trusted:
        st.text_input("Path of the file on this computer", key=PATH, placeholder="/data/train.txt")
    upload_limits.take_uploads()
    st.file_uploader(
        "Upload a data file, with all files that belong to it",
        key=UPLOAD,
        accept_multiple_files=True,
        help="The server stores the file under its digest, so that your links find it.",
    )
    if names:
        st.selectbox("File in the folder that was named at start", names, index=None, key=NAME)
    if not trusted:
        st.caption(access.TOKEN_HINT)
    path, uploaded, name = _fields()
    if sum(map(bool, (path, uploaded, name))) > 1:
        st.caption("Several files are given here, and the first is used; empty its field to use the next file.")


def given_file() -> DataFile | None:
    """Return the first file that a field names, else the file named at start.

    Return None without a file; raises BadFile.
    """
    path, uploaded, name = _fields()
    if path:
        return data_file.register(expand_path(path), data_file.TYPED)
    if uploaded:
        return _keep_upload(uploaded)
    return data_folder.named_file(name) if name else data_file.start_file()


def is_given() -> bool:
    """Return whether a field names a file."""
    return any(_fields())


def _fields() -> tuple[str, Sequence[UploadedFile], str]:
    """Return the contents of the fields that this visitor may use."""
    state = st.session_state
    path = str(state.get(PATH) or "").strip() if access.is_trusted() else ""
    return path, state.get(UPLOAD) or (), str(state.get(NAME) or "")


def _keep_upload(uploaded: Sequence[UploadedFile]) -> DataFile:
    """Keep a visitor's upload, which the visitor may see from now on; raises BadFile."""
    if cut := next((file.name for file in uploaded if len(file.getvalue()) != file.size), ""):
        raise BadFile(f"Only a part of {cut} arrived; upload the file again.")
    contents = [(file.name, file.getvalue()) for file in uploaded]
    file = guess_panel.with_mapping(uploads.keep_upload(contents), contents)
    st.session_state[data_file.UPLOADS] = {*st.session_state.get(data_file.UPLOADS, ()), file.digest}
    return file
