"""Planner: the cheapest of several plans by their own expected cost, greedy ones among them, that every part has room for."""

import numpy as np

from ..sharding import Piece, Pieces, Sharding, Wanted, made

OTHERS = ("table-wise", "column-wise", "two-level", "row-wise")
SPREAD = 20_000  # tables times parts, beyond which rows over all parts are not tried: it takes seconds
FINE = (1.0, 0.5, 0.25)  # of an even share of all work: what takes longer is cut into ranges of columns, or goes by rows


def pieces(wanted: Wanted) -> Pieces:
    """Return the plan whose slowest parts take least, of those that fit, or of all where none does."""
    few = wanted.tables * wanted.parts.number <= SPREAD
    cuts = dict.fromkeys(_cuts(wanted, share) for share in (np.inf, *FINE))
    cuts |= dict.fromkeys(_by_rows(wanted, share) for share in FINE) if few else {}
    plans = [_greedy(wanted, cut) for cut in cuts] + [made(name, wanted) for name in (OTHERS if few else OTHERS[:-1])]
    fitting = [plan for plan in plans if wanted.fits(plan)]
    best, least = plans[0], np.inf
    for plan in fitting or plans:
        if (slowest := wanted.slowest(plan, least)) < least:
            best, least = plan, slowest
    return best


def _cuts(wanted: Wanted, share: float) -> tuple[int, ...]:
    """Return into how many ranges to cut each table's columns: none takes longer than a `share` of an even part's work."""
    even = wanted.seconds.sum() / wanted.parts.number
    most, least = (
        wanted.ranges(wanted.parts.number),
        np.ceil(wanted.nbytes.T / np.maximum(wanted.rooms, 1.0)).max(axis=1, initial=1),
    )
    ranges = np.maximum(np.ceil(wanted.seconds / max(share * even, 1e-300)), least)
    return tuple(np.clip(ranges, 1, most).astype(np.int64).tolist())


def _by_rows(wanted: Wanted, share: float) -> tuple[int, ...]:
    """Return 0, for rows over all parts, for each table that takes longer than a `share` of an even part's work, else 1."""
    return tuple((wanted.seconds <= share * wanted.seconds.sum() / wanted.parts.number).astype(np.int64).tolist())


def _greedy(wanted: Wanted, cuts: tuple[int, ...]) -> Pieces:
    """Give the longest piece first to the part with least to do that has room; what is not cut, or no part has room for, goes
    over all."""
    count, found, busy = wanted.parts.number, [list[Piece]() for _ in cuts], np.zeros(wanted.parts.number)
    room = [np.arange(count) // sharing for sharing in wanted.sharing]  # of each part, in each memory
    left = [np.full(1 + of[-1], float(have)) for of, have in zip(room, wanted.rooms, strict=True)]
    ranges = [max(1, cut) for cut in cuts]
    seconds, nbytes = wanted.seconds / ranges, wanted.nbytes / ranges
    for table in np.argsort(-seconds, kind="stable").tolist():
        needs = nbytes[:, table].tolist()
        for _ in range(ranges[table]):
            part = int(busy.argmin())
            if not cuts[table] or any(have[of[part]] < need for have, of, need in zip(left, room, needs, strict=True)):
                fits = (have[of] >= need for have, of, need in zip(left, room, needs, strict=True))
                free = np.flatnonzero(np.all(tuple(fits), axis=0)) if cuts[table] else ()
                if not len(free):
                    found[table].append(Piece(1 / ranges[table], tuple(range(count))))
                    busy += seconds[table] / count
                    for have, of, need in zip(left, room, needs, strict=True):
                        have -= np.bincount(of) * need / count
                    continue
                part = int(free[busy[free].argmin()])
            found[table].append(Piece(1 / ranges[table], (part,)))
            busy[part] += seconds[table]
            for have, of, need in zip(left, room, needs, strict=True):
                have[of[part]] -= need
    return tuple(map(tuple, found))


SHARDING = Sharding(
    "Planner", "The cheapest plan by expected cost: greedy with tables cut as needed, or one of the others.", pieces
)
