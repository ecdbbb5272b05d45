"""Two browsers with cookies of their own at a real server behind the gate: whose run can which of them change?"""

from contextlib import contextmanager
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from engine.service import history
from engine.store import requests
from engine.store.database import DEFAULT
from pages.gate import access
from tests.pages.gate.test_handshake import TOKEN, gated, stream
from tests.service_fakes import ask, scenarios

# All runs as if they were chosen on the page Runs; then the same buttons without being disabled for anybody.
PAGE = """
import streamlit as st
from engine.service import history
from pages.answers import runs
from pages.gate import access
from pages.runs_page import history_panel
st.text(access.visitor())


def draw():
    entries = history.past_requests(runs.STORE)
    history_panel.draw(entries)
    numbers = [run.request for run in entries]
    st.button("Cancel as drawn for all", on_click=history_panel._cancel, args=(numbers,))
    for label, change in (("Pin", (history.pin, numbers, True)), ("Delete for good", (history.delete, numbers))):
        st.button(f"{label} as drawn for all", on_click=history_panel._change_store, args=change)


st.fragment(draw)()
"""


class Browser:
    """A client that sends what it likes: it presses buttons by their ids, also those that are drawn as disabled."""

    def __init__(self, page) -> None:
        self.page, self.buttons, self.texts, self.toasts = page, {}, [], []
        self.run()

    def run(self, pressed: str = "") -> None:
        """Run the page, with one button pressed, and note what it draws."""
        sent = BackMsg()
        sent.rerun_script.query_string = ""
        if pressed:
            state = sent.rerun_script.widget_states.widgets.add()
            state.id, state.trigger_value = pressed, True
        self.page.send(sent.SerializeToString())
        while (message := ForwardMsg.FromString(self.page.recv(60))).WhichOneof("type") != "script_finished":
            element = message.delta.new_element
            if element.button.id:
                self.buttons[element.button.label] = (element.button.id, element.button.disabled)
            self.texts += [element.text.body] if element.text.body else []
            self.toasts += [element.toast.body] if element.toast.body else []


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    with gated(folder, PAGE) as (port, _):
        yield f"localhost:{port}", port, folder / DEFAULT


@contextmanager
def browser(place, secret: str, **more: str):
    host, port, _ = place
    cookies = {access.cookie_name(host, "visitor"): secret, **more}
    with stream(port, host, f"http://{host}", "; ".join(f"{name}={text}" for name, text in cookies.items())) as page:
        yield Browser(page)


def rows(path: Path) -> list[tuple[object, ...]]:
    return ask(path, "SELECT id, state, pinned FROM requests ORDER BY id")


@pytest.mark.parametrize("label", ["Cancel", "Pin", "Delete for good"])
def test_another_browser_changes_no_run_and_its_owner_and_an_operator_do(place, label: str) -> None:
    host, _, path = place
    secrets = [access.new_secret() for _ in range(3)]
    with browser(place, secrets[0]) as page:
        owner = page.texts[0]
    token = {access.cookie_name(host): TOKEN}
    for secret, more in ((secrets[0], {}), (secrets[2], token)):
        history.delete(path, [run.request for run in history.past_requests(path)], requests.COMMAND)
        requests.submit(path, scenarios([1]), "full", owner=owner)
        before = rows(path)
        with browser(place, secrets[1]) as foreign, browser(place, secret, **more) as own:
            assert foreign.buttons[label][1] and not own.buttons[label][1], "disabled for the other browser only"
            for page, name in ((foreign, label), (own, label), (foreign, f"{label} as drawn for all")):
                foreign.run(page.buttons[name][0])
                assert rows(path) == before
            assert "is not yours; ask its owner, or whoever has the token" in foreign.toasts[-1]
            own.run(own.buttons[label][0])
            assert rows(path) != before
    assert not any(secret in str(ask(path, "SELECT * FROM requests")) for secret in secrets)
