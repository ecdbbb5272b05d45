"""Does the store keep what it has acknowledged, and nothing half done, wherever the power fails?"""

import os
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from engine.errors import BadFile
from engine.service import computations, queue
from engine.store import database, result_rows
from engine.store.database import open_store
from tests.cases import draw
from tests.store import power_cuts, store_work
from tests.store.disk import LINK, SYNC, SYNC_FOLDER, WRITE, Op, sqlite, watched
from tests.store.test_store_formats import old

pytestmark = [
    pytest.mark.skipif(sqlite() is None, reason="Python's SQLite is built in here, and cannot be watched"),
    pytest.mark.usefixtures("synced"),
]
NAME = "store.sqlite"
__all__ = ["old"]  # a fixture


@dataclass(frozen=True)
class Recording:
    """Every change that a day made on disk, and the store's content when so many of them had been acknowledged."""

    ops: tuple[Op, ...]
    marks: tuple[tuple[int, str], ...]


def recorded(folder: Path) -> Recording:
    path = folder / NAME
    with open_store(folder / "empty.sqlite") as empty:
        marks = [(0, store_work.digest(empty))]
    with watched() as disk:

        def acknowledged() -> None:
            done = len(disk.ops)  # before looking, which changes nothing but may move pages
            with open_store(path) as found:
                marks.append((done, store_work.digest(found)))

        store_work.whole_day(path, acknowledged)
    return Recording(tuple(disk.ops), tuple(marks))


@pytest.fixture(scope="module")
def recording(synced: None, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return recorded(tmp_path_factory.mktemp("day"))


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory, where there is one: what is in it has survived already."""
    memory = Path("/dev/shm")
    made = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
    yield made
    shutil.rmtree(made)


def judged(folder: Path, marks: Sequence[tuple[int, str]], done: int) -> str:
    """Open what the power cut left with the store's own code and say what it is: whole, lost or corrupt."""
    last = max(n for n, (at, _) in enumerate(marks) if at <= done)
    try:
        with open_store(folder / NAME) as found:
            if found.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                return "corrupt"
            content = store_work.digest(found)
            if content not in {digest for _, digest in marks[last : last + 2]}:
                return "lost" if content in {digest for _, digest in marks[:last]} else "corrupt"
            return _resumed(found)
    except (BadFile, sqlite3.Error):
        return "corrupt"


def _resumed(found: sqlite3.Connection) -> str:
    """Go on as the next owner would: what was running is open again, and can be claimed and kept."""
    computations.close_open_claims(found, "abandoned")
    queue.resume_requests(found)
    for turn in queue.live_requests(found, {}):
        for name in [point.key for point in queue.open_points(found, turn.request, -1, 1)]:
            if computations.claim_points(found, turn.request, [name]) != [name]:
                return "stuck"
            computations.close_claims(found, [(name, "kept", store_work.answer(1))])
            if result_rows.load_result(found, name) is None:
                return "stuck"
    return "whole"


def verdicts(recording: Recording, folder: Path, count: int, seed: int) -> Counter[str]:
    found: Counter[str] = Counter()
    for done, image in power_cuts.images(recording.ops, count, seed):
        power_cuts.write_image(folder, image)
        found[judged(folder, recording.marks, done)] += 1
    return found


def test_no_power_cut_loses_or_corrupts_what_was_acknowledged(recording: Recording, folder: Path) -> None:
    assert verdicts(recording, folder, 60, seed=1) == {"whole": 60}


@pytest.mark.slow
def test_none_of_two_thousand_power_cuts_loses_or_corrupts_what_was_acknowledged(recording: Recording, folder: Path) -> None:
    (seed,) = draw(range(10_000), 1)
    assert verdicts(recording, folder, 2000, seed) == {"whole": 2000}


def test_a_power_cut_while_an_old_store_is_brought_to_the_present_format_loses_nothing(
    tmp_path: Path, old: Path, folder: Path
) -> None:
    there = old.read_bytes()
    with watched() as disk, open_store(old) as found:
        after = store_work.digest(found)
    first = Op(LINK, 1, name=str(old.with_name(NAME)))
    start = (first, Op(WRITE, 1, 0, there), Op(SYNC, 1), Op(SYNC_FOLDER))
    assert (disk.ops[0].kind, disk.ops[0].name) == (LINK, str(old))
    ops = [replace(op, name=op.name.replace(old.name, NAME)) for op in (*start, *disk.ops[1:])]
    for done, image in power_cuts.images(ops, 30, seed=5):
        if done >= len(start):
            power_cuts.write_image(folder, image)
            assert judged(folder, [(0, after)], done) == "whole", done


def test_a_store_that_syncs_less_would_be_caught(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "SYNCHRONOUS", "NORMAL")
    found = verdicts(recorded(tmp_path), folder, 60, seed=3)
    assert found["lost"] > 2 and not found["corrupt"]


def test_a_new_store_s_folders_are_synced_into_what_holds_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[str] = []
    monkeypatch.setattr("os.fsync", lambda file: synced.append(os.readlink(f"/proc/self/fd/{file}")))
    for _ in range(2):
        with open_store(tmp_path / "one" / "two" / NAME):
            assert synced == [str(tmp_path), str(tmp_path / "one")]
