"""The study of lossy recoveries: is only what a recovery changes changed, and is the stored result the full study?"""

import numpy as np
import pytest

from engine.__main__ import main
from engine.errors import BadInput
from engine.training.loop import train
from engine.validation.studies import accuracy, protections, study_file
from engine.validation.studies.findings import MOMENTS, findings
from engine.validation.studies.protections import SHARDS, ProtectionsPlan, rounded_table
from tests.cases import draw
from tests.training.training_models import made_up_run, model
from tests.validation.test_accuracy_study import assert_alike, rows

SMALL = ProtectionsPlan("tiny", 40, 30, 400, ("cpr-10", "bits-3", "mlp-10"))
WORDS = ["--preset", "tiny", "--batches", "40", "--crash-at", "30", "--held-out", "400", "--variants", "cpr-10,bits-3,mlp-10"]


@pytest.fixture(scope="module")
def struck():
    """Weights of the small plan as batches 20 and 30 begin and after batch 39, trained without a break."""
    given, shape, first, test = accuracy.prepare_seed(SMALL, 1)
    older = {n: train(shape, first, given.batch, 0, n).weights for n in (20, 30)}
    ends = train(shape, first, given.batch, 0, 40).weights
    return shape, older, ends, test


def test_the_pair_is_the_run_without_a_fault_bit_by_bit(struck):
    shape, older, ends, test = struck
    seed = protections.one_seed(SMALL, 1)
    assert seed.at_end["none"] == accuracy.score_weights(shape, ends, test)
    assert seed.at_recovery["none"] == accuracy.score_weights(shape, older[30], test)
    assert len({score.loss for score in seed.at_recovery.values()}) == 4


def test_cpr_takes_back_the_rows_of_one_shard_and_nothing_else(struck):
    _, older, _, _ = struck
    _only_one_shard_is_back(older)


def test_cpr_takes_back_rows_of_one_shard_in_tables_of_any_width():
    shape = model(dim=(4, 3), optimizer=("adam", "rowwise-adagrad"))
    weights, batches = made_up_run(shape, 16, 30)
    older = {n: train(shape, weights, batches.__getitem__, 0, n).weights for n in (20, 30)}
    _only_one_shard_is_back(older)
    coarse, rounded_too = protections.recovered(older, 30, "bits-3", 1), [rounded_table(b.vectors, 3) for b in older[30].blocks]
    assert [b.vectors.tobytes() for b in coarse.blocks] == [vectors.tobytes() for vectors in rounded_too]


def _only_one_shard_is_back(older):
    found = protections.recovered(older, 30, "cpr-10", 1)
    lost = np.split(older[30].rows % SHARDS == 1, np.cumsum([len(block.vectors) for block in found.blocks])[:-1])
    assert found.mlp.tobytes() == older[30].mlp.tobytes()
    for here, now, before, gone in zip(found.blocks, older[30].blocks, older[20].blocks, lost, strict=True):
        for ours, newer, old in zip(here, now, before, strict=True):
            assert ours[gone].tobytes() == old[gone].tobytes() != newer[gone].tobytes()
            assert ours[~gone].tobytes() == newer[~gone].tobytes()


def test_an_old_mlp_leaves_the_rows_as_they_are_and_rounding_the_mlp(struck):
    _, older, _, _ = struck
    old = protections.recovered(older, 30, "mlp-10", 1)
    assert old.mlp.tobytes() == older[20].mlp.tobytes() and rows(old) == rows(older[30])
    coarse = protections.recovered(older, 30, "bits-3", 1)
    assert coarse.mlp.tobytes() == older[30].mlp.tobytes() and rows(coarse) != rows(older[30])


def test_rounding_keeps_a_row_s_ends_and_errs_by_half_a_step_at_most():
    table = np.random.default_rng(1).normal(0, 0.1, (50, 16)).astype(np.float32)
    table[3] = 0.25
    for bits in (2, 4, 8):
        found = rounded_table(table, bits)
        step = (table.max(1) - table.min(1)) / (2**bits - 1)
        assert (np.abs(found - table).max(1) <= step / 2 * 1.001 + 1e-7).all()
        assert max(len(np.unique(row)) for row in found) <= 2**bits
        assert np.allclose(found.min(1), table.min(1)) and np.allclose(found.max(1), table.max(1)) and (found[3] == 0.25).all()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"variants": ("cpr-31",)}, r"goes back 31 batches, but batch 30 has fewer"),
        ({"variants": ("bits-17",)}, r"is not a variant of this study"),
        ({"variants": ("gpr-3",)}, r"write cpr-BATCHES"),
        ({"crash_at": 40, "variants": ("bits-4",)}, r"choose a batch from 1 to 39"),
    ],
)
def test_a_plan_that_cannot_be_carried_out_is_refused_with_the_remedy(changes, sentence):
    with pytest.raises(BadInput, match=sentence):
        protections.check_plan(ProtectionsPlan(**{**vars(SMALL), **changes}))


@pytest.mark.slow
def test_the_command_keeps_seeds_in_a_file_that_does_not_depend_on_processes(tmp_path, capsys):
    files = [tmp_path / name for name in ("one", "two")]
    for file, jobs in zip(files, ("1", "2"), strict=True):
        assert main(["study", "protections", *WORDS, "--seeds", "3", "--jobs", jobs, "--out", str(file)]) == 0
    assert files[0].read_bytes() == files[1].read_bytes()
    out = capsys.readouterr().out
    assert "rows of one shard in 8 go back 10 batches" in out and "all rows rounded to 3 bits a weight" in out
    assert study_file.read_study(files[0]).command == f"python -m engine study protections --seeds 3 {' '.join(WORDS)}"


def test_the_stored_result_is_the_full_study():
    study = study_file.read_study(study_file.STORED_PROTECTIONS)
    assert study.plan == ProtectionsPlan() and len(study.seeds) >= 10
    assert {seed.twin for seed in study.seeds.values()} == {""}
    assert study_file._text(study) == study_file.STORED_PROTECTIONS.read_text()


def test_the_study_can_see_harm():
    """Two bits a weight and old rows are known to hurt; an interval that included 0 could not tell the others from harm."""
    found = {
        (one.variant, one.moment, one.measure): one.difference
        for one in findings(study_file.read_study(study_file.STORED_PROTECTIONS))
    }
    assert found["bits-2", "at_recovery", "auc"].high < 0
    assert found["cpr-500", "at_recovery", "auc"].high < 0


@pytest.mark.slow
def test_a_seed_of_the_stored_result_comes_out_again():
    study = study_file.read_study(study_file.STORED_PROTECTIONS)
    (number,) = draw(sorted(study.seeds), 1)
    ours, then = protections.one_seed(study.plan, number), study.seeds[number]
    for moment in MOMENTS:
        for name, score in getattr(then, moment).items():
            assert_alike(getattr(ours, moment)[name], score)
