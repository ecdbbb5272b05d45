"""Expected misses of a cache in front of the tables: unique rows of a batch that it must fetch, by policy.

A cache serves whole batches: a row is fetched once for a batch, however often the batch looks it up, and rows of the
batch itself are never pushed out.
"""

from collections.abc import Callable, Mapping, Sequence
from math import lgamma
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Floats
from ...core.memo import remembered
from ...scenario.scenario import Scenario, per_table
from ..accesses import lookups
from ..bags import chances, generating, length_cv
from ..expected import CLOSENESS, HALVINGS, absent, gap_rate, in_both, refused_share, stay, unused
from ..popularity import alike, popularities
from ..sampling import head_quantile, links
from ..spectrum import Spectrum, id_space, spectra
from .locked_sets import WAYS, locked_sets


class ExpectedMoves(NamedTuple):
    """Per batch: unique rows that a cache does not hold when it begins, lookups of these, and those it has no place for."""

    misses: float
    missed_lookups: float
    refused: float = 0.0


NOTHING = ExpectedMoves(0.0, 0.0)
TINY = 1e-30  # step of a derivative along the imaginary axis, which has no rounding to fear


def expected_moves(
    s: Scenario, policy: str, capacity_rows: float, at_once: int = 1, tables: Sequence[int] | None = None
) -> ExpectedMoves:
    """Return what a cache of `capacity_rows` rows over all tables, or some, moves per batch; `at_once` batches count as one."""
    if tables is not None and not len(tables):
        return NOTHING
    space, batch = id_space(s, tables), lookups(s)
    served = at_once * float((batch if tables is None else batch[list(tables)]).sum())
    if _holds_all(space, policy, capacity_rows):
        return NOTHING
    state = STAYS[policy](s, space, served, max(capacity_rows, 0.0))
    missing, unmet = _missing(s, space, state, served)
    misses, missed = float(state.rows @ missing), served * float((state.rows * space.p) @ unmet)
    refused = misses if state.refused is None else min(misses, state.refused)
    return ExpectedMoves(misses / at_once, missed / at_once, refused / at_once)


def _holds_all(space: Spectrum, policy: str, capacity_rows: float) -> bool:
    """Return whether every row that is ever used has a place; one that a hash sends to the host has none."""
    return policy != "hash" and capacity_rows >= float(space.rows.sum())


def _missing(s: Scenario, space: Spectrum, state: "State", served: float) -> tuple[Floats, Floats]:
    """Return the chances that a row of each class is missing in a batch, and that a lookup of such a row misses."""
    x, c, (_, stays, admitted, _) = gap_rate(space.p), s.data.locality, state
    away = unused(stays * x, c)
    back, afresh = away - unused((stays + served) * x, c), away * _afresh(x, c, stays, served)
    if admitted == 1:
        return back, afresh
    gone = refused_share(away, admitted)  # of the rows that were used while rows stay
    used = 1 - unused(served * x, c)
    return back + gone * (used - back), afresh + gone * (1 - afresh)


def _afresh(x: Floats, c: float, stays: float, served: float) -> Floats:
    """Return the chance that a use of a row, given as mean gaps a lookup, follows none of those for which the row would stay."""
    pace = CLOSENESS * (1 - c) * served * x
    reaches = c * -np.expm1(-pace) / pace  # a use's chain of forerunners reaches back beyond its own batch
    return 1 - reaches * -np.expm1(-CLOSENESS * stays * x)


def expected_unique(s: Scenario, batches: int) -> float:
    """Return the unique rows of so many batches together."""
    space = id_space(s)
    return float(space.rows @ (1 - unused(batches * float(lookups(s).sum()) * gap_rate(space.p), s.data.locality)))


def spread(s: Scenario, parts: int) -> float:
    """Return how many copies of a batch's unique rows its `parts` parts need between them, each its own unique rows."""
    space = id_space(s)
    x, c = float(lookups(s).sum()) * gap_rate(space.p), s.data.locality
    return float(parts * (space.rows @ (1 - unused(x / parts, c))) / (space.rows @ (1 - unused(x, c))))


def look_ahead_rows(s: Scenario) -> float:
    """Return the rows that lie between two uses at most `policy.look_ahead_batches` apart: what look-ahead holds.

    The time from a row's last use to its next is then a sum of two exponential times; locality is left out.
    """
    space = id_space(s)
    x = s.policy.look_ahead_batches * float(lookups(s).sum()) * gap_rate(space.p)
    return float(space.rows @ (1 - np.exp(-x) * (1 + x)))


class Alone(NamedTuple):
    """Shares of the rows that look-ahead fetches, and of as many that it sends home, that one lookup alone wants of them.

    `passing` rows come for one lookup and go with its batch; `last` ones are used once by the last batch that uses them.
    """

    passing: float
    last: float


def alone(s: Scenario) -> Alone:
    """Return how many rows look-ahead moves for one lookup's sake; a use's nearest ones lie at the middle of its batch."""
    space, ahead, c = id_space(s), s.policy.look_ahead_batches, s.data.locality
    x = float(lookups(s).sum()) * gap_rate(space.p)
    here, beyond = (unused(n * x, c) * (1 - c + c * np.exp(-CLOSENESS * n * x)) for n in (0.5, ahead + 0.5))
    fetched = float(space.rows @ (unused(ahead * x, c) - unused((ahead + 1) * x, c)))
    once = space.rows * x * beyond
    passing, last = (min(1.0, float(once @ stays) / max(fetched, TINY)) for stays in (beyond, here))  # small tables never leave
    return Alone(passing, last)


def conflicts(rows: Any, capacity: float) -> Any:
    """Return how many of a batch's `rows` unique rows are expected to find their set full of others of the batch."""
    each = np.maximum(np.asarray(rows, dtype=np.float64) / max(1, int(capacity) // WAYS), 1e-9)
    ways = np.arange(WAYS + 1)
    chance = np.exp(ways * np.log(each)[..., None] - each[..., None] - np.array([lgamma(way + 1) for way in ways]))
    more = np.clip(1 - chance.sum(axis=-1), 0, None)  # than there are ways
    return rows * np.clip(more + chance[..., -1] - WAYS * more / each, 0, None)


class State(NamedTuple):
    """Steady state of a cache: how many rows of each class can be missing, and for how many lookups an unused one stays.

    admitted: share of missing rows that it takes in; refused: rows of a batch that it does not, None if it takes in none.
    """

    rows: Floats
    stays: float
    admitted: float = 1.0
    refused: float | None = 0.0


# From scenario, rows, lookups of a batch and room in rows to the steady state.
Steady = Callable[[Scenario, Spectrum, float, float], State]


def _recency(s: Scenario, space: Spectrum, batch: float, capacity: float) -> State:
    """LRU: a row is fetched when its last use lies further back than rows stay."""
    return State(space.rows, float(stay(space, capacity, s.data.locality)) if capacity >= 1 else 0.0)


def _recency_in_sets(s: Scenario, space: Spectrum, batch: float, capacity: float) -> State:
    """LRU in sets of ways: as good as over all rows but where the rows of two batches, which are locked, fill a set."""
    return State(space.rows, *locked_sets(space, batch, capacity, s.data.locality))


def _frequency(s: Scenario, space: Spectrum, batch: float, capacity: float) -> State:
    """The most popular rows stay; the batch's others share what is left, so of these the batch before's are still there."""
    touched = 1 - unused(batch * gap_rate(space.p), s.data.locality)
    low, high = 0.0, capacity
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        room = middle + float((space.rows - head(space, middle)) @ touched) <= capacity
        low, high = (middle, high) if room else (low, middle)
    return State(space.rows - head(space, low), batch)


def _most_used(s: Scenario, space: Spectrum, batch: float, capacity: float) -> State:
    """The most popular rows of each set stay, and no other row comes in; rows lie at random over the sets."""
    hottest = np.concatenate(([0.0], np.cumsum(space.rows)))
    return State(np.diff(conflicts(hottest, capacity)), 0.0, refused=None)


def _look_ahead(s: Scenario, space: Spectrum, batch: float, capacity: float) -> State:
    """A row has stayed if one of the batches before has used it: those are what it was seen for."""
    return State(space.rows, s.policy.look_ahead_batches * batch)


def _hashed(s: Scenario, space: Spectrum, batch: float, capacity: float) -> State:
    """A share of all rows is held for good, popular or not."""
    share = min(1.0, capacity / sum(per_table(s.model, "num_embeddings")))
    return State(space.rows * (1 - share), 0.0, refused=None)


STAYS: Mapping[str, Steady] = {
    "lru": _recency,
    "lru in sets": _recency_in_sets,
    "lfu in sets": _most_used,
    "lfu": _frequency,  # counts that never age end up as frequencies
    "frequency": _frequency,
    "look-ahead": _look_ahead,
    "hash": _hashed,
}


def head(space: Spectrum, capacity: float) -> Floats:
    """Return how many rows of each class are among the `capacity` most popular ones."""
    before = np.concatenate(([0.0], np.cumsum(space.rows)[:-1]))
    return np.clip(capacity - before, 0.0, space.rows)


def hottest(s: Scenario, capacity: float) -> tuple[Floats, Floats]:
    """Return (T,) how many of the `capacity` most popular rows each table has, and their share of its lookups."""
    every = alike(s)
    tables, pooling = spectra(every.laws), np.array(every.pooling, dtype=np.float64)
    kind = np.repeat(np.arange(len(pooling)), np.diff(tables.start, append=len(tables.p)))
    p, rows = tables.p * (pooling / (pooling @ every.tables))[kind], tables.rows * every.tables[kind]
    order = np.argsort(-p, kind="stable")
    kept = np.empty_like(p)
    kept[order] = np.clip(capacity - np.concatenate(([0.0], np.cumsum(rows[order])[:-1])), 0.0, rows[order])
    whole = np.where(kept == rows, tables.rows, 0.0)
    found, mass = (
        np.bincount(kind, weights=amount, minlength=len(pooling))[every.kind].astype(np.float64)
        for amount in (whole, whole * tables.p)
    )
    for cut in np.flatnonzero((kept > 0) & (kept < rows)):  # one class at most, which the first tables of its kind have whole
        mine = np.flatnonzero(every.kind == kind[cut])
        part = np.clip(kept[cut] - np.arange(len(mine)) * tables.rows[cut], 0.0, tables.rows[cut])
        found[mine] += part
        mass[mine] += part * tables.p[cut]
    return found, mass


def unique_by_table(s: Scenario, batches: float = 1.0) -> Floats:
    """Return the (T,) unique rows of so many batches together by table."""
    return _by_table(s, lambda x: 1 - unused(batches * x, s.data.locality))[0][alike(s).kind]


def look_ahead_by_table(s: Scenario) -> Floats:
    """Return the (T,) rows that look-ahead holds, as `look_ahead_rows` counts them, by table."""
    ahead = s.policy.look_ahead_batches
    return _by_table(s, lambda x: 1 - np.exp(-ahead * x) * (1 + ahead * x))[0][alike(s).kind]


def hot_unique(s: Scenario, capacity: float) -> Floats:
    """Return the (T,) unique rows of a batch by table that are among the `capacity` most popular rows of all tables."""
    sums, used = _by_table(s, lambda x: 1 - unused(x, s.data.locality))
    every, hot = alike(s), hottest(s, capacity)[0]
    of = spectra(every.laws)
    start, end = of.start, np.append(of.start[1:], len(of.p))
    found = np.zeros(s.model.num_tables)
    for kind in range(len(every.laws)):
        mine, classes = every.kind == kind, slice(start[kind], end[kind])
        rows, unique = (np.concatenate(([0.0], np.cumsum(amount[classes]))) for amount in (of.rows, used))
        found[mine] = np.minimum(np.interp(hot[mine], rows, unique), sums[kind])
    return found


def _by_table(s: Scenario, measure: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
    """Return the sum of a `measure` of a row's mean uses in a batch over each kind of table, and over each class of rows."""
    every = alike(s)
    of, pooling = spectra(every.laws), np.array(every.pooling, dtype=np.float64)
    total = float(lookups(s).sum())
    p = of.p * np.repeat(pooling * s.data.batch_size / total, np.diff(of.start, append=len(of.p)))
    used = of.rows * measure(total * gap_rate(p))
    return np.add.reduceat(used, of.start), used


def popular_sums(s: Scenario, nbytes: Floats) -> tuple[Floats, Floats]:
    """Return how many rows are at least as popular as those of each class, and their bytes, given the (T,) bytes of a row.

    Tables alike in popularity have their mean row.
    """
    every = alike(s)
    tables, pooling = spectra(every.laws), np.array(every.pooling, dtype=np.float64)
    kind = np.repeat(np.arange(len(pooling)), np.diff(tables.start, append=len(tables.p)))
    mean = np.bincount(every.kind, weights=nbytes, minlength=len(pooling)) / every.tables
    rows, order = tables.rows * every.tables[kind], np.argsort(-tables.p * pooling[kind], kind="stable")
    summed = (np.concatenate(([0.0], np.cumsum(amount[order]))) for amount in (rows, rows * mean[kind]))
    reached, filled = summed
    return reached, filled


def cached_rows_by_table(s: Scenario, policy: str, capacity_rows: float) -> Floats:
    """Return the (T,) rows of each table that an LRU cache of so many rows over all tables is expected to hold."""
    every, space = alike(s), id_space(s)
    if capacity_rows >= space.rows.sum():
        return np.array(per_table(s.model, "num_embeddings"), dtype=np.float64)
    _, stays, admitted, _ = STAYS[policy](s, space, float(lookups(s).sum()), max(capacity_rows, 0.0))
    of, c = spectra(every.laws), s.data.locality
    weight = np.array(every.pooling, dtype=np.float64) * s.data.batch_size / lookups(s).sum()
    p = of.p * np.repeat(weight, np.diff(of.start, append=len(of.p)))
    held = of.rows * (1 - absent(unused(stays * gap_rate(p), c), admitted))
    rows: Floats = np.add.reduceat(held, of.start)[every.kind]
    return rows


def missed_rows(s: Scenario, policy: str, capacity_rows: float, at_once: int = 1, tables: Sequence[int] | None = None) -> Floats:
    """Return the (T,) unique rows of a batch by table that a cache over all tables, or some, does not hold; 0 of others."""
    return _missed_by_table(s, policy, capacity_rows, at_once, tables)[0]


def missed_shares(
    s: Scenario, policy: str, capacity_rows: float, at_once: int = 1, tables: Sequence[int] | None = None
) -> Floats:
    """Return the (T,) share of each table's lookups whose row that cache does not hold when their batch begins; 0 of others."""
    return _missed_by_table(s, policy, capacity_rows, at_once, tables)[1]


def _missed_by_table(
    s: Scenario, policy: str, capacity_rows: float, at_once: int, tables: Sequence[int] | None
) -> tuple[Floats, Floats]:
    every, missed, shares = alike(s), np.zeros(s.model.num_tables), np.zeros(s.model.num_tables)
    which = np.arange(len(missed)) if tables is None else np.array(tables, dtype=np.int64)
    if not len(which):
        return missed, shares
    space, batch = id_space(s, tables), lookups(s)
    if _holds_all(space, policy, capacity_rows):
        return missed, shares
    served = at_once * float(batch[which].sum())
    state = STAYS[policy](s, space, served, max(capacity_rows, 0.0))
    missing, unmet = (state.rows / space.rows * amount for amount in _missing(s, space, state, served))
    order = np.argsort(space.p)
    of, weight = spectra(every.laws), np.array(every.pooling, dtype=np.float64) * s.data.batch_size / batch[which].sum()
    p = of.p * np.repeat(weight, np.diff(of.start, append=len(of.p)))
    found = np.add.reduceat(of.rows * np.interp(p, space.p[order], missing[order]), of.start)
    missed[which] = found[every.kind[which]] / at_once
    met = np.interp(p, space.p[order], unmet[order])
    shares[which] = np.add.reduceat(of.rows * of.p * met, of.start)[every.kind[which]]
    return missed, shares


@remembered(most=64)
def popular_shares(s: Scenario, capacity: float) -> tuple[float, float]:
    """Return the share of samples whose every lookup meets one of the `capacity` most popular rows, and that of their lookups.

    The mean of z^(a sample's lookups) over popular samples alone is the first at z = 1; its slope there counts their lookups.
    """
    if capacity >= sum(per_table(s.model, "num_embeddings")):
        return 1.0, 1.0
    (rows, mass), pooling, cv = hottest(s, capacity), np.array(per_table(s.model, "pooling")), np.array(length_cv(s))
    groups, laws = links(s), popularities(s)
    heads = [sorted((head_quantile(laws[t], rows[t]), t) for t in group) for group in groups]
    if cv.any():
        z = 1 + TINY * 1j
        alone = generating(pooling, cv, z * mass)
        together = [_linked(group, [chances(int(pooling[t]), float(cv[t])) for _, t in group], z) for group in heads]
    else:
        alone, together = mass**pooling, [min(head ** float(pooling[t]) for head, t in group) for group in heads]
    others = np.delete(alone, [table for group in groups for table in group])
    linked = s.data.sample_correlation if groups else 0.0
    found = (1 - linked) * np.prod(alone) + linked * np.prod(others) * np.prod(together)
    share = min(1.0, float(found.real))
    return share, min(1.0, float(found.imag) / TINY / float(pooling.sum())) if cv.any() else share


def _linked(heads: list[tuple[float, int]], lengths: list[Floats], z: complex) -> complex:
    """Return the same for linked tables, which meet rows up to their `heads`, in ascending order, by the chances of lengths.

    Their n-th lookups have one quantile, so that the first head decides, but beyond the longest bag before.
    """
    longest = np.zeros(max(map(len, lengths)), dtype=np.complex128)
    longest[0] = 1.0
    for (head, _), chance in zip(heads, lengths, strict=True):
        mine = np.pad(chance, (0, len(longest) - len(chance))) * z ** np.arange(len(longest))
        before, reached = longest * np.cumsum(mine), 0j
        for length in range(1, len(longest)):
            reached = head * (reached + longest[length - 1])
            before[length] += mine[length] * reached
        longest = before
    return complex(longest.sum())


class Split(NamedTuple):
    """Shares of a batch's unique rows: those among the hot ones, and cold ones that the batch before has used too."""

    hot: float
    again: float


def hot_split(s: Scenario, capacity: float) -> Split:
    """Return how a batch's unique rows split when the `capacity` most popular rows of all tables count as hot."""
    space = id_space(s)
    x, locality = float(lookups(s).sum()) * gap_rate(space.p), s.data.locality
    void, hot = unused(x, locality), head(space, capacity)
    unique = float(space.rows @ (1 - void))
    both = in_both(void, unused(2 * x, locality))
    return Split(float(hot @ (1 - void)) / unique, float((space.rows - hot) @ both) / unique)
