"""The one loop of all caches that hold any row in any slot: look a batch up, make room, take its missing rows in.

A policy says only what changes in its own order of rows: `touch` when a held row is used, `make_room` which rows go,
`enter` when a row comes in. Numba picks the policy by its type, a class without fields, and compiles the loop for each.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numba import njit
from numba.extending import overload

from ..core.arrays import Ints
from ..core.hashing import GOLDEN
from .dense import dense_rows
from .policy import COUNTS, Cache, Moves, Room, moves, too_small
from .row_index import CAPACITY, FILLED, NONE, ROW, TURN, USED, Held, find, hang, unhang, with_room

Step = Callable[..., Any]
UNIQUE, MISSED_LOOKUPS, MISSES, EVICTED, HELD, REFUSED = range(COUNTS)


def touch(policy: Any, cell: Ints, state: Ints, slot: int) -> None:
    """Note that the row of a slot is used again."""
    raise TypeError(f"{type(policy).__name__} is served by compiled code alone; call run.")


def make_room(policy: Any, cell: Ints, state: Ints, freed: Ints) -> None:
    """Fill `freed` with slots whose rows go, taken out of the policy's order; none of them is used in the present turn."""
    raise TypeError(f"{type(policy).__name__} is served by compiled code alone; call run.")


def enter(policy: Any, cell: Ints, state: Ints, slot: int) -> None:
    """Note that the row of a slot has just come in."""
    raise TypeError(f"{type(policy).__name__} is served by compiled code alone; call run.")


def cache(title: str, text: str, policy: Any, empty: Callable[[int], Held], steps: tuple[Step, Step, Step], alone: Step) -> Cache:
    """Return the cache of a policy, an empty named tuple, whose `steps` are its touch, make_room and enter.

    `alone` counts the misses of ids from 0 to below `rows`, one by one, in a cache of `capacity` rows, with an array over rows.
    """
    kind = type(policy)

    @overload(touch)
    def _touch(policy, cell, state, slot):  # type: ignore[no-untyped-def]
        return steps[0] if policy.instance_class is kind else None

    @overload(make_room)
    def _make_room(policy, cell, state, freed):  # type: ignore[no-untyped-def]
        return steps[1] if policy.instance_class is kind else None

    @overload(enter)
    def _enter(policy, cell, state, slot):  # type: ignore[no-untyped-def]
        return steps[2] if policy.instance_class is kind else None

    return Cache(title, text, partial(run, policy, empty), partial(singly, policy, empty, alone))


def run(policy: Any, empty: Callable[[int], Held], batches: Sequence[Ints], room: Room) -> Moves:
    """Serve batches with a cache that is empty at first; raises CannotRun where a batch has more rows than the cache."""
    held, counts = empty(room.rows), np.zeros((len(batches), COUNTS), dtype=np.int64)
    for n, ids in enumerate(batches):
        held = with_room(held, len(ids))
        unique = serve(policy, *held, ids, counts[n])
        if unique > room.rows:
            raise too_small(room.rows, unique, n)
    return moves(batches, counts)


def singly(policy: Any, empty: Callable[[int], Held], alone: Step, ids: Ints, room: Room) -> int:
    """Return how many of the ids miss when each is served by itself, in order; no rows hold nothing."""
    if room.rows <= 0 or not len(ids):
        return len(ids)
    if rows := dense_rows([ids]):
        return int(alone(ids, rows, min(room.rows, rows)))
    return int(serve_singly(policy, *with_room(empty(room.rows), len(ids)), ids))


@njit(cache=True, nogil=True)
def serve(policy, cell, bucket, state, ids, counts):  # type: ignore[no-untyped-def]
    """Serve one batch, set its counts and return its unique rows; with more of them than slots, nothing comes in."""
    state[TURN] += 1
    missing, seen = np.empty(len(ids), dtype=np.int64), np.full(2 * len(ids) + 1, NONE, dtype=np.int64)
    waiting = 0
    for row in ids:
        slot = find(cell, bucket, row)
        if slot == NONE:
            counts[MISSED_LOOKUPS] += 1
            if is_new(row, seen):
                missing[waiting] = row
                waiting += 1
        elif cell[slot, USED] != state[TURN]:
            cell[slot, USED] = state[TURN]
            counts[UNIQUE] += 1
            touch(policy, cell, state, slot)
    counts[UNIQUE] += waiting
    counts[MISSES] = waiting
    if counts[UNIQUE] <= state[CAPACITY]:
        counts[EVICTED] = take_in(policy, cell, bucket, state, missing[:waiting])
    counts[HELD] = state[FILLED]
    return counts[UNIQUE]


@njit(cache=True, nogil=True)
def is_new(row, seen):  # type: ignore[no-untyped-def]
    """Return whether `row` is not in the hash set `seen` yet, and put it there."""
    at = np.int64((np.uint64(row) * GOLDEN >> np.uint64(32)) % np.uint64(len(seen)))
    while seen[at] != NONE:
        if seen[at] == row:
            return False
        at += 1
        if at == len(seen):
            at = np.int64(0)
    seen[at] = row
    return True


@njit(cache=True, nogil=True)
def take_in(policy, cell, bucket, state, missing):  # type: ignore[no-untyped-def]
    """Put the missing rows into the slots of rows that go, then into fresh ones; return how many went."""
    freed = np.empty(max(0, state[FILLED] + len(missing) - state[CAPACITY]), dtype=np.int64)
    make_room(policy, cell, state, freed)
    for number in range(len(missing)):
        if number < len(freed):
            slot = freed[number]
            unhang(cell, bucket, slot)
        else:
            slot = state[FILLED]
            state[FILLED] += 1
        cell[slot, ROW], cell[slot, USED] = missing[number], state[TURN]
        hang(cell, bucket, slot)
        enter(policy, cell, state, slot)
    return len(freed)


@njit(cache=True, nogil=True)
def serve_singly(policy, cell, bucket, state, ids):  # type: ignore[no-untyped-def]
    """Serve each id as a batch of its own and return the misses: what the textbooks call a cache."""
    misses, freed = 0, np.empty(1, dtype=np.int64)
    state[TURN] = 1
    for row in ids:
        slot = find(cell, bucket, row)
        if slot != NONE:
            touch(policy, cell, state, slot)
            continue
        misses += 1
        if state[FILLED] < state[CAPACITY]:
            slot = state[FILLED]
            state[FILLED] += 1
        else:
            make_room(policy, cell, state, freed)
            slot = freed[0]
            unhang(cell, bucket, slot)
        cell[slot, ROW], cell[slot, USED] = row, 0
        hang(cell, bucket, slot)
        enter(policy, cell, state, slot)
    return misses
