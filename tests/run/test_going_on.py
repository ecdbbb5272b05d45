"""Does a cancelled run that goes on from its file end with the bytes of a run that was never cancelled?"""

from pathlib import Path

import pytest

from engine.run import progress
from engine.run.progress import Progress
from engine.run.shared_training import Training
from engine.run.training_curve import RunStopped, StoppedRun
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from engine.scenario.storage import OPTIMIZERS
from engine.service.stopped_runs import StoppedRunFile
from engine.simulate import simulate
from engine.store.result_rows import result_text
from tests.machines import scenario
from tests.workload.readers import made_up_criteo

KEY = "0" * 32
SHORT = {"run.batches": 12, "run.evaluations": 3, "faults.detect_seconds": 1e-3, "faults.restart_seconds": 1e-3}


@pytest.fixture(autouse=True)
def _each_step_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "INTERVAL", 0.0)


def short(system: str = "cxl-b", **knobs: object) -> Scenario:
    """Return a short run of preset tiny."""
    return scenario("tiny", system, **{**SHORT, **knobs})


def cancelled(
    asked: Scenario, trained: int, shared: bool, resume: StoppedRun | None = None, data: Path | None = None
) -> StoppedRun:
    """Return a run that is cancelled after so many trained batches."""

    def watch(now: Progress) -> bool:
        return now.note.startswith("training batch") and now.batches_done >= trained

    with pytest.raises(RunStopped) as stop:
        simulate(asked, data, watch, {} if shared else None, resume)
    return stop.value.run


def through_file(run: StoppedRun, folder: Path) -> StoppedRun:
    """Return a run as its file gives it back."""
    file = StoppedRunFile(folder / "store.sqlite", KEY)
    assert file.save(run) == "" and file.batch() == run.batch
    found = file.load()
    assert found is not None
    return found


def same_bytes(asked: Scenario, folder: Path, shared: bool, cuts: tuple[int, ...] = (1, 5, 9), data: Path | None = None) -> None:
    """Cancel the run once at each cut, one after another, and compare its end with that of an uninterrupted run."""
    whole_shelf: dict[str, Training] = {}
    whole = simulate(asked, data, shelf=whole_shelf if shared else None)
    resume = None
    for cut in cuts:
        resume = through_file(cancelled(asked, cut, shared, resume, data), folder)
        assert resume.batches_done == cut and resume.is_shared == shared
    steps: list[int] = []
    shelf: dict[str, Training] = {}
    ended = simulate(asked, data, lambda now: bool(steps.append(now.batches_done)), shelf if shared else None, resume)
    assert result_text(ended) == result_text(whole) and shelf == whole_shelf
    assert whole.ran and len(whole.training) >= 12 and min(steps) >= cuts[-1]


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_every_optimizer_goes_on_with_its_state(optimizer, shared, tmp_path):
    same_bytes(short(**{"model.optimizer": optimizer}), tmp_path, shared)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "shared"), [("cxl", False), ("cxl-b", False), ("cxl-b", True), ("ssd", False), ("ssd", True), ("dram", True)]
)
def test_a_run_with_a_fault_before_and_after_the_cut_goes_on(system, shared, tmp_path):
    """A relaxed lookup, a redo log, no log at all; faults of a shared class leave its training as it is."""
    end = elapsed(short(system))
    asked = short(system, **{"faults.power_loss_at_seconds": (end / 4, end * 0.7)})
    total = len(simulate(asked).training)
    assert simulate(asked).results["Lost batches"]
    for cut in range(1, 12 if shared else total, 1 if shared else 2):
        same_bytes(asked, tmp_path, shared, (cut,))


@pytest.mark.parametrize("where", ["table", "mlp"])
def test_flipped_bits_before_and_after_the_cut(where, tmp_path):
    end = elapsed(short())
    faults = {"silent_corruption_at_seconds": (end / 6, end / 2, end * 0.8), "silent_corruption_where": where, "seed": 3}
    faults |= {"power_loss_at_seconds": (end * 0.6,)}
    asked = short(**{f"faults.{name}": value for name, value in faults.items()})
    for cut in (1, 3, 4, 7, 8, 11):
        same_bytes(asked, tmp_path, False, (cut,))


@pytest.mark.parametrize("shared", [False, True])
def test_a_relaxed_lookup_goes_on_with_what_it_has_looked_up(shared, tmp_path):
    same_bytes(short("cxl"), tmp_path, shared)


@pytest.mark.parametrize("shared", [False, True])
def test_a_file_read_several_times_goes_on_before_and_in_the_last_pass(shared, tmp_path):
    file = tmp_path / "clicks.tsv"
    file.write_bytes(made_up_criteo.tsv(made_up_criteo.rows(400, 7)))
    knobs = {"data.batch_size": 64, "data.held_out_samples": 20, "run.passes": 3, "system": "dram"}
    asked = with_values(preset("optane-kaggle").scenario, knobs)
    assert len(simulate(asked, file).training) == 17
    same_bytes(asked, tmp_path, shared, (2, 11, 12, 16), file)


def elapsed(asked: Scenario) -> float:
    """Return the simulated seconds of a run."""
    return float(simulate(asked).results["Elapsed [s]"] or 0.0)
