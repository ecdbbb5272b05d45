"""Is a sampled run, with each N-th batch trained, timed as the full run, and trained as a run of these batches alone?"""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from engine.errors import BadKnob
from engine.results.csv_table import csv_text
from engine.results.result import Result
from engine.results.samples_seen import trained_samples
from engine.run import progress
from engine.run.progress import Meter, Progress
from engine.run.run import follow_run
from engine.run.shared_training import Training, functional_class
from engine.run.training_curve import RunStopped, StoppedRun, initial_state, scaled_learner, train_segment
from engine.scenario.keys import digest, key, key_lines, texts
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from engine.scenario.storage import OPTIMIZERS
from engine.simulate import simulate
from engine.store.result_rows import result_text
from engine.training.loop import TrainedStretch, train
from engine.training.trained_batches import evaluation_batches
from engine.training.weights import Weights, trained_arrays
from engine.training.yardsticks import yardsticks
from engine.version import MODEL
from engine.workload.source import shared_source, source
from tests.cases import draw, each
from tests.machines import counted_flow, ready, scenario
from tests.workload.readers import made_up_criteo

BATCHES = 13
SHORT = {"run.batches": BATCHES, "run.evaluations": 3, "faults.detect_seconds": 1e-3, "faults.restart_seconds": 1e-3}
LEARNED = ("Loss", "AUC", "AUC error", "Accuracy [%]", "Loss (training)", "AUC (training)", "AUC error (training)")
EVERY = "run.train_every"
STRICT_SYSTEMS = ("cxl-b", "ssd", "dram")  # an undo log, a redo log, no log
STRIKES = ("power_loss", "gpu_crash", "media_error", "memory_loss", "silent_corruption", "log_full", "fail_slow")


def short(system: str, **knobs: object) -> Scenario:
    """Return a short run of preset tiny; knobs without a group are faults'."""
    given = {path if "." in path else f"faults.{path}": value for path, value in knobs.items()}
    return scenario("tiny", system, **{**SHORT, **given})


@cache
def seconds(system: str) -> float:
    """Return the simulated seconds of the short run without a fault."""
    return float(simulate(short(system, **{"run.training": False})).results["Elapsed [s]"] or 0.0)


def batches(result: Result) -> list[int]:
    """Return the numbers of the batches on a result's curve."""
    return [row["Batch"] for row in result.training]


def with_bytes(weights: Weights) -> list[bytes]:
    """Return all that training changes, as bytes."""
    return [array.tobytes() for _, array in trained_arrays(weights)]


def test_at_its_default_the_knob_is_in_no_key_and_no_name_of_a_training():
    asked = short("cxl-b")
    assert asked.run.train_every == 1 and not any(EVERY in line for line in key_lines(asked))
    one, two = functional_class(asked), functional_class(with_values(asked, {EVERY: 2}))
    assert one and two and one != two and one.name != two.name
    read = [f"{path}={text}" for path, text in texts(one.scenario).items() if path.startswith(("model.", "data.", "run."))]
    read.remove("run.train_every=1")
    assert one.name == digest(["training", MODEL, "relaxed_lookup=False", "matrix_precision=fp32", *read])
    assert key(with_values(asked, {EVERY: 2}), "full") != key(asked, "full") == key(with_values(asked, {EVERY: 1}), "full")


@each("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("every", [2, 4])
def test_training_each_nth_batch_is_training_a_source_that_has_only_these(optimizer: str, every: int) -> None:
    asked = short("dram", **{"model.optimizer": optimizer, "model.row_precision": "int8", EVERY: every})
    origin = source(asked)
    learner = scaled_learner(asked, origin, BATCHES, Meter(None, 1), False)

    def trained(get_batch, count: int, **knobs: object) -> TrainedStretch:
        return train(learner.shape, learner.weights, get_batch, 0, count, held_out=learner.held_out, **knobs)

    sampled = trained(origin.batch, BATCHES, train_every=every, evaluations=learner.evaluations)
    few = -(-BATCHES // every)
    alone = trained(lambda n: origin.batch(n * every), few, evaluations=evaluation_batches(few, 3))
    assert with_bytes(sampled.weights) == with_bytes(alone.weights)
    assert list(sampled.losses) == list(alone.losses) and len(alone.losses) == few
    aucs = {(n - 1) // every + 1: evaluation.auc for n, evaluation in sampled.evaluations.items()}
    assert aucs == {n: evaluation.auc for n, evaluation in alone.evaluations.items()} and len(aucs) == 3


@pytest.mark.parametrize("every", [2, 4, 5, 100])
def test_a_sampled_run_takes_the_time_and_energy_of_the_full_run_exactly(every: int) -> None:
    """A crash replays its logs to the byte; with a strict order of writes the bytes decide nothing."""
    for system in ("cxl-b", "cxl", "ssd", "dram"):
        for name in STRIKES:
            asked = short(system, **{f"{name}_at_seconds": (0.38 * seconds(system), 0.71 * seconds(system)), "seed": 3})
            full, sampled = simulate(asked), simulate(with_values(asked, {EVERY: every}))
            timed, sampled_timed = (
                replace(result, results={n: v for n, v in result.results.items() if n not in LEARNED}, training=(), warnings=())
                for result in (full, sampled)
            )
            assert sampled_timed == replace(timed, scenario=sampled.scenario), (system, name)
            if full.ran:
                assert batches(sampled) == [n for n in batches(full) if n % every == 0], (system, name)
                assert [row["Elapsed [s]"] for row in sampled.training] == [
                    row["Elapsed [s]"] for row in full.training if row["Batch"] % every == 0
                ]


@each("system", STRICT_SYSTEMS)
@pytest.mark.parametrize("every", [2, 4])
def test_after_a_crash_at_any_instant_the_final_weights_are_those_without_it(system: str, every: int) -> None:
    whole = simulate(short(system, **{EVERY: every}))
    lost = set()
    for share in np.linspace(0.06, 0.97, 9):
        crash = {"power_loss_at_seconds": (float(share) * seconds(system),), EVERY: every}
        struck, shared = simulate(short(system, **crash)), simulate(short(system, **crash), shelf={})
        assert struck.ran and {name: struck.results[name] for name in LEARNED} == {name: whole.results[name] for name in LEARNED}
        assert result_text(struck) == result_text(shared)
        lost.add(struck.results["Lost batches"])
    assert lost != {0.0}


@pytest.mark.parametrize("every", [2, 4])
def test_a_relaxed_recovery_has_rows_and_mlps_of_the_batches_that_it_names(every: int) -> None:
    """Rows of batch m are those after the last trained batch before m; MLPs of batch m - g likewise."""
    knobs = {"policy.mlp_staleness_bound_batches": 6, "machine.cxl_bandwidth_GBps": 0.3, "model.pooling": 1}
    asked = short("cxl", **knobs, **{"policy.relaxed_lookup": False, "run.batches": 24, EVERY: every})
    end = float(simulate(with_values(asked, {"run.training": False})).results["Elapsed [s]"] or 0.0)
    ages, origin = set(), shared_source(asked, file=None)
    for share in (0.3, 0.45, 0.6, 0.75, 0.9):
        m = ready(with_values(asked, {"faults.power_loss_at_seconds": (share * end,)}))
        traffic = counted_flow(m.scenario, 24)
        recovered = []

        def resolve(segment, outage, state, recovered=recovered):
            resumption, state = train_segment(segment, outage, state)
            recovered.append((resumption, state.learner))
            return resumption, state

        follow_run(m, traffic, initial_state(m, origin, 24, Meter(None, 24)), resolve)
        resumption, learner = recovered[0]
        start = scaled_learner(m.scenario, origin, 24, Meter(None, 24), False)
        rows, mlps = (
            train(start.shape, start.weights, lambda n: origin.batch(n * every), 0, -(-n // every)).weights
            for n in (resumption.embedding_batch, resumption.mlp_batch)
        )
        assert with_bytes(learner.weights) == with_bytes(replace(rows, mlp=mlps.mlp, mlp_state=mlps.mlp_state))
        ages.add(resumption.embedding_batch - resumption.mlp_batch)
    assert max(ages) > 0


def cancelled(asked: Scenario, trained: int, shared: bool, resume: StoppedRun | None, data: Path | None) -> StoppedRun:
    """Return a run that is cancelled after so many batches."""

    def watch(now: Progress) -> bool:
        return now.note.startswith("training batch") and now.batches_done >= trained

    with pytest.raises(RunStopped) as stop:
        simulate(asked, data, watch, {} if shared else None, resume)
    return stop.value.run


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("system", ["cxl", "cxl-b", "ssd"])
def test_a_cancelled_sampled_run_goes_on_to_the_same_bytes(system: str, shared: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    strikes = (0.25 * seconds(system), 0.7 * seconds(system))
    for asked in (short(system, **{EVERY: 3}), short(system, **{EVERY: 2, "power_loss_at_seconds": strikes})):
        if shared and not functional_class(asked):
            continue
        whole, resume = simulate(asked, shelf={} if shared else None), None
        for cut in (1, 5, 9):
            resume = cancelled(asked, cut, shared, resume, None)
            assert cut <= resume.batches_done < BATCHES + 8 and resume.stretch.losses
        told: list[Progress] = []
        shelf: dict[str, Training] = {}
        ended = simulate(asked, None, lambda now, told=told: bool(told.append(now)), shelf if shared else None, resume)
        assert result_text(ended) == result_text(whole)
        assert max(now.share for now in told) == 1.0


def test_a_data_file_read_several_times_trains_each_nth_batch_of_all_passes(tmp_path: Path) -> None:
    file = tmp_path / "clicks.tsv"
    file.write_bytes(made_up_criteo.tsv(made_up_criteo.rows(400, 7)))
    knobs = {"data.batch_size": 64, "data.held_out_samples": 20, "run.passes": 3, "system": "dram", "run.evaluations": 4}
    full = simulate(with_values(preset("optane-kaggle").scenario, knobs), file)
    sampled = simulate(with_values(preset("optane-kaggle").scenario, {**knobs, EVERY: 5}), file)
    assert batches(full) == list(range(17)) and batches(sampled) == [0, 5, 10, 15]
    assert sampled.results["Elapsed [s]"] == full.results["Elapsed [s]"]
    assert [row["AUC"] is not None for row in sampled.training] == [True] * 4
    assert trained_samples(full) == 17 * 64 and trained_samples(sampled) == 4 * 64
    assert sampled.results["AUC (training)"] is not None, "batch 15 is in the last pass"
    wide = simulate(with_values(preset("optane-kaggle").scenario, {**knobs, EVERY: 16}), file)
    assert batches(wide) == [0, 16]
    none_last = simulate(with_values(preset("optane-kaggle").scenario, {**knobs, EVERY: 10}), file)
    assert batches(none_last) == [0, 10] and none_last.results["Loss (training)"] is None and none_last.results["Loss"]


def test_without_training_the_knob_changes_nothing():
    off = {"run.training": False}
    full, sampled = simulate(short("cxl", **off)), simulate(short("cxl", **off, **{EVERY: 8}))
    assert replace(sampled, scenario=full.scenario) == full and not full.training


def test_a_result_says_which_batches_were_trained():
    sampled = simulate(short("dram", **{EVERY: 4}))
    note = next(warning for warning in sampled.warnings if "sampled run" in warning)
    assert "each 4th batch was trained, 4 of 13" in note
    assert not any("sampled run" in warning for warning in simulate(short("dram")).warnings)
    head, row = csv_text([sampled], "full").splitlines()
    assert row.split(",")[head.split(",").index(EVERY)] == "4"


def test_the_yardstick_is_trained_on_the_same_batches():
    asked = short("dram", **{EVERY: 4})
    sampled, full = yardsticks(asked), yardsticks(with_values(asked, {EVERY: 1}))
    assert [n for n, _ in sampled.regression] == sorted(evaluation_batches(BATCHES, 3, 4)) == [5, 9, 13]
    assert [n for n, _ in full.regression] == [5, 9, 13] and full.regression != sampled.regression
    assert full.teacher == sampled.teacher


@pytest.mark.parametrize("value", [0, -2, 10**6 + 1, 1.5, "each", None])
def test_other_numbers_are_refused(value: object) -> None:
    with pytest.raises(BadKnob, match=r"run\.train_every"):
        with_values(short("dram"), {EVERY: value})


def scored(asked: Scenario) -> tuple[float, float]:
    """Return the final held-out AUC and loss of a full run."""
    results = simulate(asked).results
    return float(results["AUC"] or 0.0), float(results["Loss"] or 0.0)


def differences(asked: Scenario, every: int) -> tuple[float, float, float, float]:
    """Return what a sampled run lacks: AUC and loss against the full run, and against a full run of as many batches."""
    sampled_auc, sampled_loss = scored(with_values(asked, {EVERY: every}))
    full_auc, full_loss = scored(asked)
    short_auc, short_loss = scored(with_values(asked, {"run.batches": asked.run.batches // every}))
    return full_auc - sampled_auc, sampled_loss - full_loss, sampled_auc - short_auc, sampled_loss - short_loss


@each("seed", range(1, 9), few=1)
def test_a_sampled_run_has_learned_as_much_as_a_full_run_of_as_many_batches(seed: int) -> None:
    """Bounds of docs/model/training.md, around what seeds 1 to 8 of preset tiny give: 1,000 of 2,000 batches trained."""
    asked = with_values(preset("tiny").scenario, {"run.evaluations": 1, "data.seed": seed})
    auc, loss, same_auc, same_loss = differences(asked, 2)
    assert 0.004 < auc < 0.035 and 0.001 < loss < 0.04
    assert abs(same_auc) < 0.02 and abs(same_loss) < 0.025


@pytest.mark.slow
@pytest.mark.parametrize(
    ("batches", "every", "most", "same", "same_loss"),
    [(600, 4, 0.055, 0.015, 0.025), (4000, 4, 0.03, 0.01, 0.01), (4000, 16, 0.075, 0.015, 0.025)],
)
def test_of_kaggle_s_model_too(batches: int, every: int, most: float, same: float, same_loss: float) -> None:
    for seed in draw(range(1, 9), 2, "a sampled run"):
        changes = {"run.evaluations": 1, "run.batches": batches, "data.seed": seed}
        lacks = differences(with_values(preset("dlrm-kaggle").scenario, changes), every)
        assert 0.005 < lacks[0] < most and 0.005 < lacks[1] < 0.05, seed
        assert abs(lacks[2]) < same and abs(lacks[3]) < same_loss, seed
