"""The crowd's visitors on a busy server: pages that were asked for before, and a browser that draws fast."""

from http import HTTPStatus
from threading import Thread

import pytest
from playwright.sync_api import sync_playwright
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.server import serve

from pages.shell.places import PLACES
from tests.pages.load.browser import BrowserVisitor
from tests.pages.load.client import SUCCESS, Client
from tests.pages.load.crowd import BANDWIDTH, Report

# A page whose server draws the page of a pressed link in one go: its state stays as it is.
PAGE = """<body><div data-testid="stApp" data-test-connection-state="CONNECTED" data-test-script-state="notRunning">Pages</div>
<script>
const socket = new WebSocket(`ws://${location.host}/`)
for (const name of ['Start', 'Decide', 'Design', 'Search', 'Failures', 'Data', 'Evidence', 'Runs']) {
  const link = document.body.appendChild(document.createElement('a'))
  link.textContent = link.href = name
  link.onclick = event => {
    event.preventDefault()
    history.pushState(null, '', '/' + name.toLowerCase())
    socket.send(name)
  }
}</script></body>"""


class BusyServer:
    """A websocket that answers each request by drawing the pages of the next answer."""

    def __init__(self, *answers):
        self._answers, self._messages = [*answers], []

    def send(self, request):
        self._messages += [message for page in self._answers.pop(0) for message in messages_of(page)]

    def recv(self, seconds):
        return self._messages.pop(0).SerializeToString()


class Visitor(Client):
    """A client of such a server, on the page Evidence."""

    def __init__(self, *answers):
        self._answers = ["evidence"], *answers
        super().__init__(0, "evidence")

    def _open(self):
        self._socket = BusyServer(*self._answers)


def messages_of(page):
    """Return the messages of a page's run; Design has the knob."""
    begin, navigation, widget, end = (ForwardMsg() for _ in range(4))
    begin.new_session.page_script_hash = navigation.navigation.page_script_hash = page
    for place in PLACES:
        navigation.navigation.app_pages.add(url_pathname=place, page_script_hash=place)
    widget.delta.new_element.text_input.id = f"$$ID-0123-{BANDWIDTH if page == 'design' else 'find'}"
    end.script_finished = SUCCESS
    return [begin, navigation, widget, end]


def test_a_move_waits_for_its_own_page_among_those_that_were_asked_for_before():
    client = Visitor(["evidence", "design"])
    client.move(page="design")
    assert client.page == "design" and BANDWIDTH in client.widgets


def test_a_page_has_no_widgets_of_one_that_was_drawn_before_it():
    client = Visitor(["design", "evidence"])
    client.move(page="evidence")
    assert client.widgets.keys() == {"find"}


def _answer_request(connection, request):
    """Return Streamlit's part of a page; None for a websocket."""
    if "Upgrade" in request.headers:
        return None
    response = connection.respond(HTTPStatus.OK, PAGE)
    del response.headers["Content-Type"]
    response.headers["Content-Type"] = "text/html"
    return response


def _draw(socket):
    for name in socket:
        for message in messages_of(name.lower()):
            socket.send(message.SerializeToString())


@pytest.mark.browser
def test_a_browser_notes_pages_that_were_drawn_too_fast_to_be_seen_running():
    report = Report()
    with serve(_draw, "127.0.0.1", 0, process_request=_answer_request) as server, sync_playwright() as driver:
        Thread(target=server.serve_forever).start()
        visitor = BrowserVisitor(server.socket.getsockname()[1], report, 10.0)
        browser, page = visitor.open(driver)
        assert visitor.move(page) < 10.0 and not report.errors
        browser.close()
        server.shutdown()
