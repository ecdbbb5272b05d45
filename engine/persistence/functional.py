"""A medium made of bytes: a volatile image, a durable image, and the writes on their way between the two."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from engine.persistence.media import LINE, WORD, Octets, PowerLost

INTERLEAVE = 4096  # bytes that one memory controller holds before the next one follows

Reach = Callable[[int, int], int]
"""How many of a stream's pending words became durable: (stream, pending words) -> words.

A stream is a host line (its number, from 0) or a controller's queue of device writes (-1, -2, ...).
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

    def words(self) -> Iterator["Write"]:
        """Yield the pieces that are written atomically."""
        for low in range(self.address // WORD * WORD, self.stop, WORD):
            yield self.part(low, low + WORD)


class FunctionalMedia:
    """Bytes with a persistence domain (model adr), and optionally a power loss after `cut_after` line writes.

    `cut_after` counts lines made durable by this object; the fence that would write one more raises PowerLost,
    and so does everything after it. `rng` decides what survives of the writes then pending.
    """

    def __init__(
        self,
        content: int | Octets,
        cut_after: int | None = None,
        rng: np.random.Generator | None = None,
        controllers: int = 1,
    ) -> None:
        self.durable: Octets = np.zeros(content, np.uint8) if isinstance(content, int) else content.copy()
        self.volatile = self.durable.copy()
        self.line_writes = 0
        self._cut_after = cut_after
        self._rng = rng
        self._controllers = controllers
        self._stored: list[Write] = []
        self._draining: list[Write] = []
        self._poisoned: set[int] = set()
        self._off = False

    def load(self, address: int, nbytes: int) -> bytes:
        """Return the bytes as a running program sees them; zeros where the line is poisoned."""
        self._check(address, nbytes)
        return self.volatile[address : address + nbytes].tobytes()

    def store(self, address: int, data: Octets) -> None:
        """Write from the host; volatile until flushed and fenced."""
        self._stored.append(self._write(address, data, device=False))

    def device_write(self, address: int, data: Octets) -> None:
        """Write from the near-data logic: first in, first out per controller."""
        self._draining.append(self._write(address, data, device=True))

    def flush(self, address: int, nbytes: int) -> None:
        """Start the write-back of the pending stores in every line that the range touches."""
        self._check(address, nbytes)
        low, high = address // LINE * LINE, -(-(address + nbytes) // LINE) * LINE
        stored, self._stored = self._stored, []
        for write in stored:
            self._draining += _some(write.part(low, high))
            self._stored += _some(write.part(write.address, low), write.part(high, write.stop))

    def fence(self) -> None:
        """Make all flushed lines and device writes durable; raises PowerLost at the cut."""
        self._check(0, 0)
        self._drain(None if self._cut_after is None else self._cut_after - self.line_writes)
        if self._draining:
            self._off = True
            raise PowerLost

    def poisoned(self, address: int, nbytes: int) -> bool:
        """Say whether a line of the range has lost its content."""
        lines = range(address // LINE, -(-(address + nbytes) // LINE))
        return any(line in lines for line in self._poisoned)

    def poison(self, address: int) -> None:
        """Lose the line that holds `address`; writing the whole line again repairs it."""
        line = address // LINE
        self._poisoned.add(line)
        self.durable[line * LINE : (line + 1) * LINE] = self.volatile[line * LINE : (line + 1) * LINE] = 0

    def survivor(self, reach: Reach | None = None) -> "FunctionalMedia":
        """Return the medium after power is lost now: what is durable, and of each stream a pending prefix.

        `reach` chooses the prefixes, first that of the line being written; else the generator; else none survive.
        """
        choose = reach or (nothing if self._rng is None else at_random(self._rng))
        after = FunctionalMedia(self.durable)
        after._poisoned = set(self._poisoned)
        for stream, words in self._pending().items():
            for word in words[: choose(stream, len(words))]:
                after.durable[word.address : word.stop] = word.data
        after.volatile[:] = after.durable
        return after

    def tear(self, share: float, rng: np.random.Generator) -> None:
        """Keep the first `share` of the pending flushed lines and a random word prefix of the next; lose the rest."""
        self._drain(int(share * sum(write.lines for write in self._draining)))
        if self._draining:
            first = self._draining[0]
            words = list(first.part(first.address, (first.address // LINE + 1) * LINE).words())
            for word in words[: rng.integers(0, len(words) + 1)]:
                self.durable[word.address : word.stop] = word.data
        self._draining.clear()

    def _write(self, address: int, data: Octets, device: bool) -> Write:
        self._check(address, data.size)
        self.volatile[address : address + data.size] = data
        return Write(address, data.copy(), device)

    def _drain(self, limit: int | None) -> None:
        """Make pending lines durable in order, at most `limit` of them."""
        queue, self._draining = self._draining, []
        for write in queue:
            if limit is not None and write.lines > limit:
                border = (write.address // LINE + limit) * LINE
                self._draining += _some(write.part(border, write.stop))
                write, limit = write.part(write.address, border), 0
            elif limit is not None:
                limit -= write.lines
            self._persist(write)

    def _persist(self, write: Write) -> None:
        if not write.data.size:
            return
        self.durable[write.address : write.stop] = write.data
        self.line_writes += write.lines
        if self._poisoned:
            self._poisoned -= set(range(-(-write.address // LINE), write.stop // LINE))

    def _pending(self) -> dict[int, list[Write]]:
        streams: dict[int, list[Write]] = {}
        for write in self._draining + self._stored:
            for word in write.words():
                controller = word.address // INTERLEAVE % self._controllers
                streams.setdefault(-1 - controller if write.device else word.address // LINE, []).append(word)
        return streams

    def _check(self, address: int, nbytes: int) -> None:
        if self._off:
            raise PowerLost
        if not 0 <= address <= address + nbytes <= self.durable.size:
            raise IndexError(f"bytes {address} to {address + nbytes} lie outside the medium of {self.durable.size} bytes.")


def _some(*writes: Write) -> list[Write]:
    return [write for write in writes if write.data.size]
