"""Does a salvage lose anything that a damaged store still had, wherever the power fails, and does the next one finish it?"""

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.errors import BadFile
from engine.store import requests, status
from engine.store.database import opened, salvaged
from engine.store.salvage import salvage
from tests.service_fakes import ask, scenarios
from tests.store import power_cuts, store_work
from tests.store.disk import RENAME, Op, names_watched, sqlite, watched
from tests.store.test_store_power_cuts import folder as folder
from tests.store.test_store_quota import finish
from tests.store.test_store_salvage import garbled

NAME = "store.sqlite"
pytestmark = pytest.mark.skipif(sqlite() is None, reason="this Python has SQLite built in")


@dataclass(frozen=True)
class Recording:
    """Every change, how many of them made the damaged store, how many came before stores change places, what is found at last."""

    ops: tuple[Op, ...]
    start: int
    swap: int
    whole: str


def damaged(path: Path) -> int:
    """A damaged store, of whose results some are in its log alone; returns how many there are."""
    busy = path.with_name("busy.sqlite")
    finish(busy, requests.submit(busy, scenarios(range(20)), "full", title="Before"), range(20))
    with opened(busy):
        finish(busy, requests.submit(busy, scenarios(range(20, 30)), "full"), range(20, 30))
        for end in ("", "-wal"):
            shutil.copy(f"{busy}{end}", f"{path}{end}")
    root = ask(busy, "SELECT rootpage FROM sqlite_master WHERE name = 'progress'")[0][0]
    garbled(path, [int(str(root)) - 1])
    return 30


def recorded(place: Path) -> Recording:
    """Salvage while a viewer has the store open, so that its log stays until the stores change places."""
    path = place / NAME
    results = damaged(path)
    with ExitStack() as stack:
        disk = stack.enter_context(watched(path, Path(f"{path}-wal")))
        start = len(disk.ops)
        viewer = stack.enter_context(opened(path))
        viewer.execute("SELECT count(*) FROM requests").fetchone()
        with names_watched(disk):
            found = salvage(path)
        ops = tuple(disk.ops)
    assert found and found.results == results and found.requests == 2
    with opened(path) as fresh:
        return Recording(ops, start, [op.what for op in ops].index(RENAME), store_work.digest(fresh))


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recording]:
    yield recorded(tmp_path_factory.mktemp("salvage"))


def judged(folder: Path, recording: Recording) -> str:
    """Go on as a user would: a store whose salvage was interrupted says so, another salvage ends it."""
    path = folder / NAME
    interrupted = salvaged(path).exists()
    if interrupted:
        with pytest.raises(BadFile, match=r"is being salvaged, or that was interrupted: run python -m engine serve --salvage"):
            status.status(path, 1)
    try:
        again = salvage(path)
        with opened(path) as found:
            if found.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                return "corrupt"
            if store_work.digest(found) != recording.whole:
                return "lost"
    except BadFile:
        return "stuck"
    verdict = "taken up" if interrupted else "anew" if again else "was over"
    return verdict if len(list(folder.glob(f"{NAME}.damaged-?"))) == 1 else "litter"


def verdicts(recording: Recording, folder: Path, first: int, last: int, count: int) -> Counter[str]:
    """Judge `count` cuts between two of the changes."""
    found: Counter[str] = Counter()
    for _, image in power_cuts.images(recording.ops[first:last], count, seed=1, begun=recording.ops[:first]):
        power_cuts.put(folder, image)
        found[judged(folder, recording)] += 1
    return found


def test_no_power_cut_while_it_reads_loses_anything(recording: Recording, folder: Path) -> None:
    assert verdicts(recording, folder, recording.start, recording.swap, 12) == {"anew": 12}


def test_no_power_cut_while_the_stores_change_places_loses_anything(recording: Recording, folder: Path) -> None:
    found = verdicts(recording, folder, recording.swap, len(recording.ops), 45)
    assert set(found) == {"anew", "taken up", "was over"} and min(found.values()) > 2


@pytest.mark.slow
def test_none_of_2_000_power_cuts_during_a_salvage_loses_anything(recording: Recording, folder: Path) -> None:
    found = verdicts(recording, folder, recording.start, recording.swap, 1000)
    found += verdicts(recording, folder, recording.swap, len(recording.ops), 1000)
    assert set(found) == {"anew", "taken up", "was over"}
