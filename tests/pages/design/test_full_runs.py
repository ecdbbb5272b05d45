"""Full runs side by side on Compare: are they asked for, told truly, and told apart to the bit?"""

from dataclasses import replace

import altair
import pytest

from engine.core.figures import figure
from engine.estimate import estimate
from engine.run.progress import Progress
from engine.scenario import keys
from engine.scenario.scenario import with_values
from engine.service import service
from engine.simulate import simulate
from engine.store import requests, result_rows, status
from engine.store.database import DEFAULT, open_store
from engine.store.status import RequestStatus, RunningPoint
from engine.sweep import links
from pages.systems import compare_charts, full_runs, full_runs_panel
from pages.ui import tables
from pages.ui.numbers import error_formats
from tests import apps
from tests.apps import text
from tests.machines import TINY, scenario

AT, SYSTEMS = 0.002, ("pmem", "cxl", "dram")
STRICT = {"policy.relaxed_lookup": False, "policy.mlp_staleness_bound_batches": 0}


def full(*systems, **knobs):
    return {system: simulate(scenario("tiny", system, **knobs)) for system in systems}


@pytest.fixture(scope="module")
def struck():
    return full(*SYSTEMS, **{"faults.power_loss_at_seconds": (AT,)})


@pytest.fixture
def page(monkeypatch):
    """Return the app on Compare, with a store of its own whose service never comes to compute."""
    monkeypatch.setattr(service, "ensure_service", lambda _: None)
    return apps.opened("compare", {**dict(links.query(TINY, "tiny")), "axis": "system:" + ",".join(SYSTEMS)})


def learned(page):
    """Return the table of the finished runs."""
    (found,) = (one.value for one in page.dataframe if {"Training system", "Lost batches"} <= set(one.value))
    return found


def keep(results):
    with open_store(DEFAULT) as store:
        for result in results.values():
            result_rows.store_results(store, [(keys.key(result.scenario, "full"), result_rows.row_text(result))])


def test_the_page_asks_for_all_systems_with_the_same_faults_and_shows_what_is_finished(page, struck):
    page.text_input(key="lose power at").set_value(str(AT)).run()
    page.button(key="run all").click().run()
    assert not page.exception
    asked = requests.newest_request(DEFAULT, [keys.key(struck[name].scenario, "full") for name in SYSTEMS])
    assert status.status(DEFAULT, asked).total == 3 and apps.cancel_buttons(page)
    keep({"pmem": struck["pmem"]})
    page.run()
    assert list(learned(page)["Training system"]) == ["PMEM"]
    keep(struck)
    page.run()
    shown = learned(page).set_index("Training system")
    for name in SYSTEMS:
        assert (
            shown["Lost batches"][name.upper()] == struck[name].results["Lost batches"]
            and shown["AUC"][name.upper()] == struck[name].results["AUC"]
        )
    assert "MLP staleness [batches]" in shown and shown["Recovery time [s]"].min() >= 150
    assert "PMEM runs 1 batch again, DRAM runs 17 batches again" in text(page.markdown)
    assert not apps.cancel_buttons(page) and not [button for button in page.button if button.key == "run all"]


def test_a_cancelled_request_keeps_what_is_finished_and_goes_on_with_the_rest(page, struck):
    page.text_input(key="lose power at").set_value(str(AT)).run()
    page.button(key="run all").click().run()
    keep({"pmem": struck["pmem"]})
    apps.cancel_buttons(page)[0].click().run()
    assert page.button(key="run all").label.startswith("Train the other 2 systems in full")
    assert "after 1 of 3 systems" in text(page.info) and list(learned(page)["Training system"]) == ["PMEM"]


@pytest.mark.slow
def test_power_can_be_lost_at_half_of_the_shortest_run_and_a_bad_instant_is_refused(page):
    page.button(key="lose once").click().run()
    chosen = page.session_state["scenario"]
    (at,) = chosen.faults.power_loss_at_seconds
    shortest = min(result.results["Elapsed [s]"] for result in full(*SYSTEMS).values())
    assert at == pytest.approx(shortest / 2, rel=0.1) and page.query_params["faults.power_loss_at_seconds"] == f"{at}"
    page.text_input(key="lose power at").set_value("soon").run()
    assert "soon" in text(page.caption) and page.session_state["scenario"] == chosen and not page.exception
    page.button(key="lose never").click().run()
    assert page.session_state["scenario"].faults.power_loss_at_seconds == ()


def test_systems_that_train_the_same_to_the_bit_are_named_and_the_others_measured(struck):
    told = full_runs.equal_training_sentence(struck)
    assert told.startswith("PMEM and DRAM train equally bit for bit") and "loss: CXL " in told
    strict = full("cxl", **STRICT) | full("pmem", "dram")
    assert (
        full_runs.equal_training_sentence(strict)
        == "CXL, PMEM and DRAM train equally bit for bit: losses, AUC and accuracy agree in every digit."
    )
    off = replace(
        strict["pmem"], results={**strict["pmem"].results, "AUC (training)": strict["pmem"].results["AUC (training)"] + 1e-16}
    )
    assert full_runs.equal_training_sentence({"cxl": strict["cxl"], "pmem": off}).startswith("No two systems train equally")
    assert full_runs.equal_training_sentence({"cxl": strict["cxl"]}) == ""


def test_the_finding_tells_auc_and_losses_or_who_is_first(struck):
    # 256 held-out samples: no third digit is known.
    reached = "All 3 systems reach an AUC of 0.52 ± 0.04"
    assert full_runs.finding(struck).partition(",")[0].partition(":")[0] == reached
    assert full_runs.finding(struck).endswith(": PMEM runs 1 batch again, DRAM runs 17 batches again")
    calm = full("pmem", "dram")
    assert full_runs.finding(calm).endswith(f": DRAM finishes first, after {figure(calm['dram'].results['Elapsed [s]'], 's')}")
    untrained = full("pmem", "dram", **{"run.training": False})
    assert (
        full_runs.finding(untrained).startswith("2 systems finished: DRAM finishes first")
        and full_runs.equal_training_sentence(untrained) == ""
    )
    assert set(full_runs.table(untrained)) & {"AUC", "Loss", "Accuracy [%]"} == set()


def test_aucs_are_told_apart_where_their_errors_let_them_and_else_by_how_far_they_lie_apart(struck):
    def of(system, auc, error):
        return replace(struck[system], results={**struck[system].results, "AUC": auc, "AUC error": error})

    two = {"pmem": of("pmem", 0.7645, 0.0012), "cxl": of("cxl", 0.7611, 0.0012)}
    assert full_runs.finding(two).startswith("AUC 0.7611 ± 0.0012 (CXL) to 0.7645 ± 0.0012 (PMEM): ")
    near = {"pmem": of("pmem", 0.7645, 0.12), "cxl": of("cxl", 0.7611, 0.12)}
    assert full_runs.finding(near).startswith("All 2 systems reach an AUC of 0.76 ± 0.12, 0.00340 apart at most: ")
    assert full_runs.finding({"cxl": of("cxl", 0.7611, None)}).startswith("CXL reaches an AUC of 0.761: ")


def test_the_table_has_each_error_and_no_more_digits_than_the_smallest_lets_one_know(struck):
    learned = full_runs.table(struck)
    assert list(learned["AUC error"]) == [result.results["AUC error"] for result in struck.values()]
    assert error_formats(learned) == {"AUC": "%.2f", "AUC error": "%.2f"}
    assert error_formats(learned.drop(columns="AUC error")) == {}


def test_a_caption_says_what_an_error_is_and_from_how_many_samples_the_models_learned(struck):
    assert full_runs.auc_notes(struck).startswith("± is one standard error") and "held-out" in full_runs.auc_notes(struck)
    assert "learned from 640 samples of the generator" in full_runs.auc_notes(struck)
    assert full_runs.auc_notes(full("pmem", **{"run.training": False})) == ""


def test_curves_keep_every_auc_every_fault_and_the_mean_of_losses(struck):
    frame = full_runs.curves({name: (result.training, result.events, (1.0, 2.0)) for name, result in struck.items()})
    for name, result in struck.items():
        mine, rows = frame[frame.system == name], result.training
        assert list(mine.auc.dropna()) == [row["AUC"] for row in rows if row["AUC"] is not None]
        assert list(mine[mine.kind == "fault"].elapsed) == [AT] and len(mine.loss.dropna()) == full_runs.MOST_DRAWN
    mean = frame[frame.system == "dram"].loss.mean()
    assert mean == pytest.approx(sum(row["Loss"] for row in struck["dram"].training) / len(struck["dram"].training), rel=0.02)


def test_what_still_runs_is_drawn_from_its_snapshots_where_no_outage_is_to_come(struck):
    calm = full("pmem", "cxl")
    for results, drawn in ((calm, {"cxl"}), (struck, set())):
        point = results["cxl"].scenario
        snapshot = Progress(2, 4, training=results["cxl"].training[:2])
        running = (
            RunningPoint(keys.key(point, "full"), 1.0, snapshot),
            RunningPoint(keys.key(results["pmem"].scenario, "full"), 1.0, None),
        )
        status = RequestStatus(1, "full", "running", 2, 0, 0, None, running, "")
        points = {name: result.scenario for name, result in results.items()}
        assert set(full_runs_panel._live_curves(points, status)) == drawn and full_runs_panel._live_curves(points, None) == {}


def test_lines_are_named_beside_them_and_not_in_a_legend_where_there_are_three_at_most(struck):
    frame = full_runs.curves(
        {name: (result.training, result.events, tables.power_pace(result)) for name, result in struck.items()}
    )
    for names, direct in ((SYSTEMS, True), ((*SYSTEMS, "ssd"), False)):
        for spec in (compare_charts.curves("loss", "Loss", "joules", names), compare_charts.nodes(names)):
            texts = [layer for layer in spec["layer"] if layer["mark"]["type"] == "text"]
            assert (spec["encoding"]["color"].get("legend", "own") is None) == bool(texts) == direct
    assert frame.groupby("system").joules.max().to_dict() == pytest.approx(
        {name: spent(result) for name, result in struck.items()}, rel=1e-3
    )


def spent(result):
    """Return the joules of a run less those that its machine draws in outages."""
    idle = sum(row["Static energy [J]"] for row in result.devices) / result.results["Elapsed [s]"]
    down = sum(ended - began for began, ended in tables.outages(result.events))
    return result.results["Energy [J]"] - idle * down


def test_the_energy_of_a_curve_is_that_of_the_run_and_one_that_runs_is_on_the_way_to_it(struck):
    calm = simulate(scenario("tiny", "cxl"))
    for result in (*struck.values(), calm):
        ends = tables.curve(result.training, result.events, tables.power_pace(result)).joules
        trained = ends[: len(result.training)]
        assert trained.is_monotonic_increasing and trained.iloc[-1] == pytest.approx(spent(result), rel=1e-3)
    live = tables.curve(calm.training[::3], (), tables.power_pace(estimate(calm.scenario))).joules
    assert list(live) == pytest.approx([trained.iloc[row["Batch"]] for row in calm.training[::3]], rel=0.1)


@pytest.mark.parametrize("name", ["curves", "lost_batches_chart"])
def test_a_chart_is_valid_and_colours_each_system_as_everywhere(name, struck):
    asked = {"curves": ("auc", "AUC", "running", SYSTEMS), "lost_batches_chart": (SYSTEMS,)}[name]
    spec = getattr(compare_charts, name)(*asked)
    altair.LayerChart.from_dict({**spec, "data": {"values": []}}).to_dict()
    assert "#d9622b" in str(spec) and "#8c8c8c" not in str(spec)
    assert dict(full_runs.lost_batches_frame(struck).to_numpy()) == {"pmem": 1, "cxl": 1, "dram": 17}
    assert full_runs.lost_batches_frame(full("pmem")).empty


def test_curves_of_sampled_runs_say_so(page):
    sampled = full("pmem", "cxl", **{"run.train_every": 4})
    keep(sampled)
    shared = with_values(TINY, {"run.train_every": 4})
    app = apps.opened("compare", {**dict(links.query(shared, "tiny")), "axis": "system:pmem,cxl"})
    words = apps.chart_words(app)
    assert "each 4th batch trained" in words["full loss"] and "each 4th batch trained" in words["full auc"]
