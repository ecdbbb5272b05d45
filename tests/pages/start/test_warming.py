"""While kernels are compiled: are navigation, knobs and a word there at once, and the page itself as soon as it can be?"""

import threading
from types import SimpleNamespace

import pytest

from pages.shell import warming
from tests import apps


@pytest.fixture
def compiling(monkeypatch):
    """Kernels that are being compiled until the test says that they are ready."""
    found = SimpleNamespace(done=12, total=48, ready=threading.Event())
    monkeypatch.setattr(warming, "all_compiled", lambda: False)
    monkeypatch.setattr(warming, "CompileProcess", lambda command: found)
    warming._compiler.clear()
    yield found
    warming._compiler.clear()


def test_knobs_and_a_word_come_before_the_estimate_and_the_page_as_soon_as_it_can(compiling, monkeypatch):
    monkeypatch.setattr("pages.shell.sidebar.effect", lambda *_: pytest.fail("a kernel was asked for"))
    app = apps.opened("failures")
    assert not app.exception and app.header[0].value == "Failures is being prepared"
    assert app.sidebar.text_input and "12 of 48" in app.get("progress")[0].proto.text
    monkeypatch.undo()
    compiling.ready.set()
    app.run()
    assert not app.exception and not app.get("progress") and app.header[0].value != "Failures is being prepared"


def test_a_start_without_anything_to_compile_begins_no_process(monkeypatch):
    monkeypatch.setattr(warming, "CompileProcess", lambda command: pytest.fail("a process was begun"))
    warming._compiler.clear()
    assert not warming.kernels_missing()
