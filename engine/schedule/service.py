"""The order in which servers serve, as far as a graph itself fixes it: a program of steps that any machine can follow.

A server takes whatever became ready first; of tasks ready at once, that of the earlier batch, then position. Of two tasks on a
server it is mostly certain which is ready first, whatever tasks take: one waits for the other, or for all that the other
waits for. All pairs are looked at in a run of WINDOW batches; what holds wherever the pair lies in it, edges included, holds
in any longer run. Of a pair for which nothing is certain, both have to be known to be ready before the program lets either be
served, and the machine's own times decide. Background work, and a log that each batch waits for, come after foreground work that
is ready no later; where all else on their server is that, or waits for their end, nothing interrupts them, and they are served in
their turn. Background work that others may interrupt ends once all of these are known: it has had the gaps before them. A graph
for which there is no such program has None, and goes by events.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Flags, Ints
from .kernels.lanes import APART, GAP, KEEPS, LAST, LOG, LOW, OPEN, READY, SERVE, STRICT, TRY, WAITS, YIELDS, Program
from .kernels.template import Template, dtype

WINDOW = 2 * APART + 3  # batches, the first ones of a run, or later ones, the first of which stands for whatever was before
Edges = tuple[tuple[int, int], ...]
Edge = tuple[int, int, int]  # who is waited for, by whom, so many batches later
STEP = dtype("task i8, later i8, flags i8, other i8")
# How sure it is that one task is served before another: it has ended; it is ready no later, and first of those ready at once; or
# it is ready earlier, unless what is between takes no time. 0 if it is not.
ENDED, READIER, SPACED = range(1, 4)


def program_of(graph: Template) -> Program | None:
    """Return the program of a graph, the same for all graphs whose tasks wait for each other in the same way."""
    if graph.roll >= 0 and graph.bound > 0:
        return None
    rank = np.where(np.arange(len(graph.tasks)) == graph.roll, LOG, graph.tasks["background"])
    (before, after), (whom, who) = graph.edges()
    same, following = zip(before.tolist(), after.tolist(), strict=True), zip(whom.tolist(), who.tolist(), strict=True)
    return _program(tuple(graph.tasks["server"].tolist()), tuple(rank.tolist()), tuple(same), tuple(following))


@cache
def _program(server: tuple[int, ...], rank: tuple[int, ...], same: Edges, following: Edges) -> Program | None:
    tasks, low = len(server), np.array(rank) > 0
    waits = np.zeros((WINDOW, tasks, WINDOW, tasks), dtype=np.bool_)  # who is waited for, by whom
    for n in range(WINDOW):
        for some, later in ((same, 0), (following, 1)):
            for whom, who in some if n + later < WINDOW else ():
                waits[n, whom, n + later, who] = True
    number = WINDOW * tasks
    lane, turn = np.tile(server, WINDOW), np.tile(rank, WINDOW)
    begin, within = (_sure(waits.reshape(number, number), lane, turn, unknown) for unknown in (0, tasks))
    sure, ends = (_everywhere(one, other, tasks) for one, other in zip(begin, within, strict=True))
    lanes = np.equal.outer(server, server)
    doubt = (sure == 0) & (np.flip(sure, axis=1).transpose(2, 1, 0) == 0) & lanes[:, None]
    doubt[np.arange(tasks), APART, np.arange(tasks)] = False
    yields = np.logical_xor.outer(low, low)[:, None] & doubt
    doubt &= ~yields  # work in the background that may be interrupted is in no doubt, only how long it takes
    near, mine = doubt[:, APART - 1 : APART + 2], yields.any(axis=(1, 2))
    known = doubt.sum() == near.sum() and not (doubt[np.arange(tasks), :, np.arange(tasks)].any() or doubt[low].any())
    lone = not (mine & (np.array(rank) == LOG)).any() and (lanes[mine & low][:, low].sum(axis=1) == 1).all()
    if not known or not lone or yields[:, [0, -1]].any() or (mine & doubt.any(axis=(1, 2))).any():
        return None
    edges = _needed([(whom, who, later) for some, later in ((same, 0), (following, 1)) for whom, who in some], ends > 0)
    when = _when(edges, sure, doubt, yields, low)
    flags = _flags(sure, doubt, ends[:, APART] > 0, low)
    flags[lanes[mine & low].any(axis=0)] |= WAITS | KEEPS  # whatever shares the server leaves gaps
    flags = np.where(mine & low, LOW, flags | np.where(mine, GAP, 0))
    return None if when is None else _steps(server, rank, edges, sure, doubt, when, flags)


def _times(one: Flags, other: Flags) -> Any:
    found: Flags = one.astype(np.float32) @ other.astype(np.float32) > 0
    return found


def _beyond(edges: Flags) -> Any:
    """Return who is reached over any number of edges."""
    while True:
        more: Any = edges | _times(edges, edges)
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
        ended, past = _times(ends | there, waits), _times(ends, waits)
        no_later, later = ~_times(waits.T, ~ended), ~_times(waits.T, ~past) & ~(alone[:, None] & alone)
        no_later &= np.arange(number)[:, None] >= unknown
        sure = np.where(no_later & first, READIER, np.where(no_later & later & (kind == rank), SPACED, 0))
        sure[(kind == LOG) & (rank == LOG)] = 0
        sure = np.where(here & ~there, np.where(ended, ENDED, sure), 0).astype(np.int8)
        more = _beyond(ends | (sure > 0))
        if (more == ends).all():
            return sure, ends.astype(np.int8)
        ends = more


def _everywhere(begin: NDArray[np.int8], within: NDArray[np.int8], tasks: int) -> NDArray[np.int8]:
    """Return what holds of two tasks so many batches apart, (K, 2 APART + 1, K), as a run begins and anywhere later in it."""
    always, (first, window) = [], (each.reshape(WINDOW, tasks, WINDOW, tasks) for each in (begin, within))
    for apart in range(-APART, APART + 1):
        low = max(0, -apart)
        places = [first[n, :, n + apart] for n in (low, low + 1)]
        places += [window[n, :, n + apart] for n in range(low + 2, WINDOW - max(0, apart))]
        always.append(np.where(np.min(places, axis=0) > 0, np.max(places, axis=0), 0))
    return np.stack(always, axis=1)


def _needed(edges: list[Edge], ends: Flags) -> list[Edge]:
    """Return the edges without those to tasks that end before another that is waited for, and is there in the first batch too."""

    def spare(whom: int, who: int, later: int) -> bool:
        rivals = [(other, sooner) for other, same, sooner in edges if same == who and sooner <= later]
        return any(ends[whom, APART + later - sooner, other] for other, sooner in rivals if (other, sooner) != (whom, later))

    return [edge for edge in edges if not spare(*edge)]


def _when(edges: Sequence[Edge], sure: NDArray[np.int8], doubt: Flags, yields: Flags, low: Flags) -> Ints | None:
    """Return when in its batch each task is known to be ready, and is served at the latest, (2, K), in steps; None if never.

    A batch begins 2 K + 1 steps after the one before: so much later is what a task must not precede, by batches apart. Work that
    `yields`, of those that are `low`, is ready before others take the server from it, and ends after them.
    """
    tasks = len(sure)
    never = -(4 * APART + 4) * (2 * tasks + 1)
    least = np.full((2, tasks, 2, tasks), never)  # of (ready, served) of one to those of another
    for k in range(tasks):
        least[0, k, 1, k] = 1
    for whom, who, later in edges:
        least[1, whom, 0, who] = max(least[1, whom, 0, who], 1 - later * (2 * tasks + 1))
    for one, apart, other in np.argwhere((sure > 0) | (yields & ~low[:, None, None])):
        least[1, one, 1, other] = max(least[1, one, 1, other], 1 - (apart - APART) * (2 * tasks + 1))
    for one, apart, other in np.argwhere(doubt | (yields & low[:, None, None])):
        least[0, one, 1, other] = max(least[0, one, 1, other], 1 - (apart - APART) * (2 * tasks + 1))
    steps, when = least.reshape(2 * tasks, 2 * tasks), np.zeros(2 * tasks, dtype=np.int64)
    for _ in range(2 * tasks + 1):
        later = np.maximum(when, (when[:, None] + steps).max(axis=0))
        if (later == when).all():
            return when.reshape(2, tasks)
        when = later
    return None


def _flags(sure: NDArray[np.int8], doubt: Flags, ends: Flags, low: Flags) -> Ints:
    """Return what there is to do when a task is served, (K,), by what may have been served just before it in some batch."""
    tasks = len(sure)
    window, asks = np.zeros((2, WINDOW, tasks, WINDOW, tasks), dtype=np.int8)
    for n in range(WINDOW):
        for m in range(max(0, n - APART), min(WINDOW, n + APART + 1)):
            window[n, :, m], asks[n, :, m] = sure[:, m - n + APART], doubt[:, m - n + APART]
    flat = window.reshape(WINDOW * tasks, -1) > 0
    just = np.where(_times(flat, flat).reshape(window.shape), 0, window)
    unsure = doubt.any(axis=(0, 1))
    waits, strict = (just > ENDED).any(axis=(0, 1, 2)) | unsure, (just == SPACED).any(axis=(0, 1, 2))
    before = ((just > 0) | (asks > 0)).any(axis=(0, 2))
    keeps = (before & (waits | strict)).any(axis=1) | unsure
    last = ~(ends & ~np.eye(tasks, dtype=np.bool_))[:, ~low].any(axis=1) & ~low
    parts = ((waits, WAITS), (strict, STRICT), (keeps, KEEPS), (unsure, OPEN), (last, LAST))
    found: Ints = np.sum([np.where(which, flag, 0) for which, flag in parts], axis=0)
    return found


def _steps(
    server: Sequence[int],
    rank: Sequence[int],
    edges: Sequence[Edge],
    sure: NDArray[np.int8],
    doubt: Flags,
    when: Ints,
    flags: Ints,
) -> Program | None:
    """Return the steps by when in a round they are; None where two tasks that may come before a third are in doubt as well."""
    tasks, turn, rows = len(server), 2 * len(server) + 1, []
    for k in range(tasks):
        (later, at), (known, early) = divmod(int(when[1, k]), turn), divmod(int(when[0, k]), turn)
        pending = _pending(k, sure, doubt, when)
        if not all(_before(sure, one, other) for i, one in enumerate(pending) for other in pending[i + 1 :]):
            return None
        if flags[k] & (OPEN | LOW):
            rows.append((early, k, 0, k, known, flags[k] & (OPEN | LOW) | READY, 0))
        for i, (other, behind) in enumerate(pending):
            yields = 0 if behind > 0 or (behind == 0 and other < k) else YIELDS
            rows.append((at, k, i, other, later + behind, flags[other] | TRY | yields, (behind + 1) * tasks + k))
        if flags[k] & GAP:
            rows.append((at, k, -1, k, later, LOW | GAP, 0))
        rows.append((at, k, len(pending), k, later, flags[k] & ~GAP | SERVE | (0 if flags[k] & (OPEN | LOW) else READY), 0))
    steps = [(k, later - min(row[4] for row in rows), flag, other) for *_, k, later, flag, other in sorted(rows)]
    waited = [_waited(server, rank, edges, k) for k in range(tasks)]
    interrupted = _interrupted(server, flags)
    return Program(
        np.array(steps, STEP),
        np.concatenate(([0], np.cumsum([len(each) for each in waited]))),
        np.array([one for each in waited for one in each], dtype=np.int64),
        np.array(server, dtype=np.int64),
        np.array(rank, dtype=np.int64),
        any(rank),
        rank.index(LOG) if LOG in rank else -1,
        interrupted,
        (np.bincount(server, flags & OPEN) > 0) | (interrupted >= 0),
        int(max(step[1] for step in steps)) + 2,
    )


def _waited(server: Sequence[int], rank: Sequence[int], edges: Sequence[Edge], k: int) -> list[int]:
    """Return whom task k waits for, of several that end at once the one first that events take last."""
    found = [(rank[whom] != LOG, -server[whom], whom + later * len(server)) for whom, who, later in edges if who == k]
    return [one for *_, one in sorted(found)]


def _interrupted(server: Sequence[int], flags: Ints) -> Ints:
    """Return which task of each server others interrupt, or -1."""
    found = np.full(max(server) + 1, -1)
    for k in np.flatnonzero(flags & LOW).tolist():
        found[server[k]] = k
    return found


def _pending(k: int, sure: NDArray[np.int8], doubt: Flags, when: Ints) -> list[tuple[int, int]]:
    """Return the tasks that may precede task k and are not yet served for sure, with how many batches k is behind each."""
    turn, found = 2 * len(sure) + 1, []
    for other, apart in np.argwhere(doubt[:, :, k]):
        behind = apart - APART
        known, latest = when[:, other] - behind * turn
        if known < when[1, k] and (when[1, k], k) < (latest, other):
            found.append((int(other), int(behind)))
    return sorted(found, key=lambda one: sum(_before(sure, other, one) for other in found))


def _before(sure: NDArray[np.int8], one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Return whether of two tasks, each with how many batches another is behind it, the first is sure to be served first."""
    apart = one[1] - other[1] + APART
    return bool(0 <= apart <= 2 * APART and sure[one[0], apart, other[0]] > 0)
