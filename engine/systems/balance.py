"""Balance: each part's load under the plan in force, and the traffic between parts.

The slowest part decides the time of a task. Energy, bytes and wear are summed over all parts.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.arrays import Flags, Floats
from ..core.memo import memoised
from ..scenario.scenario import Scenario, per_table
from ..workload.accesses import expected_accesses
from ..workload.row_spread import spreads
from .exchange.crossing import NO_CROSSING, Crossing, even_crossing, index_crossing, vector_crossing
from .exchange.fullest import sender_bytes
from .exchange.owners import has_owners, is_pool, owner_crossings
from .exchange.replicas import NO_REPLICAS, choose_replicas
from .exchange.sent import index_bytes, sent_bytes, sent_pieces, vector_nbytes
from .parts import EVEN_SHARES, KINDS, TableUnits, Units, kind_of, memories, table_seconds, table_units
from .placement import Tiers
from .row_kinds import row_kinds
from .sharding import (
    Parts,
    Pieces,
    PlanRequest,
    distinct_pieces,
    loaded,
    make_plan,
    parse_plan,
    plan_over_runs,
    spread_amounts,
    weight_widths,
)
from .system import System
from .table_placement import Balance, FarSkews, Links, PartWork, Skews, TablePlacement, skew
from .traffic import table_bytes, table_nbytes, table_states

ROUNDED = 1e-9  # relative difference of sums in another order


@memoised(each_point_alone=True)
def table_placement(s: Scenario, system: System) -> TablePlacement:
    """Return the placement of tables by the plan in force.

    Raises BadKnob for a plan that cannot be read.
    """
    balance = _balance_in_force(s, system)
    skews = Skews(skew(balance.work.lookups), skew(balance.work.rows)) if balance else Skews()
    far_skews = _far_skews(balance) if balance and system.tiers else FarSkews()
    links = _links(s, balance) if balance and "cxl" in system.devices else Links()
    pooled, indices_sent = _crossings(s, system, balance) if system.can_use_many_gpus else (NO_CROSSING, NO_CROSSING)
    fullest = table_bytes(s) / s.machine.num_gpus * (skew(balance.table_bytes) if balance else 1.0)
    vectors = float(sender_bytes(s, system, balance).max())
    replicas = choose_replicas(s, pooled, fullest, vectors) if system.can_replicate else NO_REPLICAS
    tables = _most_pieces(balance.pieces, balance.parts.number, _updated_alone(s)) if balance else s.model.num_tables
    return TablePlacement(balance, skews, far_skews, links, pooled, indices_sent, replicas, float(tables))


def _updated_alone(s: Scenario) -> Flags:
    """Return a mask of the tables whose pieces count, (T,): those with optimizer state, else all."""
    stateful = np.array(table_states(s)) > 0
    return stateful if stateful.any() else ~stateful


def _most_pieces(pieces: Pieces, parts: int, counted_tables: Flags) -> int:
    """Return the largest number of pieces of `counted_tables` on one part."""
    place = pieces.place[counted_tables[pieces.table]]
    piece_counts = np.bincount(place[place >= 0], minlength=parts)
    for run, count in zip(*np.unique(place[place < 0], return_counts=True), strict=True):
        piece_counts[list({*pieces.runs[~run]})] += count
    return int(piece_counts.max())


def _balance_in_force(s: Scenario, system: System) -> Balance | None:
    """Return the plan in force with each part's load; None for equal loads."""
    kind = kind_of(system)
    way = s.policy.sharding or (kind.default_sharding if kind else EVEN_SHARES)
    if kind is None or (way == EVEN_SHARES and not s.policy.plan):  # equal loads on any kind of part
        return None
    parts = kind.parts(s, system)
    pieces = parse_plan(s.policy.plan, s.model.num_tables, parts.number) if s.policy.plan else None
    if parts.number == 1:
        return None
    by_table = table_units(s, system, kind)
    pieces = pieces or make_plan(way, _plan_request(s, system, parts, by_table))
    return _part_balance(s, system, parts, pieces, by_table) if pieces else None


def _part_balance(s: Scenario, system: System, parts: Parts, pieces: Pieces, by_table: TableUnits) -> Balance:
    """Return the expected load of each part under a plan, by the popularity."""
    number, tiers = parts.number, system.tiers
    lookups, rows, index = loaded(spreads(s), pieces, number)
    tiers_in_force = tiers(s) if tiers else Tiers({}, np.zeros((2, s.model.num_tables)))
    far_rows, nbytes_by_place = (
        spread_amounts(pieces, tiers_in_force.far_rows, number),
        spread_amounts(pieces, np.array([table_nbytes(s), *tiers_in_force.nbytes_by_memory.values()]), number),
    )
    work, weight = PartWork(lookups, rows, far_rows), None
    if len(row_kinds(s)[0]) > 1:
        weighted = loaded(spreads(s), pieces, number, np.array([by_table.lookups, by_table.rows]))
        weight = tuple(by_table.lookups.tolist()), tuple(by_table.rows.tolist())
        work = PartWork(weighted[0], weighted[1], spread_amounts(pieces, tiers_in_force.far_rows * by_table.far_rows, number))
    return Balance(
        parts,
        pieces,
        lookups,
        rows,
        index,
        nbytes_by_place[0],
        far_rows,
        dict(zip(tiers_in_force.nbytes_by_memory, nbytes_by_place[1:], strict=True)),
        work,
        weight,
    )


def _plan_request(s: Scenario, system: System, parts: Parts, by_table: TableUnits) -> PlanRequest:
    """Return the requirements of a plan: loads, rooms and costs of tables."""
    accesses, vector, index_nbytes, units = expected_accesses(s), vector_nbytes(s), index_bytes(s), by_table.units
    first_part = plan_over_runs([(0,)], np.zeros(1, dtype=np.int64))
    if np.ndim(vector) == 0:
        way: Any = _crossing(units, vector_crossing(parts, first_part, vector))
    else:
        way = _crossing(units, vector_crossing(parts, first_part, 1.0)) * vector
    single_part_seconds = table_seconds(accesses, by_table) + units.piece * by_table.pieces
    places = [(place, need / table_bytes(s), capacity, sharing) for place, need, capacity, sharing in memories(s, system) if need]
    table_nbytes_by_place: Mapping[str, Floats] = {place: share * table_nbytes(s) for place, share, _, _ in places}
    far_rows = np.zeros((0, s.model.num_tables))
    if system.tiers:
        table_nbytes_by_place, far_rows = system.tiers(s)
        far_rows = far_rows * by_table.far_rows
        single_part_seconds = single_part_seconds + far_rows.sum(axis=0) * units.far_row
    nbytes = np.array([table_nbytes_by_place[place] for place, _, _, _ in places]).reshape(len(places), -1)
    rooms, sharing = tuple(capacity for _, _, capacity, _ in places), tuple(size for _, _, _, size in places)
    even_seconds, batch = float(single_part_seconds.sum()) / parts.number, spreads(s)

    weight = np.array([by_table.lookups, by_table.rows])

    def slowest(pieces: Pieces, than: float) -> float:
        """Return the seconds of a plan's slowest parts, or infinity if certainly more than `than`.

        The estimate is infinite if its vectors and an even share of the work already take longer.
        """
        exchange_seconds = 2 * _crossing(units, vector_crossing(parts, sent_pieces(s, pieces), vector))
        if even_seconds + exchange_seconds > than * (1 + ROUNDED):
            return np.inf
        lookups, rows, index = loaded(batch, pieces, parts.number, weight)
        outside_rows = spread_amounts(pieces, far_rows, parts.number).sum(axis=0)
        exchange_seconds += _crossing(units, index_crossing(parts, index_nbytes * index))
        piece_seconds = units.piece * _most_pieces(pieces, parts.number, by_table.pieces) if units.piece else 0.0
        return (
            float(lookups.max() * units.lookup + rows.max() * units.row + outside_rows.max() * units.far_row)
            + piece_seconds
            + exchange_seconds
        )

    columns = np.array(per_table(s.model, "embedding_dim"))
    return PlanRequest(parts, single_part_seconds + 2 * way, nbytes, columns, rooms, sharing, slowest)


def _crossing(units: Units, bytes_: Crossing) -> float:
    """Return the seconds of an exchange, with fabric and network in parallel."""
    return max(bytes_.fabric * units.fabric, bytes_.network * units.network)


def _crossings(s: Scenario, system: System, balance: Balance | None) -> tuple[Crossing, Crossing]:
    """Return the bytes of pooled vectors, and of row indices, between parts or GPUs, one way.

    Gradients of the vectors are as large. The lengths of uneven bags are spread like the indices.
    """
    if is_pool(system):
        return owner_crossings(s) if has_owners(s, system) else (NO_CROSSING, NO_CROSSING)
    kind, vector, index = kind_of(system), vector_nbytes(s), index_bytes(s)
    if balance:
        crossings = (
            vector_crossing(balance.parts, sent_pieces(s, balance.pieces), vector),
            index_crossing(balance.parts, index * balance.indices),
        )
    else:
        parts = (kind or KINDS["gpus"]).parts(s, system)
        crossings = (
            even_crossing(parts, s.model.num_tables * sent_bytes(s)),
            even_crossing(parts, index * float(expected_accesses(s).lookups.sum())),
        )
    cards, hosts = (kind.network_cards(s), kind.hosts) if kind else (1, False)
    pooled, indices_sent = (crossing._replace(network=crossing.network / cards, hosts=hosts) for crossing in crossings)
    return pooled, indices_sent


def _far_skews(balance: Balance) -> FarSkews:
    """Return the expected skews of rows outside HBM under a plan.

    Caches hold an even share of all parts' rows.
    """
    rows, group = balance.work.far_rows.sum(axis=0), balance.parts.group
    return FarSkews(
        skew(rows), *(skew(np.bincount(group, amounts).astype(np.float64)) for amounts in (rows, balance.work.far_rows[1]))
    )


def _links(s: Scenario, balance: Balance) -> Links:
    """Return a plan's traffic between one GPU and the groups that have pieces of tables."""
    groups = np.zeros((4, balance.parts.groups))
    vector: Any = vector_nbytes(s)
    pieces = sent_pieces(s, balance.pieces)
    weighted, unit = (pieces, 1.0) if np.ndim(vector) == 0 else weight_widths(pieces, vector / vector.mean())
    for width, place in zip(*distinct_pieces(weighted), strict=True):
        owners = balance.pieces.runs[~place] if place < 0 else (place,)
        groups[0, np.unique(balance.parts.group[list(owners)])] += unit * width  # each group sums its own rows
    for row, amounts in zip(groups[1:], (balance.indices, balance.work.rows, balance.work.lookups), strict=True):
        row += np.bincount(balance.parts.group, weights=amounts, minlength=len(row))
    even_totals = (s.model.num_tables, expected_accesses(s).lookups.sum(), balance.work.rows.sum(), balance.work.lookups.sum())
    return Links(
        *(
            (float(group_amounts.sum() / even_total), skew(group_amounts))
            for group_amounts, even_total in zip(groups, even_totals, strict=True)
        )
    )
