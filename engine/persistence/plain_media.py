"""A medium made of bytes alone, where every write is durable at once: for replaying, recovering and counting."""

import numpy as np

from .media import LINE, Octets


class FunctionalMedia:
    """Bytes, and lines that were lost to media errors. `content` is a size or an image, which is copied."""

    def __init__(self, content: int | Octets) -> None:
        self.durable: Octets = np.zeros(content, np.uint8) if isinstance(content, int) else content.copy()
        self._poisoned: set[int] = set()

    def load(self, address: int, nbytes: int) -> bytes:
        """Return the bytes; zeros where the line is poisoned."""
        return self.durable[address : address + nbytes].tobytes()

    def store(self, address: int, data: Octets) -> None:
        """Write from the host."""
        self.durable[address : address + data.size] = data
        self._mend(address, data.size)

    def device_write(self, address: int, data: Octets) -> None:
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
