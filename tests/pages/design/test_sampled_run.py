"""Does Design offer a sampled run where the full one takes long, start it, and say which batches were trained?"""

from dataclasses import replace

import pytest

from engine.run import forecast
from engine.scenario.keys import key
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.service import service
from engine.simulate import simulate
from engine.store import result_rows
from engine.store.database import DEFAULT, open_store
from engine.sweep import links
from engine.training.shape import with_larger_budget
from pages.full_run import sampled_run
from pages.ui import tables
from pages.ui.numbers import duration
from tests import apps
from tests.apps import text
from tests.machines import TINY

LARGE = with_larger_budget(with_values(preset("dlrm-terabyte").scenario, {"run.batches": 20_000}))
QUERY = {"preset": "dlrm-terabyte", "run.batches": "20000"}
CHOICE = "sampled run time"


@pytest.fixture(autouse=True)
def nobody_computes(monkeypatch):
    """Let requests wait: no service comes."""
    monkeypatch.setattr(service, "ensure_service", lambda _: None)


def buttons(app):
    return {button.key: button for button in app.button}


def test_a_long_run_offers_the_sampled_run_that_fits_and_starts_it():
    app = apps.opened(query=QUERY)
    offered = forecast.affordable_run(LARGE, 300)
    assert offered.train_every > 1 and buttons(app)["run"].label.startswith("Run full training: about")
    assert buttons(app)["run sampled"].label == (
        f"Run a sampled training: each {offered.train_every}th batch, about {duration(offered.seconds)}"
    )
    app.segmented_control(key=CHOICE).set_value(900.0).run()
    longer = forecast.affordable_run(LARGE, 900)
    assert longer.train_every < offered.train_every and f"each {longer.train_every}th" in buttons(app)["run sampled"].label
    assert f"those of a training on {20_000 // longer.train_every:,} batches" in text(app.caption)
    buttons(app)["run sampled"].click().run()
    held = app.session_state["scenario"]
    assert held == with_values(LARGE, {"run.train_every": longer.train_every}) and not app.exception
    assert apps.run_status(held).state == "queued"
    assert ("run.train_every", str(longer.train_every)) in apps.address(app), "the link has the knob"


def test_a_time_too_short_for_training_offers_the_run_without_it():
    app = apps.opened(query={**QUERY, "data.batch_size": "65536"})
    assert "5 min is too short to train even two batches" in text(app.caption) and "run sampled" not in buttons(app)
    assert buttons(app)["run untrained"].label.startswith("Run every batch, without training: about")
    buttons(app)["run untrained"].click().run()
    assert not app.session_state["scenario"].run.training and not app.exception


def test_a_sampled_scenario_names_its_run_and_offers_the_full_one():
    app = apps.opened(query={**QUERY, "run.train_every": "16"})
    assert buttons(app)["run"].label.startswith("Run a sampled training: each 16th batch, about")
    assert "run sampled" not in buttons(app), "the first button has that run"
    buttons(app)["run all batches"].click().run()
    assert app.session_state["scenario"].run.train_every == 1


def test_a_short_run_has_no_such_choice():
    app = apps.opened(query={"preset": "tiny"})
    assert "run" in buttons(app) and not {"run sampled", "run all batches", "run untrained"} & set(buttons(app))
    assert CHOICE not in {control.key for control in app.segmented_control}


def test_curves_and_sentences_say_which_batches_were_trained():
    asked = with_values(TINY, {"run.train_every": 4, "system": "pmem"})
    result = simulate(asked)
    with open_store(DEFAULT) as store:
        result_rows.store_results(store, [(key(asked, "full"), result_rows.row_text(result))])
    app = apps.opened(query=dict(links.query(asked, "tiny")))
    words = apps.chart_words(app)
    assert "Loss of each 4th batch, the only ones trained" in words["loss"] and "each 4th batch trained" in words["auc"]
    assert "each 4th batch was trained, 10 of 40" in text(app.caption)
    assert "The model learned from 160 samples" in text(app.caption)
    assert sampled_run.subtitle_end(1) == "" and sampled_run.loss_words(1) == "each batch"


def test_the_energy_axis_counts_batches_that_no_row_of_the_curve_shows():
    """The last row's energy is nearly that of the run, for a sampled curve and for a thinned one."""
    asked = with_values(TINY, {"system": "pmem", "run.batches": 41})
    full, sampled = simulate(asked), simulate(with_values(asked, {"run.train_every": 8}))
    thinned = replace(full, training=full.training[::10])
    ends = [tables.curve(one.training, (), tables.power_pace(one)).joules.iloc[-1] for one in (full, sampled, thinned)]
    assert ends == pytest.approx([full.results["Energy [J]"]] * 3, rel=0.01)
