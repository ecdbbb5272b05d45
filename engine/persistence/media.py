"""The medium: the interface between the log protocol and bytes.

A medium has six operations, lines of 64 bytes, and words of 8 bytes.
The protocol uses only `Media`, so the same code runs in the simulation and in the search for crash states.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Bytes

LINE = 64
WORD = 8
HEALTH = 4096 - LINE  # the device's line: its first word counts dirty shutdowns, after which fenced lines may be missing


class PowerLost(Exception):
    """Raised by an operation in which the medium loses power.

    This exception is control flow, not a user's error.
    """


class Media(Protocol):
    """The interface of a byte-addressable medium with a persistence domain.

    A store is durable once its line was flushed and a later fence has returned. Until then, any prefix of each 64-byte line's
    pending 8-byte words may survive a power loss, independently of other lines. Near-data logic makes device writes: they are
    first in, first out per memory controller, and durable once a fence has returned.
    """

    def load(self, address: int, nbytes: int) -> bytes:
        """Return the bytes of a range as a running program sees them, durable or not."""

    def store(self, address: int, content: Bytes) -> None:
        """Write bytes from the host; they are volatile until flushed and fenced."""

    def flush(self, address: int, nbytes: int) -> None:
        """Start the write-back of every line in the range."""

    def fence(self) -> None:
        """Return when all flushed lines and all device writes are durable."""

    def device_write(self, address: int, content: Bytes) -> None:
        """Write bytes from the near-data logic; they need no flush."""

    def poisoned(self, address: int, nbytes: int) -> bool:
        """Return whether any line of the range has lost its content.

        The program must not load such a range.
        """


class PortedMedia(Media, Protocol):
    """A medium that several GPUs can write, each through a port of its own."""

    def port(self, gpu: int) -> Media:
        """Return the medium as one of several GPUs writes it; numbers begin at 0.

        The stores of different GPUs, and those of a GPU and the host, are not ordered. The fence of a GPU waits for all stores of
        this GPU, and for no others; the host's fence does not wait for them.
        """


class ManyGpus:
    """A medium that the host and several GPUs write.

    Its operations are the host's.
    gpus: the medium as each GPU writes it.
    """

    def __init__(self, host: Media, gpus: tuple[Media, ...]) -> None:
        self.load, self.store, self.flush = host.load, host.store, host.flush
        self.fence, self.device_write, self.poisoned = host.fence, host.device_write, host.poisoned
        self.gpus = gpus


def with_gpus(media: PortedMedia, num_gpus: int, view: Callable[[Media], Media] = lambda media: media) -> Media:
    """Return the medium as the host and `num_gpus` GPUs write it.

    A GPU that trains alone writes as the host does, so that one medium serves both. `view` is applied to the medium of the host,
    and to that of each GPU.
    """
    host = view(media)
    return ManyGpus(host, tuple(view(media.port(gpu)) for gpu in range(num_gpus))) if num_gpus > 1 else host


def gpus_of(media: Media) -> tuple[Media, ...]:
    """Return the medium as each of several GPUs writes it.

    Return () if one GPU trains, which writes as the host does.
    """
    return media.gpus if isinstance(media, ManyGpus) else ()


def line_ranges(address: int, nbytes: int, writers: int) -> list[slice]:
    """Return the range of each writer in a write of `nbytes` bytes at `address`.

    Ranges begin at lines, since two writers of a line would write parts of it in no order. They have the same number of lines, or
    one line less; a writer without a line has an empty range.
    """
    first_line, end_line = address // LINE, -(-(address + nbytes) // LINE)
    lines = end_line - first_line
    starts = ((first_line + -(-lines * writer // writers)) * LINE - address for writer in range(writers + 1))
    return [slice(*borders) for borders in pairwise(min(max(start, 0), nbytes) for start in starts)]


class NearData:
    """A medium on which the near-data logic makes all stores.

    The protocol is the same, without flushes.
    """

    def __init__(self, media: Media) -> None:
        self.load, self.fence, self.poisoned = media.load, media.fence, media.poisoned
        self.store = self.device_write = media.device_write

    def flush(self, address: int, nbytes: int) -> None:
        """Do nothing: a device write does not pass through the host's caches."""


def store_and_flush(media: Media, address: int, content: Bytes) -> None:
    """Store `content` at `address` and flush it; the next fence makes it durable."""
    media.store(address, content)
    media.flush(address, content.size)


def flat_bytes(content: bytes | NDArray[Any]) -> Bytes:
    """Return bytes or an array as a flat byte array.

    A contiguous array is not copied.
    """
    if isinstance(content, bytes):
        return np.frombuffer(content, np.uint8)
    return np.ascontiguousarray(content).reshape(-1).view(np.uint8)


class FunctionalMedia:
    """A medium of bytes, with lines that can be poisoned.

    `content` is the number of bytes, or an image that is copied.
    """

    def __init__(self, content: int | Bytes) -> None:
        self.durable: Bytes = np.zeros(content, np.uint8) if isinstance(content, int) else content.copy()
        self._poisoned: set[int] = set()

    def load(self, address: int, nbytes: int) -> bytes:
        """Return the bytes of a range; a poisoned line reads as zeros."""
        return self.durable[address : address + nbytes].tobytes()

    def store(self, address: int, content: Bytes) -> None:
        """Write bytes from the host; they are durable at once."""
        self.durable[address : address + content.size] = content
        self._mend(address, content.size)

    def device_write(self, address: int, content: Bytes) -> None:
        """Write bytes from the near-data logic; they are durable at once."""
        self.store(address, content)

    def flush(self, address: int, nbytes: int) -> None:
        """Do nothing: this medium has no cache."""

    def fence(self) -> None:
        """Do nothing: all writes of this medium are durable at once."""

    def port(self, gpu: int) -> Media:
        """Return this medium: where every write is durable at once, no order matters."""
        return self

    def poisoned(self, address: int, nbytes: int) -> bool:
        """Return whether any line of the range has lost its content."""
        if not self._poisoned:
            return False
        lines = range(address // LINE, -(-(address + nbytes) // LINE))
        return any(line in lines for line in self._poisoned)

    def poison(self, address: int) -> None:
        """Mark the line that holds `address` as lost, as a media error does.

        Writing the whole line again repairs it.
        """
        line = address // LINE
        self._poisoned.add(line)
        self.durable[line * LINE : (line + 1) * LINE] = 0

    def _mend(self, address: int, nbytes: int) -> None:
        if self._poisoned:
            self._poisoned -= set(range(-(-address // LINE), (address + nbytes) // LINE))
