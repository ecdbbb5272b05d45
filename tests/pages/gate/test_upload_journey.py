"""An upload on a real server, as a browser sends it: stored, out of memory, and still its visitor's after a reload."""

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from pages.gate import access
from tests.pages.gate.test_handshake import gated, stream
from tests.pages.gate.test_upload_limits import put

# The explorer's own field for uploads, and what a page on a link with the file's digest would show.
PAGE = """import streamlit as st
from streamlit import runtime
from pages.answers import data_file, stored_uploads
from pages.own_data import ways
ways.draw()
file = ways.given_file()
files = runtime.get_instance().uploaded_file_mgr.file_storage
nbytes = sum(len(record.data) for session in files.values() for record in session.values())
visible = [data_file.is_visible(data_file.uploaded_file(upload)) for upload in stored_uploads.stored_uploads()]
st.text(f"given: {file and file.path.name}; in memory: {nbytes} B; visible: {visible}")
"""


class Tab:
    """A tab of a browser."""

    def __init__(self, page):
        self.page, self.session, self.field, self.text = page, "", "", ""

    def draw(self, *numbers):
        """Run the page with these files in its field; return what it says."""
        asked = BackMsg()
        asked.rerun_script.query_string = ""
        if numbers:
            widget = asked.rerun_script.widget_states.widgets.add(id=self.field)
            for number in numbers:
                widget.file_uploader_state_value.uploaded_file_info.add(file_id=number, name="own.csv")
        self.page.send(asked.SerializeToString())
        while True:
            message = ForwardMsg.FromString(self.page.recv(60))
            self.session = self.session or message.new_session.initialize.session_id
            self.field = message.delta.new_element.file_uploader.id or self.field
            self.text = message.delta.new_element.text.body or self.text
            if message.HasField("script_finished"):
                return self.text


@pytest.fixture
def server(tmp_path):
    """Return the port of a server behind the gate, in a folder of its own."""
    with gated(tmp_path, PAGE) as (port, _):
        yield port


def test_an_upload_leaves_the_memory_and_is_its_visitors_in_each_tab(server):
    host = f"localhost:{server}"
    cookies = [f"{access.cookie_name(host, 'visitor')}={access.new_secret()}" for _ in range(2)]
    with stream(server, host, f"http://{host}", cookies[0]) as page:
        tab = Tab(page)
        assert tab.draw() == "given: None; in memory: 0 B; visible: []"
        assert put(server, tab.session, "1", 5000)[0] == 204
        for _ in range(3):
            assert tab.draw("1") == "given: x.csv; in memory: 0 B; visible: [True]"
        assert put(server, tab.session, "2", 6000)[0] == 204
        assert tab.draw("2") == "given: x.csv; in memory: 0 B; visible: [True, True]"
    for cookie, visible in ((cookies[0], True), (cookies[1], False), ("", False)):
        with stream(server, host, f"http://{host}", cookie) as page:
            assert Tab(page).draw() == f"given: None; in memory: 0 B; visible: [{visible}, {visible}]", "after a reload"
