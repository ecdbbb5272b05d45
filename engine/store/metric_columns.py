"""Results as columns: the numbers of a request, read fast enough for 100,000 points.

Arrow parses only the flat JSON object of numbers in each row. While a request runs, a reader passes the columns of its last
reading, and only rows that were stored since then are read.
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
from ..results.metrics import all_metrics
from . import result_rows
from .database import FAILED, OPEN, check_requests, checksum, open_store
from .quota import USE_SECONDS, note_use
from .schema import SOUND_POINT, UNTRAINED

UNFINISHED, COMPLETED, REFUSED, BROKEN = range(4)  # a point's state: REFUSED cannot run, with a reason; BROKEN has no result
AT_ONCE = 4096  # rows parsed together, which bounds the memory that texts take
KERNELS = re.compile('"arithmetic":"([^"]{,100})"')
POINT_ROWS = f"""SELECT p.position, p.key, r.result, r.checksum, r.used FROM points p CROSS JOIN results r ON r.key = p.key
    WHERE p.request = ? AND p.state = 1 AND r.code = ? AND {SOUND_POINT}"""
NEWER = f"""SELECT p.position, p.key, r.result, r.checksum, r.used FROM results r CROSS JOIN points p ON p.key = r.key
    WHERE p.request = ? AND r.rowid > ? AND r.code = ? AND {SOUND_POINT}"""
KEY_ROWS = """SELECT p.key, r.key, r.result, r.checksum, r.used FROM json_each(?) p CROSS JOIN results r ON r.key = p.value
    WHERE r.code = ?"""
FAILED_KEYS = "SELECT p.key, f.sentence FROM json_each(?) p CROSS JOIN failures f ON f.key = p.value"
FAILURES = f"""SELECT p.position, f.sentence FROM points p CROSS JOIN failures f ON f.key = p.key
    WHERE p.request = ? AND p.state = {FAILED} AND {SOUND_POINT}"""
Numbers = NDArray[np.float64]
Row = tuple[int, str, str, str, float | None]


@dataclass
class ReadingNotes:
    """Keys that a reading of rows collects.

    damaged: the keys of damaged rows.
    read_keys: the keys of rows whose last use was before `use_limit`.
    use_limit: a time [s since 1970].
    """

    damaged: list[str] = field(default_factory=list)
    read_keys: list[str] = field(default_factory=list)
    use_limit: float = field(default_factory=lambda: time.time() - USE_SECONDS)


@dataclass(frozen=True, eq=False)
class Columns:
    """The finished points of a request as arrays, in the order of its points.

    metrics: an array of numbers by metric name; NaN if a point is unfinished or the metric does not apply.
    state: for each point UNFINISHED, RAN, REFUSED or BROKEN.
    reasons: for points without numbers, the reason by position.
    last_row: the number of the newest row that was read.
    kernels: the names of the BLAS kernels, NumPy and Python that trained the points.
    """

    metrics: Mapping[str, Numbers]
    state: NDArray[np.uint8]
    reasons: Mapping[int, str] = field(default_factory=dict)
    last_row: int = 0
    kernels: frozenset[str] = frozenset()


def columns_of_keys(path: Path, keys: Sequence[str]) -> Columns:
    """Return the columns of the points with the given keys, of one or several requests.

    Raises BadFile.
    """
    parameters, no_columns = (json.dumps(keys),), Columns({}, np.zeros(len(keys), np.uint8))
    notes = ReadingNotes()
    with open_store(path) as store:
        columns = _merge_rows(
            no_columns, store.execute(KEY_ROWS, (*parameters, version.CODE)), store.execute(FAILED_KEYS, parameters), 0, notes
        )
        _tend_rows(store, notes)
    return columns


def columns_of_request(path: Path, request: int, previous_columns: Columns | None = None) -> Columns:
    """Return the columns of a request; points with damaged results are unfinished.

    With `previous_columns`, the columns of an earlier reading, only newer rows are read. Raises BadInput for an unknown request,
    and BadFile.
    """
    notes = ReadingNotes()
    with open_store(path) as store:
        store.execute("BEGIN")  # one snapshot for all queries
        try:
            columns = _read_request(store, path, request, previous_columns, notes)
        finally:
            store.execute("COMMIT")
        _tend_rows(store, notes)
    return columns


def _tend_rows(store: sqlite3.Connection, notes: ReadingNotes) -> None:
    for key in notes.damaged:
        result_rows.load_result(store, key)
    if notes.read_keys:
        note_use(store, notes.read_keys)


def _read_request(
    store: sqlite3.Connection, path: Path, request: int, previous_columns: Columns | None, notes: ReadingNotes
) -> Columns:
    check_requests(store, "id = ?", request)
    row = store.execute("SELECT total, code FROM requests WHERE id = ?", (request,)).fetchone()
    if row is None:
        raise BadInput(f"request={request} is not in {path}; submit it again.")
    if row[1] != version.CODE:  # the states of its points are those of the other code's rows
        return Columns({}, np.zeros(row[0], np.uint8))
    last_row = int(store.execute("SELECT coalesce(max(rowid), 0) FROM results").fetchone()[0])
    finished = [
        position
        for (position,) in store.execute(f"SELECT position FROM points WHERE request = ? AND state != {OPEN}", (request,))
    ]
    failed = store.execute(FAILURES, (request,)).fetchall()
    if (
        previous_columns is not None
        and previous_columns.last_row == last_row
        and np.array_equal(np.flatnonzero(previous_columns.state), sorted(finished))
    ):
        return previous_columns
    if previous_columns is not None and previous_columns.last_row <= last_row:
        columns = _merge_rows(
            previous_columns, store.execute(NEWER, (request, previous_columns.last_row, version.CODE)), failed, last_row, notes
        )
        if np.array_equal(np.flatnonzero(columns.state), sorted(finished)):
            return columns  # else rows were deleted meanwhile, and new ones may have taken their row numbers
    no_columns = Columns({}, np.zeros(row[0], np.uint8))
    return _merge_rows(no_columns, store.execute(POINT_ROWS, (request, version.CODE)), failed, last_row, notes)


def _merge_rows(
    previous_columns: Columns, rows: Iterable[Row], failed: Iterable[tuple[int, str]], last_row: int, notes: ReadingNotes
) -> Columns:
    """Return a copy of `previous_columns` with new rows.

    Failures are set anew, as points may be retried.
    """
    state = np.where(previous_columns.state == BROKEN, UNFINISHED, previous_columns.state).astype(np.uint8)
    columns = {name: numbers.copy() for name, numbers in previous_columns.metrics.items()}
    reasons = {
        position: reason for position, reason in previous_columns.reasons.items() if previous_columns.state[position] == REFUSED
    }
    for position, reason in failed:
        state[position], reasons[position] = BROKEN, reason
    rows, kernels = iter(rows), set(previous_columns.kernels)
    while batch := list(islice(rows, AT_ONCE)):
        sound = [row for row in batch if isinstance(row[2], str) and checksum(row[1], row[2]) == row[3]]
        notes.damaged += [row[1] for row in batch if row not in sound] if len(sound) < len(batch) else []
        notes.read_keys += [row[1] for row in sound if (row[4] or 0.0) < notes.use_limit]
        positions = np.array([row[0] for row in sound], np.intp)
        for name, numbers in _parse_results([row[2] for row in sound]):
            columns.setdefault(name, np.full(len(state), np.nan))[positions] = numbers
        for position, _, text, *_ in sound:
            state[position] = COMPLETED if '"ran":true' in text else REFUSED
            if UNTRAINED not in text:
                kernels.update(KERNELS.findall(text))
            if state[position] == REFUSED:
                reasons[position] = json.loads(text)["outcome"]
    return Columns(columns, state, reasons, last_row, frozenset(kernels))


def _parse_results(texts: list[str]) -> Iterator[tuple[str, Numbers]]:
    """Yield each metric that applies to any row, with one number for each row."""
    import pyarrow
    from pyarrow import json as arrow

    lines = "\n".join(map(result_rows.results_json, texts)).encode()
    if not lines.strip(b"{}\n"):
        return
    schema = pyarrow.schema([(metric.name, pyarrow.float64()) for metric in all_metrics()])
    table = arrow.read_json(
        io.BytesIO(lines),
        read_options=arrow.ReadOptions(use_threads=False, block_size=len(lines) + 1),
        parse_options=arrow.ParseOptions(explicit_schema=schema),
    )
    for name in table.column_names:
        numbers = table[name].cast(pyarrow.float64()).to_numpy()
        if not np.isnan(numbers).all():
            yield name, numbers
