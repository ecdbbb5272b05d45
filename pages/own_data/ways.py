"""The ways to give a data file: a typed path, an upload, or a name.

A typed path needs the token. Names are those of files in the folder named at start.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import streamlit as st
from streamlit.runtime.uploaded_file_manager import DeletedFile, UploadedFile

from engine.core.arithmetic import total
from engine.core.figures import count, figure
from engine.errors import BadFile
from engine.store import quota
from engine.units import MiB
from pages.answers import data_file, stored_uploads
from pages.answers.data_file import DataFile
from pages.data_page import data_folder, uploads
from pages.gate import access, upload_limits
from pages.gate.typed_path import expand_path
from pages.own_data import guess_panel
from pages.ui.plain import escape_markdown

PATH, UPLOAD, NAME = "data path", "data upload", "data name"
STORED, PLACES = "stored uploads", "places of uploads"  # files by the ids of an upload's parts; names and paths by id
Uploaded = Sequence[UploadedFile | DeletedFile]  # the latter is how Streamlit shows a file that was released


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
        help=f"The server stores the file under its digest, so that your links find it. {uploads.KEPT_SENTENCE}",
    )
    _draw_stored()
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


def _fields() -> tuple[str, Uploaded, str]:
    """Return the contents of the fields that this visitor may use."""
    state = st.session_state
    path = str(state.get(PATH) or "").strip() if access.is_trusted() else ""
    return path, state.get(UPLOAD) or (), str(state.get(NAME) or "")


def _keep_upload(uploaded: Uploaded) -> DataFile:
    """Return a visitor's upload, which is stored and then released from memory; raises BadFile."""
    file_ids = tuple(file.file_id for file in uploaded)
    files_by_ids: Mapping[tuple[str, ...], DataFile] = st.session_state.get(STORED, {})
    file = files_by_ids.get(file_ids)
    if file is None:
        contents = [_name_and_content(file) for file in uploaded]
        file = uploads.keep_upload(contents)
        paths = {content: file.path.with_name(name) for name, content in uploads.uploaded_files(file)}
        places = {file_id: (name, paths[content]) for file_id, (name, content) in zip(file_ids, contents, strict=True)}
        st.session_state[PLACES] = {**st.session_state.get(PLACES, {}), **places}
        st.session_state[STORED] = {**files_by_ids, file_ids: file}
        upload_limits.release(uploaded)
    elif not file.path.exists():
        raise BadFile(f"{file.path.name} {uploads.GONE}")
    quota.note_upload_use(file.path.parent)
    return guess_panel.with_mapping(file)


def _name_and_content(file: UploadedFile | DeletedFile) -> tuple[str, bytes]:
    """Return a file's name and content, from the disk if it was stored with other files before; raises BadFile."""
    if isinstance(file, UploadedFile):
        return file.name, file.getvalue()
    name, path = st.session_state.get(PLACES, {}).get(file.file_id, ("The uploaded file", Path()))
    try:
        return name, path.read_bytes()
    except OSError as error:
        raise BadFile(f"{name} {uploads.GONE}") from error


def _draw_stored() -> None:
    """Draw how long the visitor's uploads are kept, and a button to delete them."""
    own_uploads = stored_uploads.uploads_of(access.visitor())
    if not own_uploads:
        return
    own_bytes = total(quota.upload_bytes(upload.folder) for upload in own_uploads)
    with st.container(horizontal=True, vertical_alignment="center"):
        amount = f"{count(len(own_uploads), 'upload')} of {figure(own_bytes / MiB, 'MiB')}"
        st.caption(f"You have {amount} here. {uploads.KEPT_SENTENCE}", width="content")
        st.button("Delete my uploads", key="delete uploads", type="tertiary", on_click=_delete_own)


def _delete_own() -> None:
    """Delete the visitor's uploads, and say so; only in a callback."""
    try:
        num_deleted, num_left = stored_uploads.delete_own(access.visitor())
    except BadFile as error:
        st.toast(escape_markdown(str(error)), duration="infinite")
        return
    kept_note = f" {count(num_left, 'upload')} stayed, which a waiting, running or pinned run needs." if num_left else ""
    st.toast(f"{count(num_deleted, 'upload')} deleted.{kept_note}")
