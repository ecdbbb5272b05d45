"""A walk over a file's samples that counts those of each user, block by block.

Memory grows with the users, not with the samples.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ....core.arrays import Flags, Ints, Words
from ....core.figures import count
from ....errors import BadFile
from ....workload.readers.numbering import MOST_SEEN, IdIndex
from ....workload.readers.recording import Recording

WALK_SAMPLES = 1 << 18  # samples of a block


class WalkBlock(NamedTuple):
    """The samples `low` to `high` - 1 of a walk.

    users: the number of each sample's user, in the order first seen, (n,).
    ranks: the samples of the same user before each, (n,).
    previous: the position of the user's sample before, or -1, (n,).
    """

    low: int
    high: int
    users: Ints
    ranks: Ints
    previous: Ints


class UserCounts:
    """The samples of each user so far.

    counts: the number of samples, by user.
    last: the position of the last sample, by user.
    """

    def __init__(self, name: str) -> None:
        """Start before the first sample of the file `name`."""
        self.counts, self.last, self._name = np.zeros(0, np.int64), np.zeros(0, np.int64), name
        self._index = IdIndex()

    def step(self, tokens: Words, low: int) -> WalkBlock:
        """Count the next samples, from position `low`, by their users; raises BadFile."""
        if not self._index.add(tokens):
            raise BadFile(f"{self._name} has more than {count(MOST_SEEN)} users, too many to count; give a part of the users.")
        users = self._index.numbers(tokens).astype(np.int64)
        more_users = self._index.count - len(self.counts)
        self.counts = np.concatenate((self.counts, np.zeros(more_users, np.int64)))
        self.last = np.concatenate((self.last, np.full(more_users, -1, np.int64)))
        order = np.argsort(users, kind="stable")
        by_user, positions = users[order], low + order
        begins = np.flatnonzero(np.concatenate(([True], by_user[1:] != by_user[:-1])))
        block_users, sizes = by_user[begins], np.diff(begins, append=len(users))
        ranks, previous = np.empty_like(users), np.empty_like(users)
        ranks[order] = self.counts[by_user] + np.arange(len(users)) - np.repeat(begins, sizes)
        before = np.concatenate(([-1], positions[:-1]))
        before[begins] = self.last[block_users]
        previous[order] = before
        self.counts[block_users] += sizes
        self.last[block_users] = positions[begins + sizes - 1]
        return WalkBlock(low, low + len(users), users, ranks, previous)


def walk(file: Recording, user: int | None, counts: UserCounts, end: int) -> Iterator[WalkBlock]:
    """Yield the blocks of a file's first `end` samples; `counts` grows meanwhile.

    Without a field `user` each sample has a user of its own.
    """
    for low in range(0, end, WALK_SAMPLES):
        high = min(low + WALK_SAMPLES, end)
        tokens = np.arange(low, high, dtype=np.uint64) if user is None else file.lookups(user, low, high)
        yield counts.step(tokens, low)


def first_in_batch(block: WalkBlock, batch: int) -> Flags:
    """Return which samples are their user's first in their batch of `batch` samples."""
    positions = np.arange(block.low, block.high)
    return np.asarray(block.previous < positions - positions % batch, dtype=np.bool_)
