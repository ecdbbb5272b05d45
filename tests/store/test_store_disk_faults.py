"""Does every write of the store that fails once, on a full or failing disk, end in a sentence and lose nothing?

Viewer, owner and worker run in this process here, so that each of their writes can be counted and refused.
"""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from engine.errors import BadFile
from engine.scenario.keys import key
from engine.service import history, service
from engine.store import quota, requests, result_rows, status
from engine.store.database import Damaged, open_store
from engine.store.owner import AlreadyOwned
from tests.cases import draw
from tests.service_fakes import COMPUTE, computing_here, scenarios
from tests.store.disk import Disk, sqlite, watched

pytestmark = [
    pytest.mark.skipif(sqlite() is None, reason="Python's SQLite is built in here, and cannot be watched"),
    pytest.mark.usefixtures("synced"),
]
SEEDS = range(12)
EVERY, OFTEN = 331, 11  # of the calls, in the short and the long test: numbers that share no rhythm with theirs
ENDINGS = ["done", "cancelled", "done"]
KINDS = (errno.ENOSPC, errno.EIO)
NOBODY = 65534  # a user without rights


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of the service are this very process: a chunk is computed when it is sent."""
    computing_here(monkeypatch)


def life(path: Path, disk: Disk) -> list[str]:
    """Ask, compute, look and stop; whoever meets a sentence does the same again, once. Returns the sentences."""
    sentences: list[str] = []

    def insist(step: Callable[[], Any]) -> Any:
        try:
            return step()
        except AlreadyOwned:
            raise
        except BadFile as error:
            sentences.append(str(error))
            return step()

    asked = scenarios(SEEDS)
    first = insist(lambda: requests.submit(path, asked, "estimate"))
    insist(lambda: service.serve(path, 1, 0.0, COMPUTE))
    before = insist(lambda: finished(path))
    assert len(before) == len(SEEDS)
    second = insist(lambda: requests.submit(path, scenarios([3, 20, 21]), "estimate"))
    insist(lambda: requests.cancel(path, second, requests.COMMAND))
    third = insist(lambda: requests.submit(path, scenarios([20, 21]), "estimate"))
    insist(lambda: requests.renew_lease(path, third, requests.COMMAND))
    insist(lambda: service.serve(path, 1, 0.0, COMPUTE))
    assert insist(lambda: [status.status(path, request).state for request in (first, second, third)]) == ENDINGS
    assert before < insist(lambda: finished(path))
    insist(lambda: history.pin(path, [third], True, requests.COMMAND))
    insist(lambda: history.delete(path, [second], requests.COMMAND))
    insist(lambda: quota.set_quota(path, 1 / quota.GiB))
    insist(lambda: tidy(path))
    assert insist(lambda: [entry.request for entry in history.past_requests(path)]) == [third, first]
    assert insist(lambda: finished(path)) == {key(one, "estimate") for one in scenarios([20, 21])}  # what is pinned
    insist(lambda: sound(path))
    return sentences


def finished(path: Path) -> set[str]:
    """The keys of the points that have a result which reads back."""
    return {name for name, result in result_rows.stored_results(path, scenarios([*SEEDS, 20, 21]), "estimate") if result}


def tidy(path: Path) -> None:
    """Make room as the owner does."""
    with open_store(path) as store:
        quota.enforce_quota(store)


def sound(path: Path) -> None:
    """Nothing is damaged, nothing left open, and no finished point was begun again."""
    with open_store(path) as store:
        assert store.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        again = "SELECT 1 FROM claims c LEFT JOIN results r USING (key) WHERE c.ending IS NULL OR c.started > r.created"
        assert not store.execute(again).fetchall()


def calls(folder: Path) -> int:
    with watched() as disk:
        assert life(folder / "store.sqlite", disk) == []
    return disk.calls


def each_refused(folder: Path, every: int, first: int = 0) -> None:
    told = 0
    for number in range(first, calls(folder / "whole"), every):  # the first call of all always is told
        for why in KINDS:
            with watched() as disk:
                disk.refuse, disk.error = number, why
                sentences = life(folder / f"{number}-{why}" / "store.sqlite", disk)
            if not disk.refused and disk.calls <= number:  # a life has some calls more or less, as time goes
                continue
            assert disk.refused and len(sentences) <= 1, number
            for sentence in sentences:
                assert "free some space" in sentence, (disk.refused, sentence)
            told += len(sentences)
    assert told


def test_a_write_that_fails_once_ends_in_a_sentence_and_loses_nothing(tmp_path: Path) -> None:
    each_refused(tmp_path, EVERY)


@pytest.mark.slow
def test_many_writes_that_fail_once_end_in_a_sentence_and_lose_nothing(tmp_path: Path) -> None:
    each_refused(tmp_path, OFTEN, *draw(range(OFTEN), 1))


@pytest.mark.parametrize("call", ["pwrite", "ftruncate"])
def test_an_owner_whose_number_cannot_be_written_still_owns(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with ExitStack() as stack:
        monkeypatch.setattr(os, call, full)
        stack.enter_context(service.own_store(tmp_path / "store.sqlite"))
        assert service.is_owned(tmp_path / "store.sqlite")


@contextmanager
def as_nobody() -> Iterator[None]:
    """Take the rights of root from this process, if it has them: for root no file is read-only."""
    user = os.geteuid()
    os.seteuid(NOBODY if user == 0 else user)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.mark.parametrize(("folder_mode", "file_mode", "is_file"), [(0o555, 0o666, 0), (0o555, 0o444, 0), (0o777, 0o444, 1)])
def test_a_store_that_this_user_cannot_write_is_not_damaged_and_what_is_read_only_is_named(
    folder_mode: int, file_mode: int, is_file: bool
) -> None:
    with TemporaryDirectory() as folder:  # pytest's own folders are for their owner alone
        path = Path(folder) / "store.sqlite"
        requests.submit(path, scenarios([1]), "estimate")
        path.chmod(file_mode)
        path.parent.chmod(folder_mode)
        with as_nobody():
            with pytest.raises(BadFile) as refused:
                requests.submit(path, scenarios([2]), "estimate")
            assert not isinstance(refused.value, Damaged)
            blocked = path if is_file else path.parent
            assert f"cannot be used as a store: this user cannot write to {blocked};" in str(refused.value)
            assert "--store FILE" in str(refused.value)
        path.parent.chmod(0o700)
