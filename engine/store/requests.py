"""The table of requests: a request is a list of points that someone waits for, held by a lease.

Requests live in the store, so they survive whoever computes them. A viewer renews the lease; once it has run
out, no further point is begun until someone renews it, unless the request was asked to keep on by itself.
"""

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path

from .. import version
from ..core.figures import count
from ..core.part_files.known import OwnPart
from ..core.part_files.use import carry
from ..errors import BadInput
from ..run import forecast
from ..run.shared_training import functional_class
from ..scenario.keys import How, KnobTexts, differing, key_of, texts, written
from ..scenario.machine import own_parts
from ..scenario.scenario import Scenario
from ..units import HOUR
from .database import KEPT, OPEN, crc, opened, transaction
from .kept import PARTS

_compact = json.JSONEncoder(separators=(",", ":")).encode
AT_ONCE = 1000  # points written together: the store is locked for an instant, memory does not grow with the points
# A point that this code has already kept starts out so: EXISTS is 1, as KEPT is.
POINT = """INSERT INTO points (request, position, key, changes, class, state, checksum)
    VALUES (?1, ?2, ?3, ?4, ?5, EXISTS (SELECT 1 FROM results WHERE key = ?3 AND code = ?7), ?6)"""
# Who asks again without a title or a link leaves those that it has.
ASKED = """UPDATE requests SET data = ?1, session = ?2, title = ifnull(nullif(?3, ''), title),
    link = ifnull(nullif(?4, ''), link), keeps_on = ?5 WHERE id = ?6"""
LEASE_SECONDS = 120.0


@dataclass(frozen=True)
class Limit:
    """How much one request may ask for: points, and seconds of one core that they are likely to take."""

    points: int
    core_seconds: float


FOR_COMMANDS = Limit(1_000_000, 1000 * HOUR)
FOR_PAGES = Limit(100_000, 8 * HOUR)


def submit(
    path: Path,
    scenarios: Sequence[Scenario],
    how: How,
    data: Path | None = None,
    *,
    session: str = "",
    title: str = "",
    link: str = "",
    keeps_on: bool = False,
    limit: Limit = FOR_COMMANDS,
    sharing: bool = True,
) -> int:
    """Ask for the scenarios' results, durably, and return the request's number.

    Points that are already kept are not computed again; failed ones are tried again. What the same `session` asked
    for before, or anyone whose request has ended, is taken up again under its number. `title` and `link` say what it
    is and reopen it; with `keeps_on` it goes on when nobody waits. Full runs of one functional class share its
    training, unless `sharing` is off. Raises BadInput, among others beyond the limit, BadFile.
    """
    if not scenarios:
        raise BadInput("No scenario was given; a request needs at least one.")
    if len(scenarios) > limit.points:
        raise BadInput(
            f"{count(len(scenarios), 'point')} are asked for and at most {count(limit.points)} are taken at once; take fewer."
        )
    base = written(scenarios[0])
    source = str(data.resolve()) if data else None
    with opened(path) as store:
        request = _announced(store, how, source, _compact(texts(scenarios[0])), len(scenarios))
        try:
            digest, parts = _listed(store, request, scenarios, base, how, limit, sharing)
            with transaction(store):
                if parts:
                    _carry(store, request, parts)
                request = _joined(store, request, digest, session)
                store.execute(ASKED, (source, session, title, link, keeps_on, request))
                _try_again(store, request)
                tend(store)
        except BaseException:
            withdraw(store, "id =", request)
            raise
    return request


def _announced(store: sqlite3.Connection, how: How, source: str | None, base: str, total: int) -> int:
    """Begin a request that no one serves before all its points are there; should we die, its lease runs out."""
    now = time.time()
    columns = "how, data, base, total, state, created, lease_until, model_version, code"
    row = (how, source, base, total, now, now + LEASE_SECONDS, version.MODEL, version.CODE)
    return store.execute(f"INSERT INTO requests ({columns}) VALUES (?, ?, ?, ?, 'arriving', ?, ?, ?, ?)", row).lastrowid or 0


def _listed(
    store: sqlite3.Connection,
    request: int,
    scenarios: Iterable[Scenario],
    base: tuple[KnobTexts, ...],
    how: How,
    limit: Limit,
    sharing: bool,
) -> tuple[str, dict[OwnPart, None]]:
    """Write the points; return the digest over their keys, and their parts of one's own. Raises BadInput for too much work."""
    digest, work, position, parts = blake2b(digest_size=16), 0.0, 0, dict[OwnPart, None]()
    coming = iter(scenarios)
    while some := list(islice(coming, AT_ONCE)):
        work += forecast.sweep_seconds(some, how)
        if work > limit.core_seconds:
            raise BadInput(
                f"These points are likely to take more than {count(limit.core_seconds / HOUR, 'hour')} of one core, and no more "
                "taken at once; take fewer points or batches, or estimates."
            )
        rows = list(_points(request, position, some, base, how, sharing))
        for machine in {id(scenario.machine): scenario.machine for scenario in some}.values():
            parts |= dict.fromkeys(own_parts(machine))
        digest.update("".join(str(row[2]) for row in rows).encode())
        position += len(rows)
        with transaction(store):
            store.executemany(POINT, rows)
            store.execute("UPDATE requests SET lease_until = ? WHERE id = ?", (time.time() + LEASE_SECONDS, request))
    return digest.hexdigest(), parts


def _carry(store: sqlite3.Connection, request: int, parts: Iterable[OwnPart]) -> None:
    """Put the values of parts of one's own beside the knobs of the request's base: who computes it has no such folder."""
    (base,) = store.execute("SELECT base FROM requests WHERE id = ?", (request,)).fetchone()
    store.execute("UPDATE requests SET base = ? WHERE id = ?", (_compact({**json.loads(base), PARTS: carry(parts)}), request))


def _points(
    request: int, position: int, scenarios: Iterable[Scenario], base: tuple[KnobTexts, ...], how: How, sharing: bool
) -> Iterator[tuple[object, ...]]:
    for number, scenario in enumerate(scenarios, position):
        groups = written(scenario)
        name, given = key_of(groups, how), _compact({path: text for path, text, _ in differing(base, groups)})
        found = functional_class(scenario) if sharing and how == "full" else None
        one = found.name if found else None
        yield request, number, name, given, one, crc(request, number, name, given, one), version.CODE


def _joined(store: sqlite3.Connection, request: int, digest: str, session: str) -> int:
    """Take up the newest request for the same points that has ended or is ours, instead of this one; else serve this one.

    Another session's live request stays its own: either can be cancelled without the other, and points are shared anyway.
    """
    ours = "state IN ('done', 'cancelled', 'failed') OR session = ?"
    same = f"SELECT id, code FROM requests WHERE digest = ? AND id != ? AND ({ours}) ORDER BY id DESC LIMIT 1"
    earlier = store.execute(same, (digest, request, session)).fetchone()
    if earlier:
        withdraw(store, "id =", request)
        request = int(earlier[0])
        if earlier[1] != version.CODE:
            adopt(store, request)
    now = time.time()
    live = "state = CASE WHEN state = 'running' THEN state ELSE 'queued' END, ended = NULL, note = ''"
    change = f"UPDATE requests SET {live}, digest = ?, created = ?, lease_until = ? WHERE id = ?"
    store.execute(change, (digest, now, now + LEASE_SECONDS, request))
    return request


def withdraw(store: sqlite3.Connection, such: str, than: float) -> None:
    """Forget requests that have not been served yet, and are such."""
    arriving = f"SELECT id FROM requests WHERE state = 'arriving' AND {such} ?"
    store.execute(f"DELETE FROM points WHERE request IN ({arriving})", (than,))
    store.execute(f"DELETE FROM requests WHERE id IN ({arriving})", (than,))


def _try_again(store: sqlite3.Connection, request: int) -> None:
    asked = "EXISTS (SELECT 1 FROM points WHERE request = ? AND points.key = failures.key)"
    failed = f"key IN (SELECT key FROM failures WHERE {asked})"
    store.execute(f"UPDATE claims SET ending = 'forgiven' WHERE ending = 'died' AND {failed}", (request,))
    store.execute(f"DELETE FROM failures WHERE {asked}", (request,))


def cancel(path: Path, request: int) -> None:
    """Stop a request: nothing more is begun, and what runs for it alone stops at its next progress."""
    with opened(path) as store:
        change = "UPDATE requests SET state = 'cancelled', ended = ? WHERE id = ? AND state IN ('queued', 'running')"
        store.execute(change, (time.time(), request))


def renew(path: Path, request: int) -> None:
    """Hold the request for LEASE_SECONDS from now; written only once half of the lease is used, or the clock was set back."""
    now = time.time()
    with opened(path) as store:
        row = store.execute("SELECT lease_until FROM requests WHERE id = ?", (request,)).fetchone()
        if row and not LEASE_SECONDS / 2 <= row[0] - now <= LEASE_SECONDS:
            store.execute("UPDATE requests SET lease_until = ? WHERE id = ?", (now + LEASE_SECONDS, request))


def latest(path: Path, names: Iterable[str]) -> int | None:
    """Return this code's newest request for exactly the points with these keys, in this order, or None."""
    digest = blake2b("".join(names).encode(), digest_size=16).hexdigest()
    return _newest(path, "digest = ?", digest)


def by_link(path: Path, link: str, how: How) -> int | None:
    """Return this code's newest request that the link reopens, found without its points' keys, or None."""
    return _newest(path, "link = ? AND how = ?", link, how) if link else None


def _newest(path: Path, such: str, *given: str) -> int | None:
    query = f"SELECT max(id) FROM requests WHERE {such} AND code = ? AND state != 'arriving'"
    with opened(path) as store:
        found: int | None = store.execute(query, (*given, version.CODE)).fetchone()[0]
    return found


def tend(store: sqlite3.Connection) -> None:
    """End requests without an open point, and park those whose lease has run out; looks before it locks.

    No lease reaches beyond LEASE_SECONDS from now: one that does was given before the clock was set back.
    """
    now = time.time()
    still_open = f"EXISTS (SELECT 1 FROM points WHERE request = id AND state = {OPEN})"
    finished = f"state IN ('queued', 'running') AND NOT {still_open}"
    if store.execute(f"SELECT 1 FROM requests WHERE {finished}").fetchone():
        kept = f"EXISTS (SELECT 1 FROM points WHERE request = id AND state = {KEPT})"
        change = f"UPDATE requests SET state = CASE WHEN {kept} THEN 'done' ELSE 'failed' END, ended = ? WHERE {finished}"
        store.execute(change, (now,))
    live = "state IN ('queued', 'running')"
    ahead = f"{live} AND lease_until > ?"
    if store.execute(f"SELECT 1 FROM requests WHERE {ahead}", (now + LEASE_SECONDS + 1,)).fetchone():
        store.execute(f"UPDATE requests SET lease_until = ?1 WHERE {live} AND lease_until > ?1", (now + LEASE_SECONDS,))
    expired = "state = 'running' AND lease_until <= ? AND NOT keeps_on"
    if store.execute(f"SELECT 1 FROM requests WHERE {expired}", (now,)).fetchone():
        store.execute(f"UPDATE requests SET state = 'queued' WHERE {expired}", (now,))


def adopt(store: sqlite3.Connection, request: int) -> None:
    """Make a request one of this code: only rows of this code count as kept."""
    kept = "EXISTS (SELECT 1 FROM results WHERE key = points.key AND code = ?2)"
    store.execute("UPDATE requests SET code = ?2 WHERE id = ?1", (request, version.CODE))
    store.execute(f"UPDATE points SET state = {kept} WHERE request = ?1", (request, version.CODE))
