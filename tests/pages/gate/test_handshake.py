"""The gate of a real server on loopback: which Host and Origin does it answer to, and who is trusted with paths?"""

import http.client
import os
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from pages.gate import access
from pages.gate.hosts import host_names
from pages.gate.middleware import Gate
from tests import ROOT
from tests.pages.gate.loop import finished

TOKEN, FOREIGN, ALLOWED = "a-token-of-this-test", "evil.example", ("lab.example", "deep.down.wild.example", "10.0.0.9")
OWN, OTHERS = ("localhost", "127.0.0.1", "[::1]", "LOCALHOST"), (FOREIGN, "localhost.evil.example", "0.0.0.0")
NAMES = {  # of the rows of docs/security.md that say a kind of name
    "another IP address": ("0.0.0.0", "192.168.7.7", "[fe80::7]"),
    "another name": (FOREIGN, "notlocalhost"),
    "a name that begins with the server's": ("localhost.evil.example", "lab.example.evil.example", "127.0.0.1.evil.example"),
}
# A page of one line instead of the explorer, behind the explorer's own gate: what is asked here needs no kernels.
PAGE = "import streamlit as st\nfrom pages.gate import access\nst.text(f'trusted: {access.is_trusted()}')\n"
VISITOR_PAGE = "import streamlit as st\nfrom pages.gate import access\nst.text(access.visitor())\n"
LAUNCH = "import sys; from pages.gate import launch; launch.SCRIPT = sys.argv[1]; sys.exit(launch.main(sys.argv[2:]))"
ARGUMENTS = ("--port=0", "--allow=lab.example, *.wild.example 10.0.0.9")


@contextmanager
def running(command, folder, **more):
    """Start a server; yields its process, whose output can be read."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "STREAMLIT_SERVER_HEADLESS": "true", **more}
    server = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        yield server
    finally:
        server.terminate()
        server.communicate(timeout=20)


def wait_for(port):
    """Wait until a server listens."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.05)
    raise AssertionError(f"nothing listens on port {port}")


def configured(folder):
    """Let a server of this folder have the explorer's configuration: no file is watched, nor garbage collected after each run."""
    (folder / ".streamlit").symlink_to(ROOT / ".streamlit")


@contextmanager
def gated(folder, page):
    """Serve a page behind the gate; yields the port, and what the server printed."""
    configured(folder)
    (folder / "page.py").write_text(page, encoding="utf-8")
    with running([sys.executable, "-c", LAUNCH, "page.py", *ARGUMENTS], folder, EMBERPOOL_TOKEN=TOKEN) as process:
        printed = process.stdout.readline() + process.stdout.readline()
        port = int(printed.partition("localhost:")[2].partition("/")[0])
        wait_for(port)
        yield port, printed


@pytest.fixture(scope="module")
def open_server(tmp_path_factory):
    """Return the port of a server that listens on all addresses."""
    folder = tmp_path_factory.mktemp("open")
    configured(folder)
    (folder / "page.py").write_text(PAGE, encoding="utf-8")
    with running([sys.executable, "-c", LAUNCH, "page.py", "--port=0", "--address=0.0.0.0"], folder) as process:
        port = int(process.stdout.readline().partition("localhost:")[2].partition("/")[0])
        wait_for(port)
        yield port


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Return the port of a server behind the gate, and what it printed."""
    with gated(tmp_path_factory.mktemp("gate"), PAGE) as place:
        yield place


def got(port, host, path="/", method="GET", **headers):
    """Return a request's status, the headers of its answer, and what it says."""
    asked = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        asked.request(method, path, headers={"Host": host, **{name.replace("_", "-"): text for name, text in headers.items()}})
        answer = asked.getresponse()
        return answer.status, answer.headers, answer.read().decode(errors="replace")
    finally:
        asked.close()


@contextmanager
def stream(port, host, origin=None, cookie=""):
    """Open the websocket of a page as a browser does at this address."""
    plain, more = socket.create_connection(("127.0.0.1", port), 20), {"Cookie": cookie} if cookie else {}
    with connect(
        f"ws://{host}/_stcore/stream", sock=plain, origin=origin, additional_headers=more, subprotocols=["streamlit"], proxy=None
    ) as found:
        yield found


def shaken(port, host, origin=None):
    """Return the status of a websocket's handshake: 101 where it opens."""
    try:
        with stream(port, host, origin):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


def said(port, host, cookie=""):
    """Return the text of the page as a visitor's websocket gets it."""
    with stream(port, host, f"http://{host}", cookie) as page:
        asked = BackMsg()
        asked.rerun_script.query_string = ""
        page.send(asked.SerializeToString())
        while True:
            message = ForwardMsg.FromString(page.recv(20))
            if text := message.delta.new_element.text.body:
                return text


def handshake_table():
    """Return the rows of docs/security.md's table: (names, whether the server listens on all addresses, answers by origin)."""
    text = (ROOT / "docs" / "security.md").read_text(encoding="utf-8").partition("\n| Host |")[2].partition("\n\n")[0]
    head, _, *rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in text.splitlines()]
    for row in rows:
        said, _, address = row[0].partition(", with ")
        names = NAMES.get(said) or re.findall(r"`([^`]+)`", said.partition(" of ")[0])
        yield names, bool(address), dict(zip(head, row[1:], strict=True))


def origins(name, port):
    """Return the origin of each column of the table for a page's name and port; None where a request has none."""
    return {
        "no origin": None,
        "own site": f"http://{name}:{port}",
        "own site by https": f"https://{name}:{port}",
        "own name, other port": f"http://{name}:{port + 1}",
        "another site": f"http://{FOREIGN}:{port}",
        "`null`": "null",
        "longer name": f"http://{name}.{FOREIGN}:{port}",
    }


@pytest.mark.parametrize(("names", "everywhere", "answers"), [pytest.param(*row, id=str(row[:2])) for row in handshake_table()])
def test_hosts_and_origins_are_answered_as_the_document_says(server, open_server, names, everywhere, answers):
    port = open_server if everywhere else server[0]
    for name in names:
        by_column = origins(name, port)
        assert by_column.keys() == answers.keys()
        for column, origin in by_column.items():
            sent, host = {"Origin": origin} if origin else {}, f"{name}:{port}"
            answered = {"answered": True, "refused": False}[answers[column]]
            found = [got(port, host, path, **sent)[0] for path in ("/", "/_stcore/health", "/_stcore/host-config")]
            assert found == [200 if answered else 403] * 3, (host, origin)
            assert shaken(port, host, origin) == (101 if answered else 403), (host, origin)


@pytest.mark.parametrize(
    "host", ["", " ", "localhost@evil.example", "evil.example#localhost", "localhost/", "localhost:x", "[::1"]
)
def test_what_is_no_name_is_no_name_of_the_server(server, host):
    port, _ = server
    assert got(port, host)[0] in (400, 403)


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize("name", ["host", "origin"])
def test_a_second_host_or_origin_does_not_hide_behind_the_first(kind, name):
    """The pinned server refuses two hosts by itself; another one might not."""
    texts = {"host": ["localhost:1"], "origin": ["http://localhost:1"]}
    sent, reached = [], []

    async def inside(scope, receive, send):
        reached.append(scope)

    async def send(message):
        sent.append(message)

    for more in ([], [f"{FOREIGN}:1" if name == "host" else f"http://{FOREIGN}:1"]):
        headers = [(key.encode(), text.encode()) for key in texts for text in texts[key] + (more if key == name else [])]
        scope = {"type": kind, "method": "GET", "path": "/", "query_string": b"", "headers": headers}
        finished(Gate(inside, host_names(("127.0.0.1",)))(scope, None, send))
    assert len(reached) == 1, "one of each is answered, two are not"
    assert (sent[0]["status"] == 403) if kind == "http" else (sent == [{"type": "websocket.close", "code": 1008, "reason": ""}])


def test_a_refusal_says_how_to_allow_a_name_and_holds_none(server):
    status, headers, text = got(server[0], f"{FOREIGN}:1")
    assert status == 403 and "ALLOW=NAME" in text and FOREIGN not in text and headers["Content-Type"].startswith("text/plain")


def test_the_printed_address_gives_trust_and_leaves_no_token_behind(server):
    port, printed = server
    host = f"localhost:{port}"
    assert f"http://{host}/?token={TOKEN}" in printed and "listens on" not in printed
    status, headers, _ = got(port, host, f"/design?preset=tiny&token={TOKEN}&axis=a%3Ab&axis=c%20d")
    assert (status, headers["Location"]) == (303, "/design?preset=tiny&axis=a%3Ab&axis=c%20d")
    cookie, *rules = headers["Set-Cookie"].split("; ")
    assert {"httponly", "path=/", "samesite=strict"} == {rule.lower() for rule in rules}
    assert TOKEN not in str(got(port, host, headers["Location"], Cookie=cookie)[1:])
    assert got(port, host, f"/?%74oken={TOKEN}&a=1")[1]["Location"] == "/?a=1", "however it is written"
    assert said(port, host, cookie) == "trusted: True"


def test_without_the_token_or_with_a_wrong_one_nobody_is_trusted(server):
    port, _ = server
    host = f"localhost:{port}"
    for token in ("", "wrong", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "%00", "%C3%A9"):
        status, headers, _ = got(port, host, f"/?token={token}")
        assert (status, headers["Location"], headers["Set-Cookie"]) == (303, "/", None), token
    for cookie in ("", access.cookie_name(host) + "=wrong", access.cookie_name("localhost:1") + f"={TOKEN}"):
        assert said(port, host, cookie) == "trusted: False", cookie


def test_each_browser_gets_a_secret_of_its_own_with_its_first_page(server):
    port, _ = server
    host, name = f"localhost:{port}", access.cookie_name(f"localhost:{port}", "visitor")
    secrets = set()
    for sent in ("", f"{name}=", f"{name}=short", f"{name}={'a' * 44}", f"{access.cookie_name(host)}={TOKEN}"):
        status, headers, _ = got(port, host, Accept="text/html,*/*", Cookie=sent)
        cookie, *rules = headers["Set-Cookie"].split("; ")
        assert status == 200 and cookie.startswith(f"{name}=") and access.is_secret(cookie.partition("=")[2])
        # Lax: a link from another site would replace a strict cookie, which it does not send.
        assert {"httponly", "path=/", "samesite=lax"} < {rule.lower() for rule in rules} and any("Max-Age=" in r for r in rules)
        secrets.add(cookie)
    assert len(secrets) == 5
    assert got(port, host, Accept="text/html", Cookie=cookie)[1]["Set-Cookie"] is None, "a browser keeps its secret"
    for other in ("/_stcore/health", "/no-such-file.js"):
        assert "emberpool" not in str(got(port, host, other, Accept="*/*")[1]["Set-Cookie"])


def test_a_secret_sent_over_https_stays_there():
    sent = []

    async def inside(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message):
        sent.append(dict(message["headers"]))

    headers = [(b"host", b"localhost"), (b"accept", b"text/html")]
    for scheme in ("http", "https"):
        scope = {"type": "http", "scheme": scheme, "method": "GET", "path": "/", "query_string": b"", "headers": headers}
        finished(Gate(inside, host_names(("127.0.0.1",)))(scope, None, send))
    assert [b"Secure" in answer[b"set-cookie"] for answer in sent] == [False, True]


def test_a_visitor_is_known_by_the_secret_in_all_sessions_and_never_shown_with_it(tmp_path):
    with gated(tmp_path, VISITOR_PAGE) as (port, _):
        host, secrets = f"localhost:{port}", [access.new_secret(), access.new_secret()]
        cookies = [f"{access.cookie_name(host, 'visitor')}={secret}" for secret in secrets]
        first, again, other = said(port, host, cookies[0]), said(port, host, cookies[0]), said(port, host, cookies[1])
        assert first == again != other and {first[:8], other[:8]} == {"visitor "}
        assert not any(secret in text for secret in secrets for text in (first, other))
        elsewhere = f"{access.cookie_name('localhost:1', 'visitor')}={secrets[0]}"
        sessions = {said(port, host, cookie) for cookie in ("", "", cookies[0] + "x", elsewhere)}
        assert len(sessions) == 4 and all(text.startswith("session ") for text in sessions), "without a secret: the session"


@pytest.mark.parametrize("path", ["//evil.example/", "/\\evil.example", "///evil.example/%2f.."])
def test_a_token_leads_to_no_other_site(server, path):
    assert got(server[0], "localhost", f"{path}?token={TOKEN}")[1]["Location"].startswith("/evil.example")


def test_no_other_site_or_port_may_frame_any_answer(server):
    port, _ = server
    answers = [got(port, "localhost", path)[:2] for path in ("/", f"/?token={TOKEN}", "/_stcore/health", "/no-such-file.js")]
    answers += [got(port, FOREIGN)[:2], got(port, "localhost", Origin="http://localhost:1")[:2]]
    assert [status for status, _ in answers][:3] == [200, 303, 200] and [status for status, _ in answers][4:] == [403, 403]
    for _, headers in answers:
        assert headers.get_all("Content-Security-Policy") == ["frame-ancestors 'self'"]
        assert headers.get_all("X-Frame-Options") == ["SAMEORIGIN"]


@pytest.mark.slow
def test_the_explorer_alone_opens_no_websocket_to_another_site_and_trusts_nobody(tmp_path):
    """A bare `streamlit run app.py`: its configuration names loopback, and there is no token."""
    configured(tmp_path)
    (tmp_path / "page.py").write_text(PAGE, encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with running([sys.executable, "-m", "streamlit", "run", "page.py", "--server.port", str(port)], tmp_path):
        wait_for(port)
        assert [shaken(port, f"{name}:{port}") for name in OWN] == [101] * len(OWN)
        assert [shaken(port, f"{name}:{port}", f"http://{name}:{port}") for name in (*OTHERS, *ALLOWED)] == [403] * 6
        cookie = f"{access.cookie_name(f'localhost:{port}')}={TOKEN}"
        assert said(port, f"localhost:{port}", cookie) == said(port, f"localhost:{port}") == "trusted: False"
