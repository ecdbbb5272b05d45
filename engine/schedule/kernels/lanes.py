"""Lanes: machines side by side in rows of times, and the program of steps that they run together."""

from math import prod
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Flags, Floats, Ints, Records
from ...core.jit import inner, shared

LINE = 8  # floats in a line of the cache
LANES, ROUND = 128, 16  # machines at once, whose times stand side by side in lanes, at most; and of which these are a multiple
# What a step does: notes when a task is ready; serves it; serves it if it precedes `other`, or, if it YIELDS, not at the same
# time. A task that is served WAITS for its server; if STRICT, it must be ready later than the one before; its server KEEPS that
# it was; it may have been served before if OPEN; it may be the LAST of its batch to end. LOW steps are of background work that
# others interrupt: it is ready, it has the GAP before one of these, or it ends.
READY, SERVE, TRY, YIELDS, WAITS, STRICT, KEEPS, OPEN, LAST, LOW, GAP = 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024
FOREGROUND, BACKGROUND, LOG = range(3)  # ranks of tasks: who of those that are ready goes first


class Program(NamedTuple):
    """The steps of a round, in order: a step in round m is for a task of batch m - `later`, if there is such a batch.

    Task k waits for `waited[first[k]:first[k + 1]]`: tasks by number, K + number for those of the batch before. A round's batches
    are `deep` at once; tasks are on `server` (K,), of `rank` (K,), some below foreground work if `low`, one of them the `log`
    that each batch waits for, or -1; which task of a server others interrupt is in `yields`, or -1. On an `open` server tasks are
    not always served in one order, or one is interrupted; two whose order is not sure are less than `apart` batches apart.
    """

    steps: Records
    first: Ints
    waited: Ints
    server: Ints
    rank: Ints
    low: bool
    log: int
    yields: Ints
    open: Flags
    deep: int
    apart: int


class Lanes(NamedTuple):
    """Room for the times of machines in `wide` rows: the ends of all tasks, by flat index, of a batch before the first, a row of
    zeros, one to spare and one a server; durations (K, R, wide), of a task that lasts the `same` in all lanes as `once` (K, R).

    `ahead` is which task its server served before, by flat index, on a server with one order in the first lane alone. Of OPEN
    and LOW tasks `pending` has when they were ready, until they are served. Servers are `free` since what a row of ends says, and
    served `who` last, ready at `last`; `ended` (N, wide) are batches. `gaps` says how near the choices were: 0 if two tasks that
    were not sure to come in one order were ready at once, and the least seconds between two that must not be. A server's LOW task
    goes on in batch `at`, with `left` seconds to go or, not yet begun, -1; the one before was `done` then, and in so many batches
    it is `known` to be ready. The others are for critical paths, which tasks are `on`.
    """

    end: Floats
    ahead: Ints
    pending: Floats
    free: Ints
    last: Floats
    who: Ints
    ended: Floats
    lasts: Floats
    once: Floats
    took: Floats
    least: Floats
    gaps: Floats
    rows: Ints
    same: Flags
    begin: Ints
    on: Ints
    path: Floats
    share: Floats
    until: Floats
    tied: Floats
    node: Ints
    known: Ints
    at: Ints
    done: Floats
    left: Floats
    deep: int
    wide: int


def empty_lanes(program: Program, demands: int, batches: int, kinds: int, machines: int) -> Lanes:
    """Return room for a run of so many batches of so many kinds on so many machines, or as many of these as go at once."""
    wide = min(LANES, -(-machines // ROUND) * ROUND)
    tasks, deep, servers = len(program.server), batches + 1, int(program.server.max()) + 1
    return Lanes(
        _rows(deep * tasks + 2 + servers, wide),
        np.empty((batches * tasks, wide if program.open.any() else 1), dtype=np.int64),
        _rows(program.deep * tasks, wide),
        np.empty(servers, dtype=np.int64),
        _rows(servers, wide),
        np.empty((servers, wide), dtype=np.int64),
        _rows(batches, wide),
        _rows(tasks, kinds, wide),
        np.empty((tasks, kinds)),
        _rows(1, wide),
        _rows(1, wide),
        _rows(2, wide),
        np.empty((demands, wide), dtype=np.int64),
        np.empty(tasks, dtype=np.bool_),
        np.empty(program.deep + 1, dtype=np.int64),
        np.empty(batches * tasks, dtype=np.int64),
        _rows((program.deep + program.apart + 1) * tasks, wide),
        _rows(tasks, wide),
        _rows(wide),
        _rows(wide),
        np.empty((2, wide), dtype=np.int64),
        np.empty(servers, dtype=np.int64),
        np.empty((servers, wide), dtype=np.int64),
        _rows(servers, wide),
        _rows(servers, wide),
        deep,
        wide,
    )


def _rows(*shape: int) -> Floats:
    """Return room for rows, each of which begins where a line of the cache does: from elsewhere every step reads two lines."""
    whole = np.empty(prod(shape) + LINE)
    first = -whole.__array_interface__["data"][0] // whole.itemsize % LINE
    return whole[first : first + prod(shape)].reshape(shape)


@inner
def ready_row(program: Program, lanes: Lanes, later: int, k: int) -> Any:
    """Return the row that says when a task is ready: ends, if it waits for one task, or the latest of several."""
    first, stop, width = program.first[k], program.first[k + 1], len(program.server)
    now, before = lanes.begin[later], lanes.begin[later + 1] - width
    if first == stop:
        return lanes.deep * width
    w = program.waited[first]
    row = now + w if w < width else before + w
    if stop == first + 1:
        return row
    ready = lanes.end[lanes.deep * width + 1]
    copy(lanes.end[row], ready)
    for j in range(first + 1, stop):
        w = program.waited[j]
        later_of(ready, lanes.end[now + w if w < width else before + w])
    return lanes.deep * width + 1


@shared
def copy(one: Floats, to: Floats) -> None:
    """Copy a row."""
    for lane in range(len(to)):
        to[lane] = one[lane]


@shared
def later_of(to: Floats, end: Floats) -> None:
    """Let a row be the later of two, lane by lane."""
    for lane in range(len(to)):
        to[lane] = to[lane] if to[lane] > end[lane] else end[lane]


@shared
def fill(row: Floats, value: float) -> None:
    """Fill a row."""
    for lane in range(len(row)):
        row[lane] = value
