"""Share's Python code on the pages: it is there, runs, and its numbers are the page's."""

import contextlib
import io
import sys

import pytest

from engine import api
from engine.errors import BadInput
from engine.estimate import estimate
from pages.failures_page import campaigns, losses_panel
from pages.ui import session
from tests.apps import opened
from tests.pages.conftest import own_store  # noqa: F401  a fixture

STRUCK = {"preset": "tiny", "faults.power_loss_mtbf_hours": "24"}


def executed(app, monkeypatch):
    """Return the names that a page's code leaves."""
    monkeypatch.setitem(sys.modules, "emberpool", api)
    (code,) = (block.value for block in app.code if block.value.startswith("import emberpool"))
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(code, "snippet", "exec"), names)
    return names


def test_design_and_search(monkeypatch):
    app = opened("design", {"preset": "tiny", "machine.cxl_bandwidth_GBps": "12.3"})
    assert executed(app, monkeypatch)["table"][0].results == estimate(app.session_state[session.SCENARIO]).results
    app = opened("search", {"preset": "tiny", "axis": ["machine.cxl_bandwidth_GBps:8,16", "system:pmem,cxl"]})
    assert len(executed(app, monkeypatch)["table"]) == 4


def test_decide(monkeypatch):
    app = opened("decide", {"preset": "tiny", "require": "throughput=100000", "parts": "on-sale,gpu=h100-pcie"})
    code = next(block.value for block in app.code if block.value.startswith("import emberpool"))
    assert "require=['throughput=100000'], parts='on-sale,gpu=h100-pcie'" in " ".join(code.split()).replace(", )", ")")
    assert executed(app, monkeypatch)["answer"]["requirement"]


@pytest.mark.parametrize("query", [STRUCK, {"preset": "tiny"}])
def test_failures(monkeypatch, query):
    app = opened("failures", query)
    frame = executed(app, monkeypatch)["losses"]
    month = losses_panel.monthly_losses(campaigns.with_example_fault(app.session_state[session.SCENARIO]))
    assert frame.equals(losses_panel.table(month)) and len(frame) > 5


def test_faults_without_a_closed_form_are_run(monkeypatch):
    app = opened("failures", {"preset": "tiny", "run.batches": "20", "faults.power_loss_at_seconds": "0.002"})
    table = executed(app, monkeypatch)["table"]
    assert table[0].events
    with pytest.raises(BadInput, match="there is no closed formula"):
        api.failures(table[0])
    with pytest.raises(BadInput, match="No fault has a rate"):
        api.failures("tiny")


def test_pages_without_such_a_question_have_the_link_alone():
    assert not any(block.value.startswith("import emberpool") for block in opened("start").code)
