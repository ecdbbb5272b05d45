"""Is whatever stands in a store's place a sentence with its remedy, for everyone who opens, serves or restores it?"""

import os
import sqlite3
from pathlib import Path

import pytest

from engine.__main__ import main
from engine.errors import BadFile
from engine.service import service
from engine.store import quota, status
from engine.store.backups import restore
from engine.store.database import opened
from engine.store.owner import AlreadyOwned, owning
from tests.service_fakes import ask


def loop(path: Path) -> None:
    path.symlink_to(path)


def negative(path: Path) -> None:
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA user_version = -3")
    other.close()


KINDS = {"folder": Path.mkdir, "pipe": os.mkfifo, "loop": loop, "version": negative}
REMEDY = r"(choose another with --store FILE|update Emberpool, or choose another store with --store FILE)\.$"


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_store_is_a_sentence(kind: str, path: Path) -> None:
    KINDS[kind](path)
    for use in (
        lambda: status.status(path, 1),
        lambda: service.serve(path, 1, 0.0),
        lambda: restore(path),
    ):
        with pytest.raises(BadFile, match=REMEDY) as said:
            use()
        assert "full or failing" not in str(said.value)
    assert main(["serve", "--restore", "--idle-exit", "0", "--store", str(path)]) == 2


def test_restoring_by_a_link_s_name_meets_the_owner(path: Path) -> None:
    link = path.with_name("link.sqlite")
    with opened(path):
        link.symlink_to(path)
    with owning(path), pytest.raises(AlreadyOwned):
        restore(link)


def test_a_damaged_quota_drops_nothing(path: Path) -> None:
    quota.limit(path, 1.0)
    ask(path, "UPDATE settings SET value = '1' WHERE name = ?", quota.SETTING)
    with pytest.raises(BadFile, match=r"is damaged .*python -m engine serve --restore --store"):
        service.serve(path, 1, 0.0)
