"""Expected accesses of a table: unique rows, rows met again in the next batch, hits of an LRU cache.

With locality c the uses of a row form a point process: new uses at rate 1-c per mean gap, each use followed with
probability c by one more after an exponential time of mean 1/5 gap. The chance that no use falls into a window of
x mean gaps is v(x) = exp(-(1-c)x - (c/5)(1 - exp(-5x))), and all else follows from v. At c = 0 it is (1-p)^n.
Time is continuous here: with locality, batches of a few samples are expected to touch some 10 % fewer rows than they do.
"""

from typing import NamedTuple

import numpy as np

from ..core.arrays import Floats
from .spectrum import Spectrum

CLOSENESS = 5.0
HALVINGS = 60


class Touched(NamedTuple):
    """Expected unique rows of a batch, those also in the batch before, and lookups of rows of the batch before."""

    unique: Floats
    shared: Floats
    raw: Floats


def touched(tables: Spectrum, lookups: Floats, locality: float = 0.0) -> Touched:
    """Return what to expect of `lookups` per batch and table; shape (..., T) in, and out for each value."""
    x = np.repeat(lookups, np.diff(tables.start, append=len(tables.p)), axis=-1) * gap_rate(tables.p)
    void, twice = unused(x, locality), unused(2 * x, locality)
    meets = 1 - void * still_due(x, locality)
    unique = np.add.reduceat(tables.rows * (1 - void), tables.start, axis=-1)
    shared = np.add.reduceat(tables.rows * (1 - 2 * void + twice), tables.start, axis=-1)
    raw = lookups * np.add.reduceat(tables.rows * tables.p * meets, tables.start, axis=-1)
    return Touched(unique, shared, raw)


def gap_rate(p: Floats) -> Floats:
    """Return the rate per lookup with which a window of n lookups is void of a row in exp(-n rate) = (1-p)^n."""
    return -np.log1p(-np.minimum(p, 1 - 1e-15))


def unused(x: Floats, locality: float) -> Floats:
    """Return the chance v(x) that a row is not used during x of its mean gaps."""
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
    x = stay(space, capacity, locality)[..., None] * gap_rate(space.p)
    hits = 1 - unused(x, locality) * (1 - locality + locality * np.exp(-CLOSENESS * x))
    return np.where(capacity <= 0, 0.0, np.where(capacity >= every, 1.0, (space.rows * space.p * hits).sum(axis=-1)))


def stay(space: Spectrum, capacity: Floats | float, locality: float = 0.0) -> Floats:
    """Return the characteristic time of an LRU cache of `capacity` rows, in lookups: how long an unused row stays."""
    every = space.rows.sum()
    wanted = np.clip(np.asarray(capacity, dtype=np.float64), 0, every * (1 - 1e-12))[..., None]
    low, high = np.full(wanted.shape, -50.0), np.full(wanted.shape, 80.0)
    rate = gap_rate(space.p)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        held = (space.rows * (1 - unused(np.exp(middle) * rate, locality))).sum(axis=-1, keepdims=True)
        low, high = np.where(held < wanted, middle, low), np.where(held < wanted, high, middle)
    stays: Floats = np.exp(high)[..., 0]
    return stays
