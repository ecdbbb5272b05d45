"""Is a kept kernel used only as it was written, by whoever may write it?"""

import os
import pickle
import random
import subprocess
import sys
from pathlib import Path

import pytest

from engine.core import kernel_files
from tests import ROOT
from tests.cases import draw
from tests.core.test_jit import written as written  # a fixture

RUN = [sys.executable, "-m", "engine", "run", "--preset", "tiny", "--set", "run.batches=3", "--csv", "-"]


@pytest.fixture(autouse=True)
def _first_sentence(monkeypatch):
    monkeypatch.setattr(kernel_files, "PRINTED_TOPICS", set())


class Foreign:
    """A pickle that leaves a file behind once it is run."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self):
        return os.mkdir, (str(self.trace),)


def flipped(content: bytes, position: int) -> bytes:
    return content[:position] + bytes([content[position] ^ 1 << position % 8]) + content[position + 1 :]


def damaged(content: bytes, trace: Path) -> dict[str, bytes]:
    """Return a kept file's content as damage leaves it, by the kind of damage."""
    foreign = pickle.dumps(Foreign(trace))
    drawn = random.Random(len(content)).sample(range(len(content)), 3)
    return {
        **{f"flipped at {position}": flipped(content, position) for position in (0, 31, 32, len(content) - 1, *drawn)},
        **{f"cut at {length}": content[:length] for length in (0, 1, 31, 32, 33, len(content) // 2, len(content) - 1)},
        "zeros": bytes(len(content)),
        "zeros behind": content + bytes(8),
        "a pickle": foreign,
        "a pickle behind the certificate": content[:32] + foreign,
    }


def kept_file(folder: Path, kernel: str = "told") -> Path:
    (path,) = folder.rglob(f"*.{kernel}.*.nbc")
    return path


def test_a_damaged_or_foreign_kernel_is_compiled_anew_and_never_run(written, tmp_path, capsys):
    assert written() == (6, 1)
    path = kept_file(tmp_path)
    sound = path.read_bytes()
    for kind, content in damaged(sound, tmp_path / "trace").items():
        path.write_bytes(content)
        assert written() == (6, 1), kind
        assert written() == (6, 0), kind
        assert capsys.readouterr().err.count("compiled anew") == 1, kind
        kernel_files.PRINTED_TOPICS.clear()  # a sentence a run
    assert not (tmp_path / "trace").exists()


def test_a_kernel_under_the_name_of_another_is_not_used(written, tmp_path):
    written()
    path = kept_file(tmp_path)
    sys.modules["made_up.entry"].refused(2.0)
    path.write_bytes(kept_file(tmp_path, "refused").read_bytes())
    assert written() == (6, 1)


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_file_is_not_waited_for(written, tmp_path, kind, capsys):
    written()
    path = kept_file(tmp_path)
    path.unlink()
    {"pipe": os.mkfifo, "device": lambda path: path.symlink_to("/dev/zero"), "folder": os.mkdir}[kind](path)
    assert written() == (6, 1)
    assert written() == (6, int(kind == "folder"))  # which cannot be removed as a file
    assert capsys.readouterr().err.count("\n") == 1 + (kind == "folder")  # that it is damaged; that it cannot be kept


def test_a_file_that_everybody_may_write_is_not_used(written, tmp_path):
    written()
    kept_file(tmp_path).chmod(0o646)
    assert written() == (6, 1)


@pytest.mark.parametrize("place", ["made_up/__pycache__", "made_up"])
def test_no_kernel_is_kept_where_everybody_may_write(written, tmp_path, place, capsys):
    written()
    (tmp_path / place).chmod(0o757)
    try:
        assert [written(), written()] == [(6, 1), (6, 1)]
    finally:
        (tmp_path / place).chmod(0o755)
    assert "NUMBA_CACHE_DIR" in capsys.readouterr().err
    assert written() == (6, 0)


def test_no_kernel_is_kept_in_the_folder_of_another_user(written, tmp_path, monkeypatch, capsys):
    written()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    own = Path.stat
    monkeypatch.setattr(Path, "stat", lambda path, **options: _of_user(own(path, **options), 4711))
    assert written() == (6, 1)
    assert "belongs to another user" in capsys.readouterr().err


def _of_user(status: os.stat_result, user: int) -> os.stat_result:
    return os.stat_result((*status[:4], user, *status[5:]))


def test_a_full_disk_leaves_kernels_in_memory(written, monkeypatch, capsys):
    def no_space(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kernel_files.CertifiedFiles, "_open_for_write", no_space)
    assert written() == (6, 1)
    assert "No space left on device" in capsys.readouterr().err


def test_a_sticky_folder_above_is_no_danger(written, tmp_path, monkeypatch):
    (tmp_path / "made_up").chmod(0o1777)
    assert [written(), written()] == [(6, 1), (6, 0)]


def _run(cache: Path) -> subprocess.CompletedProcess:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.run(RUN, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_processes_at_once_on_an_empty_folder_compile_and_keep_what_they_compiled(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    together = [
        subprocess.Popen(RUN, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    outputs = [process.communicate() for process in together]
    assert len(set(outputs)) == 1 and {process.returncode for process in together} == {0}
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nbc")}
    assert _run(tmp_path).stdout == outputs[0][0] and "kernel" not in outputs[0][1]
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb*")} == files


@pytest.mark.slow
def test_a_damaged_kernel_of_the_engine_gives_the_same_bytes(tmp_path):
    cache = tmp_path / "kernels"
    sound, sentences = _run(cache), 0
    for path in draw(sorted(cache.rglob("*.nbc")), 25):
        kept = path.read_bytes()
        contents = list(damaged(kept, tmp_path / "trace").values())
        path.write_bytes(random.Random(path.name).choice(contents))
        run = _run(cache)
        assert (run.returncode, run.stdout) == (0, sound.stdout), path
        assert "Traceback" not in run.stderr and run.stderr.count("\n") <= 1, path
        sentences += run.stderr.count("compiled anew")  # none for a kernel that only other kernels call
        path.write_bytes(kept)
    assert sentences > 3 and not (tmp_path / "trace").exists()
