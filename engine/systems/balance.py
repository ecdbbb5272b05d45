"""Balance: what each part of a machine is asked for by the plan in force, and what crosses between parts.

The slowest part decides how long a task takes; energy, bytes and wear follow the sum over all parts.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.arrays import Flags, Floats
from ..core.memo import remembered
from ..scenario.scenario import Scenario, per_table
from ..workload.accesses import expected
from ..workload.row_spread import spreads
from .exchange.crossing import NO_CROSSING, Crossing, even, indices, vectors
from .exchange.replicas import NO_REPLICAS, choose_replicas
from .parts import EVEN, KINDS, TableUnits, Units, kind_of, memories, table_seconds, table_units
from .placement import Tiers
from .row_kinds import row_kinds
from .sharding import Parts, Pieces, Wanted, alike, by_hand, loaded, made, over, spread, weighed
from .system import System
from .table_placement import Balance, Far, Links, PartWork, Skews, TablePlacement, skew
from .traffic import index_bytes, sent_bytes, table_bytes, table_nbytes, table_states, vector_nbytes

ROUNDED = 1e-9  # what sums in another order may differ by


@remembered()
def table_placement(s: Scenario, system: System) -> TablePlacement:
    """Return the placement of tables by the plan in force; raises BadKnob for an unreadable plan."""
    balance = _balance_in_force(s, system)
    skews = Skews(skew(balance.work.lookups), skew(balance.work.rows)) if balance else Skews()
    far = _far(balance) if balance and system.tiers else Far()
    links = _links(s, balance) if balance and "cxl" in system.devices else Links()
    pooled, indices_sent = _crossings(s, system, balance) if system.scales else (NO_CROSSING, NO_CROSSING)
    fullest = table_bytes(s) / s.machine.num_gpus * (skew(balance.held) if balance else 1.0)
    replicas = choose_replicas(s, pooled, fullest) if system.replicates else NO_REPLICAS
    tables = _most_pieces(balance.pieces, balance.parts.number, _updated_alone(s)) if balance else s.model.num_tables
    return TablePlacement(balance, skews, far, links, pooled, indices_sent, replicas, float(tables))


def _updated_alone(s: Scenario) -> Flags:
    """Return of which tables pieces count, (T,): those whose optimizer keeps something, or all, where none does."""
    stateful = np.array(table_states(s)) > 0
    return stateful if stateful.any() else ~stateful


def _most_pieces(pieces: Pieces, parts: int, counted: Flags) -> int:
    """Return how many pieces of `counted` tables the part has that has most of them."""
    place = pieces.place[counted[pieces.table]]
    has = np.bincount(place[place >= 0], minlength=parts)
    for run, count in zip(*np.unique(place[place < 0], return_counts=True), strict=True):
        has[list({*pieces.runs[~run]})] += count
    return int(has.max())


def _balance_in_force(s: Scenario, system: System) -> Balance | None:
    """Return the plan in force and what it asks of each part; None where all parts are asked alike."""
    kind = kind_of(system)
    way = s.policy.sharding or (kind.default if kind else EVEN)
    if kind is None or (way == EVEN and not s.policy.plan):  # whatever the parts are made of
        return None
    parts = kind.parts(s, system)
    pieces = by_hand(s.policy.plan, s.model.num_tables, parts.number) if s.policy.plan else None
    if parts.number == 1:
        return None
    by_table = table_units(s, system, kind)
    pieces = pieces or made(way, _wanted(s, system, parts, by_table))
    return _part_balance(s, system, parts, pieces, by_table) if pieces else None


def _part_balance(s: Scenario, system: System, parts: Parts, pieces: Pieces, by_table: TableUnits) -> Balance:
    """Return what a plan asks of each part, as the popularity lets expect."""
    number, tiers = parts.number, system.tiers
    lookups, rows, index = loaded(spreads(s), pieces, number)
    placed = tiers(s) if tiers else Tiers({}, np.zeros((2, s.model.num_tables)))
    far, kept = spread(pieces, placed.far, number), spread(pieces, np.array([table_nbytes(s), *placed.kept.values()]), number)
    work, weight = PartWork(lookups, rows, far), None
    if len(row_kinds(s)[0]) > 1:
        weighted = loaded(spreads(s), pieces, number, np.array([by_table.lookups, by_table.rows]))
        weight = tuple(by_table.lookups.tolist()), tuple(by_table.rows.tolist())
        work = PartWork(weighted[0], weighted[1], spread(pieces, placed.far * by_table.far, number))
    return Balance(parts, pieces, lookups, rows, index, kept[0], far, dict(zip(placed.kept, kept[1:], strict=True)), work, weight)


def _wanted(s: Scenario, system: System, parts: Parts, by_table: TableUnits) -> Wanted:
    """Return what plans are made for."""
    touched, vector, index_nbytes, units = expected(s), vector_nbytes(s), index_bytes(s), by_table.units
    first = over([(0,)], np.zeros(1, dtype=np.int64))
    if isinstance(vector, float):
        way: Any = _crossing(units, vectors(parts, first, vector))
    else:
        way = _crossing(units, vectors(parts, first, 1.0)) * vector
    alone = table_seconds(touched, by_table) + units.piece * by_table.pieces
    places = [(place, need / table_bytes(s), have, sharing) for place, need, have, sharing in memories(s, system) if need]
    kept: Mapping[str, Floats] = {place: share * table_nbytes(s) for place, share, _, _ in places}
    far = np.zeros((0, s.model.num_tables))
    if system.tiers:
        kept, far = system.tiers(s)
        far = far * by_table.far
        alone = alone + far.sum(axis=0) * units.far
    nbytes = np.array([kept[place] for place, _, _, _ in places]).reshape(len(places), -1)
    rooms, sharing = tuple(have for _, _, have, _ in places), tuple(size for _, _, _, size in places)
    even, batch = float(alone.sum()) / parts.number, spreads(s)

    weight = np.array([by_table.lookups, by_table.rows])

    def slowest(pieces: Pieces, than: float) -> float:
        """Return infinity where already its vectors and an even share of the work take longer `than` that."""
        sent = 2 * _crossing(units, vectors(parts, pieces, vector))
        if even + sent > than * (1 + ROUNDED):
            return np.inf
        lookups, rows, index = loaded(batch, pieces, parts.number, weight)
        outside = spread(pieces, far, parts.number).sum(axis=0)
        sent += _crossing(units, indices(parts, index_nbytes * index))
        piece_seconds = units.piece * _most_pieces(pieces, parts.number, by_table.pieces) if units.piece else 0.0
        return float(lookups.max() * units.lookup + rows.max() * units.row + outside.max() * units.far) + piece_seconds + sent

    columns = np.array(per_table(s.model, "embedding_dim"))
    return Wanted(parts, alone + 2 * way, nbytes, columns, rooms, sharing, slowest)


def _crossing(units: Units, bytes_: Crossing) -> float:
    return max(bytes_.fabric * units.fabric, bytes_.network * units.network)


def _crossings(s: Scenario, system: System, balance: Balance | None) -> tuple[Crossing, Crossing]:
    """Return the bytes of pooled vectors, and of row indices, that cross between parts one way.

    Gradients of the vectors are as large. As indices are spread, so are the lengths of uneven bags.
    """
    kind, vector, index = kind_of(system), vector_nbytes(s), index_bytes(s)
    if balance:
        found = vectors(balance.parts, balance.pieces, vector), indices(balance.parts, index * balance.indices)
    else:
        parts = (kind or KINDS["gpus"]).parts(s, system)
        found = even(parts, s.model.num_tables * sent_bytes(s)), even(parts, index * float(expected(s).lookups.sum()))
    cards, hosts = (kind.cards(s), kind.hosts) if kind else (1, False)
    pooled, asked = (one._replace(network=one.network / cards, hosts=hosts) for one in found)
    return pooled, asked


def _far(balance: Balance) -> Far:
    """Return how a plan spreads rows outside HBM, as the popularity lets expect; caches hold an even share of all parts' rows."""
    rows, group = balance.work.far.sum(axis=0), balance.parts.group
    return Far(skew(rows), *(skew(np.bincount(group, one).astype(np.float64)) for one in (rows, balance.work.far[1])))


def _links(s: Scenario, balance: Balance) -> Links:
    """Return what a plan makes of the traffic between one GPU and the groups that have pieces of tables."""
    groups, vector = np.zeros((4, balance.parts.groups)), vector_nbytes(s)
    wide, unit = (balance.pieces, 1.0) if isinstance(vector, float) else weighed(balance.pieces, vector / vector.mean())
    for width, place in zip(*alike(wide), strict=True):
        mine = balance.pieces.runs[~place] if place < 0 else (place,)
        groups[0, np.unique(balance.parts.group[list(mine)])] += unit * width  # each sums its own rows
    for row, amounts in zip(groups[1:], (balance.indices, balance.work.rows, balance.work.lookups), strict=True):
        row += np.bincount(balance.parts.group, weights=amounts, minlength=len(row))
    whole = (s.model.num_tables, expected(s).lookups.sum(), balance.work.rows.sum(), balance.work.lookups.sum())
    return Links(*((float(each.sum() / one), skew(each)) for each, one in zip(groups, whole, strict=True)))
