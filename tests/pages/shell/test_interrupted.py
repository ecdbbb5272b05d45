"""A visitor opens another page while one is drawn: does each point of a run let go without losing the scenario?"""

import pytest
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

from pages.shell import places
from pages.ui.page_link import script
from tests import ROOT, apps
from tests.cases import SELECTION

QUERY = {"preset": "tiny", "within": "50", "data.batch_size": "64"}
DRAWN_ALIKE = 30  # messages between two interruptions of `make test`; `make slow` interrupts at each


@pytest.fixture
def interrupted(monkeypatch):
    """Return `interrupted(app, number, page)`, which goes on to a page at that message of a run; False beyond the last."""
    enqueue = LocalScriptRunner._enqueue_forward_msg

    def run(app, number, page):
        left, other = [number], app._resolve_page_hash(str(ROOT / script(page)))

        def counted(runner, message):
            left[0] -= 1
            if not left[0]:  # a browser whose elements are gone sends no states of widgets
                runner.request_rerun(RerunData(query_string="", page_script_hash=other))
            enqueue(runner, message)

        with monkeypatch.context() as patch:
            patch.setattr(LocalScriptRunner, "_enqueue_forward_msg", counted)
            app.run()
        return left[0] <= 0

    return run


@pytest.mark.parametrize(
    ("page", "other"),
    [("design", "start"), *(pytest.param(page, "data", marks=pytest.mark.slow) for page in places.PLACES if page != "data")],
)
def test_a_run_that_is_interrupted_anywhere_keeps_the_scenario(interrupted, page, other):
    app, number = apps.opened(page, QUERY), 1
    held = app.session_state["scenario"]
    while interrupted(app, number, other):
        assert not app.exception, (number, app.exception)
        app.switch_page(str(ROOT / script(page))).run()
        assert not app.exception and app.session_state["scenario"] == held, number
        assert {*QUERY.items()} <= {*apps.address(app)}, number
        number += 1 if SELECTION.all else DRAWN_ALIKE
