"""A visitor without a browser: speaks the websocket of Streamlit's pages, and runs their timers as a browser does."""

from contextlib import ExitStack
from time import monotonic
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

SUCCESS = ForwardMsg.FINISHED_SUCCESSFULLY


class NeverComes(Exception):
    """Raised for a move whose page is not drawn in time."""


class PageRuns:
    """The runs of whole pages that a server's messages tell of.

    hashes: the pages' hashes by name. page: the page of the newest run, "" before the run has named it.
    """

    def __init__(self):
        self.hashes, self.page, self._begun, self._drawn = {}, "", False, []

    def forget(self):
        """Forget all runs that have begun before now."""
        self._begun, self._drawn = False, []

    def has_drawn(self, page=""):
        """Return whether a page, "" for any, has begun and is drawn.

        On a busy server, pages that were asked for before may be drawn in between.
        """
        return bool(self._drawn) and page in ("", *self._drawn)

    def note(self, message):
        """Note a message of the server."""
        kind = message.WhichOneof("type")
        if kind == "new_session" and not message.metadata.run.fragment_ids:
            self._begun, self.page = True, ""
        elif kind == "navigation":
            self.hashes = {page.url_pathname: page.page_script_hash for page in message.navigation.app_pages}
            self.page = next((name for name, key in self.hashes.items() if key == message.navigation.page_script_hash), "")
        elif kind == "script_finished" and message.script_finished == SUCCESS and self._begun:
            self._drawn.append(self.page)


class Client:
    """A session of the explorer: its pages and widgets as the server has named them, and the errors that it was shown."""

    def __init__(self, port, page="", patience=90.0, **query):
        self.errors, self.widgets, self.timers, self.query = [], {}, {}, urlencode(query, doseq=True)
        self.page, self._running, self._port, self._patience = page, False, port, patience
        self._runs, self._drawn_widgets = PageRuns(), {}  # the widgets of the newest run of a whole page
        self._opened = ExitStack()
        self._open()
        self.first_seconds = self.move()

    def _open(self):
        host = f"127.0.0.1:{self._port}"
        options = {"subprotocols": ["streamlit"], "max_size": None, "proxy": None}
        # Browsers send no pings, and wait for a busy server.
        opening = connect(
            f"ws://{host}/_stcore/stream", origin=f"http://{host}", ping_interval=None, open_timeout=None, **options
        )
        self._socket = self._opened.enter_context(opening)

    def close(self):
        """Leave, as who closes the browser's tab."""
        self._opened.close()

    def send(self, key="", state=None, page="", fragment=""):
        """Ask for a run: of another page, with one widget's state changed, or of a fragment whose timer is due."""
        message = BackMsg()
        run, hashes = message.rerun_script, self._runs.hashes
        run.query_string, run.fragment_id, run.is_auto_rerun = self.query, fragment, bool(fragment)
        if page and page != self.page:
            self.page, run.query_string, self.widgets = page, "", {}
        run.page_name, run.page_script_hash = ("", hashes[self.page]) if self.page in hashes else (self.page, "")
        if key:
            changed = run.widget_states.widgets.add(id=self.widgets[key])
            setattr(changed, *state)
        if page:
            self.timers.clear()
        self._socket.send(message.SerializeToString())

    def move(self, key="", state=None, page=""):
        """Ask for a run and wait until the page is drawn; returns its seconds. Raises NeverComes."""
        start = monotonic()
        self._runs.forget()
        self.send(key, state, page)
        while not self._runs.has_drawn(page):
            if self._receive(start + self._patience - monotonic()) is None:
                raise NeverComes(f"{page or self.page or 'the first page'} is not drawn after {self._patience:.0f} s")
        return monotonic() - start

    def think(self, seconds):
        """Look at the page for some seconds; fragments with a timer are asked for again and again."""
        end = monotonic() + seconds
        while (left := end - monotonic()) > 0:
            due = min((at for at, _ in self.timers.values()), default=end) - monotonic()
            if due <= 0 and not self._running:
                fragment = min(self.timers, key=self.timers.__getitem__)
                self.timers[fragment] = monotonic() + self.timers[fragment][1], self.timers[fragment][1]
                self._running = True
                self.send(fragment=fragment)
            self._receive(min(left, max(due, 0.05)))

    def _receive(self, seconds):
        """Return the next message, None without one in time; what it says of pages, widgets and errors is kept."""
        try:
            message = ForwardMsg.FromString(self._socket.recv(max(seconds, 0)))
        except TimeoutError:
            return None
        kind = message.WhichOneof("type")
        self._runs.note(message)
        if kind == "delta":
            self._keep_element(message.delta.new_element)
        elif kind == "navigation":
            self.page = self._runs.page or self.page
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "new_session":
            self._running = True
            if not message.metadata.run.fragment_ids:
                self._drawn_widgets = {}
        elif kind == "script_finished":
            self._running = False
            if message.script_finished == SUCCESS:
                self.widgets = dict(self._drawn_widgets)  # others are of an earlier page
        elif kind in ("page_not_found", "session_event") and message.session_event.WhichOneof("type") != "script_changed_on_disk":
            self.errors.append(f"{self.page}: {message}")
        self._keep_timers(kind, message)
        return message

    def _keep_timers(self, kind, message):
        if kind == "auto_rerun":
            interval = message.auto_rerun.interval
            self.timers[message.auto_rerun.fragment_id] = monotonic() + interval, interval
        elif kind == "stop_auto_rerun":
            for fragment in message.stop_auto_rerun.fragment_ids:
                self.timers.pop(fragment, None)
        elif kind == "new_session" and not message.metadata.run.fragment_ids:
            self.timers.clear()  # as browsers do when the whole page is drawn

    def _keep_element(self, element):
        kind = element.WhichOneof("type")
        if kind == "exception":
            self.errors.append(f"{self.page}: {element.exception.type} {element.exception.message}")
        elif kind == "alert" and element.alert.format == element.alert.ERROR:
            self.errors.append(f"{self.page}: {element.alert.body}")
        elif kind and hasattr(content := getattr(element, kind), "id") and content.id.count("-") >= 2:
            self.widgets[content.id.split("-", 2)[2]] = self._drawn_widgets[content.id.split("-", 2)[2]] = content.id
