"""When faults strike: renewal processes, lists and replayed traces, each class and node on a random stream of its own."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from heapq import merge
from math import gamma, isfinite
from typing import NamedTuple

import numpy as np

from engine.errors import BadKnob, nearest

MOST_TRACED = 2000


@dataclass(frozen=True)
class Hazard:
    """How often something strikes: `mtbf` seconds on average, None for never, and at the instants `at`, in seconds.

    Intervals follow Weibull's distribution of this `shape` and of mean `mtbf`: 1 is exponential, less has infant mortality.
    """

    mtbf: float | None = None
    shape: float = 1.0
    at: tuple[float, ...] = ()


class Traced(NamedTuple):
    """One entry of a trace: seconds, the fault's name, the node's number."""

    at: float
    fault: str
    node: int


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


def replay(trace: str, known: tuple[str, ...] = ()) -> tuple[Traced, ...]:
    """Read a trace, "seconds class node; ..." with the node left out for 0, in rising order; raises BadKnob."""
    entries = [part.split() for part in trace.split(";") if part.strip()]
    if len(entries) > MOST_TRACED:
        raise BadKnob(f"faults.trace has {len(entries)} entries; at most {MOST_TRACED} are allowed.")
    return tuple(sorted(_traced(words, known) for words in entries))


def _traced(words: list[str], known: tuple[str, ...]) -> Traced:
    entry = " ".join(words)[:60]
    if len(words) not in (2, 3):
        raise BadKnob(
            f"faults.trace has the entry {entry!r}; write 'seconds class' or 'seconds class node', such as '12.5 gpu-crash 3'."
        )
    try:
        at = float(words[0])
    except ValueError:
        at = -1.0
    if not (isfinite(at) and at >= 0):
        raise BadKnob(f"faults.trace has {words[0][:40]!r} in {entry!r} where seconds of at least 0 belong.")
    if known and words[1] not in known:
        raise BadKnob(f"faults.trace names the fault {words[1][:40]!r}; {nearest(words[1], known)}")
    node = words[2] if len(words) == 3 else "0"
    if not (node.isascii() and node.isdigit() and len(node) < 7):
        raise BadKnob(f"faults.trace has {node[:40]!r} in {entry!r} where the node's number from 0 belongs.")
    return Traced(at, words[1], int(node))
