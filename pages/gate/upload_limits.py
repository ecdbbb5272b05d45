"""Limits on uploads while they are in the server's memory, by session and in total.

Streamlit keeps an uploaded file in memory until its session ends or a page releases it. It takes files for every open session,
whether or not its page has a field for them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit import runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import DeletedFile, UploadedFile

from engine.core.arithmetic import total
from engine.core.figures import count, figure
from engine.units import MiB

SESSION_BYTES, SERVER_BYTES = 192 * MiB, 768 * MiB  # a session has three of the largest files, the server those of four sessions
SESSION_FILES = 100
PAGE = "page of uploads"
_open_sessions: set[str] = set()  # sessions whose page has a field for uploads


def enter_page(page: str) -> None:
    """Refuse this session's uploads if it has gone on to another page; call before the page is drawn."""
    if st.session_state.get(PAGE) != page:
        st.session_state[PAGE] = page
        _open_sessions.discard(_session())


def take_uploads() -> None:
    """Take uploads of this session until it goes on to another page; call where a field for uploads is drawn."""
    if runtime.exists():
        is_active = runtime.get_instance().is_active_session
        _open_sessions.intersection_update({session for session in tuple(_open_sessions) if is_active(session)})
    _open_sessions.add(_session())


def release(files: Iterable[UploadedFile | DeletedFile]) -> None:
    """Remove files of this session from the server's memory, once they are stored or read."""
    context = get_script_run_ctx()
    for file in files:
        if context and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
            context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)
        if isinstance(file, UploadedFile):
            file.truncate(0)  # the session has this object until it is drawn again


class UploadLimits:
    """An ASGI application that refuses uploads without a field on the page, and above the limits."""

    def __init__(self, app: ASGIApp) -> None:
        self._app, self._arriving = app, Counter[str]()  # bytes that have been announced and not yet received, by session

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; a body is only read if its announced length fits."""
        if scope["type"] != "http" or scope["method"] != "PUT":  # Streamlit takes files by PUT alone
            return await self._app(scope, receive, send)
        session, headers = scope["path"].rpartition("/")[0].rpartition("/")[2], Headers(scope=scope)
        length = headers.get("content-length", "")
        nbytes = int(length) if length.isdecimal() and len(length) < 16 and "transfer-encoding" not in headers else -1
        if refusal := self._refusal(session, nbytes):
            status, sentence = refusal
            # The body is not read, so the connection cannot serve another request.
            response = PlainTextResponse(f"{sentence}\n", status, {"X-Content-Type-Options": "nosniff", "Connection": "close"})
            return await response(scope, receive, send)
        self._arriving[session] += nbytes
        try:
            await self._app(scope, receive, send)
        finally:
            self._arriving[session] -= nbytes
            self._arriving += Counter()  # drops sessions without bytes

    def _refusal(self, session: str, nbytes: int) -> tuple[int, str] | None:
        """Return the status and the sentence for an upload that is refused, or None."""
        if session not in _open_sessions:
            return 403, "This page has no field for uploads; open Start, and upload the file there."
        if nbytes < 0:
            return 411, "An upload must announce its length; send it with the header Content-Length, and not in chunks."
        files_by_session = _files_in_memory()
        num_files, session_bytes = files_by_session.get(session, (0, 0))
        if num_files >= SESSION_FILES:
            return 413, f"{count(num_files, 'uploaded file')} of this page are in memory, which is the limit; reload the page."
        session_bytes += nbytes + self._arriving[session]
        if session_bytes > SESSION_BYTES:
            return 413, (
                f"The uploads of this page would take {_text(session_bytes)} of memory, and at most {_text(SESSION_BYTES)} are "
                "allowed; reload the page and upload less, or name the file with make run DATA=FILE."
            )
        server_bytes = nbytes + total(size for _, size in files_by_session.values()) + self._arriving.total()
        if server_bytes > SERVER_BYTES:
            return 503, (
                f"The uploads of all visitors would take {_text(server_bytes)} of memory, and at most {_text(SERVER_BYTES)} are "
                "allowed; try again in a few minutes."
            )
        return None


def _files_in_memory() -> Mapping[str, tuple[int, int]]:
    """Return (files, bytes) that the server has in memory, by session."""
    manager = runtime.get_instance().uploaded_file_mgr if runtime.exists() else None
    if not isinstance(manager, MemoryUploadedFileManager):
        return {}
    # Other threads change the dictionaries; a list of one is made in a single step.
    records = {session: list(files.values()) for session, files in list(manager.file_storage.items())}
    return {session: (len(files), sum(len(file.data) for file in files)) for session, files in records.items()}


def _session() -> str:
    context = get_script_run_ctx()
    return context.session_id if context else ""


def _text(nbytes: int) -> str:
    return figure(nbytes / MiB, "MiB")
