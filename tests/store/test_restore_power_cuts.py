"""Is there a sound store or a sound backup wherever the power fails, while one is made and while one takes the store's place?"""

import shutil
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.errors import BadFile
from engine.store import files, requests, status
from engine.store.backups import restore
from engine.store.database import open_store
from engine.store.owner import own_store
from tests.service_fakes import ask, scenarios
from tests.store import power_cuts, store_work
from tests.store.disk import RENAME, Op, names_watched, sqlite, watched
from tests.store.test_store_power_cuts import folder as folder
from tests.store.test_store_quota import finish, garbled, save

NAME = "store.sqlite"
OLDER, NEWER = range(10), range(10, 20)
pytestmark = pytest.mark.skipif(sqlite() is None, reason="this Python has SQLite built in")


@dataclass(frozen=True)
class Recording:
    """Every change, how many of them made what was there before, and how many came before the first new name of the swap."""

    ops: tuple[Op, ...]
    start: int
    swap: int
    restores: bool = False


def asked(path: Path, seeds: range) -> None:
    finish(path, requests.submit(path, scenarios(seeds), "full"), seeds)


def contents(path: Path) -> str:
    """The digest of a store, whatever its number for the next request."""
    with open_store(path) as store:
        if store.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            return "corrupt"
        return store_work.digest(store)


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two requests, the second of which is newer than its backups."""
    path = tmp_path_factory.mktemp("truth") / NAME
    asked(path, OLDER)
    save(path)
    save(path)
    asked(path, NEWER)
    return path


def copied(truth: Path, place: Path) -> Path:
    for file in (truth, *files.backups(truth)):
        shutil.copy(file, place / file.name)
    return place / NAME


@pytest.fixture(scope="module")
def backing(truth: Path, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    path = copied(truth, tmp_path_factory.mktemp("backing"))
    with watched(path, *files.backups(path)) as disk, names_watched(disk):
        start = len(disk.ops)
        save(path)
        return Recording(tuple(disk.ops), start, [op.what for op in disk.ops].index(RENAME))


@pytest.fixture(scope="module")
def restoring(truth: Path, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """Restore while a viewer has the store open, and results are in its log alone, which stays until the stores change places."""
    path = copied(truth, tmp_path_factory.mktemp("restoring"))
    page = int(str(ask(path, "SELECT rootpage FROM sqlite_master WHERE name = 'progress'")[0][0])) - 1
    busy = path.with_name("busy")
    shutil.copy(path, busy)
    with open_store(busy):
        asked(busy, range(20, 24))
        shutil.copy(busy, path)
        shutil.copy(f"{busy}-wal", f"{path}-wal")
    garbled(path, page)
    with ExitStack() as stack:
        disk = stack.enter_context(watched(path, Path(f"{path}-wal"), *files.backups(path)))
        start = len(disk.ops)
        with own_store(path):
            viewer = stack.enter_context(open_store(path))
        viewer.execute("SELECT count(*) FROM requests").fetchone()
        with names_watched(disk):
            found = restore(path)
        ops = tuple(disk.ops)
    assert found.results == len(OLDER) and found.requests == 1
    return Recording(ops, start, [op.what for op in ops].index(RENAME), restores=True)


def after_backing(folder: Path, truths: tuple[str, str]) -> str:
    """The store is what it was, and without it a backup is there: the one before, or the new one."""
    if contents(folder / NAME) != truths[0]:
        return "lost"
    garbled(folder / NAME, 5)
    found = restore(folder / NAME)
    now = contents(folder / NAME)
    return "before" if now == truths[1] else "new" if now == truths[0] else f"lost: {found}"


def after_restoring(folder: Path, truths: tuple[str, str]) -> str:
    """Go on as a user would: a store whose restoring was interrupted says so, another one ends it."""
    path = folder / NAME
    interrupted = files.restored_path(path).exists()
    try:
        if interrupted:
            with pytest.raises(BadFile, match=r"is being restored, or that was interrupted: run python .* --restore"):
                status.status(path, 1)
        again = restore(path)
        if contents(path) != truths[1]:
            return "lost"
    except BadFile:
        return "stuck"
    verdict = "taken up" if interrupted else "was over" if again.aside is None else "anew"
    return verdict if len(list(folder.glob(f"{NAME}.damaged-?"))) == 1 else "litter"


def verdicts(recording: Recording, folder: Path, first: int, last: int, count: int, truth: Path) -> Counter[str]:
    """Judge `count` cuts between two of the changes."""
    judged = after_restoring if recording.restores else after_backing
    truths = contents(truth), contents(files.backups(truth)[0])
    found: Counter[str] = Counter()
    for _, image in power_cuts.images(recording.ops[first:last], count, seed=1, begun=recording.ops[:first]):
        power_cuts.put(folder, image)
        found[judged(folder, truths)] += 1
    return found


def test_no_power_cut_while_it_is_backed_up_costs_a_store_its_content_or_its_last_backup(
    backing: Recording, folder: Path, truth: Path
) -> None:
    assert verdicts(backing, folder, backing.start, backing.swap, 20, truth) == {"before": 20}
    found = verdicts(backing, folder, backing.swap, len(backing.ops), 20, truth)
    assert set(found) == {"before", "new"} and min(found.values()) > 1


def test_no_power_cut_while_a_store_is_made_of_a_backup_loses_anything(restoring: Recording, folder: Path, truth: Path) -> None:
    assert verdicts(restoring, folder, restoring.start, restoring.swap, 12, truth) == {"anew": 12}


def test_no_power_cut_while_the_stores_change_places_loses_anything(restoring: Recording, folder: Path, truth: Path) -> None:
    found = verdicts(restoring, folder, restoring.swap, len(restoring.ops), 45, truth)
    assert set(found) == {"anew", "taken up", "was over"} and min(found.values()) > 2


@pytest.mark.slow
def test_none_of_3_000_power_cuts_loses_anything(backing: Recording, restoring: Recording, folder: Path, truth: Path) -> None:
    found = verdicts(restoring, folder, restoring.start, restoring.swap, 1000, truth)
    found += verdicts(restoring, folder, restoring.swap, len(restoring.ops), 1000, truth)
    assert set(found) == {"anew", "taken up", "was over"}
    assert set(verdicts(backing, folder, backing.start, len(backing.ops), 1000, truth)) <= {"before", "new"}
