"""The medium: the interface between the log protocol and bytes.

A medium has six operations, lines of 64 bytes, and words of 8 bytes.
The protocol uses only `Media`, so the same code runs in the simulation and in the search for crash states.
"""

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
