"""Balance: what each part of a machine is asked for by the plan in force, and what crosses between parts.

The slowest part decides how long a task takes; energy, bytes and wear follow the sum over all parts.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..core.arrays import Floats
from ..core.memo import remembered
from ..registry import load
from ..scenario.scenario import Scenario, per_table
from ..units import FLOAT32
from ..workload.accesses import expected
from ..workload.bags import uneven_tables
from ..workload.row_spread import spreads
from .asked import loaded
from .crossing import Crossing, even, indices, vectors
from .parts import EVEN, KINDS, Units, kind_of, memories
from .placement import Tiers
from .sharding import Parts, Pieces, Wanted, alike, by_hand, made, over, spread
from .system import System
from .traffic import INDEX_BYTES, LENGTH_BYTES, mlp_gradient_bytes, row_bytes, table_bytes

ROUNDED = 1e-9  # what sums in another order may differ by
SCALED = 8  # bytes that an int8 vector carries besides: its scale and its offset, as in FBGEMM
SENT = {"fp32": (FLOAT32, 0), "fp16": (2, 0), "int8": (1, SCALED)}  # bytes of an element, and of a vector


class Balance(NamedTuple):
    """A plan with what it asks of each part in a batch, (P,): lookups, unique rows, indices, and bytes of tables held.

    A range of a table's columns counts as that share of a lookup, or of a row. `far` (2, P) are unique rows of tables outside
    HBM, in DRAM and below it, and `kept` the bytes in each memory, of a system that places tables over several.
    """

    parts: Parts
    pieces: Pieces
    lookups: Floats
    rows: Floats
    indices: Floats
    held: Floats
    far: Floats
    kept: Mapping[str, Floats]


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
    pieces = by_hand(s.policy.plan, s.model.num_tables, parts.number) if s.policy.plan else None
    if parts.number == 1:
        return None
    pieces = pieces or made(way, _wanted(s, load("systems", name), parts, kind.units(s)))
    return asked(s, parts, pieces) if pieces else None


def asked(s: Scenario, parts: Parts, pieces: Pieces) -> Balance:
    """Return what a plan asks of each part, as the popularity lets expect."""
    number, tiers = parts.number, load("systems", s.system).tiers
    lookups, rows, index = loaded(spreads(s), pieces, number)
    placed = tiers(s) if tiers else Tiers({}, np.zeros((2, s.model.num_tables)))
    far, kept = spread(pieces, placed.far, number), spread(pieces, np.array([_sizes(s), *placed.kept.values()]), number)
    return Balance(parts, pieces, lookups, rows, index, kept[0], far, dict(zip(placed.kept, kept[1:], strict=True)))


def _sizes(s: Scenario) -> Floats:
    """Return the bytes of each table, (T,)."""
    return np.array(per_table(s.model, "num_embeddings")) * float(row_bytes(s))


def _wanted(s: Scenario, system: System, parts: Parts, units: Units) -> Wanted:
    """Return what plans are made for."""
    touched, vector, index_nbytes = expected(s), sent_bytes(s), index_bytes(s)
    way = _crossing(units, vectors(parts, over([(0,)], np.zeros(1, dtype=np.int64)), vector))
    alone = touched.lookups * units.lookup + touched.unique_rows * units.row
    places = [(place, need / table_bytes(s), have, sharing) for place, need, have, sharing in memories(s, system) if need]
    kept: Mapping[str, Floats] = {place: share * _sizes(s) for place, share, _, _ in places}
    far = np.zeros((0, s.model.num_tables))
    if system.tiers:
        kept, far = system.tiers(s)
        alone = alone + far.sum(axis=0) * units.far
    nbytes = np.array([kept[place] for place, _, _, _ in places]).reshape(len(places), -1)
    rooms, sharing = tuple(have for _, _, have, _ in places), tuple(size for _, _, _, size in places)
    even, batch = float(alone.sum()) / parts.number, spreads(s)

    def slowest(pieces: Pieces, than: float) -> float:
        """Return infinity where already its vectors and an even share of the work take longer `than` that."""
        sent = 2 * _crossing(units, vectors(parts, pieces, vector))
        if even + sent > than * (1 + ROUNDED):
            return np.inf
        lookups, rows, index = loaded(batch, pieces, parts.number)
        outside = spread(pieces, far, parts.number).sum(axis=0)
        sent += _crossing(units, indices(parts, index_nbytes * index))
        return float(lookups.max() * units.lookup + rows.max() * units.row + outside.max() * units.far) + sent

    return Wanted(parts, alone + 2 * way, nbytes, s.model.embedding_dim, rooms, sharing, slowest)


def _crossing(units: Units, bytes_: Crossing) -> float:
    return max(bytes_.fabric * units.fabric, bytes_.network * units.network)


def sent_bytes(s: Scenario) -> float:
    """Return the bytes of one table's pooled vectors for all samples of a batch, in the precision in which they are sent."""
    element, vector = SENT[s.machine.exchange_precision]
    return float(s.data.batch_size * (element * s.model.embedding_dim + vector))


@remembered()
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


class Far(NamedTuple):
    """How many times the mean the GPU has, or the node, that has most unique rows outside HBM; `below` are those below DRAM."""

    gpu: float = 1.0
    node: float = 1.0
    below: float = 1.0


@remembered()
def far(s: Scenario, name: str) -> Far:
    """Return how a plan spreads rows outside HBM, as the popularity lets expect; caches hold an even share of all parts' rows."""
    found = balance(s, name)
    if found is None:
        return Far()
    rows, group = found.far.sum(axis=0), found.parts.group
    return Far(skew(rows), *(skew(np.bincount(group, one).astype(np.float64)) for one in (rows, found.far[1])))


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
    for width, place in zip(*alike(found.pieces), strict=True):
        mine = found.pieces.runs[~place] if place < 0 else (place,)
        groups[0, np.unique(found.parts.group[list(mine)])] += width  # each sums its own rows
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
