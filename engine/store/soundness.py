"""The check of a store: file structure, indexes, and checksums except those of results.

The checksums of results and trainings are checked as they are read, and damaged ones are computed again; damage of other rows
counts as damage of the whole store.
"""

import json
import sqlite3
from collections.abc import Sequence

from .schema import FAILURE_CHECKSUM, POINT_CHECKSUM, REQUEST_CHECKSUM, SEAL

DAMAGED = "malformed"  # SQLite's own word, by which `database` recognises damage
UNSOUND_QUERIES = {
    "a request": f"SELECT 1 FROM requests WHERE checksum IS NOT {REQUEST_CHECKSUM}",
    "a point": f"SELECT 1 FROM points WHERE checksum IS NOT {POINT_CHECKSUM} OR state NOT IN (0, 1, 2)",
    "a failure": f"SELECT 1 FROM failures WHERE checksum IS NOT {FAILURE_CHECKSUM}",
    "a finished point": """SELECT 1 FROM points p JOIN requests q ON q.id = p.request WHERE p.state = 1
        AND NOT EXISTS (SELECT 1 FROM results r WHERE r.key = p.key AND r.code = q.code)""",
}


def check_store(store: sqlite3.Connection) -> None:
    """Check a whole store, in some 2 s per GB.

    Raises sqlite3.DatabaseError for a damaged one.
    """
    store.execute("BEGIN")
    try:
        store.execute("DELETE FROM progress WHERE false")  # refused by SQLite if damage has made the file read-only
        if (problem := store.execute("PRAGMA integrity_check(1)").fetchone()[0]) != "ok":
            raise sqlite3.DatabaseError(f"{DAMAGED}: {problem.rpartition('***')[2].strip()[:100]}")
        for row_kind, query in UNSOUND_QUERIES.items():
            _refuse(store, row_kind, query)
    finally:
        store.execute("ROLLBACK")


def check_points(store: sqlite3.Connection, request: int, names: Sequence[str]) -> None:
    """Check a request and some of its points before they are computed; raises sqlite3.DatabaseError."""
    _refuse(store, "a request", f"{UNSOUND_QUERIES['a request']} AND id = ?", request)
    point = f"""SELECT 1 FROM json_each(?2) n CROSS JOIN points p ON p.key = n.value
        WHERE p.request = ?1 AND checksum IS NOT {POINT_CHECKSUM.replace("key", "p.key")}"""
    _refuse(store, "a point", point, request, json.dumps(names))


def check_seal(store: sqlite3.Connection) -> bool:
    """Return whether a store has a seal; raises sqlite3.DatabaseError if the seal does not fit."""
    seal, computed_seal = store.execute(f"SELECT (SELECT value FROM settings WHERE name = 'seal'), {SEAL}").fetchone()
    if seal is not None and str(seal) != str(computed_seal):
        raise sqlite3.DatabaseError(f"{DAMAGED}: its tables are not as they were made")
    return seal is not None


def write_seal(store: sqlite3.Connection) -> None:
    """Write the seal of the tables and settings, within the transaction that changed them."""
    store.execute(f"INSERT OR REPLACE INTO settings SELECT 'seal', {SEAL}")


def _refuse(store: sqlite3.Connection, row_kind: str, query: str, *parameters: object) -> None:
    if store.execute(query, parameters).fetchone():
        raise sqlite3.DatabaseError(f"{DAMAGED}: {row_kind} is not as it was written")
