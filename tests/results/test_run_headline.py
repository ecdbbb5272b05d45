"""Does one sentence tell a run's training, faults, outages and repeated batches in their order?"""

from dataclasses import replace

import pytest

from engine.core.figures import figure
from engine.results.ledger import ACCOUNTS, JOULES, OUTAGE, SECONDS, TRAINING, ledger_sum
from engine.results.run_headline import run_headline
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.simulate import simulate

OUT = "2.50 min until it ran again (detect 30.0 s, restart 2.00 min)"
POWER = "faults.power_loss_at_seconds"
LONE = {
    "no fault": ({}, "Trained 300 batches in 36.0 ms without a fault"),
    "no training": ({"run.training": False}, "Ran 36.0 ms without a fault"),
    "power loss": ({POWER: (0.02,)}, f"Trained 36.1 ms; power was lost at 20.0 ms; {OUT}; 1 batch trained again"),
    "untrained": (
        {POWER: (0.02,), "run.training": False},
        f"Ran 36.1 ms; power was lost at 20.0 ms; {OUT}; 1 batch run again",
    ),
    "false alarm": (
        {"faults.false_alarm_at_seconds": (0.02,)},
        f"Trained 36.1 ms; a watchdog ended the healthy job at 20.0 ms; {OUT}; 1 batch trained again",
    ),
    "GPU crash without a log": (
        {"system": "dram", "faults.gpu_crash_at_seconds": (0.02,)},
        f"Trained 56.0 ms; a GPU crashed at 20.0 ms; {OUT}; 167 batches trained again",
    ),
    "slow device": (
        {"faults.fail_slow_at_seconds": (0.02,), "faults.fail_slow_seconds": 0.005},
        "Trained 36.5 ms; a device became slow at 20.0 ms; training went on; batches stalled for 494 µs",
    ),
    "silent corruption": (
        {"faults.silent_corruption_at_seconds": (0.02,)},
        "Trained 36.0 ms; a bit flipped unnoticed at 20.0 ms; training went on",
    ),
}


def run(**knobs):
    """A full run of 300 batches of the smallest preset, whose loop takes less time than its hardware."""
    return simulate(with_values(preset("tiny").scenario, {"run.batches": 300, "machine.framework": "lean", **knobs}))


@pytest.mark.parametrize("name", LONE)
def test_a_run_with_at_most_one_fault_is_told_in_order(name):
    knobs, sentence = LONE[name]
    assert run_headline(run(**knobs)) == sentence


def test_of_several_faults_the_first_is_named_and_the_outages_are_summed():
    again = run_headline(run(**{POWER: (0.01, 0.03)}))  # the second strikes in the recovery from the first
    assert "power was lost at 10.0 ms, and 1 more fault; 2.50 min until it ran again" in again
    apart = run_headline(run(**{POWER: (0.01, 150.02, 300.03)}))
    assert "at 10.0 ms, and 2 more faults; 3 outages of 7.50 min in all (detect 90.0 s, restart 6.00 min)" in apart
    assert apart.endswith("; 3 batches trained again")


def test_a_run_that_cannot_recover_says_why_after_its_outage():
    result = run(**{"faults.memory_loss_at_seconds": (0.02,)})
    sentence = run_headline(result)
    assert not result.ran and sentence.startswith(
        "Trained 20.0 ms; the memory was lost for good at 20.0 ms; 2.50 min of recovery"
    )
    assert sentence.endswith(result.outcome) and result.outcome.startswith("unrecoverable: ") and "again;" not in sentence


def test_training_and_outages_are_all_of_the_run():
    result = run(**{POWER: (0.02,)})
    assert set(TRAINING) | set(OUTAGE) == set(ACCOUNTS) and len(TRAINING + OUTAGE) == len(ACCOUNTS)
    for column, name in ((SECONDS, "Elapsed [s]"), (JOULES, "Energy [J]")):
        whole = ledger_sum(result.ledger, column, TRAINING) + ledger_sum(result.ledger, column, OUTAGE)
        assert whole == pytest.approx(result.results[name], rel=1e-9)
    down = result.events[1]["Elapsed [s]"] - result.events[0]["Elapsed [s]"]
    assert ledger_sum(result.ledger, SECONDS, OUTAGE) == pytest.approx(down, rel=1e-9) and figure(down, "s") == "2.50 min"


def test_a_result_without_a_ledger_has_its_outcome_as_headline():
    assert run_headline(replace(run(), ledger=(), outcome="It does not fit.")) == "It does not fit."
