"""Planner: the cheapest of several plans by their own expected cost, greedy ones among them, that every part has room for."""

import numpy as np

from ...core.arrays import Floats, Ints
from ..greedy import ALL, Rooms, deal
from ..sharding import Pieces, Sharding, Wanted, made

OTHERS = ("table-wise", "column-wise", "two-level", "row-wise")
SPREAD, FEWER = 20_000, 50_000  # tables times parts, beyond which rows over all parts, and over some, are not tried
FINE = (1.0, 0.5, 0.25)  # of an even share of all work: what takes longer is cut into ranges of columns, or goes by rows
BOTH = tuple(np.geomspace(2.0, 0.2, 12).tolist())  # likewise; where columns are too few, rows go over no more parts than needed


def pieces(wanted: Wanted) -> Pieces:
    """Return the plan whose slowest parts take least, of those that fit, or of all where none does."""
    size, whole = wanted.tables * wanted.parts.number, np.ones(wanted.tables, dtype=np.int64)
    cuts = [(_cuts(wanted, share), whole) for share in (np.inf, *FINE)]
    cuts += [(whole, _by_rows(wanted, share)) for share in FINE if size <= SPREAD]
    cuts += [_both(wanted, share) for share in BOTH if size <= FEWER]
    plans = [greedy(wanted, *cut) for cut in {(one.tobytes(), two.tobytes()): (one, two) for one, two in cuts}.values()]
    plans += [plan for name in (OTHERS if size <= SPREAD else OTHERS[:-1]) if (plan := made(name, wanted))]
    fitting = [plan for plan in plans if wanted.fits(plan)]
    best, least = plans[0], np.inf
    for plan in fitting or plans:
        if (slowest := wanted.slowest(plan, least)) < least:
            best, least = plan, slowest
    return best


def _needed(wanted: Wanted, share: float) -> Floats:
    """Return in how many each table, (T,), takes no longer than a `share` of an even part's work, and fits."""
    even = wanted.seconds.sum() / wanted.parts.number
    least = np.ceil(wanted.nbytes.T / np.maximum(wanted.rooms, 1.0)).max(axis=1, initial=1)
    needed: Floats = np.maximum(np.ceil(wanted.seconds / max(share * even, 1e-300)), least)
    return needed


def _cuts(wanted: Wanted, share: float) -> Ints:
    """Return into how many ranges to cut each table's columns, as far as there are columns."""
    cuts: Ints = np.clip(_needed(wanted, share), 1, wanted.ranges(wanted.parts.number)).astype(np.int64)
    return cuts


def _by_rows(wanted: Wanted, share: float) -> Ints:
    """Return over how many parts each table's rows go: all, if it takes longer than a `share` of an even part's work."""
    return np.where(wanted.seconds <= share * wanted.seconds.sum() / wanted.parts.number, 1, wanted.parts.number)


def _both(wanted: Wanted, share: float) -> tuple[Ints, Ints]:
    """Return the same, and over how many parts the rows of each range go, where columns are too few."""
    cuts = _cuts(wanted, share)
    return cuts, np.clip(np.ceil(_needed(wanted, share) / cuts), 1, wanted.parts.number).astype(np.int64)


def greedy(wanted: Wanted, ranges: Ints, over: Ints) -> Pieces:
    """Give the longest piece first to the part with least to do that has room, its rows to so many parts; what too few have room
    for goes over all."""
    count, most = wanted.parts.number, int(ranges.max())
    room = np.arange(count) // np.array(wanted.sharing, dtype=np.int64)[:, None]
    have = np.array(wanted.rooms, dtype=np.float64)[:, None] + np.zeros(count)
    sharing = np.array([np.bincount(one, minlength=count) for one in room], dtype=np.int64).reshape(room.shape)
    seconds, place = wanted.seconds / ranges, np.full((wanted.tables, most), ALL)
    order, several = np.argsort(-seconds, kind="stable"), int(ranges[(over > 1) & (over < count)].sum())
    has = np.zeros((1 + several, count), dtype=np.bool_)
    deal(order, ranges, over, seconds, wanted.nbytes / ranges, Rooms(room, sharing, have), np.zeros(count), has, place)
    has[0] = True  # where ALL is
    places = place[np.arange(most) < ranges[:, None]]
    rows, which = np.unique(~places[places < 0], return_inverse=True)
    known: dict[tuple[int, ...], int] = {}
    number = [known.setdefault(tuple(np.flatnonzero(has[row]).tolist()), len(known)) for row in rows]
    places[places < 0] = ~np.array(number, dtype=np.int64)[which]
    return Pieces(np.repeat(np.arange(wanted.tables), ranges), np.repeat(1 / ranges, ranges), places, tuple(known))


SHARDING = Sharding(
    "Planner", "The cheapest plan by expected cost: greedy with tables cut as needed, or one of the others.", pieces
)
