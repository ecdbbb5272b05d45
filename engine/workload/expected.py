"""Expected accesses of a table: unique rows, rows met again in the next batch, hits of an LRU cache.

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

CLOSENESS = 5.0
HALVINGS = 60
LOG_TIMES, NEAR = (-50.0, 80.0), 1e-14


class Accesses(NamedTuple):
    """Accesses of a batch per table, (..., T): `shared_rows` are unique rows also in the batch before.

    `raw_lookups` are lookups of rows of the batch before, which a run's first batch has not.
    """

    lookups: Floats
    unique_rows: Floats
    shared_rows: Floats
    raw_lookups: Floats


def touched(tables: Spectrum, lookups: Floats, locality: float = 0.0) -> Accesses:
    """Return what to expect of `lookups` per batch and table; shape (..., T) in, and out for each value."""
    x = np.repeat(lookups, np.diff(tables.start, append=len(tables.p)), axis=-1) * gap_rate(tables.p)
    void, twice = unused(x, locality), unused(2 * x, locality)
    both, meets = in_both(void, twice), np.maximum(1 - void * still_due(x, locality), 0.0)
    unique = np.add.reduceat(tables.rows * (1 - void), tables.start, axis=-1)
    shared = np.add.reduceat(tables.rows * both, tables.start, axis=-1)
    raw = lookups * np.add.reduceat(tables.rows * tables.p * meets, tables.start, axis=-1)
    return Accesses(lookups, unique, shared, raw)


def in_both(void: Floats, twice: Floats) -> Floats:
    """Return the chance that a row is used in each of two windows, void of it with `void` and together with `twice`.

    Of a row that is hardly ever used the difference is rounding alone, of either sign.
    """
    return np.maximum(1 - 2 * void + twice, 0.0)


def gap_rate(p: Floats) -> Floats:
    """Return the rate per lookup with which a window of n lookups is void of a row in exp(-n rate) = (1-p)^n."""
    return -np.log1p(-np.minimum(p, 1 - 1e-15))


def unused(x: Floats, locality: float) -> Floats:
    """Return the chance v(x) that a row is not used during x of its mean gaps."""
    if locality == 0:
        return np.exp(-x)
    return np.exp(-(1 - locality) * x + locality / CLOSENESS * np.expm1(-CLOSENESS * x))


def still_due(x: Floats, locality: float) -> Floats:
    """Return uses in a window of x gaps that follows a void one as long, relative to the unconditional x."""
    if locality == 0:
        return np.ones_like(x)
    pace = CLOSENESS * (1 - locality)
    return 1 + locality * np.expm1(-CLOSENESS * x) * -np.expm1(-pace * x) / (pace * x)


def hit_rate(space: Spectrum, capacity: Floats | float, locality: float = 0.0) -> Floats:
    """Return the share of lookups that an LRU cache of `capacity` rows serves, by Che's approximation.

    A row stays for one characteristic time T, the same for all rows, in which as many rows are used as the cache
    holds (Che, Tung and Wang, IEEE JSAC 20(7), 2002); a use hits if the row's last one is less than T ago.
    """
    capacity, every = np.asarray(capacity, dtype=np.float64), space.rows.sum()
    rates, some = np.where(capacity >= every, 1.0, 0.0), (capacity > 0) & (capacity < every)
    x = stay(space, capacity[some], locality)[..., None] * gap_rate(space.p)
    hits = 1 - unused(x, locality) * (1 - locality + locality * np.exp(-CLOSENESS * x))
    rates[some] = hits @ (space.rows * space.p)
    return rates


def stay(space: Spectrum, capacity: Floats | float, locality: float = 0.0, admitted: float = 1.0) -> Floats:
    """Return the characteristic time of an LRU cache of `capacity` rows, in lookups: how long an unused row stays.

    With `admitted` below 1 the cache takes in that share of the rows that it misses.
    """
    every, rate = space.rows.sum(), gap_rate(space.p)
    wanted = np.clip(np.asarray(capacity, dtype=np.float64), 0, every * (1 - 1e-12))
    with np.errstate(divide="ignore"):  # each use brings one row at most; and no row is rarer than the rarest
        soonest = np.log(wanted / (space.rows @ rate))
        held = wanted / every
        latest = np.log(-(np.log1p(-held) - np.log1p(-held * (1 - 1 / admitted))) / (rate.min() * (1 - locality)))

    def room(log_time: Floats) -> Floats:
        void = absent(unused(np.exp(log_time)[..., None] * rate, locality), admitted)
        apart: Floats = odds((1 - void) @ space.rows, every) - odds(wanted, every)
        return apart

    return np.exp(rising(room, np.clip(soonest - 1e-9, *LOG_TIMES), np.clip(latest + 1e-9, *LOG_TIMES)))


def absent(void: Floats, admitted: float) -> Floats:
    """Return the chance that a cache does not hold a row that was not used for as long as rows stay with the chance `void`.

    A cache that admits a share of missing rows holds a row from its first admitted use on (q-LRU; Martina, Garetto and
    Leonardi, INFOCOM 2014).
    """
    return void if admitted == 1 else void / (void + admitted * (1 - void))


def refused_share(void: Floats, admitted: float) -> Floats:
    """Return the chance that a cache does not hold a row that was used while rows stay: it was refused each time."""
    return absent(void, admitted) * (1 - admitted)


def odds(part: Any, whole: float) -> Any:
    """Return the logarithm of a part's odds in the whole: nearly straight over the logarithm of time, which roots like."""
    with np.errstate(divide="ignore"):
        return np.log(part) - np.log(np.maximum(whole - part, 0.0))


def rising(f: Callable[[Floats], Floats], low: Floats, high: Floats, near: float = NEAR) -> Floats:
    """Return where rising functions, each of its own number between `low` and `high`, become 0; as exactly as `near` says.

    By Chandrupatla's method (Advances in Engineering Software 28, 1997): inverse quadratic steps, and halves where these fail.
    """
    one, other, at_one, at_other, part = high, low, f(high), f(low), np.full(np.shape(low), 0.5)
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(2 * HALVINGS):
            here = one + part * (other - one)
            at = f(here)
            same = (at > 0) == (at_one > 0)
            last, at_last = np.where(same, one, other), np.where(same, at_one, at_other)
            other, at_other = np.where(same, other, one), np.where(same, at_other, at_one)
            one, at_one, width = here, at, np.abs(other - here)
            if np.all(width <= 2 * near):
                break
            x, y = (one - other) / (last - other), (at_one - at_other) / (at_last - at_other)
            step = at_one / (at_other - at_one) * at_last / (at_other - at_last)
            step += (last - one) / (other - one) * at_one / (at_last - at_one) * at_other / (at_last - at_other)
            part = np.where((y * y < x) & ((1 - y) ** 2 < 1 - x) & np.isfinite(step), step, 0.5)
            part = np.clip(part, np.minimum(near / width, 0.5), 1 - np.minimum(near / width, 0.5))
    return np.maximum(one, other)
