"""Planner: the cheapest of several plans by their own expected cost, greedy ones among them, that every part has room for."""

import numpy as np

from ...core.arrays import Ints
from ..greedy import ALL, Rooms, deal
from ..sharding import Pieces, Sharding, Wanted, made

OTHERS = ("table-wise", "column-wise", "two-level", "row-wise")
SPREAD = 20_000  # tables times parts, beyond which rows over all parts are not tried: it takes seconds
FINE = (1.0, 0.5, 0.25)  # of an even share of all work: what takes longer is cut into ranges of columns, or goes by rows


def pieces(wanted: Wanted) -> Pieces:
    """Return the plan whose slowest parts take least, of those that fit, or of all where none does."""
    few = wanted.tables * wanted.parts.number <= SPREAD
    cuts = [_cuts(wanted, share) for share in (np.inf, *FINE)] + [_by_rows(wanted, share) for share in FINE if few]
    plans = [greedy(wanted, cut) for cut in {cut.tobytes(): cut for cut in cuts}.values()]
    plans += [plan for name in (OTHERS if few else OTHERS[:-1]) if (plan := made(name, wanted))]
    fitting = [plan for plan in plans if wanted.fits(plan)]
    best, least = plans[0], np.inf
    for plan in fitting or plans:
        if (slowest := wanted.slowest(plan, least)) < least:
            best, least = plan, slowest
    return best


def _cuts(wanted: Wanted, share: float) -> Ints:
    """Return into how many ranges to cut each table's columns: none takes longer than a `share` of an even part's work."""
    even = wanted.seconds.sum() / wanted.parts.number
    most, least = (
        wanted.ranges(wanted.parts.number),
        np.ceil(wanted.nbytes.T / np.maximum(wanted.rooms, 1.0)).max(axis=1, initial=1),
    )
    ranges = np.maximum(np.ceil(wanted.seconds / max(share * even, 1e-300)), least)
    cuts: Ints = np.clip(ranges, 1, most).astype(np.int64)
    return cuts


def _by_rows(wanted: Wanted, share: float) -> Ints:
    """Return 0, for rows over all parts, for each table that takes longer than a `share` of an even part's work, else 1."""
    whole: Ints = (wanted.seconds <= share * wanted.seconds.sum() / wanted.parts.number).astype(np.int64)
    return whole


def greedy(wanted: Wanted, cuts: Ints) -> Pieces:
    """Give the longest piece first to the part with least to do that has room; what is not cut, or no part has room for, goes
    over all."""
    count, ranges = wanted.parts.number, np.maximum(cuts, 1)
    room = np.arange(count) // np.array(wanted.sharing, dtype=np.int64)[:, None]
    have = np.array(wanted.rooms, dtype=np.float64)[:, None] + np.zeros(count)
    sharing = np.array([np.bincount(one, minlength=count) for one in room], dtype=np.int64).reshape(room.shape)
    rooms, seconds, place = Rooms(room, sharing, have), wanted.seconds / ranges, np.full((wanted.tables, ranges.max()), ALL)
    deal(np.argsort(-seconds, kind="stable"), cuts, seconds, wanted.nbytes / ranges, rooms, np.zeros(count), place)
    places = place[np.arange(ranges.max()) < ranges[:, None]]
    runs = (tuple(range(count)),) if places.min() == ALL else ()
    return Pieces(np.repeat(np.arange(wanted.tables), ranges), np.repeat(1 / ranges, ranges), places, runs)


SHARDING = Sharding(
    "Planner", "The cheapest plan by expected cost: greedy with tables cut as needed, or one of the others.", pieces
)
