"""The hidden model that clicks: what the generator's labels are drawn from, and what training tries to learn.

A logit has three parts: linear in the dense features, a normal effect per id averaged over each bag, and products of a
few pairs of bags. Each part gets its share of the spread on a fixed sample of the recipe's own data; slope and intercept
are then solved so that every model shape clicks at Criteo's rate and no ranking can beat the given AUC.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numba import njit

from ..core.arrays import Floats, Ints, Singles
from ..core.hashing import GOLDEN, Purpose, key, mix, stream
from . import features
from .features import CALIBRATION, Prepared, Recipe

CLICK_RATE = 0.256
BEST_AUC = 0.80
SHARES = (0.3, 0.5, 0.2)  # of the logit's variance: dense, ids, pairs
PAIRS = 4
CHUNK = 512
LOOKUPS = 2**23
HALVINGS = 30


@dataclass(frozen=True, slots=True, eq=False)
class Teacher:
    """Weights of the logit: (F,) for dense features, one for all bags, (K,) for the products of `pairs` (K, 2) of tables."""

    key: np.uint64
    intercept: float
    dense: Floats
    bags: float
    centre: Floats
    pairs: Ints
    products: Floats


@lru_cache(maxsize=8)
def teacher(recipe: Recipe) -> Teacher:
    """Return the teacher of a recipe; it does not depend on batch size or locality."""
    random = stream(recipe.seed, Purpose.TEACHER)
    weights = random.standard_normal(recipe.num_dense)
    tables = len(recipe.pooling)
    every = np.array(np.triu_indices(min(tables, 512), 1)).T
    pairs = every[random.permutation(len(every))[:PAIRS]]
    signs = random.choice([-1.0, 1.0], len(pairs))
    hidden = key(recipe.seed, Purpose.TEACHER, 1)
    inputs, effects = _sample(features.prepare(recipe), hidden)
    centre = effects.mean(axis=0)
    parts = ((inputs * weights).sum(axis=1), effects.sum(axis=1), _products(effects - centre, pairs, signs))
    scales = [_scale(part, share) for part, share in zip(parts, SHARES, strict=True)]
    raw = sum((part * scale for part, scale in zip(parts, scales, strict=True)), start=np.zeros(len(inputs)))
    intercept, slope = solve(raw, CLICK_RATE, BEST_AUC)
    by_dense, by_bags, by_pairs = (slope * scale for scale in scales)
    return Teacher(hidden, intercept, by_dense * weights, by_bags, centre, pairs, by_pairs * signs)


def logits(teacher: Teacher, dense: Singles, ids: Ints, bags: Ints) -> Floats:
    """Return (B,) logits of a batch; `bags` are the (T+1,) positions of the tables' lookups within a sample."""
    effects = bag_effects(ids, bags, len(dense), teacher.key)
    products = _products(effects - teacher.centre, teacher.pairs, teacher.products)
    linear: Floats = (dense * teacher.dense).sum(axis=1) + teacher.bags * effects.sum(axis=1)
    return teacher.intercept + linear + products


def clicks(logits: Floats, chances: Floats) -> Singles:
    """Return labels, 1 where the uniform number falls below the chance of a click."""
    return (chances < sigmoid(logits)).astype(np.float32)


def sigmoid(x: Floats) -> Floats:
    """Return 1 / (1 + exp(-x)), without overflow."""
    return 0.5 + 0.5 * np.tanh(0.5 * x)


@njit(cache=True, nogil=True)
def bag_effects(ids, bags, samples, key):  # type: ignore[no-untyped-def]
    """Return (B, T) means over each bag of its ids' effects: four 16-bit parts of a hash add up to a near normal."""
    tables = len(bags) - 1
    effects = np.zeros((samples, tables))
    low = np.uint64(0xFFFF)
    for table in range(tables):
        size = bags[table + 1] - bags[table]
        at = bags[table] * samples
        for sample in range(samples):
            total = 0
            for _ in range(size):
                word = mix(key ^ (np.uint64(ids[at]) * GOLDEN))
                total += (word & low) + (word >> np.uint64(16) & low) + (word >> np.uint64(32) & low) + (word >> np.uint64(48))
                at += 1
            # The sum of four has mean 131070 and variance (2^32 - 1) / 3.
            effects[sample, table] = (total / size - 131070.0) / 37837.22
    return effects


def solve(raw: Floats, rate: float, auc: float) -> tuple[float, float]:
    """Return (intercept, slope) with which `raw` clicks at `rate` and ranks its own clicks with `auc`."""
    ordered = np.sort(raw)
    low, high = np.log(1e-3), np.log(1e3)
    for _ in range(HALVINGS):
        slope = np.exp((low + high) / 2)
        if best_auc(sigmoid(_intercept(slope * ordered, rate) + slope * ordered)) < auc:
            low = np.log(slope)
        else:
            high = np.log(slope)
    return _intercept(slope * ordered, rate), float(slope)


def best_auc(chance: Floats) -> float:
    """Return the AUC expected of ranking samples by their own chances of a click, given in ascending order."""
    negatives = (1 - chance) / (1 - chance).sum()
    return float(chance @ (np.cumsum(negatives) - negatives / 2) / chance.sum())


def _intercept(scaled: Floats, rate: float) -> float:
    low, high = -50.0 - scaled.max(), 50.0 - scaled.min()
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if sigmoid(scaled + middle).mean() < rate else (low, middle)
    return float((low + high) / 2)


def _sample(prepared: Prepared, hidden: np.uint64) -> tuple[Singles, Floats]:
    """Return dense features and bag effects to calibrate on: 4096 to 16384 samples, fewer the more lookups each has."""
    count = int(np.clip(LOOKUPS // prepared.bags[-1], 4096, 16384)) // CHUNK
    inputs = [features.dense(prepared, CALIBRATION + n, CHUNK) for n in range(count)]
    drawn = (features.ids(prepared, CALIBRATION + n, CHUNK) for n in range(count))
    return np.concatenate(inputs), np.concatenate([bag_effects(ids, prepared.bags, CHUNK, hidden) for ids in drawn])


def _products(centred: Floats, pairs: Ints, weights: Floats) -> Floats:
    products: Floats = (centred[:, pairs[:, 0]] * centred[:, pairs[:, 1]] * weights).sum(axis=1)
    return products


def _scale(part: Floats, share: float) -> float:
    spread = float(part.std())
    return float(np.sqrt(share)) / spread if spread > 1e-6 else 0.0
