"""Salvage of a damaged store: what can still be read moves to a fresh one; the damaged file is kept beside it, untouched.

Rows are asked for one by one, since a walk over a table ends at its first damaged page. A row counts only if its
checksum does; states of points follow from the results that came along.
"""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any

from ..errors import BadFile
from . import kept
from .database import OPEN, crc, opened, real, salvaged, sync, transaction
from .owner import owning

# The columns that a row's checksum covers; of the first two a digest, of the others a crc, older rows without one.
DIGESTED = {"results": ("key", "result"), "trainings": ("class", "record")}
SUMMED = {"points": ("key", "changes"), "requests": ("how", "data", "base")}
TABLES = ("requests", "results", "failures", "trainings", "claims", "set_aside", "settings")
AT_ONCE = 1000
# A request that has lost points is not what was asked for: nobody takes it up again, and it does not go on.
LOST = """UPDATE requests SET digest = '', note = CASE WHEN state IN ('queued', 'running') THEN
    'Some of its points were lost with a damaged store; ask for it again.' ELSE note END,
    state = CASE WHEN state IN ('queued', 'running') THEN 'failed' ELSE state END WHERE id = ?"""
BLIND = 100_000  # how far to look for rows where a table's end cannot be read
Row = dict[str, Any]


@dataclass(frozen=True)
class Salvaged:
    """How many results and requests were read, and where the damaged store is now."""

    results: int
    requests: int
    aside: Path

    def __str__(self) -> str:
        """Say what has come along, and what to do about the rest."""
        return (
            f"The store was damaged: {self.results:,} results and {self.requests:,} requests were read and moved to a fresh one; "
            f"ask again for what is missing. The damaged file is kept as {self.aside}: delete it when nothing is missed."
        )


def salvage(path: Path) -> Salvaged | None:
    """Move what can be read into a fresh store, or go on with that; return None for a sound one. Raises BadFile."""
    path = real(path)
    with owning(path):
        try:
            if not salvaged(path).exists() and not _read(path):
                return None
            aside = _aside(path)
            _swap(path, aside)
        except (OSError, sqlite3.Error) as error:
            raise BadFile(f"{path} cannot be salvaged: {error}; name a file, free some space, and try again.") from error
        with opened(path) as store:
            results, requests = (
                store.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("results", "requests")
            )
    return Salvaged(results, requests, aside)


def _read(path: Path) -> bool:
    """Read the damaged store into a fresh one, whose name says that it is whole; returns False for a sound store."""
    fresh = path.with_name(f"{path.name}.fresh")
    with closing(sqlite3.connect(path)) as damaged:
        if _is_sound(damaged):
            return False
        for end in ("", "-wal", "-shm"):
            Path(f"{fresh}{end}").unlink(missing_ok=True)
        _move(damaged, fresh)
    fresh.rename(salvaged(path))
    sync(path.parent)
    return True


def _aside(path: Path) -> Path:
    """Return where the damaged store stays: where an interrupted salvage has put it already, or a name that is free."""
    for n in count(1):
        name = path.with_name(f"{path.name}.damaged-{n}")
        if not name.exists() or name.samefile(path):
            return name
    raise AssertionError("count is endless")


def _is_sound(store: sqlite3.Connection) -> bool:
    try:
        return bool(store.execute("PRAGMA integrity_check").fetchall() == [("ok",)])
    except sqlite3.DatabaseError:
        return False


def _swap(path: Path, aside: Path) -> None:
    """Put the fresh store in the damaged one's place; a log of the damaged one must not be taken for the fresh one's.

    Until that is done nobody opens the store, whose log may be gone already.
    """
    if not aside.exists():
        os.link(path, aside)
    if (log := Path(f"{path}-wal")).exists():
        log.rename(f"{aside}-wal")
    Path(f"{path}-shm").unlink(missing_ok=True)
    sync(path.parent)
    salvaged(path).replace(path)
    sync(path.parent)


def _move(damaged: sqlite3.Connection, fresh: Path) -> None:
    """Copy the readable rows, a thousand a transaction."""
    damaged.row_factory = sqlite3.Row
    with opened(fresh) as store:
        wide = {table: _columns(damaged, table) & _columns(store, table) for table in (*TABLES, "points")}
        _put(store, "requests", _rows(damaged, "requests", wide["requests"]))
        for request, total in store.execute("SELECT id, total FROM requests").fetchall():
            if _put(store, "points", _points(damaged, wide["points"], request, total)) < total:
                store.execute(LOST, (request,))
        for table in TABLES[1:]:
            _put(store, table, _rows(damaged, table, wide[table]))


def _columns(store: sqlite3.Connection, table: str) -> set[str]:
    try:
        return {str(row[1]) for row in store.execute(f"PRAGMA table_info({table})")}
    except sqlite3.DatabaseError:
        return set()


def _rows(store: sqlite3.Connection, table: str, columns: set[str]) -> Iterator[Row]:
    if columns:
        query = f"SELECT {', '.join(sorted(columns))} FROM {table} WHERE rowid = ?"
        yield from _each(store, query, ((number,) for number in range(1, _last(store, table) + 1)))


def _points(store: sqlite3.Connection, columns: set[str], request: int, total: int) -> Iterator[Row]:
    query = f"SELECT {', '.join(sorted(columns))} FROM points WHERE request = ? AND position = ?"
    for row in _each(store, query, ((request, position) for position in range(total))):
        yield {**row, "state": OPEN}


def _each(store: sqlite3.Connection, query: str, keys: Iterable[tuple[int, ...]]) -> Iterator[Row]:
    for key in keys:
        with suppress(sqlite3.Error):
            if row := store.execute(query, key).fetchone():
                yield dict(row)


def _last(store: sqlite3.Connection, table: str) -> int:
    """Return a row number behind which there is nothing, or too little to look for."""
    with suppress(sqlite3.Error):
        return int(store.execute(f"SELECT coalesce(max(rowid), 0) FROM {table}").fetchone()[0])
    seen = 0
    with suppress(sqlite3.Error):
        for (number,) in store.execute(f"SELECT rowid FROM {table} ORDER BY rowid"):
            seen = number
    return seen + BLIND


def _put(store: sqlite3.Connection, table: str, rows: Iterable[Row]) -> int:
    done, coming = 0, filter(partial(_counts, table), rows)
    while some := list(islice(coming, AT_ONCE)):
        with transaction(store):
            for row in some:
                names, marks = ", ".join(row), ", ".join("?" * len(row))
                with suppress(sqlite3.IntegrityError):
                    done += store.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(row.values())).rowcount
    return done


def _counts(table: str, row: Row) -> bool:
    """Return whether a row is as it was written."""
    if table in DIGESTED:
        name, text = (row[column] for column in DIGESTED[table])
        return isinstance(text, str) and kept.checksum(name, text) == row["checksum"]
    if table == "requests" and not isinstance(row["total"], int):
        return False
    return table not in SUMMED or row.get("checksum") in (None, crc(*(row[column] for column in SUMMED[table])))
