"""Does a cancelled training keep its curves on Design, say at which batch it was stopped, and go on from there?"""

import pytest

from engine.run import progress
from engine.run.progress import Progress
from engine.scenario.keys import key
from engine.service import computations, service, stopped_runs
from engine.service.queue import live_requests, open_points
from engine.service.worker import Chunk, compute_chunk
from engine.simulate import simulate
from engine.store.database import DEFAULT, open_store
from engine.store.result_rows import result_text
from pages.answers import runs
from tests import apps
from tests.apps import text

TINY = {"preset": "tiny", "system": "pmem", "run.batches": "40"}
CURVES = {"loss", "auc"}


@pytest.fixture
def app(monkeypatch):
    """Return Design after its run was asked for; nobody computes it yet."""
    monkeypatch.setattr(service, "ensure_service", lambda _: None)
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    page = apps.opened(query=TINY)
    return page.button(key="run").click().run()


def work(scenario) -> None:
    """Compute the page's request here, as a worker does."""
    with open_store(DEFAULT) as store:
        (turn,) = live_requests(store, {})
        chunk = Chunk(str(DEFAULT), turn, tuple(open_points(store, turn.request, -1, 9)))
    assert chunk.keys == (key(scenario, "full"),) and not compute_chunk(chunk).trouble


def cancel_at(app, batch: int, monkeypatch) -> None:
    """Work until so many batches are trained, then press Cancel on the page."""
    report, pressed = computations.report_progress, []

    def watched(store, name, now: Progress) -> None:
        report(store, name, now)
        if now.training and now.batches_done >= batch and not pressed:
            app.run()
            assert set(apps.chart_words(app)) >= CURVES
            pressed.append(apps.cancel_buttons(app)[0].click().run())
            assert "stops after the current batch" in text(app.info) and set(apps.chart_words(app)) >= CURVES

    with monkeypatch.context() as patched:
        patched.setattr(computations, "report_progress", watched)
        work(app.session_state["scenario"])
    assert pressed
    app.run()


def test_a_cancelled_training_keeps_its_curves_and_goes_on_to_the_same_result(app, monkeypatch):
    scenario = app.session_state["scenario"]
    for batch in (12, 30):
        cancel_at(app, batch, monkeypatch)
        assert f"Cancelled at batch {batch} of 40; the other batches take about" in text(app.info)
        assert app.button(key="run").label == f"Go on from batch {batch}"
        words = apps.chart_words(app)
        assert set(words) >= CURVES and words["loss"].startswith("Training loss goes from")
        app.button(key="run").click().run()
        assert apps.run_status(scenario).state == "queued" and not app.exception
    work(scenario)
    app.run()
    (kept,) = runs.results([scenario], "full")
    assert result_text(kept) == result_text(simulate(scenario)) and not app.exception
    assert "run" not in {one.key for one in app.button} and "Trained 40 batches in " in text(app.success)


def test_what_cannot_be_kept_says_so_beside_its_curves(app, monkeypatch):
    monkeypatch.setattr(stopped_runs, "MOST_BYTES", 1000)
    cancel_at(app, 12, monkeypatch)
    why = "a new run starts from the first batch: what it had learned takes more than 256 MiB and is not kept."
    assert f"Cancelled at batch 12 of 40; {why}" in text(app.info)
    assert app.button(key="run").label.startswith("Run full training") and set(apps.chart_words(app)) >= CURVES


def test_before_the_first_batch_there_is_nothing_to_go_on_with(app):
    apps.cancel_buttons(app)[0].click().run()
    assert "Cancelled before the first batch was trained" in text(app.info)
    assert app.button(key="run").label.startswith("Run full training") and not CURVES & set(apps.chart_words(app))
