"""Does any single flipped bit of the store's file make a wrong number, or lose anything without a word?"""

import re
import sqlite3
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.errors import BadFile
from engine.run.shared_training import Training
from engine.service import history, service
from engine.store import metric_columns, quota, requests, result_rows, side_copy, status
from engine.store.database import PAGE_BYTES, check_store, open_store
from engine.store.restoration import restore
from engine.store.side_copy import make_copy
from engine.store.trainings import StoreShelf
from tests.cases import each
from tests.service_fakes import COMPUTE, REFUSED, ask, computing_here, scenarios
from tests.store.test_store_power_cuts import folder as folder

FLIPS = range(2000)
NAME = "store.sqlite"
PAGE, SCHEMA = PAGE_BYTES, 2  # bytes; pages that the tables' texts fill
SEEDS = [*range(20), REFUSED]
ALL = [*SEEDS, *range(30, 36)]
COPIED_REQUESTS = (1, 2)
Seen = dict[str, Any]
WORDS = {  # by kind, where the file has a name or a text of it
    "listed name": rb"(?:table|index|trigger)([a-z_]+)[\x00-\xff]?CREATE",
    "table": rb"CREATE TABLE (\w+)",
    "index": rb"CREATE INDEX (\w+)",
    "trigger": rb"CREATE TRIGGER (\w+)",
    "column": rb"[(,]\s*(\w+) (?:TEXT|INTEGER|REAL)",
    "name in an index or trigger": rb" (?:ON|NEW|OLD|UPDATE|FROM)[ .](\w+)",
    "text": rb"(Before|It completed|command)",
}
HEADER_TEXT, USER_VERSION = 0, 60  # bytes of the header
HEADER_BITS, TOP_BIT = 800, 7


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A store at rest and its copy, which the last two requests and their results are newer than."""
    path = tmp_path_factory.mktemp("flips") / NAME
    with pytest.MonkeyPatch.context() as patch:
        computing_here(patch)
        return write(path)


def write(path: Path) -> dict[str, bytes]:
    """Write a store and its copy, and return their bytes."""
    for seeds in (SEEDS[:8], SEEDS[4:]):
        requests.submit(path, scenarios(seeds), "full", title="Before", link="?a=1")
    service.serve(path, 1, 0.0, COMPUTE)
    history.pin(path, [1], True, requests.COMMAND)
    quota.set_quota(path, 1.0)
    with open_store(path) as store:
        StoreShelf(store)["a class"] = Training((0.5, 0.25), {2: (0.75, 0.01)})
        make_copy(path, store)
    copy = Path(f"{path}.copy").read_bytes()
    requests.submit(path, scenarios(range(30, 36)), "full", title="After")
    service.serve(path, 1, 0.0, COMPUTE)
    requests.submit(path, scenarios(range(34, 40)), "estimate", keeps_on=True)
    return {"": path.read_bytes(), ".copy": copy}


@pytest.fixture(scope="module")
def whole(written: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """What is seen of the store."""
    return seen(put(tmp_path_factory.mktemp("truth"), written))


def seen(path: Path) -> Seen:
    """What pages and commands show of the store."""
    entries = history.past_requests(path)
    found: Seen = {f"request {entry.request}": entry for entry in entries}
    for request in (entry.request for entry in entries):
        read = metric_columns.columns_of_request(path, request)
        for position, (told, number) in enumerate(zip(read.state, read.metrics.get("Step time [ms]", ()), strict=False)):
            found[f"point {position} of {request}"] = number if told == metric_columns.COMPLETED else read.reasons.get(position)
        found[f"status {request}"] = status.status(path, request)
        found[f"places {request}"] = history.varied_texts(path, request)
        found[f"held {request}"] = history.first_point_texts(path, request)
        found[f"failures {request}"] = status.failures(path, request)
        found[f"lines {request}"] = tuple(history.result_lines(path, request))
    found["quota"] = quota.usage(path).quota
    return found


def put(folder: Path, written: dict[str, bytes], at: int = 0, bit: int | None = None) -> Path:
    """Put the store and its copy into an empty folder, but for one flipped bit."""
    for file in folder.iterdir():
        file.unlink()
    for end, content in written.items():
        (folder / f"{NAME}{end}").write_bytes(content)
    damaged = bytearray(written[""])
    damaged[at] ^= 0 if bit is None else 1 << bit
    (folder / NAME).write_bytes(damaged)
    return folder / NAME


def put_words(folder: Path, written: dict[str, bytes], ends: tuple[str, ...], kind: str, seed: int) -> Path:
    """Put the store and its copy into an empty folder, with another top bit in one letter of a word of each file in `ends`."""
    path, rng = put(folder, written), np.random.default_rng(seed)
    for end in ends:
        letters = [at for word in re.finditer(WORDS[kind], written[end]) for at in range(*word.span(1))]
        damaged = bytearray(written[end])
        damaged[letters[rng.integers(len(letters))]] ^= 1 << TOP_BIT
        (folder / f"{NAME}{end}").write_bytes(damaged)
    return path


def place(flip: int, size: int) -> tuple[int, int]:
    """Draw which bit to flip: of the pages that hold the tables' texts, of the first bytes of any page, or any."""
    rng = np.random.default_rng(flip)
    at = (rng.integers(SCHEMA * PAGE), rng.integers(size // PAGE) * PAGE + rng.integers(24), rng.integers(size))[flip % 3]
    return int(at), int(rng.integers(8))


def check_numbers(found: Seen, whole: Seen) -> None:
    """Hold numbers and reasons of points against the truth: they may be missing."""
    for name, true in whole.items():
        if name.startswith("point") and found.get(name) is not None:
            assert found[name] == true, f"{name} is {found[name]}, not {true}"


def check_copied(found: Seen, whole: Seen) -> None:
    """Hold the names, notes and pins of the copied requests against the truth."""
    for request in COPIED_REQUESTS:
        run, true = found[f"request {request}"], whole[f"request {request}"]
        assert (run.title, run.note, run.pinned) == (true.title, true.note, true.pinned)


def judged(found: Seen, whole: Seen) -> None:
    """Hold what is seen against the truth: a result may be missing, if its request says that it is not done."""
    missing = {request: 0 for request in range(1, 5)}
    for name, true in whole.items():
        if name.startswith("point") and found[name] != true:
            assert found[name] is None, f"{name} is {found[name]}, not {true}"
            missing[int(name.split()[-1])] += 1
    for request, gone in missing.items():
        assert found[f"status {request}"] == replace(
            whole[f"status {request}"], finished_points=whole[f"status {request}"].finished_points - gone
        )
        assert len(found[f"lines {request}"]) == len(whole[f"lines {request}"]) - gone
        assert set(found[f"lines {request}"]) <= set(whole[f"lines {request}"])
    others = [name for name in whole if name.split()[0] not in ("point", "status", "lines")]
    assert [found[name] for name in others] == [whole[name] for name in others]


@each("seed", range(20))
@each("kind", WORDS)
@each("ends", [("",), ("", ".copy"), (".copy",)], few=7)
def test_a_letter_with_another_top_bit_loses_no_request_and_no_result(
    ends: tuple[str, ...], kind: str, seed: int, written: dict[str, bytes], whole: Seen, folder: Path
) -> None:
    path = put_words(folder, written, ends, kind, seed)
    damaged = path.read_bytes()
    with suppress(BadFile):
        check_numbers(seen(path), whole)
    outcome = restore(path)
    if not outcome.was_sound:
        assert f"is kept whole as {path}.damaged-1" in outcome.text
        assert Path(f"{path}.damaged-1").read_bytes() == damaged
    found = seen(path)
    check_numbers(found, whole)
    if kind != "text":  # a row with a damaged text is gone, and that of the copy may be damaged too
        assert [found[name] for name in whole if name.startswith("point")] == [
            whole[name] for name in whole if name.startswith("point")
        ]
    if kind != "text" or len(ends) == 1:
        check_copied(found, whole)
    assert restore(path).was_sound


@each("seed", range(8))
@each("kind", WORDS)
def test_a_letter_with_another_top_bit_is_told_in_a_sentence(
    seed: int, kind: str, written: dict[str, bytes], folder: Path
) -> None:
    path = put_words(folder, written, ("",), kind, seed)
    with pytest.raises(BadFile, match="serve --restore"), open_store(path) as store:
        status.status(path, 1)
        check_store(store)
        if kind == "text":  # a result's text is checked as it is read
            raise BadFile("serve --restore")


@each("bit", range(HEADER_BITS), few=7)
def test_a_flipped_bit_of_the_file_s_header_never_keeps_the_store_from_being_restored(
    bit: int, written: dict[str, bytes], whole: Seen, folder: Path
) -> None:
    path = put(folder, written, bit // 8, bit % 8)
    restore(path)
    found = seen(path)
    check_numbers(found, whole)
    check_copied(found, whole)


def test_a_format_that_no_program_writes_is_damage(written: dict[str, bytes], folder: Path) -> None:
    path = put(folder, written, USER_VERSION, TOP_BIT)
    with pytest.raises(BadFile, match=r"is damaged \(malformed: its format is not as it was written\).* serve --restore"):
        status.status(path, 1)
    assert not restore(path).was_sound


@pytest.mark.parametrize("error", [MemoryError(), OverflowError("too large"), TypeError("too few"), UnicodeError("no text")])
def test_whatever_keeps_a_file_from_being_read_the_copy_is_reached(
    error: Exception, written: dict[str, bytes], whole: Seen, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Unreadable(sqlite3.Connection):
        def execute(self, *_: object) -> sqlite3.Cursor:
            raise error

    def connected(path: Path) -> sqlite3.Connection:
        return connect_file(path) if path.suffix == ".copy" else sqlite3.connect(path, factory=Unreadable)

    path, connect_file = put(folder, written, HEADER_TEXT, TOP_BIT), side_copy.connect_file
    monkeypatch.setattr(side_copy, "connect_file", connected)
    assert not restore(path).was_sound
    found = seen(path)
    check_numbers(found, whole)
    check_copied(found, whole)


@pytest.mark.slow
@each("flip", FLIPS, few=15, most=500)
def test_a_flipped_bit_makes_no_wrong_number_and_loses_nothing_without_a_word(
    flip: int, written: dict[str, bytes], whole: Seen, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computing_here(monkeypatch)
    path = put(folder, written, *place(flip, len(written[""])))
    shown: Seen = {}
    with suppress(BadFile):
        shown = seen(path)
        check_numbers(shown, whole)
    try:
        with open_store(path) as store:
            check_store(store)
        judged(shown or seen(path), whole)
    except BadFile as error:
        assert f"python -m engine serve --restore --store {path}" in str(error)
        outcome = restore(path)
        assert not outcome.was_sound and "is computed again when it is asked for" in outcome.text
        found = seen(path)
        check_numbers(found, whole)
        check_copied(found, whole)
    assert restore(path).was_sound
    request = requests.submit(path, scenarios(ALL), "full")
    service.serve(path, 1, 0.0, COMPUTE)
    assert status.status(path, request).finished_points == len(ALL)
    for seed, (_, result) in zip(ALL, result_rows.stored_results(path, scenarios(ALL), "full"), strict=True):
        assert result and (result.results.get("Step time [ms]") == seed / 7) == (seed != REFUSED)
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]
