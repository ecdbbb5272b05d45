"""A medium that can lose power: a volatile image, a durable image, and the writes on their way between the two.

Which of those survive is up to the persistence model; `streams` lists them, so that every crash state can be enumerated.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..core.arrays import Bytes
from .media import HEALTH, LINE, WORD, FunctionalMedia, PowerLost
from .models import PersistenceModel, Reach, Write, at_random, domain, nothing, some

INTERLEAVE = 4096  # bytes that one memory controller holds before the next one follows


@dataclass(frozen=True)
class Power:
    """How a medium keeps what it is given: by which persistence model, and in which pieces.

    `granularity` is 8, 64 or 256 bytes that are written whole or not at all. After `cut_after` line writes power is lost.
    """

    model: str = "adr"
    controllers: int = 1
    interleave: int = INTERLEAVE
    granularity: int = WORD
    cut_after: int | None = None


class CrashMedia(FunctionalMedia):
    """Bytes with a persistence domain. The fence that would write one line more than `cut_after` raises PowerLost,
    and so does everything after it; `rng` decides what survives of the writes then pending.

    `watch` is called before whatever makes pending writes durable, while `streams` still has them.
    """

    def __init__(
        self,
        content: int | Bytes,
        power: Power = Power(),
        rng: np.random.Generator | None = None,
        watch: Callable[["CrashMedia"], None] | None = None,
    ) -> None:
        super().__init__(content)
        self.volatile = self.durable.copy()
        self.power, self.domain = power, domain(power.model)
        self.line_writes = self.operations = 0
        self._rng, self._watch = rng, watch
        self._buffered: list[Write] = []
        self._stores: dict[int, list[Write]] = {}  # by their number; and which of them touch a line
        self._touching: defaultdict[int, list[int]] = defaultdict(list)
        self.draining: list[Write] = []  # what the next fence makes durable, in that order
        self._off = self._held = False

    def load(self, address: int, nbytes: int) -> bytes:
        """Return the bytes as a running program sees them; zeros where the line is poisoned."""
        self._check(address, nbytes)
        return self.volatile[address : address + nbytes].tobytes()

    def store(self, address: int, data: Bytes) -> None:
        """Write from the host; volatile until flushed and fenced, unless the model is durable at once."""
        write = self._write(address, data, device=False)
        self._stores[self.operations] = [write]
        for line in range(address // LINE, -(-write.stop // LINE)):
            self._touching[line].append(self.operations)
        self._at_once()

    def device_write(self, address: int, data: Bytes) -> None:
        """Write from the near-data logic: first in, first out per controller."""
        self.draining.append(self._write(address, data, device=True))
        self._at_once()

    def flush(self, address: int, nbytes: int) -> None:
        """Start the write-back of the pending stores in every line that the range touches."""
        self._check(address, nbytes)
        self.operations += 1
        low, high = address // LINE * LINE, -(-(address + nbytes) // LINE) * LINE
        found = {number for line in range(low // LINE, high // LINE) for number in self._touching.pop(line, ())}
        for number in sorted(found & self._stores.keys()):
            parts = self._stores.pop(number)
            self.draining += [piece for write in parts for piece in some(write.part(low, high))]
            left = [piece for write in parts for piece in some(write.part(write.address, low), write.part(high, write.stop))]
            self._stores |= {number: left} if left else {}

    def fence(self) -> None:
        """Make all flushed lines and device writes durable, unless they are held; raises PowerLost at the cut."""
        if self._held:
            return
        self._check(0, 0)
        self.operations += 1
        self._reach_medium()

    def poison(self, address: int) -> None:
        """Lose the line that holds `address`; writing the whole line again repairs it."""
        super().poison(address)
        line = address // LINE
        self.volatile[line * LINE : (line + 1) * LINE] = 0

    def streams(self) -> dict[int, list[Write]]:
        """Return the words that are not safe yet, by stream, oldest first; a prefix of each may survive."""
        return self._streams(self._buffered + self.draining + self._stored())

    def survivor(self, reach: Reach | None = None) -> "CrashMedia":
        """Return the medium after power is lost now: what is durable, and of each stream a pending prefix.

        `reach` chooses the prefixes, first that of the line being written; else the generator; else none survive.
        """
        choose = reach or (nothing if self._rng is None else at_random(self._rng))
        after = CrashMedia(self.durable, replace(self.power, cut_after=None))
        after._poisoned = set(self._poisoned)
        for stream, words in self.streams().items():
            for word in words[: choose(stream, len(words))]:
                after.durable[word.address : word.stop] = word.data
        announce(after.durable, self.domain)
        after.volatile[:] = after.durable
        return after

    def hold(self) -> None:
        """Let all further writes be pending until `tear`, behind a fence and under a model that is durable at once too."""
        self._held = True

    def tear(self, share: float, rng: np.random.Generator) -> None:
        """Keep the first `share` of the pending flushed lines and random words of the next; lose the rest.

        Which words those can be, the persistence model says; a prefix of them by default.
        """
        queue = self.draining + (self._stored() if self.domain.at_once else [])
        self.draining, self._held = queue, False
        self._forget()
        self._drain(int(share * sum(write.lines for write in self.draining)))
        if self.draining:
            first = self.draining[0]
            torn = first.part(first.address, (first.address // LINE + 1) * LINE)
            for words in self._streams([torn]).values():
                self._accept(words[: rng.integers(0, len(words) + 1)])
        self.draining.clear()

    def drain(self) -> None:
        """Make everything that was fenced durable for good, buffers included: a long time has passed."""
        buffered, self._buffered = self._buffered, []
        for write in buffered:
            self._persist(write)

    def _streams(self, writes: list[Write]) -> dict[int, list[Write]]:
        found: dict[int, list[Write]] = {}
        for write in writes:
            for word in write.words(self.power.granularity):
                controller = word.address // self.power.interleave % self.power.controllers
                found.setdefault(self.domain.stream(word.address, write.device, controller), []).append(word)
        return found

    def _stored(self) -> list[Write]:
        """Return what was stored and not flushed, in program order."""
        return [write for _, parts in sorted(self._stores.items()) for write in parts]

    def _forget(self) -> None:
        self._stores.clear()
        self._touching.clear()

    def _write(self, address: int, data: Bytes, device: bool) -> Write:
        self._check(address, data.size)
        self.operations += 1
        self.volatile[address : address + data.size] = data
        return Write(address, data.copy(), device)

    def _at_once(self) -> None:
        if self.domain.at_once and not self._held:
            self.draining += self._stored()
            self._forget()
            self._reach_medium()

    def _reach_medium(self) -> None:
        if self._watch:
            self._watch(self)
        self._drain(None if self.power.cut_after is None else self.power.cut_after - self.line_writes)
        if self.draining:
            self._off = True
            raise PowerLost

    def _drain(self, limit: int | None) -> None:
        """Let pending lines leave the caches in order, at most `limit` of them."""
        queue, self.draining = self.draining, []
        for write in queue:
            if limit is not None and write.lines > limit:
                border = (write.address // LINE + limit) * LINE
                self.draining += some(write.part(border, write.stop))
                write, limit = write.part(write.address, border), 0
            elif limit is not None:
                limit -= write.lines
            self._accept(some(write))

    def _accept(self, writes: list[Write]) -> None:
        """Take writes into the device: through its buffer, where there is one, to the medium."""
        self.line_writes += sum(write.lines for write in writes)
        self._buffered += writes
        lines = sum(write.lines for write in self._buffered)
        while self._buffered and lines > self.domain.buffered_lines:
            oldest = self._buffered.pop(0)
            lines -= oldest.lines
            self._persist(oldest)

    def _persist(self, write: Write) -> None:
        self.durable[write.address : write.stop] = write.data
        self._mend(write.address, write.data.size)

    def _check(self, address: int, nbytes: int) -> None:
        if self._off:
            raise PowerLost
        if not 0 <= address <= address + nbytes <= self.durable.size:
            raise IndexError(f"bytes {address} to {address + nbytes} lie outside the medium of {self.durable.size} bytes.")


def announce(image: Bytes, model: PersistenceModel) -> None:
    """Count the shutdown as dirty, as the device does where fenced lines may be missing."""
    if model.announced:
        image[HEALTH : HEALTH + WORD].view("<u8")[0] += 1
