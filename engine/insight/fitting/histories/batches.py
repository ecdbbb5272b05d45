"""Duplicates in a file's batches: the different events and rows per lookup.

A batch has consecutive samples of the file. In a log, a sample's history are the events of its user up to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ....core.arithmetic import total
from ....core.arrays import Flags, Ints, Words, run_positions
from ....workload.readers.recording import HistoryFields, Recording
from .walk import UserCounts, WalkBlock, walk

MOST_BATCHES = 8  # whose rows are counted
MOST_EVENTS = 1 << 25  # events of the batches whose rows are counted


class Duplicates(NamedTuple):
    """Shares of the lookups of counted batches.

    batches: the number of counted batches.
    events: different events per lookup.
    rows: different rows per lookup, for each table of events.
    """

    batches: int
    events: float
    rows: tuple[float, ...]


@dataclass
class BatchUsers:
    """The samples of one batch of a log, by user.

    low, high: the first sample, and the end.
    users, ranks: the user of each sample, and the events before it.
    """

    low: int
    high: int
    users: list[Ints] = field(default_factory=list)
    ranks: list[Ints] = field(default_factory=list)

    def add(self, block: WalkBlock) -> None:
        """Keep the samples of a block that are in the batch."""
        part = slice(max(self.low - block.low, 0), max(self.high - block.low, 0))
        self.users.append(block.users[part])
        self.ranks.append(block.ranks[part])

    def windows(self, cap: int) -> tuple[Ints, Ints, Ints, int]:
        """Return users, their first and last events, and the lookups of all samples."""
        sample_users, ranks = np.concatenate(self.users), np.concatenate(self.ranks)
        users, user_of_sample = np.unique(sample_users, return_inverse=True)
        first, last = np.full(len(users), np.iinfo(np.int64).max), np.zeros(len(users), np.int64)
        np.minimum.at(first, user_of_sample, np.maximum(ranks + 1 - cap, 0))
        np.maximum.at(last, user_of_sample, ranks)
        return users, first, last, int(np.minimum(ranks + 1, cap).sum())


def batches_to_count(samples: int, batch: int) -> list[BatchUsers]:
    """Return the batches to count: whole ones, spread evenly over the file."""
    whole_batches = max(samples // batch, 1)
    numbers = np.unique((np.arange(MOST_BATCHES) + 0.5) / MOST_BATCHES * whole_batches).astype(np.int64)
    return [BatchUsers(int(n) * batch, min(int(n + 1) * batch, samples)) for n in np.unique(numbers)]


def duplicates_of_log(file: Recording, fields: HistoryFields, batches: Sequence[BatchUsers], cap: int) -> Duplicates:
    """Count the duplicates of a log's batches by a second walk.

    As many batches are counted as have at most MOST_EVENTS different events, but at least one.
    """
    windows = [batch.windows(cap) for batch in batches]
    sizes = np.cumsum([int((last - first + 1).sum()) for _, first, last, _ in windows])
    counted = max(int(np.searchsorted(sizes, MOST_EVENTS, side="right")), 1)
    events: list[list[list[Words]]] = [[[] for _ in fields.events] for _ in range(counted)]
    for block in walk(file, fields.user, UserCounts(file.name), max(batch.high for batch in batches[:counted])):
        columns = [file.lookups(table, block.low, block.high) for table in fields.events]
        for parts, (users, first, last, _) in zip(events, windows, strict=False):
            place = np.minimum(np.searchsorted(users, block.users), len(users) - 1)
            is_in = (users[place] == block.users) & (first[place] <= block.ranks) & (block.ranks <= last[place])
            for part, column in zip(parts, columns, strict=True):
                part.append(column[is_in])
    lookups = total(part[-1] for part in windows[:counted])
    rows = [sum(len(np.unique(np.concatenate(parts[i]))) for parts in events) for i in range(len(fields.events))]
    return Duplicates(counted, float(sizes[counted - 1]) / lookups, tuple(part / lookups for part in rows))


def duplicates_of_rows(
    file: Recording, fields: HistoryFields, batches: Sequence[BatchUsers], cap: int, one_new: Flags, previous: Ints
) -> Duplicates:
    """Count the duplicates of batches of rows that have histories as lists.

    The last `cap` events of a list are read.
    `one_new` are the rows with one new event, `previous` the positions of the users' rows before.
    """
    lookups, events, rows = 0, 0, [0] * len(fields.events)
    for batch in batches:
        part = slice(batch.low, batch.high)
        lengths = np.minimum(np.broadcast_to(file.bag_lengths(fields.events[0]), file.samples)[part], cap)
        lookups += int(lengths.sum())
        events += int(np.where(one_new[part] & (previous[part] >= batch.low), 1, lengths).sum())
        tokens, begins, all_lengths = file.tokens_of(np.arange(batch.low, batch.high))
        for i, table in enumerate(fields.events):
            ends = begins[:, table] + all_lengths[:, table]
            rows[i] += len(np.unique(tokens[run_positions(ends - lengths, lengths)]))
    return Duplicates(len(batches), events / max(lookups, 1), tuple(part / max(lookups, 1) for part in rows))
