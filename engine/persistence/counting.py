"""A medium that counts what passes through it, by region: the check on the bytes that the timing charges."""

from collections import Counter

from .layout import Layout
from .media import Media, Octets


class CountingMedia:
    """Passes everything on, and keeps the bytes written and flushed per region, and the number of fences."""

    def __init__(self, media: Media, layout: Layout) -> None:
        self.load, self.poisoned = media.load, media.poisoned
        self._media, self._layout = media, layout
        self.written: Counter[str] = Counter()
        self.flushed: Counter[str] = Counter()
        self.fences = 0

    def store(self, address: int, data: Octets) -> None:
        """Store and count the bytes."""
        self.written[self._layout.region(address)] += data.size
        self._media.store(address, data)

    def device_write(self, address: int, data: Octets) -> None:
        """Write from the device and count the bytes."""
        self.written[self._layout.region(address)] += data.size
        self._media.device_write(address, data)

    def flush(self, address: int, nbytes: int) -> None:
        """Flush and count the bytes asked for."""
        self.flushed[self._layout.region(address)] += nbytes
        self._media.flush(address, nbytes)

    def fence(self) -> None:
        """Fence and count it."""
        self.fences += 1
        self._media.fence()
