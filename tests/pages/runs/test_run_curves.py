"""Do two or more chosen full runs lie over each other on Runs, named by their titles, on the axis that one chooses?"""

import altair
import pytest
from streamlit.testing.v1 import AppTest

from engine.core.figures import figure
from engine.scenario.keys import key
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.service import computations, history
from engine.simulate import simulate
from engine.store import requests, result_rows
from engine.store.database import DEFAULT, open_store
from pages.runs_page import history_charts, run_curves
from tests import apps


def kept(title, *settings, full=True):
    """A finished request for runs of 40 batches of the smallest preset, one for each setting of knobs."""
    own = {"run.batches": 40, "run.evaluations": 4, "machine.framework": "lean"}
    points = [with_values(preset("tiny").scenario, {**own, **knobs}) for knobs in settings]
    fidelity = "full" if full else "estimate"
    request = requests.submit(DEFAULT, points, fidelity, title=title)
    results = {key(point, fidelity): simulate(point) for point in points}
    with open_store(DEFAULT) as store:
        computations.claim_points(store, request, list(results))
        for name, result in results.items():
            computations.close_claims(store, [(name, "kept", result_rows.row_text(result))])
        requests.end_requests(store)
    return request, list(results.values())


def chosen(*numbers):
    """The chosen requests, in the order in which they were asked."""
    return sorted((run for run in history.past_requests(DEFAULT) if run.request in numbers), key=lambda run: run.request)


def panel(*numbers):
    """The part of the page Runs below its list, with these requests chosen."""

    def script(numbers):
        from engine.service import history
        from engine.store.database import DEFAULT
        from pages.runs_page import history_panel

        history_panel.draw([run for run in history.past_requests(DEFAULT) if run.request in numbers])

    return AppTest.from_function(script, args=(numbers,)).run()


def test_two_runs_lie_over_each_other_and_are_named_by_their_titles():
    slow, (calm,) = kept("Low learning rate", {"model.learning_rate": 0.001})
    struck, (result,) = kept("Power lost in the middle", {"faults.power_loss_at_seconds": (0.002,)})
    app = panel(slow, struck)
    words = apps.chart_words(app)
    assert not app.exception and words["runs auc"].startswith("AUC ends between ")
    last = {"Low learning rate": calm.results["AUC"], "Power lost in the middle": result.results["AUC"]}
    low, high = sorted(last.values())
    assert f"between {figure(low)} and {figure(high)}, highest in {max(last, key=last.__getitem__)}" in words["runs auc"]
    assert "lowest in " in words["runs loss"] and "a triangle marks a fault" in words["runs auc"]
    frame, num_left_out = run_curves.curves_frame(chosen(slow, struck))
    assert set(frame["run"]) == {"Low learning rate", "Power lost in the middle"} and num_left_out == 0
    drawn = frame[(frame["run"] == "Power lost in the middle") & frame["auc"].notna()]
    assert list(drawn["auc"]) == [row["AUC"] for row in result.training if row["AUC"] is not None]
    (fault,) = frame[frame["kind"].notna()].itertuples()
    assert (
        fault.run == "Power lost in the middle" and fault.elapsed == 0.002 and drawn["running"].max() < 1 < drawn["elapsed"].max()
    )
    assert list(drawn["part"]) == [0, 1, 1, 1], "no line crosses an outage"
    assert "compared" not in words, "runs of a point each have no other axis in common"
    app.segmented_control(key="run curves against").set_value("joules").run()
    assert not app.exception and "over Energy without outages [J]" in apps.chart_words(app)["runs loss"]


def test_the_points_of_one_request_are_told_apart_and_at_most_as_many_as_there_are_colours():
    request, _ = kept("Seeds", *({"data.seed": seed} for seed in range(8)))
    frame, num_left_out = run_curves.curves_frame(chosen(request))
    assert list(dict.fromkeys(frame["run"])) == [f"Seeds, point {n}" for n in range(1, 7)] and num_left_out == 2
    assert "2 more runs not drawn" in apps.text(panel(request).caption)


@pytest.mark.parametrize("settings", [({},), ({"run.training": False}, {"run.training": False, "data.seed": 5})])
def test_one_run_or_runs_without_training_have_no_curves(settings):
    request, _ = kept("Alone", *settings)
    app = panel(request)
    assert not app.exception and not {"runs loss", "runs auc"} & set(apps.chart_words(app))


def test_the_chart_is_valid_and_gives_each_run_a_colour_of_its_own():
    spec = history_charts.curves("auc", "AUC", "batch", ("a", "b", "c"))
    altair.LayerChart.from_dict({**spec, "data": {"values": []}}).to_dict()
    assert len(set(spec["encoding"]["color"]["scale"]["range"])) == 3
