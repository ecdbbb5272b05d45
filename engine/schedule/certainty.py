"""How sure it is, from a graph alone, that one task is served before another: all pairs in a run of some batches.

What holds wherever the pair lies in that run, edges included, holds in any longer one. The run is looked at twice: as it
begins, and later, where its first batch stands for whatever was before; of that one nothing is known but what it waits for.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Flags, Ints
from .kernels.lanes import LOG

Edge = tuple[int, int, int]  # who is waited for, by whom, so many batches later
# How sure it is that one task is served before another: it has ended; it is ready no later, and first of those ready at once; or
# it is ready earlier, unless what is between takes no time. 0 if it is not.
ENDED, READIER, SPACED = range(1, 4)


class Orders(NamedTuple):
    """Of two tasks so many batches apart, up to `reach`: is their order sure, does one end no later? (K, 2 reach + 1, K)."""

    reach: int
    sure: NDArray[np.int8]
    ends: NDArray[np.int8]


def window_of(reach: int) -> int:
    """Return how long a run is looked at for pairs that lie up to `reach` batches apart: the first half of it as it begins."""
    return 2 * reach + 3


def orders_of(server: Sequence[int], rank: Sequence[int], edges: Sequence[Edge], reach: int) -> Orders:
    """Return what is sure of all pairs of tasks, wherever in a run they lie."""
    tasks, window = len(server), window_of(reach)
    waits = np.zeros((window, tasks, window, tasks), dtype=np.bool_)  # who is waited for, by whom
    for whom, who, later in edges:
        for n in range(window - later):
            waits[n, whom, n + later, who] = True
    number = window * tasks
    lane, turn = np.tile(server, window), np.tile(rank, window)
    begin, within = (_sure(waits.reshape(number, number), lane, turn, unknown) for unknown in (0, tasks))
    return Orders(reach, *(_everywhere(one, other, tasks, reach) for one, other in zip(begin, within, strict=True)))


def times(one: Flags, other: Flags) -> Any:
    """Return the product of two relations: who is reached over one step of the first and one of the other."""
    found: Flags = one.astype(np.float32) @ other.astype(np.float32) > 0
    return found


def _beyond(edges: Flags) -> Any:
    """Return who is reached over any number of edges."""
    while True:
        more: Any = edges | times(edges, edges)
        if (more == edges).all():
            return more
        edges = more


def _sure(waits: Flags, server: Ints, rank: Ints, unknown: int) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return how sure it is that one task is served before another on its server, and which ends no later than which.

    Nothing is said of when the first tasks, `unknown` of them, are ready.
    """
    number, there, here = len(waits), np.eye(len(waits), dtype=np.bool_), server[:, None] == server
    alone: Any = ~waits.any(axis=0)
    ends = _beyond(waits)
    number_of, kind = np.arange(number), rank[:, None]
    first = (kind < rank) | ((kind == rank) & (number_of[:, None] < number_of))
    while True:
        ended, past = times(ends | there, waits), times(ends, waits)
        no_later, later = ~times(waits.T, ~ended), ~times(waits.T, ~past) & ~(alone[:, None] & alone)
        no_later &= np.arange(number)[:, None] >= unknown
        sure = np.where(no_later & first, READIER, np.where(no_later & later & (kind == rank), SPACED, 0))
        sure[(kind == LOG) & (rank == LOG)] = 0
        sure = np.where(here & ~there, np.where(ended, ENDED, sure), 0).astype(np.int8)
        more = _beyond(ends | (sure > 0))
        if (more == ends).all():
            return sure, ends.astype(np.int8)
        ends = more


def _everywhere(begin: NDArray[np.int8], within: NDArray[np.int8], tasks: int, reach: int) -> NDArray[np.int8]:
    """Return what holds of two tasks so many batches apart, as a run begins and anywhere later in it."""
    length, always = window_of(reach), []
    first, window = (each.reshape(length, tasks, length, tasks) for each in (begin, within))
    for apart in range(-reach, reach + 1):
        low = max(0, -apart)
        begun = low + reach - 1
        places = [first[n, :, n + apart] for n in range(low, begun)]
        places += [window[n, :, n + apart] for n in range(begun, length - max(0, apart))]
        always.append(np.where(np.min(places, axis=0) > 0, np.max(places, axis=0), 0))
    return np.stack(always, axis=1)
