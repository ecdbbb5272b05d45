"""Expected accesses of a table: unique rows, rows shared with the next batch, LRU hits.

With locality c the uses of a row form a point process: new uses at rate 1-c per mean gap between uses, each use followed with
probability c by one more after an exponential time of mean 1/5 gap. The probability that a window of x mean gaps has no use is
v(x) = exp(-(1-c)x - (c/5)(1 - exp(-5x))); all other values follow from v. At c = 0, v is (1-p)^n for a row with lookup share p
and n lookups. Time is continuous in this model: with locality, batches of a few samples are expected to use about 10 % fewer
rows than they do.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Floats
from .spectrum import Spectrum

REUSE_CLOSENESS = 5.0
HALVINGS = 60
LOG_TIMES, ROOT_TOLERANCE = (-50.0, 80.0), 1e-14


class Accesses(NamedTuple):
    """Accesses of a batch by table, each (..., T).

    lookups: the number of lookups.
    unique_rows: the number of different rows.
    shared_rows: the number of unique rows that the previous batch used too.
    raw_lookups: the number of lookups of rows that the previous batch used (0 in a run's first batch).
    """

    lookups: Floats
    unique_rows: Floats
    shared_rows: Floats
    raw_lookups: Floats


def spectrum_accesses(tables: Spectrum, lookups: Floats, locality: float = 0.0) -> Accesses:
    """Return the expected accesses of a batch with the given lookups by table, (..., T)."""
    x = np.repeat(lookups, np.diff(tables.start, append=len(tables.p)), axis=-1) * gap_rate(tables.p)
    void, void_twice = unused_chance(x, locality), unused_chance(2 * x, locality)
    both_chance, meet_chance = both_windows_chance(void, void_twice), np.maximum(1 - void * uses_after_void(x, locality), 0.0)
    unique = np.add.reduceat(tables.rows * (1 - void), tables.start, axis=-1)
    shared_rows = np.add.reduceat(tables.rows * both_chance, tables.start, axis=-1)
    raw = lookups * np.add.reduceat(tables.rows * tables.p * meet_chance, tables.start, axis=-1)
    return Accesses(lookups, unique, shared_rows, raw)


def both_windows_chance(void: Floats, void_twice: Floats) -> Floats:
    """Return the probability that a row is used in each of two windows of time.

    `void` is the probability that one window has no use of the row, `void_twice` that both have none. For a row that is hardly
    ever used the difference is only rounding, and is set to at least 0.
    """
    return np.maximum(1 - 2 * void + void_twice, 0.0)


def gap_rate(p: Floats) -> Floats:
    """Return the rate of a row's uses per lookup, from its share `p` of lookups.

    exp(-n * rate) = (1-p)^n is the probability that n lookups do not use the row.
    """
    return -np.log1p(-np.minimum(p, 1 - 1e-15))


def unused_chance(x: Floats, locality: float) -> Floats:
    """Return the probability v(x) that a row is unused for x mean gaps.

    The mean gap is the mean time between two uses of the row.
    """
    if locality == 0:
        return np.exp(-x)
    return np.exp(-(1 - locality) * x + locality / REUSE_CLOSENESS * np.expm1(-REUSE_CLOSENESS * x))


def uses_after_void(x: Floats, locality: float) -> Floats:
    """Return the expected uses in a window after an unused window, divided by x.

    Both windows have a length of x mean gaps between the row's uses.
    """
    if locality == 0:
        return np.ones_like(x)
    pace = REUSE_CLOSENESS * (1 - locality)
    return 1 + locality * np.expm1(-REUSE_CLOSENESS * x) * -np.expm1(-pace * x) / (pace * x)


def hit_rate(space: Spectrum, capacity: Floats | float, locality: float = 0.0) -> Floats:
    """Return the hit rate of an LRU cache for `capacity` rows, by Che's approximation.

    An unused row stays in the cache for the characteristic time T, the same for all rows, in which as many different rows are
    used as the cache holds (Che, Tung and Wang, IEEE JSAC 20(7), 2002). A use hits if the row's last use is less than T ago.
    """
    capacity, total_rows = np.asarray(capacity, dtype=np.float64), space.rows.sum()
    rates, is_partial = np.where(capacity >= total_rows, 1.0, 0.0), (capacity > 0) & (capacity < total_rows)
    x = stay_time(space, capacity[is_partial], locality)[..., None] * gap_rate(space.p)
    hits = 1 - unused_chance(x, locality) * (1 - locality + locality * np.exp(-REUSE_CLOSENESS * x))
    rates[is_partial] = hits @ (space.rows * space.p)
    return rates


def stay_time(space: Spectrum, capacity: Floats | float, locality: float = 0.0, admitted: float = 1.0) -> Floats:
    """Return the characteristic time of an LRU cache [lookups].

    An unused row stays in the cache for this time. With `admitted` below 1, the cache takes only that share of the missing rows.
    """
    total_rows, rate = space.rows.sum(), gap_rate(space.p)
    target_rows = np.clip(np.asarray(capacity, dtype=np.float64), 0, total_rows * (1 - 1e-12))
    with np.errstate(divide="ignore"):  # each use brings one row at most; and no row is rarer than the rarest
        soonest = np.log(target_rows / (space.rows @ rate))
        held_share = target_rows / total_rows
        latest = np.log(-(np.log1p(-held_share) - np.log1p(-held_share * (1 - 1 / admitted))) / (rate.min() * (1 - locality)))

    def excess_odds(log_time: Floats) -> Floats:
        void = absent(unused_chance(np.exp(log_time)[..., None] * rate, locality), admitted)
        excess: Floats = log_odds((1 - void) @ space.rows, total_rows) - log_odds(target_rows, total_rows)
        return excess

    return np.exp(rising_root(excess_odds, np.clip(soonest - 1e-9, *LOG_TIMES), np.clip(latest + 1e-9, *LOG_TIMES)))


def absent(void: Floats, admitted: float) -> Floats:
    """Return the probability that a cache does not hold a row.

    `void` is the probability that the row was not used for the time that an unused row stays. A cache that admits a share of the
    missing rows holds a row from its first admitted use on (q-LRU; Martina, Garetto and Leonardi, INFOCOM 2014).
    """
    return void if admitted == 1 else void / (void + admitted * (1 - void))


def refused_share(void: Floats, admitted: float) -> Floats:
    """Return the probability that a cache refused a row at each of its recent uses."""
    return absent(void, admitted) * (1 - admitted)


def log_odds(part: Any, total: float) -> Any:
    """Return log(part / (total - part)).

    These log odds are nearly linear in the logarithm of time, which makes root finding fast.
    """
    with np.errstate(divide="ignore"):
        return np.log(part) - np.log(np.maximum(total - part, 0.0))


def rising_root(f: Callable[[Floats], Floats], low: Floats, high: Floats, tolerance: float = ROOT_TOLERANCE) -> Floats:
    """Return the root of each of several rising functions, as an array.

    The roots lie between `low` and `high`, and are exact within `tolerance`.
    The method is Chandrupatla's (Advances in Engineering Software 28, 1997): inverse quadratic steps, and bisection where these
    fail.
    """
    root, bound, f_root, f_bound, part = high, low, f(high), f(low), np.full(np.shape(low), 0.5)
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(2 * HALVINGS):
            guess = root + part * (bound - root)
            f_guess = f(guess)
            same_sign = (f_guess > 0) == (f_root > 0)
            previous, f_previous = np.where(same_sign, root, bound), np.where(same_sign, f_root, f_bound)
            bound, f_bound = np.where(same_sign, bound, root), np.where(same_sign, f_bound, f_root)
            root, f_root, width = guess, f_guess, np.abs(bound - guess)
            if np.all(width <= 2 * tolerance):
                break
            x, y = (root - bound) / (previous - bound), (f_root - f_bound) / (f_previous - f_bound)
            step = f_root / (f_bound - f_root) * f_previous / (f_bound - f_previous)
            step += (previous - root) / (bound - root) * f_root / (f_previous - f_root) * f_bound / (f_previous - f_bound)
            part = np.where((y * y < x) & ((1 - y) ** 2 < 1 - x) & np.isfinite(step), step, 0.5)
            part = np.clip(part, np.minimum(tolerance / width, 0.5), 1 - np.minimum(tolerance / width, 0.5))
    return np.maximum(root, bound)
