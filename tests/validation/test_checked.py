"""Checked: does the page say truly how far published numbers and full runs are from the estimate?"""

import json
from statistics import fmean, geometric_mean

import pytest

from engine.__main__ import main
from engine.core.figures import percent
from engine.estimate import estimate
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.simulate import simulate
from engine.validation import known_error as subject
from engine.validation import validate
from engine.validation.claims import Claim, claims
from engine.validation.known_error import known_error_sentence
from engine.validation.validate import METRICS, gaps
from tests.cases import each

STEP = "Step time [ms]"
PROTOTYPES = [f"trainingcxl-rm{number}" for number in (1, 2, 3, 4)]
ALONE = "only the band says how wrong"


def off(name, claim):
    """Return how far an estimate of one preset is from one published total, in percent."""
    ours = estimate(with_values(preset(name).scenario, {"system": claim.system})).results[STEP]
    return 100 * abs(ours / claim.published - 1)


def test_the_worst_calibrated_step_time_is_the_one_that_the_page_names():
    totals = [(name, c) for name in PROTOTYPES for c in claims(name) if c.metric == STEP and c.kind == "calibrated"]
    worst = max(off(name, claim) for name, claim in totals)
    said = known_error_sentence(preset("trainingcxl-rm1").scenario, STEP)
    assert f"{len(totals)} calibrated to, off by at most {percent(worst / 100)}" in said and "differ" not in said


def test_a_published_mean_is_held_against_the_mean_of_the_estimates():
    ratios = []
    for name in PROTOTYPES:
        slow, fast = (estimate(with_values(preset(name).scenario, {"system": system})) for system in ("pmem", "cxl"))
        ratios.append(fast.results["Energy per batch [J]"] / slow.results["Energy per batch [J]"])
    arithmetic, geometric = 100 * (1 - fmean(ratios)), 100 * (1 - geometric_mean(ratios))
    worst = 100 * max(abs(arithmetic / 72.6 - 1), abs(geometric / 76.6 - 1))
    said = known_error_sentence(preset("trainingcxl-rm3").scenario, "Energy per batch [J]")
    assert said.startswith("2 published numbers on these parts: 2 headlines") and said.endswith(
        f"at most {percent(worst / 100)}."
    )


def test_a_machine_of_other_parts_has_no_published_number():
    other = with_values(preset("trainingcxl-rm1").scenario, {"machine.gpu": "v100"})
    for scenario in (other, preset("optane-kaggle").scenario, preset("optane-rm1").scenario):
        assert known_error_sentence(scenario, STEP) == f"No published number exists for this machine; {ALONE} the result may be."
    assert (
        known_error_sentence(preset("trainingcxl-rm1").scenario, "Capital cost [USD]")
        == f"No published number exists for this result; {ALONE} it may be."
    )


def test_a_scenario_beside_a_claiming_preset_is_told_how_many_knobs_lie_between():
    base = preset("trainingcxl-rm2").scenario
    near = with_values(base, {"machine.cxl_bandwidth_GBps": 4.0, "run.batches": 7, "system": "pmem"})
    assert known_error_sentence(near, STEP).endswith(f"The nearest is {preset('trainingcxl-rm2').title}; 1 knob differs here.")
    far = with_values(near, {"data.batch_size": 64})
    assert known_error_sentence(far, STEP).endswith("2 knobs differ here.")


@each("name", ["tiny", "trainingcxl-rm4", "optane-rm4"], few=1)
def test_a_gap_is_the_estimate_beside_a_full_run_that_neither_trains_nor_fails(name):
    scenario = with_values(preset(name).scenario, {"run.training": False})
    guess, run = estimate(scenario).results, simulate(scenario).results
    for gap in gaps(name):
        assert (gap.estimate, gap.full_run) == (guess[gap.metric], run[gap.metric])
        assert gap.percent == pytest.approx(100 * (gap.estimate - gap.full_run) / gap.full_run)
    assert [gap.metric for gap in gaps(name)] == list(METRICS)


@pytest.mark.slow
@each("asked", [("tiny",), ("tiny", "trainingcxl-rm4")], few=1)
def test_the_command_lists_the_gaps_of_every_system_that_runs_the_presets_asked_for_at_every_length(asked, capsys, monkeypatch):
    monkeypatch.setattr(validate, "LENGTHS", (3, 5))
    both = [(name, *pair) for name in asked for pair in validate.system_lengths(name)]
    assert {length for name, _, length in both if name == "tiny"} == {3, 5, 2000}
    assert main(["validate", "--gaps", *asked]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(both) * len(METRICS) and lines[1].startswith("tiny") and lines[-1].startswith(asked[-1])
    assert main(["validate", "--gaps", "tiny", "--json", "-"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["preset"], row["system"], row["batches"]) for row in rows[::2]] == [one for one in both if one[0] == "tiny"]
    assert [row["metric"] for row in rows[:2]] == list(METRICS) and set(rows[0]) > {
        "estimate",
        "full",
        "gap_percent",
        "error_bar",
    }


def test_a_published_number_counts_for_machines_of_its_own_parts_alone(monkeypatch):
    claim = Claim("Step time", STEP, "cxl", ("optane-rm1",), "predicted", "made up", 20.0, 1.0)
    monkeypatch.setattr(subject, "claims", lambda name: (claim,) if name == "optane-rm1" else claims(name))
    fresh = subject.known_errors.__wrapped__
    prototype, real = (subject._parts(preset(name).scenario) for name in ("trainingcxl-rm1", "optane-rm1"))
    assert claim not in [one for one, _ in fresh(prototype, STEP)]
    off = 100 * (estimate(preset("optane-rm1").scenario).results[STEP] / 20 - 1)
    assert fresh(real, STEP) == ((claim, pytest.approx(off)),)
    monkeypatch.setattr(subject, "known_errors", fresh)
    monkeypatch.setattr(subject, "_nearest", subject._nearest.__wrapped__)
    assert known_error_sentence(preset("optane-rm1").scenario, STEP).startswith("1 published number on these parts: 1 not used")
