"""Expected accesses of a table: unique rows, repeats, LRU hits.

A repeat is a row that the next batch uses again.

With locality c the uses of a row form a point process: new uses at rate 1-c per mean gap, each use followed with
probability c by one more after an exponential time of mean 1/5 gap. The chance that no use falls into a window of
x mean gaps is v(x) = exp(-(1-c)x - (c/5)(1 - exp(-5x))), and all else follows from v. At c = 0 it is (1-p)^n.
Time is continuous here: with locality, batches of a few samples are expected to touch some 10 % fewer rows than they do.
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
    """Accesses of a batch per table, each (..., T).

    `shared_rows` are unique rows that are also in the batch before; `raw_lookups` are lookups of rows of the batch before
    (none in a run's first batch).
    """

    lookups: Floats
    unique_rows: Floats
    shared_rows: Floats
    raw_lookups: Floats


def spectrum_accesses(tables: Spectrum, lookups: Floats, locality: float = 0.0) -> Accesses:
    """Return the expected accesses of (..., T) `lookups` per batch and table."""
    x = np.repeat(lookups, np.diff(tables.start, append=len(tables.p)), axis=-1) * gap_rate(tables.p)
    void, void_twice = unused_chance(x, locality), unused_chance(2 * x, locality)
    both_chance, meet_chance = both_windows_chance(void, void_twice), np.maximum(1 - void * uses_after_void(x, locality), 0.0)
    unique = np.add.reduceat(tables.rows * (1 - void), tables.start, axis=-1)
    shared_rows = np.add.reduceat(tables.rows * both_chance, tables.start, axis=-1)
    raw = lookups * np.add.reduceat(tables.rows * tables.p * meet_chance, tables.start, axis=-1)
    return Accesses(lookups, unique, shared_rows, raw)


def both_windows_chance(void: Floats, void_twice: Floats) -> Floats:
    """Return the chance that a row is used in each of two windows.

    One window has no use of the row with the chance `void`, both together with `void_twice`. For a row that is hardly ever
    used the difference is rounding alone, of either sign.
    """
    return np.maximum(1 - 2 * void + void_twice, 0.0)


def gap_rate(p: Floats) -> Floats:
    """Return the rate of a row's uses per lookup.

    For n unused lookups, exp(-n rate) = (1-p)^n.
    """
    return -np.log1p(-np.minimum(p, 1 - 1e-15))


def unused_chance(x: Floats, locality: float) -> Floats:
    """Return the chance v(x) that a row is unused for x mean gaps."""
    if locality == 0:
        return np.exp(-x)
    return np.exp(-(1 - locality) * x + locality / REUSE_CLOSENESS * np.expm1(-REUSE_CLOSENESS * x))


def uses_after_void(x: Floats, locality: float) -> Floats:
    """Return uses in a window of x gaps after an unused one, over x.

    The unused window is equally long.
    """
    if locality == 0:
        return np.ones_like(x)
    pace = REUSE_CLOSENESS * (1 - locality)
    return 1 + locality * np.expm1(-REUSE_CLOSENESS * x) * -np.expm1(-pace * x) / (pace * x)


def hit_rate(space: Spectrum, capacity: Floats | float, locality: float = 0.0) -> Floats:
    """Return an LRU cache's hit rate for `capacity` rows, by Che's approximation.

    A row stays for one characteristic time T, the same for all rows, in which as many rows are used as the cache
    holds (Che, Tung and Wang, IEEE JSAC 20(7), 2002); a use hits if the row's last use is less than T ago.
    """
    capacity, total_rows = np.asarray(capacity, dtype=np.float64), space.rows.sum()
    rates, is_partial = np.where(capacity >= total_rows, 1.0, 0.0), (capacity > 0) & (capacity < total_rows)
    x = stay_time(space, capacity[is_partial], locality)[..., None] * gap_rate(space.p)
    hits = 1 - unused_chance(x, locality) * (1 - locality + locality * np.exp(-REUSE_CLOSENESS * x))
    rates[is_partial] = hits @ (space.rows * space.p)
    return rates


def stay_time(space: Spectrum, capacity: Floats | float, locality: float = 0.0, admitted: float = 1.0) -> Floats:
    """Return the characteristic time of an LRU cache, in lookups.

    An unused row stays so long.
    With `admitted` below 1 the cache takes in that share of the missing rows.
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
    """Return the chance that a cache does not hold a row.

    `void` is the chance that the row was not used for the time that rows stay. A cache that admits a share of missing rows holds
    a row from its first admitted use on (q-LRU; Martina, Garetto and Leonardi, INFOCOM 2014).
    """
    return void if admitted == 1 else void / (void + admitted * (1 - void))


def refused_share(void: Floats, admitted: float) -> Floats:
    """Return the chance that a cache refused a row at each recent use."""
    return absent(void, admitted) * (1 - admitted)


def log_odds(part: Any, total: float) -> Any:
    """Return the logarithm of a part's odds in the total.

    The logarithm is nearly linear in the logarithm of time, which makes root finding fast.
    """
    with np.errstate(divide="ignore"):
        return np.log(part) - np.log(np.maximum(total - part, 0.0))


def rising_root(f: Callable[[Floats], Floats], low: Floats, high: Floats, tolerance: float = ROOT_TOLERANCE) -> Floats:
    """Return the roots of rising functions of one number each.

    They lie between `low` and `high`, within `tolerance`.
    By Chandrupatla's method (Advances in Engineering Software 28, 1997): inverse quadratic steps, and halves where these fail.
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
