"""The medium, the seam between the log protocol and whatever keeps its bytes: six operations, 64 B lines, 8 B words.

The protocol talks to `Media` alone, so the code whose time is charged is the code whose crash states are explored.
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Bytes

LINE = 64
WORD = 8
HEALTH = 4096 - LINE  # the device's own line: its first word counts shutdowns after which fenced lines may be missing


class PowerLost(Exception):
    """Control flow, not a user's error: the medium lost power in the middle of an operation."""


class Media(Protocol):
    """A byte-addressable medium with a persistence domain.

    A store is durable once its line was flushed and a fence has returned; until then each 64 B line may keep
    any prefix of its pending 8 B words, lines being independent. A device write is made by near-data logic:
    first in, first out per memory controller, and durable once a fence has returned.
    """

    def load(self, address: int, nbytes: int) -> bytes:
        """Return the bytes as a running program sees them, durable or not."""

    def store(self, address: int, data: Bytes) -> None:
        """Write from the host; volatile until flushed and fenced."""

    def flush(self, address: int, nbytes: int) -> None:
        """Start the write-back of every line that the range touches."""

    def fence(self) -> None:
        """Return when all flushed lines and all device writes are durable."""

    def device_write(self, address: int, data: Bytes) -> None:
        """Write from the near-data logic; needs no flush."""

    def poisoned(self, address: int, nbytes: int) -> bool:
        """Say whether a line of the range has lost its content; such a range must not be loaded."""


class NearData:
    """A medium whose stores are made by its own near-data logic: the same protocol, no flushes."""

    def __init__(self, media: Media) -> None:
        self.load, self.fence, self.poisoned = media.load, media.fence, media.poisoned
        self.store = self.device_write = media.device_write

    def flush(self, address: int, nbytes: int) -> None:
        """Do nothing: a device write does not pass through the host's caches."""


def put(media: Media, address: int, data: Bytes) -> None:
    """Store and flush `data`; the next fence makes it durable."""
    media.store(address, data)
    media.flush(address, data.size)


def octets(data: bytes | NDArray[Any]) -> Bytes:
    """Return any bytes or array as one flat array of bytes, without a copy where it is contiguous."""
    if isinstance(data, bytes):
        return np.frombuffer(data, np.uint8)
    return np.ascontiguousarray(data).reshape(-1).view(np.uint8)


class FunctionalMedia:
    """Bytes, and lines that were lost to media errors. `content` is a size or an image, which is copied."""

    def __init__(self, content: int | Bytes) -> None:
        self.durable: Bytes = np.zeros(content, np.uint8) if isinstance(content, int) else content.copy()
        self._poisoned: set[int] = set()

    def load(self, address: int, nbytes: int) -> bytes:
        """Return the bytes; zeros where the line is poisoned."""
        return self.durable[address : address + nbytes].tobytes()

    def store(self, address: int, data: Bytes) -> None:
        """Write from the host."""
        self.durable[address : address + data.size] = data
        self._mend(address, data.size)

    def device_write(self, address: int, data: Bytes) -> None:
        """Write from the near-data logic."""
        self.store(address, data)

    def flush(self, address: int, nbytes: int) -> None:
        """Do nothing: there is no cache."""

    def fence(self) -> None:
        """Do nothing: there is nothing to wait for."""

    def poisoned(self, address: int, nbytes: int) -> bool:
        """Say whether a line of the range has lost its content."""
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
