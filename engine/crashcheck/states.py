"""Crash states: the points of a run at which power can be lost, and what may be left at each."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from math import prod
from random import Random

from ..core.arrays import Bytes
from ..persistence.crash_media import CrashMedia, Power, announce
from .reference_run import Journal

Counts = tuple[int, ...]
"""How many pending words of each stream became durable, in the order of the point's streams."""

Patch = tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """A moment before pending writes become durable: the durable image, and the pending words of each stream, oldest first.

    What could be left at earlier moments since the last such point is among what can be left here, since of every stream
    any prefix can. `operation` numbers the medium's operations from 1; `acknowledged` is the newest boundary promised;
    `after_loss` says that fenced lines may have gone missing before.
    """

    operation: int
    durable: bytes
    streams: tuple[int, ...]
    words: tuple[tuple[Patch, ...], ...]
    acknowledged: int
    after_loss: bool = False

    @property
    def sizes(self) -> Counts:
        """The number of pending words of each stream."""
        return tuple(map(len, self.words))

    @property
    def every(self) -> int:
        """How many combinations of prefixes there are."""
        return prod(size + 1 for size in self.sizes)

    def image(self, counts: Counts) -> bytearray:
        """Return the medium's bytes with the first `counts` words of each stream."""
        image = bytearray(self.durable)
        for words, count in zip(self.words, counts, strict=True):
            for address, data in words[:count]:
                image[address : address + len(data)] = data
        return image

    def name(self, counts: Counts) -> str:
        """Write a choice as replay lines do: all, none, or stream=words of the streams that keep any."""
        if counts == self.sizes:
            return "all"
        kept = [f"{stream}={count}" for stream, count in zip(self.streams, counts, strict=True) if count]
        return ",".join(kept) or "none"

    def counts(self, kept: Mapping[int, int]) -> Counts:
        """Return the choice that a replay line names."""
        return tuple(min(kept.get(stream, 0), size) for stream, size in zip(self.streams, self.sizes, strict=True))


class Observer:
    """Collects the points of a run on its crash medium, which begins with the bytes `start`."""

    def __init__(self, start: Bytes, power: Power, journal: Journal, after_loss: bool = False) -> None:
        self.points: list[CrashPoint] = []
        self.media = CrashMedia(start, power, watch=self._take)
        self._journal, self.after_loss = journal, after_loss

    def _take(self, media: CrashMedia, later: int = 0) -> None:
        """Take what the medium could be left with now; a shutdown that the device would count is counted."""
        streams, durable = media.streams(), media.durable.copy()
        announce(durable, media.domain)
        words = tuple(tuple((word.address, word.data.tobytes()) for word in queue) for queue in streams.values())
        now = media.operations + later, durable.tobytes(), tuple(streams), words, self._journal.acknowledged
        self.points.append(CrashPoint(*now, self.after_loss))

    def end(self) -> None:
        """Take the last point, after everything."""
        self._take(self.media, 1)


def deviating(sizes: Counts, lines: int) -> Iterator[Counts]:
    """Yield the choices in which exactly `lines` streams differ from all the others, which keep nothing or everything."""
    for rest in (tuple(0 for _ in sizes), sizes):
        for chosen in combinations(range(len(sizes)), lines):
            for prefixes in product(*([count for count in range(sizes[at] + 1) if count != rest[at]] for at in chosen)):
                counts = list(rest)
                for at, count in zip(chosen, prefixes, strict=True):
                    counts[at] = count
                yield tuple(counts)


def count_deviating(sizes: Counts, lines: int) -> int:
    """Return how many choices `deviating` yields."""
    return 2 * sum(prod(sizes[at] for at in chosen) for chosen in combinations(range(len(sizes)), lines))


def all_prefixes(sizes: Counts) -> Iterator[Counts]:
    """Yield every combination of prefixes."""
    return product(*(range(size + 1) for size in sizes))


def random_prefixes(sizes: Counts, rng: Random) -> Counts:
    """Draw a choice: half of them any prefixes at all, half with two streams apart from all others."""
    if rng.random() < 0.5 or len(sizes) < 3:
        return tuple(rng.randint(0, size) for size in sizes)
    counts = list(sizes) if rng.random() < 0.5 else [0] * len(sizes)
    for at in rng.sample(range(len(sizes)), 2):
        counts[at] = rng.randint(0, sizes[at])
    return tuple(counts)
