"""Bags of uneven length: samples differ in their number of lookups in a table.

The mean length is the table's pooling factor; the variation is given as a coefficient of variation. Up to the variation of a
Poisson distribution, each lookup leaves its own sample for a random other sample with some probability. Beyond that, samples
differ in activity by a gamma distribution, and lengths are negative binomial (Greenwood and Yule, 1920). A batch has as many
lookups in a table as with even bags: only the ends of bags are random.
"""

from typing import Any

import numpy as np

from ..core.arithmetic import total
from ..core.arrays import Floats, Ints
from ..scenario.data import by_table
from ..scenario.scenario import KNOBS, Scenario, per_table

MAX_CV = KNOBS["data.bag_length_cv"].high or 0.0
MIN_ACTIVITY_SHAPE = 1e-3  # least shape of the gamma law; with a smaller shape one sample has all lookups of a batch anyway
TAIL = 30.0  # mean distances of a length's exponential tail; chances beyond are left out


def length_cv(s: Scenario) -> tuple[float, ...]:
    """Return each table's coefficient of variation of bag lengths."""
    return by_table(s.data, "bag_length_cv", s.model.num_tables)


def uneven_bags(s: Scenario) -> int:
    """Return the number of a sample's bags that have uneven length.

    A sample has one bag for each feature, and one history in a table of sequences.
    """
    columns = zip(per_table(s.model, "features"), per_table(s.model, "feature_kind"), length_cv(s), strict=True)
    return int(total(1 if kind == "sequence" else features for features, kind, cv in columns if cv))


def length_spread(lengths: Ints | int) -> float:
    """Return the coefficient of variation of bag lengths, rounded as a knob's value.

    Return 0 for lengths given as one int, the length of all bags.
    """
    if isinstance(lengths, int) or not lengths.any():
        return 0.0
    return float(f"{min(float(lengths.std() / lengths.mean()), MAX_CV):.3g}")


def length_law(mean: Any, cv: Any) -> tuple[Any, Any]:
    """Return (leaving share, shape) of the distribution of bag lengths.

    The leaving share is the share of lookups that leave their own sample; the variance of lengths is mean (1 - (1 - share)²). The
    shape is that of the gamma distribution of the samples' activity; the variance of lengths is mean + mean² / shape. The shape
    is infinite if all samples are equally active.
    """
    dispersion = np.asarray(mean * cv**2, dtype=np.float64)  # variance over mean: a Poisson's is 1
    with np.errstate(divide="ignore"):
        shape = np.where(dispersion > 1, mean / np.maximum(dispersion - 1, 0.0), np.inf)
    return 1 - np.sqrt(np.maximum(1 - dispersion, 0.0)), shape


def draw_lengths(random: np.random.Generator, samples: int, mean: int, cv: float) -> Ints:
    """Draw the lengths of a table's bags in a batch, (B,).

    Their sum is B * mean, and their expected variance (mean * cv)². With the largest possible cv, cv² = B, all lookups of a batch
    are in one bag.
    """
    if not cv:
        return np.full(samples, mean, dtype=np.int64)
    leaving_share, shape = length_law(mean, cv)
    own_lookups = random.binomial(mean, 1 - leaving_share, samples) if leaving_share < 1 else np.zeros(samples, dtype=np.int64)
    active = np.full(samples, 1 / samples)
    if np.isfinite(shape):  # a batch's fixed sum takes away a share cv² / B of the spread, which the shape gives back
        active = random.dirichlet(np.full(samples, max(float(shape) * (1 - cv**2 / samples), MIN_ACTIVITY_SHAPE)))
    bag_lengths: Ints = own_lookups + random.multinomial(samples * mean - int(own_lookups.sum()), active)
    return bag_lengths


def length_generating_function(mean: Any, cv: Any, z: Any) -> Any:
    """Return the mean of z^length over bag lengths, for real or complex z."""
    leaving_share, shape = length_law(mean, cv)
    finite_shape = np.where(np.isfinite(shape), shape, 1.0)
    binomial = (leaving_share + (1 - leaving_share) * z) ** mean * np.exp(-mean * leaving_share * (1 - z))
    return np.where(np.isfinite(shape), (1 + mean * (1 - z) / finite_shape) ** -finite_shape, binomial)


def chances(mean: int, cv: float) -> Floats:
    """Return the probability of each bag length, from 0 on.

    The probabilities are the Fourier transform of `length_generating_function`. Lengths of negligible probability are left out.
    """
    _, shape = length_law(mean, cv)
    longest = 2 * mean + TAIL * (1 + np.sqrt(mean) + mean / float(shape))
    count = 1 << int(np.ceil(np.log2(longest)))
    probabilities: Floats = np.fft.ifft(length_generating_function(mean, cv, np.exp(-2j * np.pi * np.arange(count) / count))).real
    return np.maximum(probabilities, 0.0)
