"""Drives: are constants what the accesses took, is nothing left behind, and is it said where a drive cannot be measured?"""

from pathlib import Path

import pytest

from engine.__main__ import main
from engine.core import catalog
from engine.hardware.devices.ssd import DRIVES
from engine.measure import drive
from engine.measure.drive import BLOCK_BYTES, DEPTHS, measure_drive
from engine.measure.fitted import MeasuredFigure
from engine.measure.here.checkpoint import CheckpointTrial, checkpoint_trial
from engine.measure.timing import Timing

SECONDS = {"long reads": 5e-4, "long writes": 1e-3, "flush": 2e-4, "held pages": 2e-6}
SECONDS |= {f"reads at depth {depth}": 1e-4 / min(depth, 16) for depth in DEPTHS}
SECONDS |= {f"writes at depth {depth}": 2e-4 / min(depth, 4) for depth in DEPTHS}


def test_constants_are_those_of_the_accesses(measured, tmp_path):
    found = drive._figures({name: Timing(seconds, 0.1, 3) for name, seconds in SECONDS.items()}, 2, tmp_path)
    values = {key: one.value for key, one in found.items()}
    assert values["read-latency"] == pytest.approx(98) and values["software-per-access"] == pytest.approx(2)
    assert values["4-KiB-read-rate"] == pytest.approx(160_000) and values["4-KiB-write-rate"] == pytest.approx(20_000)
    assert values["sequential-read"] == pytest.approx(2**20 / 5e-4 / 1e9) and values["sequential-write"] == pytest.approx(
        1.048576
    )
    assert values["accesses-in-flight"] == pytest.approx(98 / 6.25)
    (path,) = [path for path in measured(drive=found) if path.parent.name == "drive"]
    catalog.check_part("drive", path, catalog.part_content("drive", "measured"))
    assert DRIVES["measured"].sequential_write_rate.value == pytest.approx(1.04858) and DRIVES["measured"].idle.value > 0


def test_a_small_file_is_measured_or_the_reason_is_said_and_nothing_is_left(tmp_path):
    opened = {number: Path(f"/dev/fd/{number}").exists() for number in range(256)}
    found = measure_drive(tmp_path, 2, size=64 * BLOCK_BYTES * 16, rounds=1)
    assert bool(found.figures) != bool(found.notes) and not list(tmp_path.iterdir())
    assert opened == {number: Path(f"/dev/fd/{number}").exists() for number in range(256)}, "a file is left open"
    assert all(one.value > 0 and one.low <= one.value <= one.high for one in found.figures.values())


@pytest.mark.parametrize(
    ("name", "value", "said"), [("MIN_FREE_BYTES", 2**80, "free: its drive"), ("DIRECT", 0, "has no direct I/O")]
)
def test_what_cannot_be_measured_is_said(tmp_path, monkeypatch, name, value, said):
    monkeypatch.setattr(drive, name, value)
    (note,) = measure_drive(tmp_path, 2).notes
    assert said in note and note.endswith("not measured.") and not list(tmp_path.iterdir())


def test_refused_direct_io_and_an_interrupt_leave_nothing_behind(tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(drive.os, "pwrite", refused)
    (note,) = measure_drive(tmp_path, 2).notes
    assert "Direct I/O is refused in" in note and not list(tmp_path.iterdir())
    monkeypatch.undo()
    monkeypatch.setattr(drive, "_obstacle", lambda folder: "")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(drive, "_accesses", interrupted)
    with pytest.raises((KeyboardInterrupt, OSError)):
        measure_drive(tmp_path, 2, size=2**20)
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_is_written_and_read_back_beside_its_prediction(measured, tmp_path):
    figure = {
        key: MeasuredFigure(value, value, value, "") for key, value in (("sequential-write", 2.0), ("sequential-read", 4.0))
    }
    measured(drive=figure)
    folder = tmp_path / "state"
    folder.mkdir()
    found = checkpoint_trial(folder, 2**22)
    assert found.predicted_seconds == (2**22 / 2e9, 2**22 / 4e9)
    assert min(found.cached_seconds) > 0 and not list(folder.iterdir())
    told = CheckpointTrial(1e9, (0.5, 0.25), (0.4, 0.25), (1.0, 0.5)).sentence
    assert told == (
        "A checkpoint of 1.00 GB: 0.500 s predicted, 0.400 s past the page cache (+25.0 %), "
        "1.00 s through the page cache (-50.0 %); its restore: 0.250 s predicted, 0.250 s past the page cache (0 %), "
        "0.500 s through the page cache (-50.0 %)."
    )
    assert "past the page cache" not in CheckpointTrial(1e9, (0.5, 0.25), None, (1.0, 0.5)).sentence


def test_without_a_measured_drive_no_checkpoint_is_tried(measured, tmp_path):
    measured()
    assert checkpoint_trial(tmp_path, 2**20) is None


def test_a_drive_or_a_gpu_without_here_is_refused(tmp_path, capsys):
    for option in (["--drive", str(tmp_path)], ["--gpu", "0"]):
        assert main(["validate", "tiny", *option]) == 2 and "add --here" in capsys.readouterr().err
