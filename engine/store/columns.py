"""Results as columns: a request's numbers read in bulk, fast enough for 100,000 points, and cheap to follow.

Only the flat object of results is taken from each row, and parsed by Arrow. While a request runs, a reader hands in
what it already has, and only rows that were kept since then are read.
"""

import io
import json
import re
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .. import version
from ..errors import BadInput
from ..results.metrics import metrics
from . import kept
from .database import FAILED, OPEN, opened
from .quota import USE_SECONDS, touch

UNFINISHED, RAN, REFUSED, BROKEN = range(4)  # a point's state: REFUSED cannot run and says why, BROKEN gave no result
AT_ONCE = 4096  # rows parsed together, which bounds the memory that texts take
RESULTS = '"results":'
UNTRAINED, KERNELS = '"training":[]', re.compile('"arithmetic":"([^"]{,100})"')
OF_POINTS = """SELECT p.position, p.key, r.result, r.checksum, r.used FROM points p CROSS JOIN results r ON r.key = p.key
    WHERE p.request = ? AND p.state = 1 AND r.code = ?"""
NEWER = """SELECT p.position, p.key, r.result, r.checksum, r.used FROM results r CROSS JOIN points p ON p.key = r.key
    WHERE p.request = ? AND r.rowid > ? AND r.code = ?"""
OF_KEYS = """SELECT p.key, r.key, r.result, r.checksum, r.used FROM json_each(?) p CROSS JOIN results r ON r.key = p.value
    WHERE r.code = ?"""
FAILED_KEYS = "SELECT p.key, f.sentence FROM json_each(?) p CROSS JOIN failures f ON f.key = p.value"
FAILURES = f"""SELECT p.position, f.sentence FROM points p CROSS JOIN failures f ON f.key = p.key
    WHERE p.request = ? AND p.state = {FAILED}"""
Numbers = NDArray[np.float64]
Row = tuple[int, str, str, str, float | None]


@dataclass
class ReadingNotes:
    """What a reading finds by the way: keys of damaged rows, and of rows whose last use is to be noted anew."""

    damaged: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)
    since: float = field(default_factory=lambda: time.time() - USE_SECONDS)


@dataclass(frozen=True, eq=False)
class Columns:
    """What is finished of a request: each array has an entry per point, in the request's order.

    `metrics` maps a metric's name to its numbers, NaN where a point is not finished or it does not apply; `state`
    holds UNFINISHED, RAN, REFUSED or BROKEN; `reasons` says why a point has no numbers. `last` is the newest row read.
    `kernels` are those that trained points were computed with.
    """

    metrics: Mapping[str, Numbers]
    state: NDArray[np.uint8]
    reasons: Mapping[int, str] = field(default_factory=dict)
    last: int = 0
    kernels: frozenset[str] = frozenset()

    @property
    def finished(self) -> int:
        """How many points have an answer of any kind."""
        return int(np.count_nonzero(self.state != UNFINISHED))


def known(path: Path, keys: Sequence[str]) -> Columns:
    """Return what is finished of points that nobody may have asked for together, by their keys. Raises BadFile."""
    asked, nothing = (json.dumps(keys),), Columns({}, np.zeros(len(keys), np.uint8))
    notes = ReadingNotes()
    with opened(path) as store:
        found = _merged(nothing, store.execute(OF_KEYS, (*asked, version.CODE)), store.execute(FAILED_KEYS, asked), 0, notes)
        _tended(store, notes)
    return found


def read(path: Path, request: int, before: Columns | None = None) -> Columns:
    """Return what is finished of a request, not what is damaged; with `before` only news are read. Raises BadInput, BadFile."""
    notes = ReadingNotes()
    with opened(path) as store:
        store.execute("BEGIN")  # one snapshot for all queries
        try:
            found = _read(store, path, request, before, notes)
        finally:
            store.execute("COMMIT")
        _tended(store, notes)
    return found


def _tended(store: sqlite3.Connection, notes: ReadingNotes) -> None:
    for key in notes.damaged:
        kept.load(store, key)
    if notes.read:
        touch(store, notes.read)


def _read(store: sqlite3.Connection, path: Path, request: int, before: Columns | None, notes: ReadingNotes) -> Columns:
    row = store.execute("SELECT total, code FROM requests WHERE id = ?", (request,)).fetchone()
    if row is None:
        raise BadInput(f"request={request} is not in {path}; submit it again.")
    if row[1] != version.CODE:  # states of its points are about rows of that code
        return Columns({}, np.zeros(row[0], np.uint8))
    last = int(store.execute("SELECT coalesce(max(rowid), 0) FROM results").fetchone()[0])
    finished = [at for (at,) in store.execute(f"SELECT position FROM points WHERE request = ? AND state != {OPEN}", (request,))]
    failed = store.execute(FAILURES, (request,)).fetchall()
    if before is not None and before.last == last and np.array_equal(np.flatnonzero(before.state), sorted(finished)):
        return before
    if before is not None and before.last <= last:
        found = _merged(before, store.execute(NEWER, (request, before.last, version.CODE)), failed, last, notes)
        if np.array_equal(np.flatnonzero(found.state), sorted(finished)):
            return found  # else rows were deleted meanwhile, and new ones may have taken their row numbers
    nothing = Columns({}, np.zeros(row[0], np.uint8))
    return _merged(nothing, store.execute(OF_POINTS, (request, version.CODE)), failed, last, notes)


def _merged(before: Columns, rows: Iterable[Row], failed: Iterable[tuple[int, str]], last: int, notes: ReadingNotes) -> Columns:
    """Return a copy of `before` with newly kept rows; failures are told anew, since a point may be tried again."""
    state = np.where(before.state == BROKEN, UNFINISHED, before.state).astype(np.uint8)
    columns = {name: numbers.copy() for name, numbers in before.metrics.items()}
    reasons = {at: why for at, why in before.reasons.items() if before.state[at] == REFUSED}
    for at, why in failed:
        state[at], reasons[at] = BROKEN, why
    rows, kernels = iter(rows), set(before.kernels)
    while batch := list(islice(rows, AT_ONCE)):
        sound = [row for row in batch if isinstance(row[2], str) and kept.checksum(row[1], row[2]) == row[3]]
        notes.damaged += [row[1] for row in batch if row not in sound] if len(sound) < len(batch) else []
        notes.read += [row[1] for row in sound if (row[4] or 0.0) < notes.since]
        positions = np.array([row[0] for row in sound], np.intp)
        for name, numbers in _parsed([row[2] for row in sound]):
            columns.setdefault(name, np.full(len(state), np.nan))[positions] = numbers
        for at, _, text, *_ in sound:
            state[at] = RAN if '"ran":true' in text else REFUSED
            if UNTRAINED not in text:
                kernels.update(KERNELS.findall(text))
            if state[at] == REFUSED:
                reasons[at] = json.loads(text)["outcome"]
    return Columns(columns, state, reasons, last, frozenset(kernels))


def _parsed(texts: list[str]) -> Iterator[tuple[str, Numbers]]:
    """Yield each metric that applies to any of the rows, with one number a row."""
    import pyarrow
    from pyarrow import json as arrow

    lines = "\n".join(map(_flat, texts)).encode()
    if not lines.strip(b"{}\n"):
        return
    schema = pyarrow.schema([(metric.name, pyarrow.float64()) for metric in metrics()])
    table = arrow.read_json(
        io.BytesIO(lines),
        read_options=arrow.ReadOptions(use_threads=False, block_size=len(lines) + 1),
        parse_options=arrow.ParseOptions(explicit_schema=schema),
    )
    for name in table.column_names:
        numbers = table[name].cast(pyarrow.float64()).to_numpy()
        if not np.isnan(numbers).all():
            yield name, numbers


def _flat(text: str) -> str:
    """Cut the object of results out of a row; it has no object inside, and quotes in a text are escaped."""
    start = text.index(RESULTS) + len(RESULTS)
    return text[start : text.index("}", start) + 1]
