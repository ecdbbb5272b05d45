"""Lookups of a file whose rows have histories as lists, with each event once.

The rows of a user repeat their history. A row that goes on one event further than its user's last row has one new event.
"""

from dataclasses import dataclass

import numpy as np

from ....core.arrays import Flags, Ints, Words, run_positions
from ....workload.readers.recording import Recording
from .walk import WalkBlock


def going_on(file: Recording, field: int, block: WalkBlock) -> Flags:
    """Return which rows add one event to their user's row before, (n,).

    Such a row is as long as the row before or one event longer, and its last event but one is the last event before.
    """
    flags = np.zeros(block.high - block.low, np.bool_)
    later = np.flatnonzero(block.previous >= 0)
    if not len(later):
        return flags
    tokens, begins, lengths = file.tokens_of(block.low + later)
    sizes, ends = lengths[:, field], begins[:, field] + lengths[:, field]
    is_long = sizes > 1
    last_but_one = tokens[np.where(is_long, ends - 2, 0)]
    tokens, begins, lengths = file.tokens_of(block.previous[later])
    growth = sizes - lengths[:, field]
    is_filled = lengths[:, field] > 0
    last = tokens[np.where(is_filled, begins[:, field] + lengths[:, field] - 1, 0)]
    flags[later] = is_long & is_filled & ((growth == 0) | (growth == 1)) & (last_but_one == last)
    return flags


@dataclass(frozen=True, slots=True, eq=False)
class EventLookups:
    """The lookups of a file of lists, with each event of a history once.

    file: the file.
    fields: the fields of events.
    one_new: the samples that have one new event, their last, (N,).
    """

    file: Recording
    fields: tuple[int, ...]
    one_new: Flags

    @property
    def name(self) -> str:
        """The file's name."""
        return self.file.name

    @property
    def format(self) -> str:
        """The name of its format."""
        return self.file.format

    @property
    def order(self) -> str:
        """How the file's samples are ordered."""
        return self.file.order

    @property
    def hashed(self) -> bool:
        """Whether ids are hashes."""
        return self.file.hashed

    @property
    def tables(self) -> int:
        """The number of tables."""
        return self.file.tables

    @property
    def samples(self) -> int:
        """The number of samples."""
        return self.file.samples

    def lookups(self, table: int, low: int, high: int) -> Words:
        """Return a table's lookups of samples `low` to `high`, of histories the new events."""
        if table not in self.fields:
            return self.file.lookups(table, low, high)
        tokens, begins, lengths = self.file.tokens_of(np.arange(low, high))
        sizes = self._new_events(lengths[:, table], low)
        new_events: Words = tokens[run_positions(begins[:, table] + lengths[:, table] - sizes, sizes)]
        return new_events

    def bag_lengths(self, table: int) -> Ints | int:
        """Return a table's lookups in each sample, of a history only its new events."""
        lengths = self.file.bag_lengths(table)
        return self._new_events(np.broadcast_to(lengths, self.samples), 0) if table in self.fields else lengths

    def _new_events(self, lengths: Ints, low: int) -> Ints:
        return np.where(self.one_new[low : low + len(lengths)], 1, lengths)
