"""Bags of uneven length: lookups of a sample in a table.

Their number differs between samples.
A length has the table's pooling factor as its mean, and a coefficient of variation. Up to the variation of a Poisson law, each
lookup leaves its own sample for any other with some chance; beyond, samples differ in activity by a gamma law, and lengths are
negative binomial (Greenwood and Yule, 1920). A batch has as many lookups in a table as with even bags: only the ends of bags are
drawn.
"""

from typing import Any

import numpy as np

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
    """Return the number of a sample's bags, one a feature, that have uneven length."""
    return int(sum(features for features, cv in zip(per_table(s.model, "features"), length_cv(s), strict=True) if cv))


def length_spread(lengths: Ints | int) -> float:
    """Return the coefficient of variation of lengths, as the knob takes it.

    One length as an int, which all bags have, gives 0.
    """
    if isinstance(lengths, int) or not lengths.any():
        return 0.0
    return float(f"{min(float(lengths.std() / lengths.mean()), MAX_CV):.3g}")


def length_law(mean: Any, cv: Any) -> tuple[Any, Any]:
    """Return the share of lookups that leave their sample, and the law's shape.

    The law is that of the samples' activity.
    The shape is that of a gamma law, infinite where all samples are equally active. Variances of the two laws are
    mean (1 - (1 - share)²) and mean + mean² / shape.
    """
    dispersion = np.asarray(mean * cv**2, dtype=np.float64)  # variance over mean: a Poisson's is 1
    with np.errstate(divide="ignore"):
        shape = np.where(dispersion > 1, mean / np.maximum(dispersion - 1, 0.0), np.inf)
    return 1 - np.sqrt(np.maximum(1 - dispersion, 0.0)), shape


def draw_lengths(random: np.random.Generator, samples: int, mean: int, cv: float) -> Ints:
    """Draw (B,) lengths of a table's bags, B * mean together.

    Their expected variance is (mean * cv)². The largest possible cv puts all lookups of a batch into one bag: cv² = B.
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
    """Return the mean of z^length over many samples, for real or complex z."""
    leaving_share, shape = length_law(mean, cv)
    finite_shape = np.where(np.isfinite(shape), shape, 1.0)
    binomial = (leaving_share + (1 - leaving_share) * z) ** mean * np.exp(-mean * leaving_share * (1 - z))
    return np.where(np.isfinite(shape), (1 + mean * (1 - z) / finite_shape) ** -finite_shape, binomial)


def chances(mean: int, cv: float) -> Floats:
    """Return the chance of each length from 0 on, by a Fourier transform of `generating`.

    Lengths with no measurable chance are left out.
    """
    _, shape = length_law(mean, cv)
    longest = 2 * mean + TAIL * (1 + np.sqrt(mean) + mean / float(shape))
    count = 1 << int(np.ceil(np.log2(longest)))
    probabilities: Floats = np.fft.ifft(length_generating_function(mean, cv, np.exp(-2j * np.pi * np.arange(count) / count))).real
    return np.maximum(probabilities, 0.0)
