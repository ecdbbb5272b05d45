"""Crash points, where power can be lost, and the crash states that a loss leaves."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from math import prod
from random import Random

from ..core.arithmetic import total
from ..core.arrays import Bytes
from ..persistence.crash_media import CrashMedia, Power, count_dirty_shutdown
from .reference_run import Journal

Counts = tuple[int, ...]
"""The number of pending words of each stream that became durable, in the order of the point's streams."""

Patch = tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """A point of a run at which power can be lost.

    Pending writes are about to become durable there.

    operation: the number of the medium's operation, from 1.
    durable: the durable bytes of the medium.
    streams: the streams of pending words.
    words: the pending words of each stream as (address, bytes), oldest first.
    acknowledged: the newest batch boundary that was promised to be durable.
    after_loss: True if fenced lines may have been lost at an earlier power loss.
    maybe_dirty: True if an earlier dirty shutdown may not be recorded as handled yet.

    A power loss between two crash points leaves a state that the later crash point has too, since any prefix of a stream can
    survive.
    """

    operation: int
    durable: bytes
    streams: tuple[int, ...]
    words: tuple[tuple[Patch, ...], ...]
    acknowledged: int
    after_loss: bool = False
    maybe_dirty: bool = False

    @property
    def sizes(self) -> Counts:
        """The number of pending words in each stream."""
        return tuple(map(len, self.words))

    @property
    def num_combinations(self) -> int:
        """The number of combinations of surviving prefixes of all streams."""
        return prod(size + 1 for size in self.sizes)

    def image(self, counts: Counts) -> bytearray:
        """Return the medium's bytes if the first `counts` words of each stream survive."""
        image = bytearray(self.durable)
        for words, count in zip(self.words, counts, strict=True):
            for address, content in words[:count]:
                image[address : address + len(content)] = content
        return image

    def name(self, counts: Counts) -> str:
        """Return numbers of surviving words as a text for replay lines.

        The text is "all", "none", or stream=number for each stream with surviving words.
        """
        if counts == self.sizes:
            return "all"
        kept_words = [f"{stream}={count}" for stream, count in zip(self.streams, counts, strict=True) if count]
        return ",".join(kept_words) or "none"

    def counts(self, kept_words: Mapping[int, int]) -> Counts:
        """Return the number of surviving words of each stream, from a replay line.

        `kept_words` has these numbers by stream; other streams have 0.
        """
        return tuple(min(kept_words.get(stream, 0), size) for stream, size in zip(self.streams, self.sizes, strict=True))


class Observer:
    """A medium that notes the crash points of a run.

    The medium begins with the bytes `start`. The list `points` has the crash points so far.
    """

    def __init__(self, start: Bytes, power: Power, journal: Journal, after_loss: bool = False, maybe_dirty: bool = False) -> None:
        self.points: list[CrashPoint] = []
        self.media = CrashMedia(start, power, watch=self._take)
        self._journal, self.after_loss, self.maybe_dirty = journal, after_loss, maybe_dirty

    def _take(self, media: CrashMedia, later: int = 0) -> None:
        """Add the present crash point.

        A shutdown that the device would count as dirty is counted.
        """
        streams, durable = media.streams(), media.durable.copy()
        count_dirty_shutdown(durable, media.domain)
        words = tuple(tuple((word.address, word.content.tobytes()) for word in queue) for queue in streams.values())
        snapshot = media.operations + later, durable.tobytes(), tuple(streams), words, self._journal.acknowledged
        self.points.append(CrashPoint(*snapshot, self.after_loss, self.maybe_dirty))

    def end(self) -> None:
        """Add the crash point at the end of the run."""
        self._take(self.media, 1)


def deviating_counts(sizes: Counts, lines: int) -> Iterator[Counts]:
    """Yield numbers of surviving words in which exactly `lines` streams are exceptions.

    Of all other streams no word survives, or all words survive.
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
    """Return the number of items that `deviating_counts` yields."""
    return 2 * total(prod(sizes[stream] for stream in streams) for streams in combinations(range(len(sizes)), lines))


def all_prefixes(sizes: Counts) -> Iterator[Counts]:
    """Yield every combination of numbers of surviving words."""
    return product(*(range(size + 1) for size in sizes))


def random_prefixes(sizes: Counts, rng: Random) -> Counts:
    """Return random numbers of surviving words, one for each stream.

    In half of the draws all numbers are random; in the others only those of two streams, and of the other streams all words or
    none survive.
    """
    if rng.random() < 0.5 or len(sizes) < 3:
        return tuple(rng.randint(0, size) for size in sizes)
    counts = list(sizes) if rng.random() < 0.5 else [0] * len(sizes)
    for stream in rng.sample(range(len(sizes)), 2):
        counts[stream] = rng.randint(0, sizes[stream])
    return tuple(counts)
