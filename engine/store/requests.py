"""The table of requests: lists of points, each held by the lease of a viewer.

Requests are in the store, so they survive the process that computes them. A viewer renews the lease. After the lease has
expired, no further point is started until a viewer renews the lease, unless the request has `keeps_on`. Each request has an
owner, and only the owner or an operator changes it.
"""

import json
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path

from .. import version
from ..core.figures import count
from ..core.part_files.known import OwnPart
from ..core.part_files.use import part_texts
from ..errors import BadInput
from ..run import forecast
from ..run.shared_training import functional_class
from ..scenario.keys import Fidelity, KnobTexts, changed_knobs, group_texts, key_of, texts
from ..scenario.machine import own_parts
from ..scenario.scenario import Scenario
from ..units import HOUR
from .database import FINISHED, OPEN, crc, open_store, transaction
from .result_rows import PARTS

_compact = json.JSONEncoder(separators=(",", ":")).encode
AT_ONCE = 1000  # points written together: the store is locked for an instant, memory does not grow with the points
# A point with a result of this code starts as finished: EXISTS is 1, as KEPT is.
POINT = """INSERT INTO points (request, position, key, changes, class, state, checksum)
    VALUES (?1, ?2, ?3, ?4, ?5, EXISTS (SELECT 1 FROM results WHERE key = ?3 AND code = ?7), ?6)"""
# A repeated request keeps its title and link unless new ones are given.
UPDATE_REQUEST = """UPDATE requests SET data = ?1, session = ?2, title = ifnull(nullif(?3, ''), title),
    link = ifnull(nullif(?4, ''), link), keeps_on = ?5 WHERE id = ?6"""
LEASE_SECONDS = 120.0


LIVE = "state IN ('queued', 'running')"


@dataclass(frozen=True)
class Limit:
    """The limits of a request, and of all live requests of its owner.

    points: the largest number of points of one request.
    core_seconds: the most seconds that its points may be expected to take on one core.
    live_requests: the largest number of requests of one owner that have not ended.
    live_points: the largest number of points of these requests together.
    """

    points: int
    core_seconds: float
    live_requests: int = sys.maxsize
    live_points: int = sys.maxsize


FOR_COMMANDS = Limit(1_000_000, 1000 * HOUR)
FOR_PAGES = Limit(100_000, 8 * HOUR, live_requests=10, live_points=200_000)


@dataclass(frozen=True)
class User:
    """A visitor or the command line, as the author of changes to requests.

    owner: the text in the requests that this user owns; "" owns none.
    is_operator: True if the user may change requests of other owners too.
    """

    owner: str
    is_operator: bool = False


COMMAND = User("command", is_operator=True)  # the command line can read and write the store's file


class OthersRequest(BadInput):
    """Raised if a user changes a request of another owner."""


def submit(
    path: Path,
    scenarios: Sequence[Scenario],
    how: Fidelity,
    data: Path | None = None,
    *,
    owner: str = COMMAND.owner,
    session: str = "",
    title: str = "",
    link: str = "",
    keeps_on: bool = False,
    limit: Limit = FOR_COMMANDS,
    sharing: bool = True,
) -> int:
    """Write a request for the results of scenarios, durably; return its number.

    Finished points are not computed again; failed points are tried again. If an earlier request of the owner has the same points,
    and has ended or has the same `session`, it continues under its number.

    how: "estimate" or "full".
    data: the path of a data file, or None.
    owner: the owner's text, as in `User`.
    session: a text for each process of the command line, whose live requests stay apart.
    title, link: texts for the history.
    keeps_on: True if the request continues without a viewer.
    limit: the limits of the request and of its owner.
    sharing: True if full runs of one functional class share its training.

    Raises BadFile, and BadInput, for example for a request above the limit.
    """
    if not scenarios:
        raise BadInput("No scenario was given; a request needs at least one.")
    if len(scenarios) > limit.points:
        raise BadInput(
            f"{count(len(scenarios), 'point')} are requested, but at most {count(limit.points)} are possible at once; request "
            "fewer."
        )
    base = group_texts(scenarios[0])
    source = str(data.resolve()) if data else None
    with open_store(path) as store:
        request = _insert_request(store, how, source, _compact(texts(scenarios[0])), len(scenarios), owner)
        try:
            digest, parts = _write_points(store, request, scenarios, base, how, limit, sharing)
            with transaction(store):
                if parts:
                    _carry(store, request, parts)
                request = _join_request(store, request, digest, owner, session)
                store.execute(UPDATE_REQUEST, (source, session, title, link, keeps_on, request))
                _try_again(store, request)
                end_requests(store)
                _check_owner_limits(store, request, owner, limit)
        except BaseException:
            withdraw(store, "id =", request)
            raise
    return request


def _insert_request(store: sqlite3.Connection, method: Fidelity, source: str | None, base: str, total: int, owner: str) -> int:
    """Insert a request in state `arriving`, which is not served.

    Its lease runs out if this process dies.
    """
    clock_seconds = time.time()
    columns = "how, data, base, total, state, created, lease_until, model_version, code, owner"
    row = (method, source, base, total, clock_seconds, clock_seconds + LEASE_SECONDS, version.MODEL, version.CODE, owner)
    return store.execute(f"INSERT INTO requests ({columns}) VALUES (?, ?, ?, ?, 'arriving', ?, ?, ?, ?, ?)", row).lastrowid or 0


def _write_points(
    store: sqlite3.Connection,
    request: int,
    scenarios: Iterable[Scenario],
    base: tuple[KnobTexts, ...],
    method: Fidelity,
    limit: Limit,
    sharing: bool,
) -> tuple[str, dict[OwnPart, None]]:
    """Write a request's points; return the digest of their keys, and their own parts.

    Raises BadInput for too much work.
    """
    digest, work, position, parts = blake2b(digest_size=16), 0.0, 0, dict[OwnPart, None]()
    coming = iter(scenarios)
    while chunk := list(islice(coming, AT_ONCE)):
        work += forecast.sweep_seconds(chunk, method)
        if work > limit.core_seconds:
            raise BadInput(
                f"These points would probably take more than {count(limit.core_seconds / HOUR, 'hour')} of one core, which is "
                "the limit of one request; request fewer points or batches, or estimates."
            )
        rows = list(_points(request, position, chunk, base, method, sharing))
        for machine in {id(scenario.machine): scenario.machine for scenario in chunk}.values():
            parts |= dict.fromkeys(own_parts(machine))
        digest.update("".join(str(row[2]) for row in rows).encode())
        position += len(rows)
        with transaction(store):
            store.executemany(POINT, rows)
            store.execute("UPDATE requests SET lease_until = ? WHERE id = ?", (time.time() + LEASE_SECONDS, request))
    return digest.hexdigest(), parts


def _carry(store: sqlite3.Connection, request: int, parts: Iterable[OwnPart]) -> None:
    """Write the own parts beside the knobs of the request's base.

    Workers have no folder of own parts.
    """
    (base,) = store.execute("SELECT base FROM requests WHERE id = ?", (request,)).fetchone()
    store.execute(
        "UPDATE requests SET base = ? WHERE id = ?", (_compact({**json.loads(base), PARTS: part_texts(parts)}), request)
    )


def _points(
    request: int, position: int, scenarios: Iterable[Scenario], base: tuple[KnobTexts, ...], method: Fidelity, sharing: bool
) -> Iterator[tuple[object, ...]]:
    for number, scenario in enumerate(scenarios, position):
        groups = group_texts(scenario)
        name, changes = key_of(groups, method), _compact({path: text for path, text, _ in changed_knobs(base, groups)})
        training_class = functional_class(scenario) if sharing and method == "full" else None
        class_name = training_class.name if training_class else None
        yield request, number, name, changes, class_name, crc(request, number, name, changes, class_name), version.CODE


def _join_request(store: sqlite3.Connection, request: int, digest: str, owner: str, session: str) -> int:
    """Return the request to continue for these points, or this request.

    The owner's newest request with the same points continues if it has ended or is of this session. Others stay separate: each
    can be cancelled without the other, and points are shared anyway.
    """
    condition = "owner = ? AND (state IN ('done', 'cancelled', 'failed') OR session = ?)"
    query = f"SELECT id, code FROM requests WHERE digest = ? AND id != ? AND {condition} ORDER BY id DESC LIMIT 1"
    earlier = store.execute(query, (digest, request, owner, session)).fetchone()
    if earlier:
        withdraw(store, "id =", request)
        request = int(earlier[0])
        if earlier[1] != version.CODE:
            adopt(store, request)
    clock_seconds = time.time()
    live = "state = CASE WHEN state = 'running' THEN state ELSE 'queued' END, ended = NULL, note = ''"
    change = f"UPDATE requests SET {live}, digest = ?, created = ?, lease_until = ? WHERE id = ?"
    store.execute(change, (digest, clock_seconds, clock_seconds + LEASE_SECONDS, request))
    return request


def _check_owner_limits(store: sqlite3.Connection, request: int, owner: str, limit: Limit) -> None:
    """Raise BadInput if a request that has not ended is above the limits of its owner."""
    query = f"SELECT count(*), coalesce(sum(total), 0), max(id = ?) FROM requests WHERE owner = ? AND {LIVE}"
    requests, points, is_live = store.execute(query, (request, owner)).fetchone()
    for size, most, noun in ((requests, limit.live_requests, "run"), (points, limit.live_points, "point")):
        if is_live and size > most:
            raise BadInput(
                f"Your runs at once would be {count(size, noun)}, but at most {count(most)} are possible; cancel one of your "
                "runs, or wait until one ends."
            )


def check_user(store: sqlite3.Connection, requests: Sequence[int], user: User) -> None:
    """Raise OthersRequest if a user may not change one of these requests."""
    for request in requests:
        row = store.execute("SELECT owner FROM requests WHERE id = ?", (request,)).fetchone()
        if row and not may_change(row[0], user):
            raise OthersRequest(
                f"request={request} is not yours; ask its owner, or whoever has the token of the explorer, to change it."
            )


def may_change(owner: str, user: User) -> bool:
    """Return whether a user may change the requests of an owner."""
    return user.is_operator or owner == user.owner != ""


def withdraw(store: sqlite3.Connection, condition: str, bound: float) -> None:
    """Delete the requests in state `arriving` that meet an SQL condition on one value.

    `condition` ends before the value, such as "id =", and `bound` is the value.
    """
    arriving = f"SELECT id FROM requests WHERE state = 'arriving' AND {condition} ?"
    store.execute(f"DELETE FROM points WHERE request IN ({arriving})", (bound,))
    store.execute(f"DELETE FROM requests WHERE id IN ({arriving})", (bound,))


def _try_again(store: sqlite3.Connection, request: int) -> None:
    condition = "EXISTS (SELECT 1 FROM points WHERE request = ? AND points.key = failures.key)"
    failed = f"key IN (SELECT key FROM failures WHERE {condition})"
    store.execute(f"UPDATE claims SET ending = 'forgiven' WHERE ending = 'died' AND {failed}", (request,))
    store.execute(f"DELETE FROM failures WHERE {condition}", (request,))


def cancel(path: Path, request: int, user: User) -> None:
    """Cancel a request: no further point of it starts.

    Points that are being computed stop, unless another request waits for them. Raises OthersRequest.
    """
    with open_store(path) as store:
        check_user(store, (request,), user)
        change = "UPDATE requests SET state = 'cancelled', ended = ? WHERE id = ? AND state IN ('queued', 'running')"
        store.execute(change, (time.time(), request))


def renew_lease(path: Path, request: int, user: User) -> None:
    """Renew the lease of a request for LEASE_SECONDS from now.

    The lease is written only if half of it has passed, or if the clock was set back. Raises OthersRequest.
    """
    clock_seconds = time.time()
    with open_store(path) as store:
        check_user(store, (request,), user)
        row = store.execute("SELECT lease_until FROM requests WHERE id = ?", (request,)).fetchone()
        if row and not LEASE_SECONDS / 2 <= row[0] - clock_seconds <= LEASE_SECONDS:
            store.execute("UPDATE requests SET lease_until = ? WHERE id = ?", (clock_seconds + LEASE_SECONDS, request))


def newest_request(path: Path, names: Iterable[str], user: User | None = None) -> int | None:
    """Return the newest request of this code for exactly these points, in this order.

    names: the keys of the points.
    user: only requests that a page of this user follows, their own before others; None for all requests. A page follows the
        user's own requests, the finished ones of others, and for an operator those of the command line.

    Return None if there is no such request.
    """
    digest = blake2b("".join(names).encode(), digest_size=16).hexdigest()
    return _newest(path, user, "digest = :digest", digest=digest)


def newest_by_link(path: Path, link: str, method: Fidelity, user: User | None = None) -> int | None:
    """Return the newest request of this code with this link, or None.

    user: as for newest_request.
    """
    return _newest(path, user, "link = :link AND how = :how", link=link, how=method) if link else None


def _newest(path: Path, user: User | None, condition: str, **parameters: str) -> int | None:
    owner = user.owner if user else ""
    commands = COMMAND.owner if user and user.is_operator else owner
    followed = "(owner IN (:owner, :commands) OR state = 'done')" if user else "true"
    query = f"""SELECT id FROM requests WHERE {condition} AND code = :code AND state != 'arriving' AND {followed}
        ORDER BY (owner = :owner AND owner != '') DESC, id DESC LIMIT 1"""
    with open_store(path) as store:
        bound = {"owner": owner, "commands": commands, "code": version.CODE, **parameters}
        row = store.execute(query, bound).fetchone()
    return row[0] if row else None


def end_requests(store: sqlite3.Connection) -> None:
    """End all requests whose points are finished, and queue those with an expired lease.

    The database is only locked if there is a request to change. A lease that ends more than LEASE_SECONDS from now is shortened,
    since the clock was then set back.
    """
    clock_seconds = time.time()
    still_open = f"EXISTS (SELECT 1 FROM points WHERE request = id AND state = {OPEN})"
    finished = f"state IN ('queued', 'running') AND NOT {still_open}"
    if store.execute(f"SELECT 1 FROM requests WHERE {finished}").fetchone():
        has_results = f"EXISTS (SELECT 1 FROM points WHERE request = id AND state = {FINISHED})"
        change = f"UPDATE requests SET state = CASE WHEN {has_results} THEN 'done' ELSE 'failed' END, ended = ? WHERE {finished}"
        store.execute(change, (clock_seconds,))
    held = f"({LIVE} OR state = 'arriving')"
    too_long = f"SELECT 1 FROM requests WHERE {held} AND lease_until > ?"
    if store.execute(too_long, (clock_seconds + LEASE_SECONDS + 1,)).fetchone():
        store.execute(f"UPDATE requests SET lease_until = ?1 WHERE {held} AND lease_until > ?1", (clock_seconds + LEASE_SECONDS,))
    expired = "state = 'running' AND lease_until <= ? AND NOT keeps_on"
    if store.execute(f"SELECT 1 FROM requests WHERE {expired}", (clock_seconds,)).fetchone():
        store.execute(f"UPDATE requests SET state = 'queued' WHERE {expired}", (clock_seconds,))


def adopt(store: sqlite3.Connection, request: int) -> None:
    """Make a request of other code a request of this code.

    From then on, only results of this code count as finished.
    """
    has_result = "EXISTS (SELECT 1 FROM results WHERE key = points.key AND code = ?2)"
    store.execute("UPDATE requests SET code = ?2 WHERE id = ?1", (request, version.CODE))
    store.execute(f"UPDATE points SET state = {has_result} WHERE request = ?1", (request, version.CODE))
