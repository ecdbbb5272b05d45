"""The order in which servers serve, as far as a graph itself fixes it: a program of steps that any machine can follow.

A server takes whatever became ready first; of tasks ready at once, that of the earlier batch, then position. Of two tasks on a
server it is mostly certain which is ready first, whatever tasks take: one waits for the other, or for all that the other
waits for. Of a pair for which nothing is certain, both have to be known to be ready before the program lets either be
served, and the machine's own times decide. Background work, and a log that each batch waits for, come after foreground work that
is ready no later; where all else on their server is that, or waits for their end, nothing interrupts them, and they are served in
their turn. Background work that others may interrupt ends once all of these are known: it has had the gaps before them. A graph
for which there is no such program has None, and goes by events.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np

from ..core.arrays import Flags, Ints
from .certainty import ENDED, SPACED, Edge, Orders, orders_of, times, window_of
from .kernels.lanes import (
    GAP,
    KEEPS,
    LAST,
    LOG,
    LOW,
    OPEN,
    READY,
    SERVE,
    STRICT,
    TRY,
    WAITS,
    YIELDS,
    Program,
)
from .kernels.template import Template, dtype

REACHES = 3, 7  # batches that two tasks may lie apart in a program whose batches overlap: looked at in turn, as few as will do
STEP = dtype("task i8, later i8, flags i8, other i8")


def program_of(graph: Template, idle: Flags | None = None) -> Program | None:
    """Return the program of a graph, the same for all graphs whose tasks wait for each other in the same way.

    Tasks that are `idle`, (K,), never take time; of a server that has no others each is served as soon as it is ready.
    """
    if graph.roll >= 0 and graph.bound > 0:
        return None
    server = graph.tasks["server"]
    if idle is not None:
        busy = np.isin(server, server[~idle])
        server = np.unique(np.where(busy, server, server.max() + 1 + np.arange(len(server))), return_inverse=True)[1]
    rank = np.where(np.arange(len(server)) == graph.roll, LOG, graph.tasks["background"])
    (before, after), (whom, who) = graph.edges()
    edges = [(*edge, 0) for edge in zip(before.tolist(), after.tolist(), strict=True)]
    edges += [(*edge, 1) for edge in zip(whom.tolist(), who.tolist(), strict=True)]
    for reach in REACHES:
        if len(graph.durations) >= window_of(reach):
            found = _program(tuple(server.tolist()), tuple(rank.tolist()), tuple(edges), reach)
            if found is not None:
                return found
    return None


@cache
def _program(server: tuple[int, ...], rank: tuple[int, ...], edges: tuple[Edge, ...], reach: int) -> Program | None:
    orders, low, lanes = orders_of(server, rank, edges, reach), np.array(rank) > 0, np.equal.outer(server, server)
    doubt, yields = _doubts(orders, low, lanes)
    mine, far = yields.any(axis=(1, 2)), [0, 1, -2, -1]
    apart = not (doubt[:, far].any() or yields[:, far[::3]].any() or (lanes & (orders.sure[:, -1] == 0)).any())
    known = apart and not (doubt[np.arange(len(low)), :, np.arange(len(low))].any() or doubt[low].any())
    lone = not (mine & (np.array(rank) == LOG)).any() and (lanes[mine & low][:, low].sum(axis=1) == 1).all()
    if not known or not lone or (mine & doubt.any(axis=(1, 2))).any():
        return None
    needed = _needed(edges, orders)
    when = _when(needed, orders, doubt, yields, low)
    flags = _flags(orders, doubt, low)
    flags[lanes[mine & low].any(axis=0)] |= WAITS | KEEPS  # whatever shares the server leaves gaps
    flags = np.where(mine & low, LOW, flags | np.where(mine, GAP, 0))
    waited = [_waited(server, rank, needed, k) for k in range(len(low))]
    return None if when is None else _steps(server, rank, waited, orders, doubt, when, flags)


def _doubts(orders: Orders, low: Flags, lanes: Flags) -> tuple[Flags, Flags]:
    """Return of which tasks it is not sure who is served first, and which of work in the background others may interrupt.

    Of that there is no doubt, only how long it takes.
    """
    same = np.arange(len(low))
    doubt = (orders.sure == 0) & (np.flip(orders.sure, axis=1).transpose(2, 1, 0) == 0) & lanes[:, None]
    doubt[same, orders.reach, same] = False
    yields = np.logical_xor.outer(low, low)[:, None] & doubt
    return doubt & ~yields, yields


def _needed(edges: Sequence[Edge], orders: Orders) -> list[Edge]:
    """Return the edges without those to tasks that end before another that is waited for, and is there in the first batch too."""

    def spare(whom: int, who: int, later: int) -> bool:
        rivals = [(other, sooner) for other, same, sooner in edges if same == who and sooner <= later]
        late = [(other, orders.reach + later - sooner) for other, sooner in rivals if (other, sooner) != (whom, later)]
        return any(orders.ends[whom, apart, other] for other, apart in late)

    return [edge for edge in edges if not spare(*edge)]


def _when(edges: Sequence[Edge], orders: Orders, doubt: Flags, yields: Flags, low: Flags) -> Ints | None:
    """Return when in its batch each task is known to be ready, and is served at the latest, (2, K), in steps; None if never.

    A batch begins 2 K + 1 steps after the one before: so much later is what a task must not precede, by batches apart. Work that
    `yields`, of those that are `low`, is ready before others take the server from it, and ends after them.
    """
    tasks, reach = len(low), orders.reach
    never = -(4 * reach + 4) * (2 * tasks + 1)
    least = np.full((2, tasks, 2, tasks), never)  # of (ready, served) of one to those of another
    for k in range(tasks):
        least[0, k, 1, k] = 1
    for whom, who, later in edges:
        least[1, whom, 0, who] = max(least[1, whom, 0, who], 1 - later * (2 * tasks + 1))
    for one, apart, other in np.argwhere((orders.sure > 0) | (yields & ~low[:, None, None])):
        least[1, one, 1, other] = max(least[1, one, 1, other], 1 - (apart - reach) * (2 * tasks + 1))
    for one, apart, other in np.argwhere(doubt | (yields & low[:, None, None])):
        least[0, one, 1, other] = max(least[0, one, 1, other], 1 - (apart - reach) * (2 * tasks + 1))
    steps, when = least.reshape(2 * tasks, 2 * tasks), np.zeros(2 * tasks, dtype=np.int64)
    for _ in range(2 * tasks + 1):
        later = np.maximum(when, (when[:, None] + steps).max(axis=0))
        if (later == when).all():
            return when.reshape(2, tasks)
        when = later
    return None


def _flags(orders: Orders, doubt: Flags, low: Flags) -> Ints:
    """Return what there is to do when a task is served, (K,), by what may have been served just before it in some batch."""
    tasks, reach, length = len(low), orders.reach, window_of(orders.reach)
    window, asks = np.zeros((2, length, tasks, length, tasks), dtype=np.int8)
    for n in range(length):
        for m in range(max(0, n - reach), min(length, n + reach + 1)):
            window[n, :, m], asks[n, :, m] = orders.sure[:, m - n + reach], doubt[:, m - n + reach]
    flat = window.reshape(length * tasks, -1) > 0
    just = np.where(times(flat, flat).reshape(window.shape), 0, window)
    ends, unsure = orders.ends[:, reach] > 0, doubt.any(axis=(0, 1))
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
    waited: Sequence[Sequence[int]],
    orders: Orders,
    doubt: Flags,
    when: Ints,
    flags: Ints,
) -> Program | None:
    """Return the steps by when in a round they are; None where two tasks that may come before a third are in doubt as well."""
    tasks, turn, rows = len(server), 2 * len(server) + 1, []
    for k in range(tasks):
        (later, at), (known, early) = divmod(int(when[1, k]), turn), divmod(int(when[0, k]), turn)
        pending = _pending(k, orders, doubt, when)
        if not all(_before(orders, one, other) for i, one in enumerate(pending) for other in pending[i + 1 :]):
            return None
        if flags[k] & (OPEN | LOW):
            rows.append((early, k, 0, k, known, flags[k] & (OPEN | LOW) | READY, 0))
        for i, (other, behind) in enumerate(pending):
            yields = 0 if behind > 0 or (behind == 0 and other < k) else YIELDS
            rows.append((at, k, i, other, later + behind, flags[other] | TRY | yields, behind * tasks + k))
        if flags[k] & GAP:
            rows.append((at, k, -1, k, later, LOW | GAP, 0))
        rows.append((at, k, len(pending), k, later, flags[k] & ~GAP | SERVE | (0 if flags[k] & (OPEN | LOW) else READY), 0))
    steps = [(k, later - min(row[4] for row in rows), flag, other) for *_, k, later, flag, other in sorted(rows)]
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
        orders.reach,
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


def _pending(k: int, orders: Orders, doubt: Flags, when: Ints) -> list[tuple[int, int]]:
    """Return the tasks that may precede task k and are not yet served for sure, with how many batches k is behind each."""
    turn, found = 2 * len(orders.sure) + 1, []
    for other, apart in np.argwhere(doubt[:, :, k]):
        behind = apart - orders.reach
        known, latest = when[:, other] - behind * turn
        if known < when[1, k] and (when[1, k], k) < (latest, other):
            found.append((int(other), int(behind)))
    return sorted(found, key=lambda one: sum(_before(orders, other, one) for other in found))


def _before(orders: Orders, one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Return whether of two tasks, each with how many batches another is behind it, the first is sure to be served first."""
    apart = one[1] - other[1] + orders.reach
    return bool(0 <= apart <= 2 * orders.reach and orders.sure[one[0], apart, other[0]] > 0)
