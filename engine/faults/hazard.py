"""Failure rates and instants of faults: renewal processes and lists, each class and node on a random stream of its own.

Published rates are a file each in engine/faults/rates: how often a unit of a machine is struck, by class of fault.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from heapq import merge
from math import gamma
from pathlib import Path
from tomllib import loads
from typing import Any

import numpy as np

from ..registry import NO_RATES
from ..units import HOUR

FOLDER = Path(__file__).parent / "rates"


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


def instants(hazard: Hazard, seed: int, stream: str, node: int = 0) -> Iterator[float]:
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


@cache
def published(name: str) -> dict[str, Any]:
    """Return a file of rates: its title and source, and by class of fault the events, units and hours with their source."""
    return loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))


@cache
def mtbfs(name: str) -> dict[str, float]:
    """Return by class of fault the mean seconds between two at one unit: units watched, times hours, over events."""
    faults = published(name)["faults"] if name != NO_RATES else {}
    return {fault: one["units"] * one["hours"] * HOUR / one["events"] for fault, one in faults.items()}
