"""Is whatever stands in a store's place a sentence with its remedy, for everyone who opens, serves or salvages it?"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.__main__ import main
from engine.errors import BadFile
from engine.service import service
from engine.store import quota, status
from engine.store.database import opened
from engine.store.owner import AlreadyOwned, owning
from engine.store.salvage import salvage
from tests.service_fakes import ask


def loop(path: Path) -> None:
    path.symlink_to(path)


def version(number: int) -> Callable[[Path], None]:
    return lambda path: ask(path, f"PRAGMA user_version = {number}") and None


KINDS = {"folder": Path.mkdir, "pipe": os.mkfifo, "loop": loop, "version": version(-3)}
REMEDY = r"(choose another with --store FILE|name a file, free some space, and try again)\.$"


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_store_is_a_sentence(kind: str, path: Path) -> None:
    KINDS[kind](path)
    for use in (
        lambda: status.status(path, 1),
        lambda: service.serve(path, 1, 0.0),
        lambda: salvage(path) or status.status(path, 1),
    ):
        with pytest.raises(BadFile, match=REMEDY) as said:
            use()
        assert "full or failing" not in str(said.value)
    assert main(["serve", "--salvage", "--idle-exit", "0", "--store", str(path)]) == 2


def test_a_salvage_by_a_link_s_name_meets_the_owner(path: Path) -> None:
    link = path.with_name("link.sqlite")
    with opened(path):
        link.symlink_to(path)
    with owning(path), pytest.raises(AlreadyOwned):
        salvage(link)


def test_a_damaged_quota_is_the_usual_one(path: Path) -> None:
    quota.limit(path, 1.0)
    ask(path, "UPDATE settings SET value = 'lots'")
    assert quota.usage(path).quota == int(quota.DEFAULT_GiB * quota.GiB)
    service.serve(path, 1, 0.0)
