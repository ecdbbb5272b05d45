"""Exact counts of a file's lookups: the number of rows by number of uses.

Memory is bounded; a temporary file holds the counts that exceed the bound.
Ids are multiplied by an odd number, which spreads them and keeps different ids different, and are kept as sorted runs of ids and
counts. Runs beyond a table's memory go to its temporary file and are merged at the end, one range of ids after another.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from ...core.arrays import Floats, Ints, Words
from ...core.figures import count
from ...core.hashing import GOLDEN
from ...workload.readers.mapped import count_touched, map_array
from ...workload.readers.samples import Watch, temporary_file, too_large_refusal, unwatched
from .counting import TOP_SHARES, Lookups

SAMPLES_AT_ONCE = 1 << 20  # samples
ROOM, LEAST_ROOM = 1 << 23, 1 << 14  # ids with their counts kept in memory: of all tables, and of one
Run = tuple[Any, Any]  # ids, which rise, and how often each is used; in memory or mapped


@dataclass(frozen=True, slots=True, eq=False)
class UseSpectrum:
    """A table's popularity: `rows[k]` rows are used exactly `uses[k]` times each.

    Both arrays have the shape (K,); `uses` rises.
    """

    uses: Ints
    rows: Ints

    @property
    def rows_seen(self) -> int:
        """The number of different rows that were looked up."""
        return int(self.rows.sum())

    @property
    def lookups(self) -> int:
        """The number of all lookups."""
        return int(self.uses @ self.rows)

    @property
    def rows_used_once(self) -> int:
        """The number of rows that were looked up a single time."""
        return int(self.rows[self.uses == 1].sum())

    def head_share(self, rows: Ints) -> Floats:
        """Return the share of lookups, in [0, 1], that go to the `rows` hottest rows."""
        row_counts, uses = (np.concatenate(([0], np.cumsum(part[::-1]))) for part in (self.rows, self.uses * self.rows))
        return np.asarray(np.interp(rows, row_counts, uses) / max(self.lookups, 1), dtype=np.float64)

    def top_shares(self) -> Floats:
        """Return the share of lookups of the hottest rows, for each share in TOP_SHARES.

        The shares in TOP_SHARES are of the rows that were seen.
        """
        return self.head_share(np.maximum(np.rint(np.array(TOP_SHARES) * self.rows_seen), 1).astype(np.int64))


class Tally:
    """The growing counts of one table's lookups."""

    def __init__(self, room: int) -> None:
        """Start without counts, to keep about twice `room` ids in memory."""
        self._room, self._waiting, self._held = room, 0, 0
        self._tokens: list[Words] = []
        self._runs: list[Run] = []
        self._away: list[Run] = []
        self._file: BinaryIO | None = None

    def __del__(self) -> None:
        if self._file:
            with suppress(OSError):  # of what could not be written
                self._file.close()

    def add(self, tokens: Words) -> None:
        """Count lookups; raises OSError where the disk is full."""
        self._tokens.append(tokens * GOLDEN)
        self._waiting += len(tokens)
        if self._waiting > self._room:
            self._gather()

    def _gather(self) -> None:
        waiting_ids = np.concatenate([*self._tokens, np.zeros(0, np.uint64)])
        self._tokens, self._waiting = [], 0
        self._runs.append(np.unique(waiting_ids, return_counts=True))
        self._held += len(self._runs[-1][0])
        if self._held > self._room // 2:
            self._runs = [_merged(self._runs)]
            self._held = len(self._runs[0][0])
            if self._held > self._room // 2:
                self._put_away()

    def _put_away(self) -> None:
        self._file = self._file or temporary_file()
        ((ids, counts),) = self._runs
        start = self._file.tell()
        for array in (ids, counts):
            array.tofile(self._file)
        self._file.flush()
        parts = [
            map_array(self._file, kind, offset, len(ids))
            for kind, offset in ((ids.dtype, start), (counts.dtype, start + ids.nbytes))
        ]
        self._away.append((parts[0], parts[1]))
        self._runs, self._held = [], 0

    def spectrum(self) -> UseSpectrum:
        """Return the counts, merged one range of ids after another."""
        self._gather()
        runs = [*self._away, *self._runs]
        ranges = max(-(-sum(len(ids) for ids, _ in runs) // self._room), 1)
        edges = (np.arange(1, ranges) * (2.0**64 / ranges)).astype(np.uint64)
        cuts = [[0, *np.searchsorted(ids, edges), len(ids)] for ids, _ in runs]
        times, rows = np.zeros(0, np.int64), np.zeros(0, np.int64)
        for part in range(ranges):
            _, uses = _merged(
                [
                    (ids[cut[part] : cut[part + 1]], counts[cut[part] : cut[part + 1]])
                    for (ids, counts), cut in zip(runs, cuts, strict=True)
                ]
            )
            count_touched(2 * sum(8 * int(cut[part + 1] - cut[part]) for cut in cuts))
            distinct_uses, row_counts = np.unique(uses, return_counts=True)
            times, rows = _merged([(times, rows), (distinct_uses, row_counts)])
        return UseSpectrum(times, rows)


def _merged(runs: list[Run]) -> Run:
    if len(runs) == 1:
        return runs[0]
    ids = np.concatenate([run_ids for run_ids, _ in runs] or [np.zeros(0, np.uint64)])
    counts = np.concatenate([run_counts for _, run_counts in runs] or [np.zeros(0, np.int64)])
    order = np.argsort(ids, kind="stable")  # merges runs that are sorted
    return _summed(ids[order], counts[order])


def _summed(values: Any, weights: Ints) -> Run:
    """Return the distinct values of a sorted array, and the sum of the weights of each."""
    if not len(values):
        return values, weights
    starts = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))
    return values[starts], np.add.reduceat(weights, starts)


def tallies(file: Lookups, watch: Watch = unwatched) -> Iterator[UseSpectrum]:
    """Yield each table's counts over the whole file.

    Raises BadFile where temporary files have no room.
    """
    room = max(ROOM // max(file.tables, 1), LEAST_ROOM)
    table_tallies = [Tally(room) for _ in range(file.tables)]
    try:
        for low in range(0, file.samples, SAMPLES_AT_ONCE):
            high = min(low + SAMPLES_AT_ONCE, file.samples)
            for table, tally in enumerate(table_tallies):
                share = (low + (high - low) * table / file.tables) / file.samples
                watch(0.9 * share, f"{count(low)} of {count(file.samples, 'sample')}")
                tally.add(file.lookups(table, low, high))
    except OSError as error:
        raise too_large_refusal(file.name) from error
    for table, tally in enumerate(table_tallies):
        watch(0.9 + 0.1 * table / file.tables, f"table {table + 1} of {file.tables}")
        yield tally.spectrum()
