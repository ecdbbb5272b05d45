"""The check of a request and its points against their checksums: what is damaged is set aside, and a sentence says so."""

import json
import sqlite3
import time
from collections.abc import Sequence

AGAIN = "its record in the store is damaged and was set aside; ask for it again"
ASIDE = "INSERT INTO set_aside (key, result, checksum, found, kind)"


def sound_keys(store: sqlite3.Connection, request: int, names: Sequence[str]) -> list[str]:
    """Return a request's keys whose records are as written; the others end, and nobody takes up such a request again."""
    whole = "SELECT checksum IS NULL OR checksum = crc(how, data, base) FROM requests WHERE id = ?"
    found = store.execute(whole, (request,)).fetchone()
    if found and not found[0]:
        copy = f"{ASIDE} SELECT id, base, checksum, ?2, 'request' FROM requests WHERE id = ?1"
        store.execute(copy, (request, time.time()))
        change = "UPDATE requests SET state = 'failed', digest = '', ended = ?2, note = ?3 WHERE id = ?1"
        store.execute(change, (request, time.time(), f"Request {request} cannot go on: {AGAIN}."))
        return []
    query = """SELECT p.key FROM json_each(?2) n CROSS JOIN points p ON p.key = n.value
        WHERE p.request = ?1 AND p.checksum IS NOT NULL AND p.checksum != crc(p.key, p.changes)"""
    damaged = {name for (name,) in store.execute(query, (request, json.dumps(names)))}
    if damaged:
        these, point = json.dumps(sorted(damaged)), "request = ?1 AND key IN (SELECT value FROM json_each(?2))"
        copy = f"{ASIDE} SELECT key, changes, checksum, ?3, 'point' FROM points WHERE {point}"
        store.execute(copy, (request, these, time.time()))
        sentence = f"This point cannot be computed: {AGAIN}."
        failed = "INSERT OR REPLACE INTO failures (key, sentence, bug, created) VALUES (?, ?, 0, ?)"
        store.executemany(failed, [(name, sentence, time.time()) for name in damaged])
        store.execute("UPDATE requests SET digest = '' WHERE id = ?", (request,))
    return [name for name in names if name not in damaged]
