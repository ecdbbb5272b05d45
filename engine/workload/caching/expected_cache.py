"""Expected misses of a row cache, by policy.

Misses are the unique rows that a batch must fetch. The cache serves whole batches: a row is fetched once for a batch, however
often the batch looks it up, and rows of the batch itself are never evicted.
"""

from collections.abc import Callable, Mapping, Sequence
from math import lgamma
from typing import Any, NamedTuple

import numpy as np

from ...core.arithmetic import total
from ...core.arrays import Floats
from ...core.memo import memoised, point_by_point
from ...scenario.scenario import Scenario, per_table
from ..accesses import table_lookups, without_repeats
from ..bags import chances, length_cv, length_generating_function
from ..expected import HALVINGS, REUSE_CLOSENESS, absent, both_windows_chance, gap_rate, refused_share, stay_time, unused_chance
from ..popularity import popularities, table_kinds
from ..sampling import head_quantile, linked_tables
from ..spectrum import Spectrum, id_space, table_spectra
from .locked_sets import WAYS, locked_sets


class ExpectedMoves(NamedTuple):
    """Expected rows of a batch: missed unique rows, their lookups, and refused rows."""

    misses: float
    missed_lookups: float
    refused: float = 0.0


NO_MOVES = ExpectedMoves(0.0, 0.0)
TINY = 1e-30  # step of a derivative along the imaginary axis, where no rounding occurs


@point_by_point
def expected_moves(
    s: Scenario, policy: str, capacity_rows: float, at_once: int = 1, tables: Sequence[int] | None = None
) -> ExpectedMoves:
    """Return the expected missed and refused rows per batch, over the given tables or all.

    The cache serves `at_once` batches as one.
    """
    if tables is not None and not len(tables):
        return NO_MOVES
    distinct = without_repeats(s)
    if distinct is not s:  # a repeated event misses as often as its first lookup; bags repeat nothing
        shares = missed_shares(distinct, policy, capacity_rows, at_once, tables)
        moves = expected_moves(distinct, policy, capacity_rows, at_once, tables)
        return moves._replace(missed_lookups=float(shares @ table_lookups(s)))
    space, batch = id_space(s, tables), table_lookups(s)
    served_lookups = at_once * float((batch if tables is None else batch[list(tables)]).sum())
    if _holds_all(space, policy, capacity_rows):
        return NO_MOVES
    state = STEADY_STATES[policy](s, space, served_lookups, max(capacity_rows, 0.0))
    missing_chance, lookup_miss_chance = _missing_chances(s, space, state, served_lookups)
    misses, missed = float(state.rows @ missing_chance), served_lookups * float((state.rows * space.p) @ lookup_miss_chance)
    refused = misses if state.refused is None else min(misses, state.refused)
    return ExpectedMoves(misses / at_once, missed / at_once, refused / at_once)


def _holds_all(space: Spectrum, policy: str, capacity_rows: float) -> bool:
    """Return whether every used row has a place; hashing sends some rows to the host."""
    return policy != "hash" and capacity_rows >= float(space.rows.sum())


def _missing_chances(s: Scenario, space: Spectrum, state: "CacheState", served_lookups: float) -> tuple[Floats, Floats]:
    """Return each class's chances that a row is missing in a batch, and that a lookup misses."""
    x, c, (_, stay_lookups, admitted, _) = gap_rate(space.p), s.data.locality, state
    absent_chance = unused_chance(stay_lookups * x, c)
    miss_chance = absent_chance - unused_chance((stay_lookups + served_lookups) * x, c)
    fresh_chance = absent_chance * _fresh_use_chance(x, c, stay_lookups, served_lookups)
    if admitted == 1:
        return miss_chance, fresh_chance
    refused_chance = refused_share(absent_chance, admitted)  # chance among rows that were used while rows stay
    use_chance = 1 - unused_chance(served_lookups * x, c)
    return miss_chance + refused_chance * (use_chance - miss_chance), fresh_chance + refused_chance * (1 - fresh_chance)


def _fresh_use_chance(x: Floats, c: float, stay_lookups: float, served_lookups: float) -> Floats:
    """Return the chance that no recent use has kept a row until its next use.

    `x` is the number of the row's mean gaps in a lookup.
    """
    pace = REUSE_CLOSENESS * (1 - c) * served_lookups * x
    reaches = c * -np.expm1(-pace) / pace  # a use's chain of forerunners reaches back beyond its own batch
    return 1 - reaches * -np.expm1(-REUSE_CLOSENESS * stay_lookups * x)


def set_conflicts(rows: Any, capacity: float) -> Any:
    """Return the expected unique rows of a batch that find their cache set full."""
    set_rows = np.maximum(np.asarray(rows, dtype=np.float64) / max(1, int(capacity) // WAYS), 1e-9)
    ways = np.arange(WAYS + 1)
    chance = np.exp(ways * np.log(set_rows)[..., None] - set_rows[..., None] - np.array([lgamma(way + 1) for way in ways]))
    overflow_chance = np.clip(1 - chance.sum(axis=-1), 0, None)  # more rows than ways
    return rows * np.clip(overflow_chance + chance[..., -1] - WAYS * overflow_chance / set_rows, 0, None)


class CacheState(NamedTuple):
    """The steady state of a cache.

    rows: rows of each class that can be missing; stay_lookups: lookups for which an unused row stays.
    admitted: share of missing rows that enter; refused: a batch's rows without a place, None if all missing rows are refused.
    """

    rows: Floats
    stay_lookups: float
    admitted: float = 1.0
    refused: float | None = 0.0


# From scenario, rows, lookups of a batch and room in rows to the steady state.
SteadyState = Callable[[Scenario, Spectrum, float, float], CacheState]


def _recency(s: Scenario, space: Spectrum, batch: float, capacity: float) -> CacheState:
    """LRU: a row is fetched when its last use lies further back than rows stay."""
    return CacheState(space.rows, float(stay_time(space, capacity, s.data.locality)) if capacity >= 1 else 0.0)


def _recency_in_sets(s: Scenario, space: Spectrum, batch: float, capacity: float) -> CacheState:
    """LRU in sets of ways: as LRU, but where locked rows of two batches fill a set."""
    return CacheState(space.rows, *locked_sets(space, batch, capacity, s.data.locality))


def _frequency(s: Scenario, space: Spectrum, batch: float, capacity: float) -> CacheState:
    """The most popular rows stay; a batch's other rows share the rest until the next batch."""
    use_chance = 1 - unused_chance(batch * gap_rate(space.p), s.data.locality)
    low, high = 0.0, capacity
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        room = middle + float((space.rows - head_rows(space, middle)) @ use_chance) <= capacity
        low, high = (middle, high) if room else (low, middle)
    return CacheState(space.rows - head_rows(space, low), batch)


def _most_used(s: Scenario, space: Spectrum, batch: float, capacity: float) -> CacheState:
    """The most popular rows of each set stay for good; rows lie at random over sets."""
    hottest = np.concatenate(([0.0], np.cumsum(space.rows)))
    return CacheState(np.diff(set_conflicts(hottest, capacity)), 0.0, refused=None)


def _look_ahead(s: Scenario, space: Spectrum, batch: float, capacity: float) -> CacheState:
    """Look-ahead: a row is there if one of the last W batches has used the row."""
    return CacheState(space.rows, s.policy.look_ahead_batches * batch)


def _hashed(s: Scenario, space: Spectrum, batch: float, capacity: float) -> CacheState:
    """Hashing: a random share of all rows is held for good."""
    share = min(1.0, capacity / total(per_table(s.model, "num_embeddings")))
    return CacheState(space.rows * (1 - share), 0.0, refused=None)


STEADY_STATES: Mapping[str, SteadyState] = {
    "lru": _recency,
    "lru in sets": _recency_in_sets,
    "lfu in sets": _most_used,
    "lfu": _frequency,  # counts that never age end up as frequencies
    "frequency": _frequency,
    "look-ahead": _look_ahead,
    "hash": _hashed,
}


def head_rows(space: Spectrum, capacity: float) -> Floats:
    """Return the number of rows of each class among the `capacity` most popular rows."""
    rows_ahead = np.concatenate(([0.0], np.cumsum(space.rows)[:-1]))
    return np.clip(capacity - rows_ahead, 0.0, space.rows)


def hottest_by_table(s: Scenario, capacity: float) -> tuple[Floats, Floats]:
    """Return each table's rows among the `capacity` hottest, (T,), and their lookup share, (T,)."""
    kinds = table_kinds(s)
    classes, pooling = table_spectra(kinds.laws), np.array(kinds.pooling, dtype=np.float64)
    kind = np.repeat(np.arange(len(pooling)), np.diff(classes.start, append=len(classes.p)))
    p, rows = classes.p * (pooling / (pooling @ kinds.table_counts))[kind], classes.rows * kinds.table_counts[kind]
    order = np.argsort(-p, kind="stable")
    kept_rows = np.empty_like(p)
    kept_rows[order] = np.clip(capacity - np.concatenate(([0.0], np.cumsum(rows[order])[:-1])), 0.0, rows[order])
    whole_rows = np.where(kept_rows == rows, classes.rows, 0.0)
    table_rows, mass = (
        np.bincount(kind, weights=amount, minlength=len(pooling))[kinds.kind_of_table].astype(np.float64)
        for amount in (whole_rows, whole_rows * classes.p)
    )
    for cut in np.flatnonzero((kept_rows > 0) & (kept_rows < rows)):  # at most one class, whole in the first tables of its kind
        kind_tables = np.flatnonzero(kinds.kind_of_table == kind[cut])
        part = np.clip(kept_rows[cut] - np.arange(len(kind_tables)) * classes.rows[cut], 0.0, classes.rows[cut])
        table_rows[kind_tables] += part
        mass[kind_tables] += part * classes.p[cut]
    return table_rows, mass


def unique_by_table(s: Scenario, batches: float = 1.0) -> Floats:
    """Return the expected unique rows of `batches` consecutive batches by table, (T,)."""
    return _by_table(s, lambda x: 1 - unused_chance(batches * x, s.data.locality))[0][table_kinds(s).kind_of_table]


def look_ahead_by_table(s: Scenario) -> Floats:
    """Return the rows that a look-ahead cache holds by table, (T,); see `look_ahead_rows`."""
    ahead_batches = s.policy.look_ahead_batches
    return _by_table(s, lambda x: 1 - np.exp(-ahead_batches * x) * (1 + ahead_batches * x))[0][table_kinds(s).kind_of_table]


@point_by_point
def hot_unique(s: Scenario, capacity: float) -> Floats:
    """Return a batch's unique rows among the `capacity` hottest rows, by table, (T,)."""
    sums, class_unique = _by_table(s, lambda x: 1 - unused_chance(x, s.data.locality))
    kinds, hot = table_kinds(s), hottest_by_table(s, capacity)[0]
    classes = table_spectra(kinds.laws)
    start, end = classes.start, np.append(classes.start[1:], len(classes.p))
    hot_rows = np.zeros(s.model.num_tables)
    for kind in range(len(kinds.laws)):
        is_kind, part = kinds.kind_of_table == kind, slice(start[kind], end[kind])
        rows, unique = (np.concatenate(([0.0], np.cumsum(amount[part]))) for amount in (classes.rows, class_unique))
        hot_rows[is_kind] = np.minimum(np.interp(hot[is_kind], rows, unique), sums[kind])
    return hot_rows


def _by_table(s: Scenario, measure: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
    """Return sums of a `measure` of rows' mean uses in a batch, by kind and by class."""
    s = without_repeats(s)
    kinds = table_kinds(s)
    classes, pooling = table_spectra(kinds.laws), np.array(kinds.pooling, dtype=np.float64)
    total = float(table_lookups(s).sum())
    p = classes.p * np.repeat(pooling * s.data.batch_size / total, np.diff(classes.start, append=len(classes.p)))
    class_sums = classes.rows * measure(total * gap_rate(p))
    return np.add.reduceat(class_sums, classes.start), class_sums


def popularity_sums(s: Scenario, nbytes: Floats) -> tuple[Floats, Floats]:
    """Return running sums of rows and of bytes over classes of rows, most popular first.

    `nbytes` (T,) are the bytes of a row; tables of equal popularity count with their mean.
    """
    kinds = table_kinds(s)
    classes, pooling = table_spectra(kinds.laws), np.array(kinds.pooling, dtype=np.float64)
    kind = np.repeat(np.arange(len(pooling)), np.diff(classes.start, append=len(classes.p)))
    mean = np.bincount(kinds.kind_of_table, weights=nbytes, minlength=len(pooling)) / kinds.table_counts
    rows, order = classes.rows * kinds.table_counts[kind], np.argsort(-classes.p * pooling[kind], kind="stable")
    summed = (np.concatenate(([0.0], np.cumsum(amount[order]))) for amount in (rows, rows * mean[kind]))
    reached_rows, filled_bytes = summed
    return reached_rows, filled_bytes


def cached_rows_by_table(s: Scenario, policy: str, capacity_rows: float) -> Floats:
    """Return the expected rows of each table in one LRU cache for all tables, (T,)."""
    s = without_repeats(s)
    kinds, space = table_kinds(s), id_space(s)
    if capacity_rows >= space.rows.sum():
        return np.array(per_table(s.model, "num_embeddings"), dtype=np.float64)
    _, stay_lookups, admitted, _ = STEADY_STATES[policy](s, space, float(table_lookups(s).sum()), max(capacity_rows, 0.0))
    classes, c = table_spectra(kinds.laws), s.data.locality
    weight = np.array(kinds.pooling, dtype=np.float64) * s.data.batch_size / table_lookups(s).sum()
    p = classes.p * np.repeat(weight, np.diff(classes.start, append=len(classes.p)))
    held_rows = classes.rows * (1 - absent(unused_chance(stay_lookups * gap_rate(p), c), admitted))
    rows: Floats = np.add.reduceat(held_rows, classes.start)[kinds.kind_of_table]
    return rows


@point_by_point
def missed_rows(s: Scenario, policy: str, capacity_rows: float, at_once: int = 1, tables: Sequence[int] | None = None) -> Floats:
    """Return the unique rows of a batch that miss the cache, by table, (T,)."""
    return _missed_by_table(s, policy, capacity_rows, at_once, tables)[0]


def missed_shares(
    s: Scenario, policy: str, capacity_rows: float, at_once: int = 1, tables: Sequence[int] | None = None
) -> Floats:
    """Return the share of each table's lookups whose row is not in the cache, (T,)."""
    return _missed_by_table(s, policy, capacity_rows, at_once, tables)[1]


def _missed_by_table(
    s: Scenario, policy: str, capacity_rows: float, at_once: int, tables: Sequence[int] | None
) -> tuple[Floats, Floats]:
    s = without_repeats(s)
    kinds, missed, shares = table_kinds(s), np.zeros(s.model.num_tables), np.zeros(s.model.num_tables)
    numbers = np.arange(len(missed)) if tables is None else np.array(tables, dtype=np.int64)
    if not len(numbers):
        return missed, shares
    space, batch = id_space(s, tables), table_lookups(s)
    if _holds_all(space, policy, capacity_rows):
        return missed, shares
    served_lookups = at_once * float(batch[numbers].sum())
    state = STEADY_STATES[policy](s, space, served_lookups, max(capacity_rows, 0.0))
    missing_shares, lookup_miss_shares = (
        state.rows / space.rows * amount for amount in _missing_chances(s, space, state, served_lookups)
    )
    order = np.argsort(space.p)
    classes = table_spectra(kinds.laws)
    weight = np.array(kinds.pooling, dtype=np.float64) * s.data.batch_size / batch[numbers].sum()
    p = classes.p * np.repeat(weight, np.diff(classes.start, append=len(classes.p)))
    kind_misses = np.add.reduceat(classes.rows * np.interp(p, space.p[order], missing_shares[order]), classes.start)
    missed[numbers] = kind_misses[kinds.kind_of_table[numbers]] / at_once
    missed_chance = np.interp(p, space.p[order], lookup_miss_shares[order])
    shares[numbers] = np.add.reduceat(classes.rows * classes.p * missed_chance, classes.start)[kinds.kind_of_table[numbers]]
    return missed, shares


@memoised(most=64, each_point_alone=True)
def popular_shares(s: Scenario, capacity: float) -> tuple[float, float]:
    """Return the share of popular samples, and the share of lookups that they make.

    All lookups of a popular sample are among the `capacity` most popular rows. The mean of z^(a sample's lookups) over popular
    samples is the share of samples at z = 1; its slope there counts lookups.
    """
    if capacity >= total(per_table(s.model, "num_embeddings")):
        return 1.0, 1.0
    (rows, mass), pooling, cv = hottest_by_table(s, capacity), np.array(per_table(s.model, "pooling")), np.array(length_cv(s))
    groups, laws = linked_tables(s), popularities(s)
    heads = [sorted((head_quantile(laws[t], rows[t]), t) for t in group) for group in groups]
    if cv.any():
        z = 1 + TINY * 1j
        table_chances = length_generating_function(pooling, cv, z * mass)
        group_chances = [_linked(group, [chances(int(pooling[t]), float(cv[t])) for _, t in group], z) for group in heads]
    else:
        table_chances, group_chances = mass**pooling, [min(head ** float(pooling[t]) for head, t in group) for group in heads]
    unlinked_chances = np.delete(table_chances, [table for group in groups for table in group])
    linked = s.data.sample_correlation if groups else 0.0
    popular_chance = (1 - linked) * np.prod(table_chances) + linked * np.prod(unlinked_chances) * np.prod(group_chances)
    share = min(1.0, float(popular_chance.real))
    return share, min(1.0, float(popular_chance.imag) / TINY / float(pooling.sum())) if cv.any() else share


def _linked(heads: list[tuple[float, int]], lengths: list[Floats], z: complex) -> complex:
    """Return the mean of z^lookups over popular samples for linked tables, given `heads` in ascending order.

    `lengths` are the chances of bag lengths. The n-th lookups have one quantile, so the first head decides, but for lookups
    beyond the longest bag before.
    """
    longest = np.zeros(max(map(len, lengths)), dtype=np.complex128)
    longest[0] = 1.0
    for (head, _), chance in zip(heads, lengths, strict=True):
        length_chances = np.pad(chance, (0, len(longest) - len(chance))) * z ** np.arange(len(longest))
        next_longest, reached = longest * np.cumsum(length_chances), 0j
        for length in range(1, len(longest)):
            reached = head * (reached + longest[length - 1])
            next_longest[length] += length_chances[length] * reached
        longest = next_longest
    return complex(longest.sum())


class HotSplit(NamedTuple):
    """Shares of a batch's unique rows that are hot, or cold but used before.

    `hot` rows are the hottest of all rows; `cold_repeated` are other rows that the previous batch used too.
    """

    hot: float
    cold_repeated: float


@point_by_point
def hot_split(s: Scenario, capacity: float) -> HotSplit:
    """Return the shares of hot and of repeated cold rows; the `capacity` hottest are hot."""
    space = id_space(s)
    x, locality = float(table_lookups(s).sum()) * gap_rate(space.p), s.data.locality
    void, hot = unused_chance(x, locality), head_rows(space, capacity)
    unique = float(space.rows @ (1 - void))
    both_chance = both_windows_chance(void, unused_chance(2 * x, locality))
    return HotSplit(float(hot @ (1 - void)) / unique, float((space.rows - hot) @ both_chance) / unique)
