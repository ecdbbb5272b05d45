"""A write on its way to the medium, and the pieces of it that power can separate."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from .media import LINE, WORD, Octets

Reach = Callable[[int, int], int]
"""How many of a stream's pending words became durable: (stream, pending words) -> words.

What a stream is, the persistence model says: a host line by its number, a controller's queue as -1, -2, ...
"""


def at_random(rng: np.random.Generator) -> Reach:
    """Return the choice that lets each stream keep a random prefix of its pending words."""
    return lambda stream, words: int(rng.integers(0, words + 1))


def nothing(stream: int, words: int) -> int:
    """Let no pending word survive."""
    return 0


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes on their way into the durable image."""

    address: int
    data: Octets
    device: bool = False

    @property
    def stop(self) -> int:
        """The first address behind the bytes."""
        return self.address + self.data.size

    @property
    def lines(self) -> int:
        """How many lines the bytes touch."""
        return -(-self.stop // LINE) - self.address // LINE

    def part(self, low: int, high: int) -> "Write":
        """Return what lies in addresses [low, high), perhaps nothing."""
        start, stop = max(low - self.address, 0), max(high - self.address, 0)
        return Write(self.address + start, self.data[start:stop], self.device)

    def words(self, granularity: int = WORD) -> Iterator["Write"]:
        """Yield the pieces that are written atomically, `granularity` bytes each."""
        for low in range(self.address // granularity * granularity, self.stop, granularity):
            yield self.part(low, low + granularity)


def some(*writes: Write) -> list[Write]:
    """Return the writes that have bytes."""
    return [write for write in writes if write.data.size]
