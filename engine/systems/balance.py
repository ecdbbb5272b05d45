"""Balance: what each part of a machine is asked for by the plan in force, and what crosses between parts.

The slowest part decides how long a task takes; energy, bytes and wear follow the sum over all parts.
"""

from typing import NamedTuple

import numpy as np

from ..core.arrays import Floats
from ..core.memo import remembered
from ..errors import BadKnob
from ..registry import load
from ..scenario.scenario import KNOBS, Scenario, per_table
from ..units import FLOAT32, GB
from ..workload.accesses import expected
from ..workload.bags import uneven_tables
from ..workload.popularity import popularities
from ..workload.row_spread import expected_spread
from .crossing import Crossing, even, indices, vectors
from .parts import EVEN, KINDS, Kind, Units, kind_of, memories
from .sharding import Parts, Piece, Pieces, Wanted, alike, by_hand, made
from .system import System
from .traffic import INDEX_BYTES, LENGTH_BYTES, mlp_gradient_bytes, row_bytes, table_bytes

ROUNDED = 1e-9  # what sums in another order may differ by
SCALED = 8  # bytes that an int8 vector carries besides: its scale and its offset, as in FBGEMM
SENT = {"fp32": (FLOAT32, 0), "fp16": (2, 0), "int8": (1, SCALED)}  # bytes of an element, and of a vector


Spreads = dict[tuple[int, int], list[tuple[float, float]]]  # by table and number of parts: lookups and rows of each part


class Balance(NamedTuple):
    """A plan with what it asks of each part in a batch, (P,): lookups, unique rows, indices, and bytes of tables held.

    A range of a table's columns counts as that share of a lookup, or of a row.
    """

    parts: Parts
    pieces: Pieces
    lookups: Floats
    rows: Floats
    indices: Floats
    held: Floats


def skew(amounts: Floats) -> float:
    """Return how many times the mean the largest amount is."""
    return float(amounts.max() / amounts.mean()) if amounts.any() else 1.0


@remembered()
def balance(s: Scenario, name: str) -> Balance | None:
    """Return the plan in force in system `name` and what it asks of each part; None where all parts are asked alike.

    Raises BadKnob for a plan by hand that cannot be read.
    """
    kind = kind_of(name)
    way = s.policy.sharding or (kind.default if kind else EVEN)
    if kind is None or (way == EVEN and not s.policy.plan):  # whatever the parts are made of
        return None
    parts = kind.parts(s)
    if parts.number == 1:
        return None
    if s.policy.plan:
        pieces = by_hand(s.policy.plan, s.model.num_tables, parts.number)
    else:
        pieces = made(way, _wanted(s, load("systems", name), parts, kind.units(s)))
    return asked(s, parts, pieces) if pieces else None


def asked(s: Scenario, parts: Parts, pieces: Pieces, known: Spreads | None = None) -> Balance:
    """Return what a plan asks of each part, as the popularity lets expect; `known` keeps how tables spread over some parts."""
    touched, size, spreads = expected(s), row_bytes(s), {} if known is None else known
    first = np.concatenate(([0], np.cumsum(per_table(s.model, "num_embeddings"))))
    each = zip(pieces, touched.lookups.tolist(), touched.unique_rows[0].tolist(), strict=True)
    where: list[int] = []
    amounts: list[tuple[float, float, float, float]] = []
    for table, (mine, lookups, rows) in enumerate(each):
        nbytes = float(first[table + 1] - first[table]) * size
        for width, over in mine:
            where += over
            if len(over) == 1:
                amounts.append((width * lookups, width * rows, lookups, width * nbytes))
                continue
            if (table, len(over)) not in spreads:
                law, start = popularities(s)[table], int(first[table])
                spread = expected_spread(law, start, lookups, rows, s.data.locality, len(over))
                spreads[table, len(over)] = [(float(some), float(of_rows)) for some, of_rows in zip(*spread, strict=True)]
            held = width * nbytes / len(over)
            amounts += [(width * some, width * of_rows, some, held) for some, of_rows in spreads[table, len(over)]]
    found = np.array(amounts).T
    return Balance(parts, pieces, *(np.bincount(where, one, parts.number).astype(np.float64) for one in found))


def _wanted(s: Scenario, system: System, parts: Parts, units: Units) -> Wanted:
    """Return what plans are made for."""
    touched, vector, index_nbytes = expected(s), sent_bytes(s), index_bytes(s)
    way = _crossing(units, vectors(parts, ((Piece(1.0, (0,)),),), vector))
    alone = touched.lookups * units.lookup + touched.unique_rows[0] * units.row + 2 * way
    nbytes = np.array(per_table(s.model, "num_embeddings"), dtype=np.float64) * row_bytes(s)
    whole = float(nbytes.sum())
    room = min((have / size * whole / need for _, need, have, size in memories(s, system) if need), default=np.inf)

    known: Spreads = {}
    even = float(touched.lookups.sum() * units.lookup + touched.unique_rows[0].sum() * units.row) / parts.number

    def slowest(pieces: Pieces, than: float) -> float:
        """Return infinity where already its vectors and an even share of the work take longer `than` that."""
        sent = 2 * _crossing(units, vectors(parts, pieces, vector))
        if even + sent > than * (1 + ROUNDED):
            return np.inf
        found = asked(s, parts, pieces, known)
        sent += _crossing(units, indices(parts, index_nbytes * found.indices))
        return float(found.lookups.max() * units.lookup + found.rows.max() * units.row) + sent

    return Wanted(parts, alone, nbytes, s.model.embedding_dim, room, slowest)


def _crossing(units: Units, bytes_: Crossing) -> float:
    return max(bytes_.fabric * units.fabric, bytes_.network * units.network)


def unfit(s: Scenario, name: str) -> str:
    """Return why the plan in force cannot be, as a sentence; "" where it can."""
    system, kind = load("systems", name), kind_of(name)
    given = f"policy.plan={s.policy.plan[:40]}" if s.policy.plan else f"policy.sharding={s.policy.sharding}"
    if kind is None:
        if not s.policy.plan and s.policy.sharding in (None, EVEN):
            return ""
        return (
            f"{given} is not possible: system={name} shares its work evenly; set it to {'nothing' if s.policy.plan else 'auto'}."
        )
    try:
        found = balance(s, name)
    except BadKnob as error:
        return str(error)
    return "" if found is None else _overfull(s, system, kind, found, given)


def _overfull(s: Scenario, system: System, kind: Kind, found: Balance, given: str) -> str:
    """Return which part has more than its memory holds, if the whole would fit when shared evenly."""
    for place, need, have, size in memories(s, system):
        held = found.held * need / table_bytes(s)
        rooms = np.arange(found.parts.number) // size
        full = np.bincount(rooms, weights=held)
        worst = int(full.argmax())
        if full[worst] > have >= need / len(full):
            who = f"{kind.title} {worst}" if size == 1 else f"node {worst}"
            other = "give it fewer tables" if s.policy.plan else "choose policy.sharding=planner or row-wise"
            more = kind.more or next(path for path in KNOBS if path.startswith(f"machine.{place}_capacity_"))
            asks = given if s.policy.plan or s.policy.sharding else "policy.sharding=auto"
            return (
                f"{asks} puts {full[worst] / GB:.3g} GB on {who}, whose {place} has {have / GB:.3g} GB left for tables; "
                f"{other}, or raise {more}."
            )
    return ""


def sent_bytes(s: Scenario) -> float:
    """Return the bytes of one table's pooled vectors for all samples of a batch, in the precision in which they are sent."""
    element, vector = SENT[s.machine.exchange_precision]
    return float(s.data.batch_size * (element * s.model.embedding_dim + vector))


def pooled(s: Scenario, name: str) -> Crossing:
    """Return what crosses between the parts of system `name`, one way, of a batch's pooled vectors or their gradients."""
    found, vector = balance(s, name), sent_bytes(s)
    if found is None:
        return _by_cards(s, name, even(among(s, name), s.model.num_tables * vector))
    return _by_cards(s, name, vectors(found.parts, found.pieces, vector))


def index(s: Scenario, name: str) -> Crossing:
    """Return what crosses of a batch's row indices, and as these are spread, of the lengths of uneven bags."""
    found, each = balance(s, name), expected(s).lookups
    nbytes = index_bytes(s)
    if found is None:
        return _by_cards(s, name, even(among(s, name), nbytes * float(each.sum())))
    return _by_cards(s, name, indices(found.parts, nbytes * found.indices))


def index_bytes(s: Scenario) -> float:
    """Return the bytes of a row's index, with its share of the lengths of uneven bags."""
    return INDEX_BYTES + LENGTH_BYTES * uneven_tables(s) / sum(per_table(s.model, "pooling"))


class Links(NamedTuple):
    """What crosses the links of groups, such as expanders, as (times as much as without a plan, skew over the links)."""

    vectors: tuple[float, float] = (1.0, 1.0)
    indices: tuple[float, float] = (1.0, 1.0)
    rows: tuple[float, float] = (1.0, 1.0)
    lookups: tuple[float, float] = (1.0, 1.0)


@remembered()
def links(s: Scenario, name: str) -> Links:
    """Return what a plan makes of the traffic between one GPU and the groups that have pieces of tables."""
    found = balance(s, name)
    if found is None:
        return Links()
    groups = np.zeros((4, found.parts.groups))
    for piece, times in alike(found.pieces).items():
        groups[0, np.unique(found.parts.group[list(piece.parts)])] += times * piece.width  # each sums its own rows
    for row, amounts in zip(groups[1:], (found.indices, found.rows, found.lookups), strict=True):
        row += np.bincount(found.parts.group, weights=amounts, minlength=len(row))
    whole = (s.model.num_tables, expected(s).lookups.sum(), found.rows.sum(), found.lookups.sum())
    return Links(*((float(each.sum() / one), skew(each)) for each, one in zip(groups, whole, strict=True)))


def layers(s: Scenario, name: str) -> Crossing:
    """Return what crosses when parts that each hold the MLPs sum their gradients, in a ring."""
    count = among(s, name).number
    return _by_cards(s, name, Crossing(*(2 * (count - 1) * mlp_gradient_bytes(s) * share for share in (1.0, 0.0, 1 / count))))


def _by_cards(s: Scenario, name: str, found: Crossing) -> Crossing:
    kind = kind_of(name)
    return found._replace(network=found.network / kind.cards(s)) if kind else found


def among(s: Scenario, name: str) -> Parts:
    """Return the parts that exchange vectors: those of its plan, or the GPUs."""
    return (kind_of(name) or KINDS["gpus"]).parts(s)
