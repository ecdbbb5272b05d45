"""The study of many faults: does each recovery take back what it should and no more, and is the pair a run without a fault?"""

import pytest

from engine.__main__ import main
from engine.errors import BadInput
from engine.training.loop import train
from engine.validation.studies import accuracy, rollbacks, study_file
from engine.validation.studies.findings import MOMENTS, findings
from engine.validation.studies.rollbacks import RollbacksPlan, fault_batches, weights_at_crash
from tests.cases import draw, each
from tests.training.training_models import state_bytes
from tests.validation.test_accuracy_study import assert_alike

SMALL = RollbacksPlan("tiny", 60, 40, 400, 5, ("spread-1", "spread-4", "early-7"))
WORDS = ["--preset", "tiny", "--batches", "60", "--crash-at", "40", "--held-out", "400", "--age", "5"]
VARIANTS = ["--variants", "spread-1,spread-4,early-7"]


def test_faults_lie_evenly_and_the_last_one_in_the_struck_batch():
    assert (
        fault_batches(SMALL, "spread-4") == (10, 20, 30, 40)
        and fault_batches(SMALL, "early-7") == (7,)
        and fault_batches(SMALL, "none") == ()
    )
    assert (
        len({*fault_batches(RollbacksPlan(), "spread-100")}) == 100 and fault_batches(RollbacksPlan(), "spread-100")[-1] == 4000
    )


def test_one_fault_is_that_of_the_accuracy_study():
    age = accuracy.AccuracyPlan("tiny", 60, 40, 400, (0, 5))
    ours, theirs = rollbacks.one_seed(SMALL, 1), accuracy.one_seed(age, 1)
    for moment in MOMENTS:
        assert getattr(ours, moment)["none"] == getattr(theirs, moment)[0]
        assert getattr(ours, moment)["spread-1"] == getattr(theirs, moment)[5]


@each(("age", "advanced"), [(5, 20), (10, 0), (30, 0)])
def test_recoveries_take_the_mlps_back_each_time_but_never_beyond_the_one_before(age, advanced):
    """Struck every 10 batches, MLPs keep what they learn in the first 10 - age of them; rows are never taken back."""
    given, shape, start, _ = accuracy.prepare_seed(SMALL, 1)
    plan = RollbacksPlan("tiny", 60, 40, 400, age, ("spread-4",))
    found = weights_at_crash(plan, fault_batches(plan, "spread-4"), given, shape, start)
    if advanced == 0:
        assert found.mlp.tobytes() == start.mlp.tobytes()
    weights, at = start, 0
    for b in (10, 20, 30, 40):
        forward = train(shape, weights, given.batch, at, b).weights
        older = train(shape, weights, given.batch, at, max(at, b - age)).weights
        forward.mlp[:], forward.mlp_state[:] = older.mlp, older.mlp_state
        weights, at = forward, b
    assert state_bytes(found) == state_bytes(weights)


@each(("more", "sentence"), [
    (["--variants", "spread-50"], "50 recoveries do not fit before batch 40"),
    (["--variants", "early-50"], "a fault in batch 50 does not fit before batch 40"),
    (["--variants", "often"], "'often' is not a variant of this study; write spread-NUMBER or early-BATCH"),
])  # fmt: skip
def test_a_plan_that_cannot_be_carried_out_is_refused(more, sentence, tmp_path, capsys):
    assert main(["study", "rollbacks", *WORDS, *more, "--out", str(tmp_path / "s.jsonl")]) == 2
    assert sentence in capsys.readouterr().err
    with pytest.raises(BadInput, match="means that no MLP is old"):
        rollbacks.check_plan(RollbacksPlan("tiny", 60, 40, 400, 0))


@pytest.mark.slow
def test_the_command_computes_it_for_any_number_of_processes_and_says_how_to_again(tmp_path, capsys):
    files = [tmp_path / f"{jobs}.jsonl" for jobs in "12"]
    for file, jobs in zip(files, "12", strict=True):
        assert main(["study", "rollbacks", *WORDS, *VARIANTS, "--seeds", "2", "--jobs", jobs, "--out", str(file)]) == 0
    assert files[0].read_bytes() == files[1].read_bytes()
    told = capsys.readouterr().out
    assert "4 recoveries over the run" in told and "1 recovery, in batch 7" in told
    command = study_file.read_study(files[0]).command
    assert command.startswith("python -m engine study rollbacks --seeds 2 --preset tiny") and command.endswith("--age 5")


def test_the_stored_result_is_the_full_study():
    study = study_file.read_study(study_file.STORED_ROLLBACKS)
    assert study.plan == RollbacksPlan() and len(study.seeds) >= 6
    assert {seed.twin for seed in study.seeds.values()} == {""}
    assert study_file._text(study) == study_file.STORED_ROLLBACKS.read_text()


def test_a_hundred_recoveries_cost_more_than_ten_and_these_than_one():
    found = {
        (one.variant, one.moment, one.measure): one.difference.mean
        for one in findings(study_file.read_study(study_file.STORED_ROLLBACKS))
    }
    auc = [found[f"spread-{count}", "at_recovery", "auc"] for count in (1, 10, 100)]
    assert auc[2] < auc[1] and auc[2] < auc[0] and auc[2] < 0


@pytest.mark.slow
def test_a_seed_of_the_stored_result_comes_out_again():
    study = study_file.read_study(study_file.STORED_ROLLBACKS)
    (number,) = draw(sorted(study.seeds), 1)
    ours, then = rollbacks.one_seed(study.plan, number), study.seeds[number]
    for moment in MOMENTS:
        for name, score in getattr(then, moment).items():
            assert_alike(getattr(ours, moment)[name], score)
