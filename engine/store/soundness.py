"""The check of a store against what was written: the file's structure, its indexes, and every checksum but those of results.

Results and trainings carry theirs to whoever reads them, and are computed anew; damage of anything else is the whole store's.
"""

import json
import sqlite3
from collections.abc import Sequence

from .schema import OF_FAILURE, OF_POINT, OF_REQUEST, SEAL

DAMAGED = "malformed"  # SQLite's own word, by which `database` knows damage
UNSOUND = {
    "a request": f"SELECT 1 FROM requests WHERE checksum IS NOT {OF_REQUEST}",
    "a point": f"SELECT 1 FROM points WHERE checksum IS NOT {OF_POINT} OR state NOT IN (0, 1, 2)",
    "a failure": f"SELECT 1 FROM failures WHERE checksum IS NOT {OF_FAILURE}",
    "a finished point": """SELECT 1 FROM points p JOIN requests q ON q.id = p.request WHERE p.state = 1
        AND NOT EXISTS (SELECT 1 FROM results r WHERE r.key = p.key AND r.code = q.code)""",
}


def check(store: sqlite3.Connection) -> None:
    """Look at a whole store, in some 2 s per GB; raises sqlite3.DatabaseError for one that is not as it was written."""
    store.execute("BEGIN")
    try:
        store.execute("DELETE FROM progress WHERE false")  # refused where damage says that the file must not be written
        if (found := store.execute("PRAGMA integrity_check(1)").fetchone()[0]) != "ok":
            raise sqlite3.DatabaseError(f"{DAMAGED}: {found.rpartition('***')[2].strip()[:100]}")
        for what, query in UNSOUND.items():
            _refuse(store, what, query)
    finally:
        store.execute("ROLLBACK")


def check_points(store: sqlite3.Connection, request: int, names: Sequence[str]) -> None:
    """Look at a request and some of its points before they are computed; raises sqlite3.DatabaseError."""
    _refuse(store, "a request", f"{UNSOUND['a request']} AND id = ?", request)
    point = f"""SELECT 1 FROM json_each(?2) n CROSS JOIN points p ON p.key = n.value
        WHERE p.request = ?1 AND checksum IS NOT {OF_POINT.replace("key", "p.key")}"""
    _refuse(store, "a point", point, request, json.dumps(names))


def check_seal(store: sqlite3.Connection) -> bool:
    """Return whether a store has a seal; raises sqlite3.DatabaseError if its tables or settings are not what was sealed."""
    seal, found = store.execute(f"SELECT (SELECT value FROM settings WHERE name = 'seal'), {SEAL}").fetchone()
    if seal is not None and str(seal) != str(found):
        raise sqlite3.DatabaseError(f"{DAMAGED}: its tables are not as they were made")
    return seal is not None


def seal(store: sqlite3.Connection) -> None:
    """Sign the tables and settings as they are now, within the transaction that changed them."""
    store.execute(f"INSERT OR REPLACE INTO settings SELECT 'seal', {SEAL}")


def _refuse(store: sqlite3.Connection, what: str, query: str, *given: object) -> None:
    if store.execute(query, given).fetchone():
        raise sqlite3.DatabaseError(f"{DAMAGED}: {what} is not as it was written")
