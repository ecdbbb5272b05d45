"""A visitor without a browser: speaks the websocket of Streamlit's pages, and runs their timers as a browser does."""

from contextlib import ExitStack
from time import monotonic
from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

SUCCESS, EARLY = ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_EARLY_FOR_RERUN


class NeverComes(Exception):
    """Raised for a move whose page is not drawn in time."""


class Client:
    """A session of the explorer: its pages and widgets as the server has named them, and the errors that it was shown."""

    def __init__(self, port, page="", patience=90.0, **query):
        self.errors, self.widgets, self.hashes, self.timers, self.query = [], {}, {}, {}, urlencode(query, doseq=True)
        self.page, self._running, self._port, self._patience = page, False, port, patience
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
        run = message.rerun_script
        run.query_string, run.fragment_id, run.is_auto_rerun = self.query, fragment, bool(fragment)
        if page and page != self.page:
            self.page, run.query_string, self.widgets = page, "", {}
        run.page_name, run.page_script_hash = ("", self.hashes[self.page]) if self.page in self.hashes else (self.page, "")
        if key:
            changed = run.widget_states.widgets.add(id=self.widgets[key])
            setattr(changed, *state)
        if page:
            self.timers.clear()
        self._socket.send(message.SerializeToString())

    def move(self, key="", state=None, page=""):
        """Ask for a run and wait until the page is drawn; returns its seconds. Raises NeverComes."""
        start, began = monotonic(), False
        self.send(key, state, page)
        while True:
            message = self._receive(start + self._patience - monotonic())
            if message is None:
                raise NeverComes(f"{self.page or 'the first page'} is not drawn after {self._patience:.0f} s")
            began = began or message.WhichOneof("type") == "new_session"
            if message.WhichOneof("type") == "script_finished" and began and message.script_finished == SUCCESS:
                return monotonic() - start
            if message.WhichOneof("type") == "script_finished" and message.script_finished != EARLY:
                began = False

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
        if kind == "delta":
            self._keep_element(message.delta.new_element)
        elif kind == "navigation":
            self.hashes = {page.url_pathname: page.page_script_hash for page in message.navigation.app_pages}
            self.page = next((name for name, key in self.hashes.items() if key == message.navigation.page_script_hash), self.page)
        elif kind == "page_info_changed":
            self.query = message.page_info_changed.query_string
        elif kind == "new_session":
            self._running = True
        elif kind == "script_finished":
            self._running = False
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
            self.widgets[content.id.split("-", 2)[2]] = content.id
