"""Pareto ranks and the knee: who is beaten by nobody, who then would be, and the point nearest to the best of all."""

from collections.abc import Sequence

import numpy as np

from .fronts import fronts
from .objective import Array, Columns, Objective, formatted, short

DIGITS = 12


def ranks(columns: Columns, objectives: Sequence[Objective]) -> Array:
    """Return each point's front, counted from 1, and 0 for points that lack one of the numbers.

    A point beats another if it is nowhere worse and somewhere better; equal points share a rank, and equal is what agrees
    to DIGITS digits: the order in which numbers were added makes no front.
    """
    losses = np.column_stack([_rounded(one.losses(columns)) for one in objectives])
    known = np.isfinite(losses).all(axis=1)
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
    ends = [f"{short(one.name)} from {formatted(one.name, _value(one, front, columns))}" for one in objectives]
    at = [formatted(one.name, sign * one.losses(columns)[best]) for one in objectives for sign in [-1 if one.highest else 1]]
    unlike = len(different(columns, objectives, rank))
    equal = f", {unlike:,} of them different," if unlike < len(front) else ""
    many = f"{len(front):,} of {ranked:,} points{equal} are" if len(front) > 1 else f"1 of {ranked:,} points is"
    return f"{many} on the Pareto front of {_all(names)}: {', '.join(ends)}; nearest to the best of all: {_all(at)}."


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


def _value(one: Objective, front: Array, columns: Columns) -> float:
    return float(one.losses(columns)[front].min()) * (-1 if one.highest else 1)


def _all(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1])] * (len(words) > 1) + [words[-1]])
