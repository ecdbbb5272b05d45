"""Does a command do what it can without a standard stream, closed or full, and say what is lost?"""

import os
import subprocess
import sys
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path

import pytest

from engine.__main__ import main
from engine.commands import output
from tests import ROOT

TINY = ("--preset", "tiny", "--estimate")
CLOSE = "import os, sys; [os.close(int(one)) for one in sys.argv[1].split()]; os.execv(sys.argv[2], sys.argv[2:])"
SLOW = pytest.mark.slow


def closed(descriptors: str, folder: Path, *command: str) -> int:
    """Return the exit status of a command of Python's without some descriptors, as a shell starts it."""
    words = [sys.executable, "-S", "-c", CLOSE, descriptors, sys.executable, *command]
    return subprocess.run(words, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True).returncode


@pytest.mark.slow
@pytest.mark.parametrize("descriptors", [pytest.param("1", marks=SLOW), pytest.param("2", marks=SLOW), "0 1 2"])
def test_a_sweep_needs_no_standard_stream(descriptors: str, tmp_path: Path) -> None:
    words = ["--axis", "machine.cxl_bandwidth_GBps=8,16", "--csv", "f.csv", "--store", "s.sqlite", "--jobs", "1"]
    assert closed(descriptors, tmp_path, "-m", "engine", "sweep", *TINY, *words) == 0
    assert (tmp_path / "f.csv").read_text(encoding="utf-8").count("\n") == 3


def test_a_closed_descriptor_is_no_file_of_the_commands_own(tmp_path: Path) -> None:
    script = (
        "import os; from engine.core.process import open_streams; open_streams();"
        "kinds = [os.path.samestat(os.fstat(n), os.stat(os.devnull)) and os.get_inheritable(n) for n in range(3)];"
        "file = open('kinds', 'w'); file.write(f'{kinds} {file.fileno() > 2}')"
    )
    assert closed("0 1 2", tmp_path, "-c", script) == 0
    assert (tmp_path / "kinds").read_text(encoding="utf-8") == "[True, True, True] True"


@SLOW
def test_a_script_without_streams_runs_on_several_processes(tmp_path: Path) -> None:
    script = "import emberpool as ep; open('n', 'w').write(str(len(ep.run('tiny', batches=5, data__seed=[1, 2], jobs=2))))"
    assert closed("0 1 2", tmp_path, "-c", script) == 0
    assert (tmp_path / "n").read_text(encoding="utf-8") == "2"


@pytest.fixture
def full() -> Iterator[TextIOWrapper]:
    """A stream on a disk that is full."""
    with open("/dev/full", "w", encoding="utf-8") as stream:
        yield stream
        output.drop_stream(stream)


@pytest.mark.parametrize("words", ["--version", "--help", "run --help", "workload fit --help", "list metrics"])
def test_text_for_people_that_is_lost_is_no_success(
    words: str, full: TextIOWrapper, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", full)
    assert main(words.split()) == 2
    assert capsys.readouterr().err == "Standard output cannot be written: No space left on device; name a file instead.\n"


def test_a_lost_summary_beside_a_file_is_a_note(
    full: TextIOWrapper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", full)
    assert main(["run", *TINY, "--csv", str(tmp_path / "f")]) == 0 and (tmp_path / "f").stat().st_size > 1000
    told = capsys.readouterr().err
    assert told.count("\n") == 1 and "No space left on device, so the summary is lost; " in told
    assert "name a file" not in told and f"the requested output is in {tmp_path / 'f'}." in told


def test_a_closed_output_beside_a_file_is_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["run", *TINY, "--csv", str(tmp_path / "f")]) == 0 and (tmp_path / "f").stat().st_size > 1000
    assert main(["run", *TINY]) == 2
    assert capsys.readouterr().err == "Standard output is closed; name a file instead.\n"


def test_a_complaint_that_nobody_can_read_still_has_its_status(full: TextIOWrapper, monkeypatch: pytest.MonkeyPatch) -> None:
    full.reconfigure(line_buffering=True)
    monkeypatch.setattr(sys, "stderr", full)
    assert main(["run", "--preset", "nope"]) == 2
