"""A medium that can lose power: volatile image, durable image, pending writes.

The persistence model decides which pending writes survive; `streams` lists them, so that all crash states can be enumerated.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..core.arithmetic import total
from ..core.arrays import Bytes
from ..core.figures import count
from .media import HEALTH, LINE, WORD, FunctionalMedia, Media, PowerLost
from .models import HOST, PersistenceModel, Reach, Write, at_random, domain, keep_nothing, non_empty

INTERLEAVE = 4096  # consecutive bytes of one memory controller


@dataclass(frozen=True)
class Power:
    """The behaviour of a medium at a power loss.

    model: the name of the persistence model.
    controllers: the number of memory controllers.
    interleave: the number of consecutive bytes that belong to one controller.
    granularity: the bytes that are written as a whole or not at all: 8, 64 or 256.
    cut_after: the number of line writes after which power is lost; None for no power loss.
    """

    model: str = "adr"
    controllers: int = 1
    interleave: int = INTERLEAVE
    granularity: int = WORD
    cut_after: int | None = None


class CrashMedia(FunctionalMedia):
    """A medium of bytes that can lose power, with volatile and durable contents.

    The fence that would write more than `cut_after` lines raises PowerLost, and so does every later operation. `rng` then selects
    the pending writes that survive. `watch` is called before pending writes become durable, while `streams` still returns them.
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
        self._stores: dict[int, list[Write]] = {}  # pending stores by number; below, the stores that touch a line
        self._touching: defaultdict[tuple[int, int], list[int]] = defaultdict(list)  # by (writer, line)
        self.draining: list[Write] = []  # the writes that their writer's next fence makes durable, in order
        self._has_no_power = self._holds_writes = False

    def load(self, address: int, nbytes: int) -> bytes:
        """Return bytes as a running program sees them; a poisoned line reads as zeros."""
        self._check(address, nbytes)
        return self.volatile[address : address + nbytes].tobytes()

    def port(self, gpu: int) -> Media:
        """Return the medium as one of several GPUs writes it; numbers begin at 0."""
        return _Port(self, HOST + 1 + gpu)

    def store(self, address: int, content: Bytes, writer: int = HOST) -> None:
        """Write bytes from the host, or from the GPU with the number `writer`.

        The bytes are volatile until they are flushed and fenced, unless the persistence model makes writes durable at once.
        """
        write = self._write(address, content, False, writer)
        if writer != HOST and self.domain.at_once:  # no flush is needed; the host learns of it by the GPU's fence alone
            self.draining.append(write)
            return
        self._stores[self.operations] = [write]
        for line in range(address // LINE, -(-write.stop // LINE)):
            self._touching[writer, line].append(self.operations)
        self._at_once(writer)

    def device_write(self, address: int, content: Bytes, writer: int = HOST) -> None:
        """Write bytes from the near-data logic.

        Writes are first in, first out per memory controller and writer.
        """
        self.draining.append(self._write(address, content, True, writer))
        self._at_once(writer)

    def flush(self, address: int, nbytes: int, writer: int = HOST) -> None:
        """Start the write-back of the writer's pending stores in every line of the range."""
        self._check(address, nbytes)
        self.operations += 1
        low, high = address // LINE * LINE, -(-(address + nbytes) // LINE) * LINE
        store_numbers = {number for line in range(low // LINE, high // LINE) for number in self._touching.pop((writer, line), ())}
        for number in sorted(store_numbers & self._stores.keys()):
            parts = self._stores.pop(number)
            self.draining += [piece for write in parts for piece in non_empty(write.part(low, high))]
            unflushed_pieces = [
                piece for write in parts for piece in non_empty(write.part(write.address, low), write.part(high, write.stop))
            ]
            self._stores |= {number: unflushed_pieces} if unflushed_pieces else {}

    def fence(self, writer: int = HOST) -> None:
        """Make all flushed lines and device writes of the writer durable; after `hold`, do nothing.

        Raises PowerLost if power is lost at this fence.
        """
        if self._holds_writes:
            return
        self._check(0, 0)
        self.operations += 1
        self._reach_medium(writer)

    def poison(self, address: int) -> None:
        """Mark the line that holds `address` as lost, as a media error does.

        Writing the whole line again repairs it.
        """
        super().poison(address)
        line = address // LINE
        self.volatile[line * LINE : (line + 1) * LINE] = 0

    def streams(self) -> dict[int, list[Write]]:
        """Return the pending words of each stream by its number, oldest first.

        At a power loss, a prefix of each stream's words survives.
        """
        return self._streams(self._buffered + self.draining + self._unflushed())

    def survivor(self, reach: Reach | None = None) -> "CrashMedia":
        """Return the medium as it is after a power loss at this instant.

        The medium has the durable bytes, and a prefix of each stream's pending words.
        `reach(stream, words)` returns the length of each prefix. Without `reach` the generator `rng` draws the lengths; without a
        generator no pending word survives.
        """
        choose = reach or (keep_nothing if self._rng is None else at_random(self._rng))
        survivor_media = CrashMedia(self.durable, replace(self.power, cut_after=None))
        survivor_media._poisoned = set(self._poisoned)
        for stream, words in self.streams().items():
            for word in words[: choose(stream, len(words))]:
                survivor_media.durable[word.address : word.stop] = word.content
        count_dirty_shutdown(survivor_media.durable, self.domain)
        survivor_media.volatile[:] = survivor_media.durable
        return survivor_media

    def hold(self) -> None:
        """Keep all further writes pending until `tear` is called.

        Until then, a fence makes no write durable, nor does a persistence model that is durable at once.
        """
        self._holds_writes = True

    def tear(self, share: float, rng: np.random.Generator) -> None:
        """Make the first `share` of each writer's pending flushed lines durable, and drop the others.

        Of a writer's next line, some random words survive too. The persistence model says which words these can be; usually they
        are a prefix of the line.
        """
        queue = self.draining + (self._unflushed() if self.domain.at_once else [])
        self._holds_writes = False
        self._forget()
        for writer in sorted({write.writer for write in queue}):
            self.draining = [write for write in queue if write.writer == writer]
            self._drain(int(share * total(write.lines for write in self.draining)))
            if self.draining:
                next_write = self.draining[0]
                torn_line = next_write.part(next_write.address, (next_write.address // LINE + 1) * LINE)
                for words in self._streams([torn_line]).values():
                    self._accept(words[: rng.integers(0, len(words) + 1)])
        self.draining = []

    def drain(self) -> None:
        """Make all fenced writes durable, also those in the device's buffer, as time would."""
        buffered, self._buffered = self._buffered, []
        for write in buffered:
            self._persist(write)

    def _streams(self, writes: list[Write]) -> dict[int, list[Write]]:
        words_by_stream: dict[int, list[Write]] = {}
        for write in writes:
            for word in write.words(self.power.granularity):
                controller = word.address // self.power.interleave % self.power.controllers
                queue = controller + self.power.controllers * word.writer
                words_by_stream.setdefault(self.domain.stream(word, queue), []).append(word)
        return words_by_stream

    def _unflushed(self) -> list[Write]:
        """Return the stores that were not flushed, in program order."""
        return [write for _, parts in sorted(self._stores.items()) for write in parts]

    def _forget(self) -> None:
        self._stores.clear()
        self._touching.clear()

    def _write(self, address: int, content: Bytes, device: bool, writer: int) -> Write:
        self._check(address, content.size)
        self.operations += 1
        self.volatile[address : address + content.size] = content
        return Write(address, content.copy(), device, writer)

    def _at_once(self, writer: int) -> None:
        if writer == HOST and self.domain.at_once and not self._holds_writes:
            self.draining += self._unflushed()
            self._forget()
            self._reach_medium(HOST)

    def _reach_medium(self, writer: int) -> None:
        if self._watch:
            self._watch(self)
        other_writes = [write for write in self.draining if write.writer != writer]
        self.draining = [write for write in self.draining if write.writer == writer]
        self._drain(None if self.power.cut_after is None else self.power.cut_after - self.line_writes)
        self._has_no_power = bool(self.draining)
        self.draining += other_writes
        if self._has_no_power:
            raise PowerLost

    def _drain(self, limit: int | None) -> None:
        """Let pending lines leave the caches in order, at most `limit` of them."""
        queue, self.draining = self.draining, []
        for write in queue:
            if limit is not None and write.lines > limit:
                border = (write.address // LINE + limit) * LINE
                self.draining += non_empty(write.part(border, write.stop))
                write, limit = write.part(write.address, border), 0
            elif limit is not None:
                limit -= write.lines
            self._accept(non_empty(write))

    def _accept(self, writes: list[Write]) -> None:
        """Take writes into the device: through its buffer, if there is one, to the medium."""
        self.line_writes += total(write.lines for write in writes)
        self._buffered += writes
        lines = total(write.lines for write in self._buffered)
        while self._buffered and lines > self.domain.buffered_lines:
            oldest = self._buffered.pop(0)
            lines -= oldest.lines
            self._persist(oldest)

    def _persist(self, write: Write) -> None:
        self.durable[write.address : write.stop] = write.content
        self._mend(write.address, write.content.size)

    def _check(self, address: int, nbytes: int) -> None:
        if self._has_no_power:
            raise PowerLost
        if not 0 <= address <= address + nbytes <= self.durable.size:
            raise IndexError(
                f"bytes {address} to {address + nbytes} lie outside the medium of {count(self.durable.size, 'byte')}."
            )


class _Port:
    """The medium as one of several GPUs writes it."""

    def __init__(self, media: CrashMedia, writer: int) -> None:
        self.load, self.poisoned = media.load, media.poisoned
        self.store, self.device_write = partial(media.store, writer=writer), partial(media.device_write, writer=writer)
        self.flush, self.fence = partial(media.flush, writer=writer), partial(media.fence, writer=writer)


def count_dirty_shutdown(image: Bytes, model: PersistenceModel) -> None:
    """Add 1 to the dirty-shutdown counter in `image` if the model announces lost fenced lines."""
    if model.announced:
        image[HEALTH : HEALTH + WORD].view("<u8")[0] += 1
