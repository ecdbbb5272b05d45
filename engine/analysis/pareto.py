"""Pareto ranks of points, and the knee of the front.

The kernel's time does not depend on the shape of the fronts. A point's rivals are the points that are nowhere worse. They are a
set of bits: for each column the set of all points up to the point's value there, and the intersection of these sets. The sets are
stored for every BLOCK-th place of a sorted column, and completed one by one from there.
"""

from collections.abc import Sequence

import numpy as np

from ..core.arrays import Floats, Index, Ints, Words
from ..core.figures import count
from ..core.jit import entry_kernel, inner_kernel
from .choice import COST, keeps_bounds
from .objective import Array, Columns, Constraint, Objective, error_at, float_column, number_text, short_name

EQUAL_DIGITS = 12


def ranks(columns: Columns, objectives: Sequence[Objective], bounds: Sequence[Constraint] = ()) -> Array:
    """Return each point's front, from 1; 0 for points that lack a number or break a bound.

    A point beats another if it is nowhere worse and somewhere better. Equal points share a rank. Numbers that agree to DIGITS
    digits are equal, so that rounding makes no front.
    """
    losses = np.column_stack([_rounded(objective.losses(columns)) for objective in objectives])
    rankable = np.isfinite(losses).all(axis=1) & keeps_bounds(columns, bounds)
    rank = np.zeros(len(losses), dtype=np.int64)
    if rankable.any():
        distinct_losses, inverse = np.unique(losses[rankable], axis=0, return_inverse=True)
        rank[rankable] = fronts(distinct_losses)[inverse.reshape(-1)]
    return rank


def knee(columns: Columns, objectives: Sequence[Objective], rank: Array) -> int | None:
    """Return the front's point nearest to the best of all objectives; None without a front.

    The distance is Euclidean. Each objective is scaled from 0 at its best to 1 at its worst on the front.
    """
    front = np.flatnonzero(rank == 1)
    if not len(front):
        return None
    losses = np.column_stack([objective.losses(columns)[front] for objective in objectives])
    room = np.ptp(losses, axis=0)
    scaled = (losses - losses.min(axis=0)) / np.where(room > 0, room, 1)
    return int(front[np.argmin((scaled**2).sum(axis=1))])


def front_sentence(columns: Columns, objectives: Sequence[Objective], rank: Array) -> str:
    """Return a sentence on the front: its size, its ends and its knee."""
    knee_point, num_ranked = knee(columns, objectives, rank), int((rank > 0).sum())
    names = [short_name(objective.name) for objective in objectives]
    if knee_point is None:
        return f"No point has {_join_words(names)}, so there is no Pareto front."
    front = np.flatnonzero(rank == 1)
    end_points = [front[np.argmin(objective.losses(columns)[front])] for objective in objectives]
    end_texts = [
        f"{short_name(objective.name)} from {_point_text(columns, objective, end_point)}"
        for objective, end_point in zip(objectives, end_points, strict=True)
    ]
    knee_texts = [_point_text(columns, objective, knee_point) for objective in objectives]
    num_distinct = len(distinct_front(columns, objectives, rank))
    distinct_note = f", {count(num_distinct)} of them different," if num_distinct < len(front) else ""
    subject = (
        f"{count(len(front))} of {count(num_ranked, 'point')}{distinct_note} are"
        if len(front) > 1
        else f"1 of {count(num_ranked, 'point')} is"
    )
    front_text = f"{', '.join(end_texts)}; nearest to the best value of all objectives together: {_join_words(knee_texts)}"
    return f"{subject} on the Pareto front of {_join_words(names)}: {front_text}.{_unpriced_note(columns, objectives)}"


def _unpriced_note(columns: Columns, objectives: Sequence[Objective]) -> str:
    """Return a sentence on the number of points that lack nothing but a price, "" for none."""
    without_price = [np.isnan(objective.losses(columns)) for objective in objectives if objective.name == COST]
    with_numbers = [np.isfinite(objective.losses(columns)) for objective in objectives if objective.name != COST]
    num_unpriced = int(np.logical_and.reduce([*without_price, *with_numbers]).sum()) if without_price else 0
    return f" {count(num_unpriced)} more have no price and are left out." if num_unpriced and with_numbers else ""


def distinct_front(columns: Columns, objectives: Sequence[Objective], rank: Array) -> Array:
    """Return the indices of the front without duplicates, sorted by the first objective."""
    front = np.flatnonzero(rank == 1)
    losses = np.column_stack([_rounded(objective.losses(columns)[front]) for objective in objectives])
    distinct_points: Array = front[np.unique(losses, axis=0, return_index=True)[1]]  # sorted by the first column, then the next
    return distinct_points


def _rounded(losses: Array) -> Array:
    size = np.abs(losses)
    scale = 10.0 ** (EQUAL_DIGITS - 1 - np.floor(np.log10(np.where(size > 0, size, 1))))
    return np.round(losses * scale) / scale


def _point_text(columns: Columns, objective: Objective, point: int) -> str:
    return number_text(
        objective.name, float(float_column(columns, objective.name)[point]), error_at(columns, objective.name, point)
    )


def _join_words(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1])] * (len(words) > 1) + [words[-1]])


BLOCK = 512
MAX_MEMBER_SETS = 2000  # fronts whose members are also kept as bits: 12.5 MB for 50,000 points
ONE_BIT = np.uint64(1)


def fronts(points: Floats) -> Ints:
    """Return the front, from 1, of each point; points differ and are in lexicographic order.

    Smaller is better.
    Only earlier points can beat a point. If no member of a front beats a point, no member of a later front does, so the first
    such front is found by halving (Zhang et al., IEEE TEVC 19(2), 2015). A front's members are linked from the newest to the
    oldest.
    """
    size, width = points.shape
    words = (size + 63) // 64
    rest = points[:, 1:].T if width > 2 else points[:, :0].T  # of two columns the newest member is the lowest in the second
    order = np.argsort(rest, axis=1)
    upto = np.array([np.searchsorted(np.sort(values), values, side="right") for values in rest], np.int64).reshape(order.shape)
    prefixes = np.zeros((len(order), size // BLOCK + 1, words), np.uint64)
    rank, previous_member, newest_member = np.zeros(size, np.int64), np.full(size, -1, np.int64), np.full(size + 1, -1, np.int64)
    members = np.zeros((min(size, MAX_MEMBER_SETS) + 1 if width > 2 else 1, words), np.uint64)
    _mark(order, prefixes)
    _rank(points, (order, upto), prefixes, members, rank, previous_member, newest_member, *np.zeros((2, words), np.uint64))
    return rank


@entry_kernel
def _rank(
    points: Floats,
    places: tuple[Ints, Ints],
    prefixes: Words,
    members: Words,
    rank: Ints,
    previous_member: Ints,
    newest_member: Ints,
    rivals: Words,
    scratch: Words,
) -> None:
    """Write the front of each point into `rank`; `rivals` and `scratch` are work space."""
    (size, width), num_fronts = points.shape, 0
    for point in range(size):
        if width > 2:
            _find_rivals(point, places, prefixes, rivals, scratch)
        low, high = 1, num_fronts + 1
        while low < high:
            middle = (low + high) // 2
            if width <= 2:
                beaten = points[newest_member[middle], width - 1] <= points[point, width - 1]
            elif middle < len(members):
                beaten = _intersect(members[middle], rivals, point // 64 + 1)
            else:
                beaten = _any_member_beats(newest_member[middle], previous_member, rivals)
            low, high = (middle + 1, high) if beaten else (low, middle)
        rank[point], previous_member[point], newest_member[low], num_fronts = low, newest_member[low], point, max(num_fronts, low)
        if width > 2 and low < len(members):
            members[low, point // 64] |= ONE_BIT << np.uint64(point % 64)


@entry_kernel
def _mark(order: Ints, prefixes: Words) -> None:
    """Mark the points of every BLOCK-th prefix of each column but the first; `order` has a column's points by value."""
    for column in range(len(order)):
        for block in range(1, prefixes.shape[1]):
            for word in range(prefixes.shape[2]):
                prefixes[column, block, word] = prefixes[column, block - 1, word]
            for place in range((block - 1) * BLOCK, block * BLOCK):
                point = order[column, place]
                prefixes[column, block, point // 64] |= ONE_BIT << np.uint64(point % 64)


@inner_kernel
def _find_rivals(point: int, places: tuple[Ints, Ints], prefixes: Words, rivals: Words, scratch: Words) -> None:
    """Write into `rivals` the earlier points that are nowhere worse: those up to `upto` in every column's `order`."""
    order, upto = places
    words = point // 64 + 1
    for word in range(words):
        rivals[word] = ~np.uint64(0)
    rivals[words - 1] = (ONE_BIT << np.uint64(point % 64)) - ONE_BIT
    for column in range(len(order)):
        block = upto[column, point] // BLOCK
        for word in range(words):
            scratch[word] = prefixes[column, block, word]
        for place in range(block * BLOCK, upto[column, point]):
            candidate = order[column, place]
            if candidate < point:
                scratch[candidate // 64] |= ONE_BIT << np.uint64(candidate % 64)
        for word in range(words):
            rivals[word] &= scratch[word]


@inner_kernel
def _intersect(members: Words, rivals: Words, words: int) -> bool:
    for word in range(words):  # noqa: SIM110 (any is no part of numba)
        if members[word] & rivals[word]:
            return True
    return False


@inner_kernel
def _any_member_beats(member: Index, previous_member: Ints, rivals: Words) -> bool:
    while member >= 0:
        if rivals[member // 64] >> np.uint64(member % 64) & ONE_BIT:
            return True
        member = previous_member[member]
    return False
