"""Pareto ranks and the knee: who is beaten by nobody, who then would be, and the point nearest to the best of all.

The kernel sorts points into fronts in a time that does not depend on how they lie. A point's rivals, those nowhere worse,
are a set of bits: the intersection over the columns of all points up to its value there. Such prefixes of the sorted
columns are kept for every BLOCK-th place and completed one by one from there.
"""

from collections.abc import Sequence

import numpy as np

from ..core.arrays import Floats, Index, Ints, Words
from ..core.figures import count
from ..core.jit import entry, inner
from .choice import COST, kept
from .objective import Array, Columns, Constraint, Objective, error_at, formatted, numbers, short

DIGITS = 12


def ranks(columns: Columns, objectives: Sequence[Objective], bounds: Sequence[Constraint] = ()) -> Array:
    """Return each point's front, counted from 1, and 0 for points that lack one of the numbers or break a bound.

    A point beats another if it is nowhere worse and somewhere better; equal points share a rank, and equal is what agrees
    to DIGITS digits: the order in which numbers were added makes no front.
    """
    losses = np.column_stack([_rounded(one.losses(columns)) for one in objectives])
    known = np.isfinite(losses).all(axis=1) & kept(columns, bounds)
    rank = np.zeros(len(losses), dtype=np.int64)
    if known.any():
        different, same = np.unique(losses[known], axis=0, return_inverse=True)
        rank[known] = fronts(different)[same.reshape(-1)]
    return rank


def knee(columns: Columns, objectives: Sequence[Objective], rank: Array) -> int | None:
    """Return the point of the front nearest to the best of every objective, each scaled from its best to its worst there."""
    front = np.flatnonzero(rank == 1)
    if not len(front):
        return None
    losses = np.column_stack([one.losses(columns)[front] for one in objectives])
    room = np.ptp(losses, axis=0)
    scaled = (losses - losses.min(axis=0)) / np.where(room > 0, room, 1)
    return int(front[np.argmin((scaled**2).sum(axis=1))])


def finding(columns: Columns, objectives: Sequence[Objective], rank: Array) -> str:
    """Say how long the front is, where it ends, and where it bends."""
    best, ranked = knee(columns, objectives, rank), int((rank > 0).sum())
    names = [short(one.name) for one in objectives]
    if best is None:
        return f"No point has {_all(names)}, so there is no Pareto front."
    front = np.flatnonzero(rank == 1)
    firsts = [front[np.argmin(one.losses(columns)[front])] for one in objectives]
    ends = [f"{short(one.name)} from {_told(columns, one, first)}" for one, first in zip(objectives, firsts, strict=True)]
    at = [_told(columns, one, best) for one in objectives]
    unlike = len(different(columns, objectives, rank))
    equal = f", {count(unlike)} of them different," if unlike < len(front) else ""
    many = (
        f"{count(len(front))} of {count(ranked, 'point')}{equal} are" if len(front) > 1 else f"1 of {count(ranked, 'point')} is"
    )
    best_of = f"{', '.join(ends)}; nearest to the best of all: {_all(at)}"
    return f"{many} on the Pareto front of {_all(names)}: {best_of}.{_unpriced(columns, objectives)}"


def _unpriced(columns: Columns, objectives: Sequence[Objective]) -> str:
    """Say how many points lack nothing but a price, a sentence; "" where there are none."""
    lacking = [np.isnan(one.losses(columns)) for one in objectives if one.name == COST]
    others = [np.isfinite(one.losses(columns)) for one in objectives if one.name != COST]
    many = int(np.logical_and.reduce([*lacking, *others]).sum()) if lacking else 0
    return f" {count(many)} more have no price and are left out." if many and others else ""


def different(columns: Columns, objectives: Sequence[Objective], rank: Array) -> Array:
    """Return the indices of the front, the best by the first objective first, each only once where points are equal."""
    front = np.flatnonzero(rank == 1)
    losses = np.column_stack([_rounded(one.losses(columns)[front]) for one in objectives])
    first: Array = front[np.unique(losses, axis=0, return_index=True)[1]]  # sorted by the first column, then the next
    return first


def _rounded(losses: Array) -> Array:
    size = np.abs(losses)
    scale = 10.0 ** (DIGITS - 1 - np.floor(np.log10(np.where(size > 0, size, 1))))
    return np.round(losses * scale) / scale


def _told(columns: Columns, one: Objective, point: int) -> str:
    return formatted(one.name, float(numbers(columns, one.name)[point]), error_at(columns, one.name, point))


def _all(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1])] * (len(words) > 1) + [words[-1]])


BLOCK = 512
MOST_SETS = 2000  # fronts whose members are also kept as bits: 12.5 MB for 50,000 points
ONE = np.uint64(1)


def fronts(points: Floats) -> Ints:
    """Return the front, from 1, of each of some different points in lexicographic order; smaller is better.

    Only earlier points can beat a point. If nobody of a front beats it, nobody of a later one does, so the first such
    front is found by halving (Zhang et al., IEEE TEVC 19(2), 2015). A front's members are a chain from the newest on.
    """
    size, width = points.shape
    words = (size + 63) // 64
    rest = points[:, 1:].T if width > 2 else points[:, :0].T  # of two columns the newest member is the lowest in the second
    order = np.argsort(rest, axis=1)
    upto = np.array([np.searchsorted(np.sort(values), values, side="right") for values in rest], np.int64).reshape(order.shape)
    prefixes = np.zeros((len(order), size // BLOCK + 1, words), np.uint64)
    rank, before, newest = np.zeros(size, np.int64), np.full(size, -1, np.int64), np.full(size + 1, -1, np.int64)
    members = np.zeros((min(size, MOST_SETS) + 1 if width > 2 else 1, words), np.uint64)
    _mark(order, prefixes)
    _rank(points, (order, upto), prefixes, members, rank, before, newest, *np.zeros((2, words), np.uint64))
    return rank


@entry
def _rank(
    points: Floats,
    places: tuple[Ints, Ints],
    prefixes: Words,
    members: Words,
    rank: Ints,
    before: Ints,
    newest: Ints,
    rivals: Words,
    some: Words,
) -> None:
    """Write the front of each point into `rank`; `rivals` and `some` are room to work in."""
    (size, width), most = points.shape, 0
    for point in range(size):
        if width > 2:
            _find_rivals(point, places, prefixes, rivals, some)
        low, high = 1, most + 1
        while low < high:
            middle = (low + high) // 2
            if width <= 2:
                beaten = points[newest[middle], width - 1] <= points[point, width - 1]
            elif middle < len(members):
                beaten = _meet(members[middle], rivals, point // 64 + 1)
            else:
                beaten = _any_of(newest[middle], before, rivals)
            low, high = (middle + 1, high) if beaten else (low, middle)
        rank[point], before[point], newest[low], most = low, newest[low], point, max(most, low)
        if width > 2 and low < len(members):
            members[low, point // 64] |= ONE << np.uint64(point % 64)


@entry
def _mark(order: Ints, prefixes: Words) -> None:
    """Mark the points of every BLOCK-th prefix of each column but the first; `order` has a column's points by value."""
    for column in range(len(order)):
        for block in range(1, prefixes.shape[1]):
            for word in range(prefixes.shape[2]):
                prefixes[column, block, word] = prefixes[column, block - 1, word]
            for place in range((block - 1) * BLOCK, block * BLOCK):
                point = order[column, place]
                prefixes[column, block, point // 64] |= ONE << np.uint64(point % 64)


@inner
def _find_rivals(point: int, places: tuple[Ints, Ints], prefixes: Words, rivals: Words, some: Words) -> None:
    """Write into `rivals` the earlier points that are nowhere worse: those up to `upto` in every column's `order`."""
    order, upto = places
    words = point // 64 + 1
    for word in range(words):
        rivals[word] = ~np.uint64(0)
    rivals[words - 1] = (ONE << np.uint64(point % 64)) - ONE
    for column in range(len(order)):
        block = upto[column, point] // BLOCK
        for word in range(words):
            some[word] = prefixes[column, block, word]
        for place in range(block * BLOCK, upto[column, point]):
            other = order[column, place]
            if other < point:
                some[other // 64] |= ONE << np.uint64(other % 64)
        for word in range(words):
            rivals[word] &= some[word]


@inner
def _meet(members: Words, rivals: Words, words: int) -> bool:
    for word in range(words):  # noqa: SIM110 (any is no part of numba)
        if members[word] & rivals[word]:
            return True
    return False


@inner
def _any_of(member: Index, before: Ints, rivals: Words) -> bool:
    while member >= 0:
        if rivals[member // 64] >> np.uint64(member % 64) & ONE:
            return True
        member = before[member]
    return False
