"""Is a finished run on Design told in order, with training apart from its outages, on the axis that one chooses?"""

from dataclasses import replace
from urllib.parse import urlencode

import pytest

from engine.core.figures import figure
from engine.results.ledger import JOULES, OUTAGE, SECONDS, TRAINING, ledger_sum
from engine.results.run_headline import run_headline
from engine.scenario import keys
from engine.scenario.scenario import with_values
from engine.simulate import simulate
from engine.store import result_rows
from engine.store.database import DEFAULT, open_store
from engine.sweep import links
from pages.answers import estimates
from pages.design_page import bars, tiles
from tests import apps
from tests.apps import text

TINY = {"preset": "tiny", "run.batches": "60", "run.evaluations": "4"}
STRUCK = {**TINY, "faults.power_loss_at_seconds": "0.004"}


def finished(query, **knobs):
    """Return the result of a link's full run, kept in the store, and the page Design on that link."""
    result = simulate(with_values(links.open_link(f"/design?{urlencode(query)}").scenario, knobs))
    with open_store(DEFAULT) as store:
        result_rows.store_results(store, [(keys.key(result.scenario, "full"), result_rows.row_text(result))])
    return result, apps.opened(query=query)


def tile_values(app):
    """Return the text of each tile by its label."""
    return {tile.label: tile.value for tile in app.metric}


def test_training_and_outages_have_tiles_of_their_own_and_the_headline_has_their_order():
    result, app = finished(STRUCK)
    assert not app.exception and run_headline(result) in text(app.success) and "power was lost at 4.00 ms" in text(app.success)
    shown = tile_values(app)
    for name, column, unit, accounts in (
        ("Trained in", SECONDS, "s", TRAINING),
        ("Outages", SECONDS, "s", OUTAGE),
        ("Energy of training", JOULES, "J", TRAINING),
        ("Energy of outages", JOULES, "J", OUTAGE),
    ):
        assert shown[name] == figure(ledger_sum(result.ledger, column, accounts), unit)
    assert not {"Elapsed", "Energy", tiles.RATIO} & set(shown)
    words = apps.chart_words(app)
    assert words["books"].startswith("Outages took 2.50 min and ") and "beyond a break of the axis" in words["books"]
    assert words["power"].startswith("The machine draws ") and "in outages" in words["power"]
    for key in ("stages", "energy"):
        assert ", without the fault" in words[key]


def test_the_axis_is_simulated_seconds_first_and_all_charts_follow_the_choice():
    _, app = finished(STRUCK)
    choice = app.segmented_control(key="against broken")
    assert choice.options == ["Time, outages shortened", "Batch", "Energy"] and choice.value == "broken"
    for value, axis in (("broken", "over Simulated time, outages shortened [s]"), ("joules", "over Energy without outages [J]")):
        app.segmented_control(key="against broken").set_value(value).run()
        assert not app.exception and all(axis in apps.chart_words(app)[key] for key in ("loss", "auc", "power"))


def test_a_run_without_a_fault_has_neither_outages_nor_a_broken_axis():
    result, app = finished(TINY)
    assert text(app.success) == f"Trained 60 batches in {figure(result.results['Elapsed [s]'], 's')} without a fault"
    assert "Outages" not in tile_values(app) and "Trained in" in tile_values(app)
    words = apps.chart_words(app)
    assert "were useful" in words["books"] and "break" not in words["books"] and "without the fault" not in words["stages"]
    assert app.segmented_control(key="against").value == "elapsed"


def test_a_run_that_cannot_recover_is_told_in_order_and_draws_its_books():
    result, app = finished({**TINY, "faults.memory_loss_at_seconds": "0.004"})
    assert not result.ran and run_headline(result) in text(app.error) and "unrecoverable" in text(app.error)
    assert "Outages took 2.50 min" in apps.chart_words(app)["books"]


@pytest.mark.parametrize(("seconds", "is_shown"), [(59.0, False), (61.0, True)])
def test_the_share_of_useful_time_is_left_out_below_a_minute_of_training(seconds, is_shown, monkeypatch):
    names = []
    monkeypatch.setattr(tiles, "draw", lambda result, others, tile_names: names.extend(tile_names))
    result, _ = finished(TINY)
    trained = {"Account": "useful", "Time [s]": seconds, "Energy [J]": 1.0}
    result = replace(result, ledger=(trained, *(row for row in result.ledger if row["Account"] in OUTAGE)))
    tiles.draw_run(result)
    assert (tiles.RATIO in names) is is_shown and tiles.TRAINED in names


def test_an_estimate_is_struck_only_within_its_run():
    scenario = links.open_link(f"/design?{urlencode(TINY)}").scenario
    for seconds, struck in ((0.004, True), (100.0, False)):
        estimate = estimates.estimate_of(with_values(scenario, {"faults.power_loss_at_seconds": (seconds,)}))
        assert bars.is_struck(estimate) is struck
    assert not bars.is_struck(estimates.estimate_of(scenario))
