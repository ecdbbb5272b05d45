"""The medium: the interface between the log protocol and its bytes.

It has six operations, 64 B lines and 8 B words.
The protocol uses `Media` alone, so the same code is timed and explored for crash states.
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Bytes

LINE = 64
WORD = 8
HEALTH = 4096 - LINE  # the device's line: its first word counts dirty shutdowns, after which fenced lines may be missing


class PowerLost(Exception):
    """Raised by a medium that loses power in an operation.

    This is control flow, not a user's error.
    """


class Media(Protocol):
    """A byte-addressable medium with a persistence domain.

    A store is durable once its line was flushed and a fence has returned; until then each 64 B line may keep any prefix of its
    pending 8 B words, independently of other lines. Near-data logic makes device writes: first in, first out per memory
    controller, and durable once a fence has returned.
    """

    def load(self, address: int, nbytes: int) -> bytes:
        """Return the bytes as a running program sees them, durable or not."""

    def store(self, address: int, content: Bytes) -> None:
        """Write from the host; volatile until flushed and fenced."""

    def flush(self, address: int, nbytes: int) -> None:
        """Start the write-back of every line that the range touches."""

    def fence(self) -> None:
        """Return when all flushed lines and all device writes are durable."""

    def device_write(self, address: int, content: Bytes) -> None:
        """Write from the near-data logic; needs no flush."""

    def poisoned(self, address: int, nbytes: int) -> bool:
        """Return whether a line of the range has lost its content.

        Such a range must not be loaded.
        """


class NearData:
    """A medium whose near-data logic makes all stores: the same protocol, no flushes."""

    def __init__(self, media: Media) -> None:
        self.load, self.fence, self.poisoned = media.load, media.fence, media.poisoned
        self.store = self.device_write = media.device_write

    def flush(self, address: int, nbytes: int) -> None:
        """Do nothing: a device write does not pass through the host's caches."""


def store_and_flush(media: Media, address: int, content: Bytes) -> None:
    """Store and flush `content`; the next fence makes the bytes durable."""
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
    """A medium of bytes with poisoned lines.

    `content` is a size or an image, which is copied.
    """

    def __init__(self, content: int | Bytes) -> None:
        self.durable: Bytes = np.zeros(content, np.uint8) if isinstance(content, int) else content.copy()
        self._poisoned: set[int] = set()

    def load(self, address: int, nbytes: int) -> bytes:
        """Return the bytes; zeros for a poisoned line."""
        return self.durable[address : address + nbytes].tobytes()

    def store(self, address: int, content: Bytes) -> None:
        """Write from the host."""
        self.durable[address : address + content.size] = content
        self._mend(address, content.size)

    def device_write(self, address: int, content: Bytes) -> None:
        """Write from the near-data logic."""
        self.store(address, content)

    def flush(self, address: int, nbytes: int) -> None:
        """Do nothing: there is no cache."""

    def fence(self) -> None:
        """Do nothing: there is nothing to wait for."""

    def poisoned(self, address: int, nbytes: int) -> bool:
        """Return whether a line of the range has lost its content."""
        if not self._poisoned:
            return False
        lines = range(address // LINE, -(-(address + nbytes) // LINE))
        return any(line in lines for line in self._poisoned)

    def poison(self, address: int) -> None:
        """Lose the line that holds `address`; writing the whole line again repairs it."""
        line = address // LINE
        self._poisoned.add(line)
        self.durable[line * LINE : (line + 1) * LINE] = 0

    def _mend(self, address: int, nbytes: int) -> None:
        if self._poisoned:
            self._poisoned -= set(range(-(-address // LINE), (address + nbytes) // LINE))
