"""Planner: the plan with the lowest expected time among greedy and simple plans.

It tries all other ways of sharding, and greedy plans that cut large tables by columns or rows, and drops plans that do not fit.
It is the default for tables of unequal size or traffic, like TorchRec's planner.
"""

import numpy as np

from ...core.arrays import Floats, Ints
from ..greedy import ALL_PARTS, Rooms, deal_pieces
from ..sharding import Pieces, PlanRequest, Sharding, make_plan

FIXED_PLANS = ("table-wise", "column-wise", "two-level", "row-wise")
MAX_ROW_PLANS, MAX_PARTIAL_ROW_PLANS = (
    20_000,
    50_000,
)  # limits of tables × parts: beyond them, rows over all parts, and over some parts, are not tried
CUT_SHARES = (1.0, 0.5, 0.25)  # shares of an even part's work: longer tables are cut into column ranges, or go by rows
CUT_AND_ROW_SHARES = tuple(
    np.geomspace(2.0, 0.2, 12).tolist()
)  # likewise; if columns are too few, rows go over as many parts as needed


def pieces(request: PlanRequest) -> Pieces:
    """Return the plan whose slowest parts take the least time.

    A plan that does not fit is only returned if no plan fits.
    """
    size, uncut = request.tables * request.parts.number, np.ones(request.tables, dtype=np.int64)
    cuts = [(_cuts(request, share), uncut) for share in (np.inf, *CUT_SHARES)]
    cuts += [(uncut, _by_rows(request, share)) for share in CUT_SHARES if size <= MAX_ROW_PLANS]
    cuts += [_cuts_and_rows(request, share) for share in CUT_AND_ROW_SHARES if size <= MAX_PARTIAL_ROW_PLANS]
    plans = [
        greedy(request, *cut)
        for cut in {(ranges.tobytes(), share_counts.tobytes()): (ranges, share_counts) for ranges, share_counts in cuts}.values()
    ]
    plans += [plan for name in (FIXED_PLANS if size <= MAX_ROW_PLANS else FIXED_PLANS[:-1]) if (plan := make_plan(name, request))]
    fitting = [plan for plan in plans if request.fits(plan)]
    cheapest, cheapest_seconds = plans[0], np.inf
    for plan in fitting or plans:
        if (slowest := request.slowest(plan, cheapest_seconds)) < cheapest_seconds:
            cheapest, cheapest_seconds = plan, slowest
    return cheapest


def _parts_needed(request: PlanRequest, share: float) -> Floats:
    """Return the parts that each table needs, (T,).

    On so many parts, a table takes no longer than a `share` of an even part's work, and fits.
    """
    even_seconds = request.seconds.sum() / request.parts.number
    min_parts = np.ceil(request.nbytes.T / np.maximum(request.rooms, 1.0)).max(axis=1, initial=1)
    part_counts: Floats = np.maximum(np.ceil(request.seconds / max(share * even_seconds, 1e-300)), min_parts)
    return part_counts


def _cuts(request: PlanRequest, share: float) -> Ints:
    """Return the column ranges of each table, as far as there are columns."""
    cuts: Ints = np.clip(_parts_needed(request, share), 1, request.ranges(request.parts.number)).astype(np.int64)
    return cuts


def _by_rows(request: PlanRequest, share: float) -> Ints:
    """Return the parts over which each table's rows go.

    They are all parts if the table takes longer than a `share` of an even part's work, else one.
    """
    return np.where(request.seconds <= share * request.seconds.sum() / request.parts.number, 1, request.parts.number)


def _cuts_and_rows(request: PlanRequest, share: float) -> tuple[Ints, Ints]:
    """Return the column ranges of each table, and the parts for each range's rows.

    Rows go over several parts if columns are too few.
    """
    cuts = _cuts(request, share)
    return cuts, np.clip(np.ceil(_parts_needed(request, share) / cuts), 1, request.parts.number).astype(np.int64)


def greedy(request: PlanRequest, ranges: Ints, share_counts: Ints) -> Pieces:
    """Return the greedy plan: the longest piece first, to the least busy part with room.

    ranges: number of column ranges of each table, (T,); each range is a piece.
    share_counts: number of parts over which the rows of a table's pieces are spread, (T,).
    A piece for which too few parts have room is spread over all parts.
    """
    count, max_ranges = request.parts.number, int(ranges.max())
    room = np.arange(count) // np.array(request.sharing, dtype=np.int64)[:, None]
    free_bytes = np.array(request.rooms, dtype=np.float64)[:, None] + np.zeros(count)
    sharing = np.array([np.bincount(memory_rooms, minlength=count) for memory_rooms in room], dtype=np.int64).reshape(room.shape)
    seconds, place = request.seconds / ranges, np.full((request.tables, max_ranges), ALL_PARTS)
    order, num_runs = np.argsort(-seconds, kind="stable"), int(ranges[(share_counts > 1) & (share_counts < count)].sum())
    owns = np.zeros((1 + num_runs, count), dtype=np.bool_)
    deal_pieces(
        order,
        ranges,
        share_counts,
        seconds,
        request.nbytes / ranges,
        Rooms(room, sharing, free_bytes),
        np.zeros(count),
        owns,
        place,
    )
    owns[0] = True  # where ALL is
    places = place[np.arange(max_ranges) < ranges[:, None]]
    rows, run_index = np.unique(~places[places < 0], return_inverse=True)
    run_numbers: dict[tuple[int, ...], int] = {}
    number = [run_numbers.setdefault(tuple(np.flatnonzero(owns[row]).tolist()), len(run_numbers)) for row in rows]
    places[places < 0] = ~np.array(number, dtype=np.int64)[run_index]
    return Pieces(np.repeat(np.arange(request.tables), ranges), np.repeat(1 / ranges, ranges), places, tuple(run_numbers))


SHARDING = Sharding(
    "Planner", "The plan with the lowest expected time, among greedy plans that cut large tables and all other ways.", pieces
)
