"""The `campaign` command, the hazards of a scenario's fault knobs, yardsticks, and what recoveries cost in accuracy."""

import json
from itertools import takewhile

import pytest

from engine.__main__ import main
from engine.campaign import accuracy, batch_costs, fault_stream, reference_points
from engine.campaign.expectation import expectation
from engine.campaign.simulate import campaign_terms
from engine.campaign.simulate import run_campaign as simulated
from engine.commands import campaign
from engine.faults.fault import Hazard, strikes
from engine.registry import all_variants, load_variant
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.simulate import simulate
from engine.units import HOUR
from tests.cases import each
from tests.machines import TINY

MANY_GPUS = {"system": "all-hbm", "machine.num_gpus": 24, "policy.cache_load_factor": 1.0}


def test_the_command_writes_a_row_per_protection_and_the_reason_of_a_refusal(capsys):
    assert main(["campaign", "--preset", "tiny", "--mtbf", "gpu-crash=6", "--days", "2", "--seeds", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["protection", "useful"]
    assert {line.split()[0] for line in lines[1:-3]} == set(all_variants("protections")) - {"cpr", "parity", "peer"}
    assert lines[-3].startswith("protection=cpr needs tables in at least 2 parts")
    assert lines[-2].startswith("protection=parity keeps the parity of a node's rows on others")
    assert lines[-1].startswith("protection=peer keeps each node's state in another's memory")


def test_json_has_rows_hazards_and_yardsticks(capsys):
    words = ["--protection", "undo,none", "--mtbf", "gpu-crash=6", "--days", "1", "--seeds", "2", "--json", "-"]
    assert main(["campaign", "--preset", "tiny", *words]) == 0
    content = json.loads(capsys.readouterr().out)
    assert [row["Protection"] for row in content["rows"]] == ["undo", "none"]
    assert content["hazards"] == {"gpu-crash": {"mtbf": 21600.0, "shape": 1.0, "at": []}}
    assert len(content["yardsticks"]) == 5 and content["llama3"]["usual"] > 0.9
    undo, none = content["rows"]
    scenario, hazards = preset("tiny").scenario, {"gpu-crash": Hazard(6 * HOUR)}
    expected = expectation(scenario, "undo", hazards, 1.0)
    assert undo["closed_form"] == {
        "useful_share": expected.useful_share, "lost_batches": 0.0, "worst_fault": "gpu-crash", "minutes": 0.0,
        "price_usd": 0.0, "watts": expected.watts,
    }  # fmt: skip
    step = (
        campaign_terms(scenario, "undo", {"gpu-crash": Hazard(6 * HOUR)})[0].useful_seconds
        / batch_costs.estimated_costs(scenario).step
    )
    assert undo["Closed form"] == pytest.approx(undo["closed_form"]["useful_share"] * step)
    assert undo["Closed form"] == pytest.approx(undo["Effective training time ratio"], abs=0.03)
    assert none["closed_form"]["minutes"] == pytest.approx(24 * 60)
    assert content["usd_of"] == "USD (2026)"


def test_listed_faults_have_no_closed_form_but_a_campaign(capsys):
    asked = ["--set", "faults.gpu_crash_at_seconds=3600", "--protection", "undo", "--days", "1", "--seeds", "1", "--json", "-"]
    assert main(["campaign", "--preset", "tiny", *asked]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["Closed form"] is row["closed_form"] is None and row["Effective training time ratio"] > 0
    assert main(["campaign", "--preset", "tiny", *asked[:-2]]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[2] == "-"


def test_the_list_of_protections_has_their_constants_with_sources(capsys):
    assert main(["list", "protections", "--json"]) == 0
    entries = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert set(entries) == set(all_variants("protections"))
    bits = next(one for one in entries["check-n-run"]["constants"] if one["name"] == "quantised weight")
    assert (bits["value"], bits["unit"], bits["confidence"]) == (4, "bit", "stated")
    assert all(one["source"] for entry in entries.values() for one in entry["constants"])
    assert entries["peer"]["keeps"]["site"] == "older"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "No fault has a rate, so none can happen; give --mtbf"),
        (["--mtbf", "gpu-crash"], "is not a fault with its hours"),
        (["--mtbf", "gpu-crush=3"], "did you mean gpu-crash?"),
        (["--mtbf", "log-full=3"], "does not happen by itself in a campaign"),
        (["--mtbf", "gpu-crash=3", "--protection", "und"], "did you mean undo?"),
        (["--mtbf", "gpu-crash=1e-320"], "is not a fault with its hours, from 1e-09 to 1,000,000,000"),
        (["--mtbf", "gpu-crash=1e300"], "is not a fault with its hours, from 1e-09 to 1,000,000,000"),
        (["--mtbf", "gpu-crash=3", "--mtbf", "gpu-crash=4"], "--mtbf gives gpu-crash twice"),
        (["--mtbf", "gpu-crash=1e-9"], "720 h would have 720,000,000,000 faults, more than the limit of 200,000; shorten"),
        (["--mtbf", "fail-slow=1e-6", "--days", "9"], "would have 216,000,000 faults"),
        (["--set", "faults.gpu_crash_mtbf_hours=1e-9", "--set", "faults.lemon_factor=1e4"], "would have 7.2e+15 faults"),
        (["--days", "0"], "not a number of days"),
        (["--mtbf", "gpu-crash=3", "--days", "5e-324"], "not a number of days from 0.01 to 40,000"),
    ],
)
def test_bad_words_are_one_sentence(words, sentence, capsys):
    assert main(["campaign", "--preset", "tiny", *words]) == 2
    complaint = capsys.readouterr().err
    assert sentence in complaint and complaint.count("\n") == 1


def test_a_campaign_that_no_protection_can_have_says_why_and_ends_with_3(capsys):
    words = ["campaign", "--preset", "tiny", "--mtbf", "gpu-crash=6", "--seeds", "1", "--protection", "cpr,peer"]
    assert main(words) == 3
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["protection=cpr", "protection=peer"]
    assert main([*words, "--json", "-"]) == 3
    assert all("choose protection=" in row["Refused"] for row in json.loads(capsys.readouterr().out)["rows"])
    assert main([*words[:-1], "cpr,none"]) == 0


def test_hazards_of_a_scenario_strike_as_often_as_its_full_run_s_faults():
    """The run draws every node's faults apart, the campaign those of the whole machine."""
    hours = {
        name: 400.0 for name in ("gpu_crash", "host_crash", "link_down", "correlated_shock", "media_error", "silent_corruption")
    }
    knobs = {f"faults.{name}_mtbf_hours": value for name, value in hours.items()}
    shares = {"faults.power_loss_mtbf_hours": 300.0, "faults.flush_failure_share": 0.4, "faults.lemon_factor": 3.0}
    scenario = with_values(TINY, {**MANY_GPUS, **knobs, **shares})
    end = 3e5 * HOUR
    found = fault_stream.hazards_of(scenario)
    ours = [arrival.fault for arrival in fault_stream.fault_arrivals(scenario, found, 1, end)]
    theirs = [strike.fault for strike in takewhile(lambda strike: strike.seconds < end, strikes(scenario))]
    assert set(found) == set(theirs)
    assert {name: ours.count(name) / theirs.count(name) for name in found} == pytest.approx(dict.fromkeys(found, 1.0), abs=0.12)


def test_listed_and_traced_faults_strike_campaigns_too():
    listed = with_values(TINY, {"faults.gpu_crash_at_seconds": (5.0,), "faults.trace": "7 gpu-crash; 3 link-down"})
    assert fault_stream.hazards_of(listed) == {"gpu-crash": Hazard(None, 1.0, (5.0, 7.0)), "link-down": Hazard(None, 1.0, (3.0,))}


def test_waits_are_the_means_of_what_a_full_run_draws():
    knobs = {"detect_seconds": 20.0, "detect_sigma": 0.8, "late_detection_share": 0.3, "late_detection_seconds": 500.0}
    knobs |= {"repair_median_seconds": 60.0, "repair_sigma": 0.5, "restart_seconds": 7.0, "gpu_crash_mtbf_hours": 1.0}
    scenario = with_values(TINY, {f"faults.{name}": value for name, value in knobs.items()})
    drawn = [(one.detect, one.repair + 7.0) for _, one in zip(range(20_000), strikes(scenario), strict=False)]
    terms, _ = campaign_terms(scenario, "undo")
    assert (terms.detect, terms.restart) == pytest.approx([sum(some) / len(drawn) for some in zip(*drawn, strict=True)], rel=0.03)


def test_llama_s_published_share_lies_above_what_its_public_numbers_give_at_worst():
    found = reference_points.llama_prediction()
    assert pytest.approx(3.09 * HOUR, rel=0.01) == reference_points.LLAMA_MTBF
    assert found.worst_share < found.usual_share < found.best_share
    published = next(one for one in reference_points.YARDSTICKS if one.name.startswith("Llama 3"))
    assert published.low <= found.usual_share <= published.high
    # First order: half a period and the down time per fault, a pause per period.
    first = 1 - (found.period / 2 + 150 + found.pause) / reference_points.LLAMA_MTBF - found.pause / found.period
    assert found.usual_share == pytest.approx(first, abs=0.002)


def test_yardsticks_are_shares_with_a_source():
    for one in reference_points.YARDSTICKS:
        assert 0 < one.low <= one.high <= 1 and one.source and one.note


@each("name", sorted(all_variants("protections")))
def test_a_recovery_is_exact_or_measured(name):
    found = accuracy.accuracy_effect(name)
    assert found.is_exact == ("lossy" not in load_variant("protections", name).fidelity_by_loss.values())
    assert bool(found.effects) != found.is_exact
    assert {one.measure for one in found.effects} <= {"auc", "accuracy", "loss"}


def test_the_measured_variant_nearest_to_a_plan_stands_for_it():
    scenario = with_values(preset("optane-kaggle").scenario, {"policy.mlp_staleness_bound_batches": 10})
    assert accuracy.accuracy_effect("relaxed", campaign_terms(scenario, "relaxed")[0].plan).effects[0].variant == "mlp-10"
    assert accuracy.accuracy_effect("check-n-run").effects[0].variant == "bits-4"
    sharded = with_values(preset("optane-kaggle").scenario, {"system": "all-hbm", "machine.num_gpus": 8})
    found = accuracy.accuracy_effect("cpr", campaign_terms(sharded, "cpr", {"gpu-crash": Hazard(24 * HOUR)})[0].plan)
    assert found.effects[0].variant == "cpr-500" and "more than was measured" in found.sentence


def test_a_number_that_rounds_to_nothing_has_no_sign() -> None:
    row = {"Protection": "redo", **dict.fromkeys(campaign.COLUMNS, -1e-12)}
    assert "-" not in campaign._line(row) and campaign._line(row).split()[1] == "0.0000"


@pytest.mark.parametrize(
    ("name", "system", "protection"),
    [
        ("tiny", "cxl-b", "undo"),
        ("tiny", "cxl", "relaxed"),
        ("tiny", "pmem", "redo"),
        pytest.param("dlrm-kaggle", "cxl-d", "redo", marks=pytest.mark.slow),
    ],
)
def test_a_campaign_trains_as_many_batches_as_a_full_run_that_simulates_each(name, system, protection):
    waits = {"faults.detect_seconds": 0.02, "faults.restart_seconds": 0.05}
    scenario = with_values(preset(name).scenario, {"system": system, "run.batches": 3000, "run.training": False, **waits})
    free = simulate(scenario).results["Elapsed [s]"]
    at = tuple(free * share for share in (0.21, 0.5, 0.83))
    run = simulate(with_values(scenario, {"faults.gpu_crash_at_seconds": at})).results
    found = simulated(scenario, protection, {"gpu-crash": Hazard(listed_seconds=at)}, run["Elapsed [s]"] / HOUR, 1)
    assert found.batches == pytest.approx(3000, rel=0.003)
    assert sum(recovery.detect + recovery.restart + recovery.restore for recovery in found.recoveries) == pytest.approx(
        3 * run["Recovery time [s]"], rel=0.01
    )
    if system != "pmem":  # whose hand-off to the log a full run counts as a transfer
        assert found.ettr == pytest.approx(run["Effective training time ratio"], abs=0.002)


def test_many_recoveries_are_told_by_the_measured_run_that_takes_back_as_much():
    told = accuracy.many_faults_sentence(236, 1e6, 23_600)
    assert told.startswith("On average, 236 recoveries of this campaign undo 2.36 % of the MLPs' training. Measured: 2.5 %")
    assert "percentage points at the end" in told and "0.0200 recoveries" in accuracy.many_faults_sentence(0.02, 1e6, 1)
    assert "undone by 100 recoveries changes AUC by" in accuracy.many_faults_sentence(1, 400, 100)
    assert "under 0.001 % of" in accuracy.many_faults_sentence(33, 1e9, 200)
    assert accuracy.many_faults_sentence(0, 1e9, 0) == accuracy.many_faults_sentence(3, 1e6, -2) == ""
