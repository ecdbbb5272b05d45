"""Raw uploads to a real server: how many bytes, for which sessions, and on which pages does it take them into memory?"""

import http.client
import re
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from pages.gate import upload_limits
from pages.gate.upload_limits import UploadLimits
from tests import HANG_SECONDS, ROOT
from tests.pages.gate.loop import finished
from tests.pages.gate.test_handshake import gated, got, stream

MB = 1 << 20
# Like the explorer: one page has a field for uploads, and releases the file that its visitor has sent; another page has none.
PAGE = f"""import streamlit as st
from streamlit import runtime
from pages.gate import upload_limits
upload_limits.SESSION_BYTES, upload_limits.SERVER_BYTES, upload_limits.SESSION_FILES = {5 * MB}, {8 * MB}, 4
page = st.query_params.get("page", "")
upload_limits.enter_page(page)
if page == "start":
    upload_limits.take_uploads()
if page == "start" and "store" in st.query_params:
    files = runtime.get_instance().uploaded_file_mgr.file_storage
    upload_limits.release(list(files[st.runtime.scriptrunner.get_script_run_ctx().session_id].values()))
st.text(f"drawn {{st.query_params}}")
"""
HEAD, TAIL = b'--B\r\nContent-Disposition: form-data; name="f"; filename="x.csv"\r\n\r\n', b"\r\n--B--\r\n"


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    """Return the port of a server behind the gate."""
    with gated(tmp_path_factory.mktemp("limits"), PAGE) as (port, _):
        yield port


@contextmanager
def visit(port, query):
    """Open a page as a browser does; yields (session, function that goes on to other parameters)."""
    with stream(port, f"localhost:{port}", f"http://localhost:{port}") as page:
        session = ""

        def go_on(query):
            nonlocal session
            asked = BackMsg()
            asked.rerun_script.query_string = query
            page.send(asked.SerializeToString())
            while True:
                message = ForwardMsg.FromString(page.recv(HANG_SECONDS))
                session = session or message.new_session.initialize.session_id
                if message.HasField("script_finished"):
                    return

        go_on(query)
        yield session, go_on
        go_on("page=start&store=1")  # files of sessions that have ended would stay in memory for two minutes


def put(port, session, name, nbytes, **more):
    """Send a file of some bytes as a raw client; return the status, and what the server says."""
    host = f"localhost:{port}"
    xsrf = re.search(r"_streamlit_xsrf=([^;]+)", got(port, host, "/_stcore/health")[1]["Set-Cookie"])[1]
    headers = {"Host": host, "Cookie": f"_streamlit_xsrf={xsrf}", "X-Xsrftoken": xsrf}
    headers |= {"Content-Type": "multipart/form-data; boundary=B", "Content-Length": str(nbytes + len(HEAD + TAIL))} | more
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=HANG_SECONDS)
    try:
        with suppress(ConnectionError):  # a server that refuses need not read all
            body, chunked = HEAD + bytes(nbytes) + TAIL, "Transfer-Encoding" in more
            client.request("PUT", f"/_stcore/upload_file/{session}/{name}", body, headers, encode_chunked=chunked)
        answer = client.getresponse()
        return answer.status, answer.read().decode()
    finally:
        client.close()


def test_a_session_parks_no_more_than_its_limit_until_the_page_releases_it(port):
    with visit(port, "page=start") as (session, go_on):
        assert [put(port, session, name, 2 * MB)[0] for name in "ab"] == [204, 204]
        status, sentence = put(port, session, "c", 2 * MB)
        assert status == 413 and "6.00 MiB" in sentence and "5.00 MiB" in sentence and "reload the page" in sentence
        go_on("page=start&store=1")
        assert put(port, session, "c", 2 * MB)[0] == 204, "released files take no memory"
        assert [put(port, session, name, 1)[0] for name in "defg"] == [204, 204, 204, 413], "many small ones are bounded too"


def test_all_sessions_park_no_more_than_the_servers_limit(port):
    with visit(port, "page=start") as (one, _), visit(port, "page=start") as (other, _):
        found = [put(port, session, name, 2 * MB) for session in (one, other) for name in "ab"]
        assert [status for status, _ in found] == [204, 204, 204, 503]
        assert "8.00 MiB" in found[-1][1] and "try again" in found[-1][1]


def test_a_page_without_a_field_takes_no_uploads(port):
    with visit(port, "page=runs") as (session, go_on):
        assert put(port, session, "a", 1)[0] == 403 and "open Start" in put(port, session, "a", 1)[1]
        go_on("page=start")
        assert put(port, session, "a", 1)[0] == 204
        go_on("page=runs")
        assert put(port, session, "a", 1)[0] == 403
    assert put(port, session, "a", 1)[0] in (400, 403), "a session that has ended"
    assert put(port, "no-session", "a", 1)[0] == put(port, "", "a", 1)[0] == 403


def test_a_body_is_refused_by_its_announced_length_before_it_is_read(port):
    with visit(port, "page=start") as (session, _):
        assert put(port, session, "a", 0, **{"Content-Length": str(65 * MB)})[0] == 413
        for length in ("9" * 30, "-1", "x", "1e3"):
            assert put(port, session, "a", 1, **{"Content-Length": length})[0] in (400, 411), length
        assert put(port, session, "a", 1, **{"Transfer-Encoding": "chunked", "Content-Length": "1"})[0] in (400, 411)


def test_announced_bytes_count_while_they_arrive(monkeypatch):
    """Of ten uploads at once not more are let in than fit together."""
    manager = MemoryUploadedFileManager("/")
    manager.add_file("one", UploadedFileRec("old", "x", "", bytes(MB)))
    monkeypatch.setattr(upload_limits.runtime, "exists", lambda: True)
    monkeypatch.setattr(upload_limits.runtime, "get_instance", lambda: SimpleNamespace(uploaded_file_mgr=manager))
    monkeypatch.setattr(upload_limits, "_open_sessions", {"one"})
    monkeypatch.setattr(upload_limits, "SESSION_BYTES", 5 * MB)
    statuses, levels = [], []

    async def inside(scope, receive, send):
        levels.append(1)
        await ask(len(levels))
        statuses.append(204)

    async def ask(number):
        async def send(message):
            statuses.extend([message["status"]] if "status" in message else [])

        headers = [(b"content-length", b"%d" % MB)]
        if number < 10:
            await limited({"type": "http", "method": "PUT", "path": "/_stcore/upload_file/one/x", "headers": headers}, None, send)

    limited = UploadLimits(inside)
    finished(ask(0))
    assert statuses == [413, 204, 204, 204, 204], "one of five is there already"
    levels.clear()
    finished(ask(0))
    assert statuses.count(204) == 8, "what has arrived is counted once only"


def test_each_field_for_uploads_is_announced_to_the_gate():
    """A field whose page does not say that it takes uploads would never get a file."""
    files = [path for path in Path(ROOT, "pages").rglob("*.py") if "file_uploader(" in path.read_text(encoding="utf-8")]
    assert len(files) == 3
    for path in files:
        assert re.search(r"take_uploads\(\)\n.*file_uploader\(", path.read_text(encoding="utf-8")), path
