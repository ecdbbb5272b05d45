"""Crash states: points where power can be lost, and the states left there."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from math import prod
from random import Random

from ..core.arrays import Bytes
from ..persistence.crash_media import CrashMedia, Power, count_dirty_shutdown
from .reference_run import Journal

Counts = tuple[int, ...]
"""The number of pending words of each stream that became durable, in the order of the point's streams."""

Patch = tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """A moment before pending writes become durable.

    operation: the number of the medium's operation, from 1.
    durable: the durable image.
    streams, words: the streams, and the pending words of each, oldest first.
    acknowledged: the newest batch boundary that was promised.
    after_loss: True if fenced lines may have been lost before.

    The states of earlier moments since the last such point are among the states here, since any prefix of a stream can survive.
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
    def num_combinations(self) -> int:
        """The number of combinations of prefixes."""
        return prod(size + 1 for size in self.sizes)

    def image(self, counts: Counts) -> bytearray:
        """Return the medium's bytes with the first `counts` words of each stream."""
        image = bytearray(self.durable)
        for words, count in zip(self.words, counts, strict=True):
            for address, content in words[:count]:
                image[address : address + len(content)] = content
        return image

    def name(self, counts: Counts) -> str:
        """Return a choice as text of replay lines.

        It is all, none, or stream=words of the streams that keep words.
        """
        if counts == self.sizes:
            return "all"
        kept_words = [f"{stream}={count}" for stream, count in zip(self.streams, counts, strict=True) if count]
        return ",".join(kept_words) or "none"

    def counts(self, kept_words: Mapping[int, int]) -> Counts:
        """Return the counts of a replay line's choice, `kept_words` by stream."""
        return tuple(min(kept_words.get(stream, 0), size) for stream, size in zip(self.streams, self.sizes, strict=True))


class Observer:
    """A collector of a run's crash points on its crash medium.

    The medium begins with the bytes `start`.
    """

    def __init__(self, start: Bytes, power: Power, journal: Journal, after_loss: bool = False) -> None:
        self.points: list[CrashPoint] = []
        self.media = CrashMedia(start, power, watch=self._take)
        self._journal, self.after_loss = journal, after_loss

    def _take(self, media: CrashMedia, later: int = 0) -> None:
        """Add the present crash point.

        A shutdown that the device would count as dirty is counted.
        """
        streams, durable = media.streams(), media.durable.copy()
        count_dirty_shutdown(durable, media.domain)
        words = tuple(tuple((word.address, word.content.tobytes()) for word in queue) for queue in streams.values())
        snapshot = media.operations + later, durable.tobytes(), tuple(streams), words, self._journal.acknowledged
        self.points.append(CrashPoint(*snapshot, self.after_loss))

    def end(self) -> None:
        """Add the last crash point, at the end of the run."""
        self._take(self.media, 1)


def deviating_counts(sizes: Counts, lines: int) -> Iterator[Counts]:
    """Yield the choices in which exactly `lines` streams differ from the others.

    All other streams keep nothing, or everything.
    """
    for rest in (tuple(0 for _ in sizes), sizes):
        for streams in combinations(range(len(sizes)), lines):
            for prefixes in product(
                *([count for count in range(sizes[stream] + 1) if count != rest[stream]] for stream in streams)
            ):
                counts = list(rest)
                for stream, count in zip(streams, prefixes, strict=True):
                    counts[stream] = count
                yield tuple(counts)


def count_deviating(sizes: Counts, lines: int) -> int:
    """Return the number of choices that `deviating` yields."""
    return 2 * sum(prod(sizes[stream] for stream in streams) for streams in combinations(range(len(sizes)), lines))


def all_prefixes(sizes: Counts) -> Iterator[Counts]:
    """Yield every combination of prefixes."""
    return product(*(range(size + 1) for size in sizes))


def random_prefixes(sizes: Counts, rng: Random) -> Counts:
    """Draw a random choice of kept words.

    Half of the draws have random prefixes of all streams, the others two streams that differ.
    """
    if rng.random() < 0.5 or len(sizes) < 3:
        return tuple(rng.randint(0, size) for size in sizes)
    counts = list(sizes) if rng.random() < 0.5 else [0] * len(sizes)
    for stream in rng.sample(range(len(sizes)), 2):
        counts[stream] = rng.randint(0, sizes[stream])
    return tuple(counts)
