"""The history: every request that the store knows, newest first, until someone deletes it.

A request keeps its title and its link when its results have made room for others, or are of other code, which counts as
the same; reopening computes them again.
"""

import json
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .. import version
from ..core.figures import count
from ..errors import BadInput, EmberpoolError
from ..results.result import Result
from ..scenario import knobs
from ..scenario.keys import How
from ..scenario.renamed import translated
from ..scenario.scenario import KNOBS, Scenario, known, with_values
from ..store import kept
from ..store.database import FAILED, KEPT, OPEN, opened, transaction
from ..store.quota import shrink
from ..sweep import links
from ..sweep.questions import Questions
from ..sweep.sweep import Sweep
from .stopped_runs import StoppedRunFile

COLUMNS = "id, how, state, total, title, link, note, pinned, created, started, ended, base, code"
COUNTED = f"""SELECT (SELECT coalesce(max(position) + 1, 0) FROM points WHERE request = ?1),
    (SELECT count(*) FROM points WHERE request = ?1 AND state = {OPEN}),
    (SELECT count(*) FROM points WHERE request = ?1 AND state = {FAILED})"""
THESE = "(SELECT value FROM json_each(?1))"
ALONE = f"""SELECT DISTINCT key FROM points WHERE request IN {THESE} AND NOT EXISTS
    (SELECT 1 FROM points other WHERE other.key = points.key AND other.request NOT IN {THESE})"""
MOST_NAMED = 3  # knobs that a title names
OWN_PATH = re.compile(r"/[a-z]+\?")
Texts = dict[str, str]


@dataclass(frozen=True)
class Entry:
    """One request: what it was, how it stands, and how many of its points have a result now.

    `created` is in seconds since 1970; `seconds` is how long it has computed, None if it has not.
    """

    request: int
    how: How
    state: str
    total: int
    kept: int
    failed: int
    title: str
    note: str
    pinned: bool
    created: float
    seconds: float | None


def entries(path: Path, words: str = "", most: int = 100) -> list[Entry]:
    """Return the newest requests whose title, link or state has all the words; words such as #7 are numbers of requests."""
    found: list[Entry] = []
    numbers, wanted = numbered(words), [word for word in words.lower().split() if not word.startswith("#")]
    with opened(path) as store:
        store.row_factory = sqlite3.Row
        for row in store.execute(f"SELECT {COLUMNS} FROM requests WHERE state != 'arriving' ORDER BY created DESC"):
            if numbers and row["id"] not in numbers:
                continue
            title = row["title"] or described(row["how"], row["total"], *_texts(store, row))
            text = f"{title} {row['link']} {row['state']} {'pinned' * row['pinned']}".lower()
            if all(word in text for word in wanted):
                found.append(_entry(store, row, title))
            if len(found) == most:
                break
        return _told_apart(store, found)


def _told_apart(store: sqlite3.Connection, found: list[Entry]) -> list[Entry]:
    """Return entries of which no two have one title: knobs that differ are named, or else the number of the request."""
    alike: dict[str, list[Entry]] = {}
    for entry in found:
        alike.setdefault(entry.title, []).append(entry)
    names: dict[int, str] = {}
    for title, group in alike.items():
        if len(group) > 1:
            texts = {entry.request: _first_texts(store, entry.request) for entry in group}
            every = dict.fromkeys(path for held in texts.values() for path in held if path in KNOBS)
            differ = [path for path in every if len({held.get(path) for held in texts.values()}) > 1]
            said = {one: _differences(held, differ) for one, held in texts.items()}
            counts = Counter(said.values())
            for one, text in said.items():
                alone = bool(text) and counts[text] == 1
                names[one] = ", ".join(filter(None, (title, text))) + f" (#{one})" * (not alone)
    return [replace(entry, title=names.get(entry.request, entry.title)) for entry in found]


def _first_texts(store: sqlite3.Connection, request: int) -> Texts:
    row = store.execute("SELECT base FROM requests WHERE id = ?", (request,)).fetchone()
    return _read(row[0] if row else "")


def _differences(texts: Texts, differ: Sequence[str]) -> str:
    """Return the first few of the knobs that differ, each with its value and unit."""
    said = [f"{KNOBS[path].label} {texts.get(path, '')[:40]} {KNOBS[path].unit}".strip() for path in differ[:MOST_NAMED]]
    return ", ".join(said)


def numbered(words: str) -> set[int]:
    """Return the requests that are named by number: #7 #12."""
    return {int(word[1:]) for word in words.split() if word.startswith("#") and word[1:].isdecimal()}


def _entry(store: sqlite3.Connection, row: sqlite3.Row, title: str) -> Entry:
    request, started = row["id"], row["started"]
    listed, missing, failed = store.execute(COUNTED, (request,)).fetchone()
    seconds = None if started is None else max(0.0, (row["ended"] or time.time()) - started)
    here, failed = (listed - missing - failed, failed) if row["code"] == version.CODE else (0, 0)
    counts, state = (row["total"], here, failed), row["state"]
    return Entry(request, row["how"], state, *counts, title, row["note"], bool(row["pinned"]), row["created"], seconds)


def _texts(store: sqlite3.Connection, row: sqlite3.Row) -> tuple[Texts, tuple[str, ...]]:
    """Return the texts of a request's first point, and which knobs its last one has otherwise."""
    last = store.execute("SELECT changes FROM points WHERE request = ? ORDER BY position DESC LIMIT 1", (row["id"],)).fetchone()
    return _read(row["base"]), tuple(_read(last[0])) if last else ()


def described(how: How, total: int, first: Texts, varied: Iterable[str], preset: str = "") -> str:
    """Return a request's title: how it computes how many points, of what, and which knobs it varies."""
    what = {"full": "full run", "estimate": "estimate"}[how]
    many = count(total, what) if total > 1 else what.capitalize()
    of = preset or first.get("model.name", "an unknown model")
    labels = [KNOBS[path].title for path in varied if path in KNOBS and not path.startswith("model.")]
    named = "" if "system" in varied else f" with {first.get('system', 'an unknown system')}"
    return f"{many} of {of}{named}" + (f" over {', '.join(labels)}" if labels else "")


def link(path: Path, request: int) -> str:
    """Return the link that reopens a request: its own, else that of its first point, else "" for knobs of another version.

    A store may be another's: what is no path of this explorer, such as @host/, is no link either.
    """
    with opened(path) as store:
        store.row_factory = sqlite3.Row
        row = store.execute(f"SELECT {COLUMNS} FROM requests WHERE id = ?", (request,)).fetchone()
        if row is None or row["link"]:
            return str(row["link"]) if row and OWN_PATH.match(str(row["link"])) else ""
        try:
            texts = {path: knobs.parse(known(path), text) for path, text in _texts(store, row)[0].items()}
            return links.link(with_values(Scenario(), texts))
        except EmberpoolError:
            return ""


def reopening(points: Sequence[Scenario]) -> str:
    """Return the link that reopens a sweep on its page; "" for points that no axes say, or where it would be too long."""
    if not isinstance(points, Sweep) or (points.settings and any(axis.path == "model.name" for axis in points.axes)):
        return ""  # settings come after a swept model, a link's knobs before it
    sample = Questions("" if str(points.sampling) == "grid" else str(points.sampling))
    base = with_values(points.base, dict(points.settings))
    whole = links.link(base, page="search", axes=map(str, points.axes), questions=sample)
    return whole if len(whole) <= links.MOST_CHARACTERS else ""


def places(path: Path, request: int) -> dict[str, list[str]]:
    """Return what a request varies: each such knob's text at every point, in order. Damaged points are as the first."""
    with opened(path) as store:
        base = store.execute("SELECT base FROM requests WHERE id = ?", (request,)).fetchone()
        rows = store.execute("SELECT changes FROM points WHERE request = ? ORDER BY position", (request,)).fetchall()
    first, changed = _read(base[0] if base else ""), [_read(changes) for (changes,) in rows]
    varied = dict.fromkeys(path for changes in changed for path in changes)
    return {path: [changes.get(path, first.get(path, "")) for changes in changed] for path in varied}


def held(path: Path, request: int) -> Texts:
    """Return the text of every knob at a request's first point: of those that it does not vary, at all of them."""
    with opened(path) as store:
        return _first_texts(store, request)


def _read(text: object) -> Texts:
    """Return what the store holds as JSON, or nothing where it is damaged: the rest of the history can still be shown."""
    try:
        said = kept.knob_texts(str(text))
        systems = (said["system"],) if "system" in said else ()
        return dict(translated(path, value, systems) for path, value in said.items())
    except (ValueError, AttributeError, TypeError, BadInput):
        return {}


def results(path: Path, request: int) -> Iterator[Result]:
    """Yield the request's results in order, one at a time."""
    query = f"SELECT key FROM points WHERE request = ? AND state = {KEPT} ORDER BY position"
    with opened(path) as store:
        for (name,) in store.execute(query, (request,)):
            if result := kept.load(store, name):
                yield result


def lines(path: Path, request: int) -> Iterator[str]:
    """Yield each undamaged result of a request as one line of JSON."""
    query = """SELECT r.key, r.result, r.checksum FROM points p JOIN results r ON r.key = p.key
        WHERE p.request = ? AND r.code = ? ORDER BY p.position"""
    with opened(path) as store:
        for name, text, checksum in store.execute(query, (request, version.CODE)):
            if kept.checksum(name, text) == checksum:
                yield f"{kept.complete_text(text)}\n"


def pin(path: Path, requests: Sequence[int], pinned: bool) -> None:
    """Hold requests and their results against eviction, or let go of them."""
    with opened(path) as store, transaction(store):
        _known(store, path, requests)
        store.execute(f"UPDATE requests SET pinned = ?2 WHERE id IN {THESE}", (json.dumps(requests), pinned))


def freed(path: Path, requests: Sequence[int]) -> int:
    """Return how many results would go with the requests, since no other request has them."""
    with opened(path) as store:
        query = f"SELECT count(*) FROM results WHERE key IN ({ALONE})"
        return int(store.execute(query, (json.dumps(requests),)).fetchone()[0])


def delete(path: Path, requests: Sequence[int]) -> None:
    """Delete requests, and what no other request has: results, failures, trainings. What runs for them alone stops."""
    these = (json.dumps(requests),)
    with opened(path) as store:
        with transaction(store):
            _known(store, path, requests)
            store.execute(f"CREATE TEMP TABLE going AS {ALONE}", these)
            classes = f"SELECT DISTINCT class FROM points WHERE class IS NOT NULL AND request IN {THESE}"
            held = store.execute(classes, these).fetchall()
            alone = store.execute("SELECT key FROM going").fetchall()
            store.execute(f"DELETE FROM points WHERE request IN {THESE}", these)
            store.execute(f"DELETE FROM requests WHERE id IN {THESE}", these)
            for table, more in (("results", ""), ("failures", ""), ("progress", ""), ("claims", " AND ending IS NOT NULL")):
                store.execute(f"DELETE FROM {table} WHERE key IN (SELECT key FROM going){more}")
            unused = "DELETE FROM trainings WHERE class = ?1 AND NOT EXISTS (SELECT 1 FROM points WHERE class = ?1)"
            store.executemany(unused, held)
            store.execute("DROP TABLE going")
        for (key,) in alone:
            StoppedRunFile(path, key).remove()
        shrink(store)


def _known(store: sqlite3.Connection, path: Path, requests: Sequence[int]) -> None:
    for request in requests:
        if not store.execute("SELECT 1 FROM requests WHERE id = ?", (request,)).fetchone():
            raise BadInput(f"request={request} is not in {path}; someone may have deleted it: look at the history again.")
