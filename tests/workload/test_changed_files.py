"""Is a file's content noticed as another one, however it was put there, whatever its time and size say?"""

import mmap
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from engine import paths
from engine.errors import BadFile
from engine.paths import FileState, file_state
from engine.workload.readers import array_table, formats
from engine.workload.readers.digest_check import digest_check
from engine.workload.readers.formats import digest_of
from tests.cases import each

OLD, NEW = b"1,2\n" * 100, b"3,4\n" * 100


def write_in_place(path: Path, other: Path) -> None:
    with path.open("r+b") as file:
        file.write(other.read_bytes())
    shutil.copystat(other, path)


def write_through_a_hard_link(path: Path, other: Path) -> None:
    link = path.with_name("link")
    os.link(path, link)
    write_in_place(link, other)


def point_elsewhere(path: Path, other: Path) -> None:
    path.unlink()
    path.symlink_to(other)


def unpack_over_it(path: Path, other: Path) -> None:
    (path.parent / "packed").mkdir()
    shutil.copy2(other, path.parent / "packed" / path.name)
    subprocess.run(["tar", "-C", path.parent / "packed", "-cf", path.parent / "t.tar", path.name], check=True)
    subprocess.run(["tar", "-C", path.parent, "-xf", path.parent / "t.tar"], check=True)


WAYS: dict[str, Callable[[Path, Path], object]] = {
    "mv": lambda path, other: other.replace(path),
    "cp -p": lambda path, other: shutil.copy2(other, path),
    "in place": write_in_place,
    "hard link": write_through_a_hard_link,
    "symlink": point_elsewhere,
    "tar -x": unpack_over_it,
}


@lru_cache
def cached_digest(path: Path, state: FileState) -> str:
    return digest_of(path)


def twins(folder: Path) -> tuple[Path, Path]:
    """Write two files of one size and one time into a new folder."""
    folder.mkdir()
    path, other = folder / "file", folder / "other"
    for file, content in ((path, OLD), (other, NEW)):
        file.write_bytes(content)
        os.utime(file, (1_000_000_000, 1_000_000_000))
    return path, other


@each("way", tuple(WAYS))
def test_a_state_changes_with_the_content_also_where_size_and_time_stay(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = twins(tmp_path / way.replace(" ", "_"))
    monkeypatch.setattr(paths, "COARSEST_CLOCK_SECONDS", -1)  # as if both were old: the state alone must tell
    digest, times = cached_digest(path, file_state(path)), path.stat()
    time.sleep(0.02)  # a step of the kernel's clock
    with pytest.raises(BadFile, match="has changed"), digest_check(path, digest):
        WAYS[way](path, other)
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (times.st_size, times.st_mtime_ns)
    assert cached_digest(path, file_state(path)) != digest


def test_a_change_that_moves_no_time_is_noticed_in_a_file_that_has_just_changed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[: len(OLD)] = OLD  # the page is dirty from now on: later writes to it leave the times alone
        digest = cached_digest(path, file_state(path))
        with pytest.raises(BadFile, match="has changed"), digest_check(path, digest):
            memory[: len(NEW)] = NEW
        assert cached_digest(path, file_state(path)) != digest


def test_a_state_stays_only_if_its_file_is_older_than_a_step_of_any_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(OLD)
    changed_ns = path.stat().st_ctime_ns
    for seconds, stays in ((0, False), (2, False), (4, True), (-3600, False)):  # the last: the clock was set back
        monkeypatch.setattr(paths.time, "time_ns", lambda seconds=seconds: changed_ns + seconds * 10**9)
        assert (file_state(path) == file_state(path)) == stays


def test_a_file_that_is_replaced_while_it_is_read_is_refused_though_size_and_time_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = tmp_path / "clicks.npz", tmp_path / "other.npz"
    Path(f"{path}.toml").write_text('label = "click"\nids = ["user"]\n')
    for file, shift in ((path, 0), (other, 1)):
        np.savez(file, click=np.arange(60) % 2, user=np.arange(60) % 7 + shift)
    shutil.copystat(path, other)
    read_archive = array_table.read_archive
    monkeypatch.setattr(array_table, "read_archive", lambda *given: (read_archive(*given), other.replace(path))[0])
    with pytest.raises(BadFile, match="changed while it was read"):
        formats.read_file(path)
