"""Does the instant estimate say what a full run then measures?"""

import pytest

from engine.errors import BadKnob
from engine.estimate import estimate
from engine.schedule.machine import schedule
from engine.simulate import simulate
from tests.cases import each
from tests.machines import PRESETS, SYSTEMS, counted, line, ready, scenario

STEP, JOULES = "Step time [ms]", "Energy per batch [J]"
SHORT = {"run.training": False, "run.batches": 30}
SOON = {"run.training": False, "run.batches": 60, "policy.mlp_staleness_bound_batches": 4}


@each(("system", "knobs"), [*((s, SHORT) for s in SYSTEMS if s not in ("cxl", "ssd")), ("cxl", SOON)])
@each("name", PRESETS, few=12)
def test_an_estimate_is_within_5_percent_of_a_full_run(name, system, knobs):
    asked = scenario(name, system, **knobs)
    guess, run = estimate(asked).results, simulate(asked).results
    assert guess[STEP] == pytest.approx(run[STEP], rel=0.05)
    assert guess[JOULES] == pytest.approx(run[JOULES], rel=0.05)


# From which batch on a cache is full or a bound of 100 bites, and how many batches are whole turns of waits.
WARM = [
    ("tiny", "ssd", 60, 40),
    ("dlrm-kaggle", "ssd", 800, 400),
    ("trainingcxl-rm4", "ssd", 200, 100),
    ("optane-rm4", "cxl", 150, 202),
]


@each(("name", "system", "warm", "batches"), WARM)
def test_an_estimate_is_within_5_percent_of_a_run_whose_cache_is_full_or_whose_mlp_log_is_late(name, system, warm, batches):
    asked = scenario(name, system)
    ends = schedule(ready(asked), counted(asked, warm + batches + 1)).batch_ends
    measured = (ends[warm + batches] - ends[warm]) / batches
    assert estimate(asked).results[STEP] == pytest.approx(1e3 * measured, rel=0.05)


@each("bound", [0, 1, 5, 100, 700])
def test_an_estimate_sees_every_turn_of_waits_for_a_late_log(bound):
    asked = scenario("optane-rm4", "cxl", **{"policy.mlp_staleness_bound_batches": bound})
    turn, ends = bound + 1, line(asked, 6 * (bound + 1) + 20).batch_ends
    measured = (ends[10 + 5 * turn] - ends[10 + 3 * turn]) / (2 * turn)
    assert estimate(asked).results[STEP] == pytest.approx(1e3 * measured, rel=0.01)


@each("batches", [1, 7, 1000])
def test_an_estimate_scales_its_steady_state_to_the_runs_batches(batches):
    answer = estimate(scenario("tiny", "cxl-d", **{"run.batches": batches})).results
    assert answer["Elapsed [s]"] == pytest.approx(batches * answer[STEP] / 1e3, rel=1e-12)
    assert answer["Energy [J]"] == pytest.approx(batches * answer[JOULES], rel=1e-12)
    assert answer["Throughput [samples/s]"] == pytest.approx(16e3 / answer[STEP], rel=1e-12)


def test_an_estimate_leaves_faults_and_training_out_and_says_so():
    quiet = estimate(scenario("tiny", "cxl"))
    struck = estimate(scenario("tiny", "cxl", **{"faults.power_loss_at_seconds": (0.001,)}))
    assert quiet.results == struck.results
    assert "without faults" in quiet.outcome
    assert quiet.results["AUC"] is None


@each(
    ("system", "path", "value", "sentence"),
    [
        ("cxl-d", "policy.relaxed_lookup", True, "choose system=cxl"),
        ("pmem", "policy.mlp_staleness_bound_batches", 5, "set it to auto or 0, or choose system=cxl"),
        ("cxl", "policy.log", "redo", "keeps an undo log"),
        ("pcie", "policy.log", "undo", "keeps a redo log"),
        ("dram", "policy.log", "undo", "keeps no log"),
        ("dram", "policy.mlp_staleness_bound_batches", 1, "keeps no log; set it to auto or 0"),
    ],
)
def test_a_policy_that_a_system_cannot_have_is_refused_with_a_sentence(system, path, value, sentence):
    with pytest.raises(BadKnob, match=sentence) as refused:
        estimate(scenario("tiny", system, **{path: value}))
    assert path in str(refused.value)
    assert str(refused.value).endswith(".")
