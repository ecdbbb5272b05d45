"""Is a gzipped trace what its bytes are, whatever it is called, however old it is, and whoever touched what was unpacked?"""

import errno
import gzip
import os
import shutil
import stat
import threading
from pathlib import Path

import numpy as np
import pytest

from engine.errors import BadFile
from engine.workload.readers.traces import torch_save, unpacking
from engine.workload.readers.traces.torch_save import LookupTrace, read_lookups
from tests import HANG_SECONDS
from tests.cases import each
from tests.workload.readers.test_formats import a_trace

LENGTHS = np.full((2, 30), 3)
FIRST, OTHER = np.arange(180) * 7 % 1000, np.arange(180) * 11 % 1000


def packed(path: Path, indices: np.ndarray, level: int = 9) -> Path:
    """Write a gzipped trace; without compression (level 0) two of them have one size."""
    a_trace(path.with_suffix(".plain"), LENGTHS, indices)
    path.write_bytes(gzip.compress(path.with_suffix(".plain").read_bytes(), level, mtime=0))
    path.with_suffix(".plain").unlink()
    return path


def told(trace: LookupTrace) -> list[int]:
    return np.asarray(trace.indices).tolist()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Unpack into an own folder; the one for temporary files is another."""
    monkeypatch.setattr(unpacking, "FOLDER", tmp_path / "own" / "unpacked")
    monkeypatch.setattr(unpacking.tempfile, "gettempdir", lambda: str(tmp_path / "away"))
    (tmp_path / "away").mkdir()
    return tmp_path / "own" / "unpacked"


def kept(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name != unpacking.LOCK)


@each("how", ["moved over it", "in its place", "with the same time"])
def test_another_file_under_a_traces_name_is_read_itself_whatever_its_time(how: str, folder: Path, tmp_path: Path) -> None:
    path, other = packed(tmp_path / "t.pt.gz", FIRST, 0), packed(tmp_path / "other.pt.gz", OTHER, 0)
    assert told(read_lookups(path)) == FIRST.tolist()
    before = path.stat()
    if how == "moved over it":  # as mv, rsync -t and tar -x do: with the time that it had
        os.utime(other, (1_000_000_000, 1_000_000_000))
        other.replace(path)
    else:  # as rsync --inplace -t does
        path.write_bytes(other.read_bytes())
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns if how == "with the same time" else 10**18))
        assert path.stat().st_size == before.st_size
    assert told(read_lookups(path)) == OTHER.tolist()
    assert len(kept(folder)) == 2


def test_a_trace_under_two_names_is_unpacked_once(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path / "t.pt.gz", FIRST)
    read_lookups(path)
    monkeypatch.setattr(unpacking, "_copy", None)  # whoever unpacks again fails
    shutil.copy(path, tmp_path / "copy.pt.gz")
    assert told(read_lookups(path)) == told(read_lookups(tmp_path / "copy.pt.gz")) == FIRST.tolist()


def test_a_kept_file_says_its_bytes_in_its_name_and_only_its_owner_can_get_at_it(folder: Path, tmp_path: Path) -> None:
    import zlib
    from hashlib import sha256

    path = packed(tmp_path / "t.pt.gz", FIRST)
    read_lookups(path)
    (plain,) = kept(folder)
    content = plain.read_bytes()
    assert content == gzip.decompress(path.read_bytes())
    assert plain.name == f"{sha256(path.read_bytes()).hexdigest()}-{zlib.crc32(content):08x}-{len(content):x}"
    assert stat.S_IMODE(plain.stat().st_mode) == 0o400
    assert {stat.S_IMODE(place.stat().st_mode) for place in (folder, folder.parent)} == {0o700}


@each("how", ["a bit", "cut", "longer", "a link", "writable by others"])
def test_what_was_altered_after_unpacking_is_unpacked_anew(how: str, folder: Path, tmp_path: Path) -> None:
    path = packed(tmp_path / "t.pt.gz", FIRST)
    read_lookups(path)
    (plain,) = kept(folder)
    times, content = plain.stat(), bytearray(plain.read_bytes())
    plain.chmod(0o600)
    if how == "a bit":
        at = content.index(np.int64(FIRST[5]).tobytes() + np.int64(FIRST[6]).tobytes())
        content[at] ^= 1
    plain.write_bytes({"cut": content[:-9], "longer": content + b"\0"}.get(how, content))
    if how == "a link":
        plain.rename(tmp_path / "elsewhere")
        plain.symlink_to(tmp_path / "elsewhere")
    else:
        plain.chmod(0o422 if how == "writable by others" else 0o400)
        os.utime(plain, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert told(read_lookups(path)) == FIRST.tolist()
    (again,) = kept(folder)
    assert again.read_bytes() == gzip.decompress(path.read_bytes())
    assert not again.is_symlink() and stat.S_IMODE(again.stat().st_mode) == 0o400


def test_a_folder_or_a_file_of_another_user_is_not_believed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = packed(tmp_path / "t.pt.gz", FIRST)
    read_lookups(path)
    monkeypatch.setattr(unpacking, "_user", lambda: os.getuid() + 1)
    with pytest.raises(BadFile, match="this user can write to neither; free some space, or set TMPDIR to another folder"):
        read_lookups(path)
    (plain,) = kept(folder)
    with plain.open("rb") as file:
        assert not unpacking._is_whole(file, plain.name, unpacking.unwatched)


def test_a_link_to_a_folder_is_no_folder_of_ones_own(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "planted").mkdir()
    folder.parent.mkdir()
    folder.symlink_to(tmp_path / "planted")
    assert told(read_lookups(packed(tmp_path / "t.pt.gz", FIRST))) == FIRST.tolist()
    assert not list((tmp_path / "planted").iterdir()) and len(list((tmp_path / "away").iterdir())) == 1


def test_a_folder_that_others_can_look_into_is_closed(folder: Path, tmp_path: Path) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    read_lookups(packed(tmp_path / "t.pt.gz", FIRST))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@each("how", ["checksum", "size", "cut", "cut within the trailer", "second member", "rubbish behind"])
def test_a_trailer_that_is_not_that_of_the_bytes_is_refused_and_nothing_is_kept(how: str, folder: Path, tmp_path: Path) -> None:
    path = packed(tmp_path / "t.pt.gz", FIRST)
    content = bytearray(path.read_bytes())
    content[{"checksum": -8, "size": -4}.get(how, 4)] ^= 1  # the fifth byte is a time, of which nothing depends
    cut = {"cut": -200, "cut within the trailer": -2}.get(how, len(content))
    more = {"second member": gzip.compress(b"more")[:-3], "rubbish behind": b"rubbish"}.get(how, b"")
    path.write_bytes(content[:cut] + more)
    with pytest.raises(BadFile, match=r"t\.pt\.gz is damaged or cut off"):
        read_lookups(path)
    assert kept(folder) == []


def test_a_file_that_changes_while_it_is_unpacked_is_refused_and_nothing_is_kept(folder: Path, tmp_path: Path) -> None:
    path, other = packed(tmp_path / "t.pt.gz", FIRST, 0), packed(tmp_path / "other.pt.gz", OTHER, 0)

    def watch(share: float, words: str) -> None:
        if words.startswith("looking") and share == 1.0:
            path.write_bytes(other.read_bytes())

    with pytest.raises(BadFile, match=r"t\.pt\.gz changed while it was read"):
        read_lookups(path, watch)
    assert kept(folder) == []


def test_what_a_killed_process_left_goes_and_what_another_unpacks_is_waited_for(folder: Path, tmp_path: Path) -> None:
    path = packed(tmp_path / "t.pt.gz", FIRST)
    folder.mkdir(parents=True)
    (folder / f"{unpacking.PART}left").write_bytes(b"half")
    begun, is_waited_for, found = threading.Event(), threading.Event(), []

    def slowly(share: float, words: str) -> None:
        if words.startswith("unpacking"):
            begun.set()
            is_waited_for.wait(HANG_SECONDS)

    other = threading.Thread(target=lambda: found.append(told(read_lookups(path, slowly))))
    other.start()
    assert begun.wait(HANG_SECONDS)
    said: list[str] = []

    def watch(share: float, words: str) -> None:
        said.append(words)
        if "waiting" in words:
            is_waited_for.set()

    found.append(told(read_lookups(path, watch)))
    other.join()
    assert found == [FIRST.tolist()] * 2 and len(kept(folder)) == 1
    assert any("waiting" in words for words in said) and not any("unpacking " in words for words in said)


def test_few_files_are_kept_and_the_one_used_longest_ago_goes_first(folder: Path, tmp_path: Path) -> None:
    paths = [packed(tmp_path / f"{n}.pt.gz", FIRST + n) for n in range(unpacking.MAX_KEPT_FILES + 1)]
    for path in paths[:-1]:
        read_lookups(path)
    for age, path in enumerate(kept(folder)):
        os.utime(path, (10**9 + age, 10**9 + age))
    oldest, second, *_ = kept(folder)
    trace = next(path for path in paths if unpacking.sha256(path.read_bytes()).hexdigest() == oldest.name.split("-")[0])
    held = read_lookups(trace)  # used now, and so no longer the oldest
    read_lookups(paths[-1])
    assert oldest.exists() and not second.exists() and len(kept(folder)) == unpacking.MAX_KEPT_FILES
    oldest.unlink()  # what is mapped stays, whatever becomes of the name
    assert told(held) == (FIRST + paths.index(trace)).tolist()


def test_room_is_made_only_where_that_is_enough(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (packed(tmp_path / f"{n}.pt.gz", FIRST + n) for n in range(2))
    read_lookups(first)
    (plain,) = kept(folder)
    monkeypatch.setattr(
        unpacking, "_free_nbytes", lambda place: unpacking.SPARE_NBYTES if plain.exists() else unpacking.SPARE_NBYTES + 10_000
    )
    read_lookups(second)
    assert not plain.exists() and len(kept(folder)) == 1
    monkeypatch.setattr(unpacking, "_free_nbytes", lambda place: 0)
    with pytest.raises(BadFile, match=r"0\.pt\.gz needs [\d.]+ KiB to be unpacked"):
        read_lookups(first)
    assert len(kept(folder)) == 1


@each("number", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_fails_while_it_is_written_is_a_sentence(
    number: int, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(unpacking, "_write", fail)
    with pytest.raises(BadFile, match="needs more space" if number == errno.ENOSPC else "Input/output error"):
        torch_save.read_lookups(packed(tmp_path / "t.pt.gz", FIRST))
    assert kept(folder) == []
