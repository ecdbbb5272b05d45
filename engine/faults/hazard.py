"""When faults strike: renewal processes, lists and replayed traces, each class and node on a random stream of its own."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from heapq import merge
from math import gamma

import numpy as np


@dataclass(frozen=True)
class Hazard:
    """How often something strikes: `mtbf` seconds on average, None for never, and at the instants `at`, in seconds.

    Intervals follow Weibull's distribution of this `shape` and of mean `mtbf`: 1 is exponential, less has infant mortality.
    """

    mtbf: float | None = None
    shape: float = 1.0
    at: tuple[float, ...] = ()


def generator(seed: int, stream: str, node: int = 0) -> np.random.Generator:
    """Return the random generator of a stream and node; no other stream's numbers depend on it."""
    name = int.from_bytes(blake2b(stream.encode(), digest_size=8).digest(), "little")
    return np.random.default_rng([seed, name, node])


def strikes(hazard: Hazard, seed: int, stream: str, node: int = 0) -> Iterator[float]:
    """Yield the instants in seconds, in rising order: the listed ones, and without end the random ones."""
    return merge(sorted(hazard.at), _renewals(hazard, generator(seed, stream, node)))


def _renewals(hazard: Hazard, rng: np.random.Generator) -> Iterator[float]:
    if hazard.mtbf is None:
        return
    scale, now = hazard.mtbf / gamma(1 + 1 / hazard.shape), 0.0
    while True:
        now += scale * float(rng.weibull(hazard.shape))
        yield now


def repair_times(median_seconds: float, sigma: float, seed: int, stream: str, node: int = 0) -> Iterator[float]:
    """Yield lognormal durations without end; `sigma` is the deviation of the logarithm, 0 for the median itself."""
    rng = generator(seed, f"repair of {stream}", node)
    while True:
        yield median_seconds * float(np.exp(sigma * rng.standard_normal()))


def coins(share: float, seed: int, stream: str, node: int = 0) -> Iterator[bool]:
    """Yield without end whether each strike of a stream is one of a `share` that is worse than the others."""
    rng = generator(seed, f"share of {stream}", node)
    while True:
        yield float(rng.random()) < share
