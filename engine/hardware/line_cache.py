"""The cache in front of a medium, as the lines that all of a machine's modules hold together."""

from typing import NamedTuple

from ..scenario.machine import MachineKnobs
from ..units import GB
from .device import assumed_value, nodes
from .devices.pmem import MEDIA, modules


class LineCache(NamedTuple):
    """The lines that the caches of all the machine's modules hold together, and the bytes of a line.

    Of them the `dirty` ones written last are written at full rate; 0 where any are.
    """

    lines: int = 0
    nbytes: float = 1.0
    dirty: int = 0

    @property
    def written_last(self) -> "LineCache":
        """The dirty lines as a cache of their own, since all lines that a batch looks up are written."""
        return LineCache(self.dirty, self.nbytes)


NO_CACHE = LineCache()


def line_cache(machine: MachineKnobs) -> LineCache:
    """Return the caches of a machine's media as one, over which lines spread evenly; no line where there is none; settled."""
    media = MEDIA[machine.pmem]
    capacity = assumed_value(machine, "pmem", media.cache) * GB
    if not capacity:
        return NO_CACHE
    line = assumed_value(machine, "pmem", media.cache_line)
    cards, dirty = modules(machine) * nodes(machine), assumed_value(machine, "pmem", media.dirty_set) * GB
    written = max(1, int(cards * min(dirty, capacity) / line)) if dirty else 0
    return LineCache(max(1, int(cards * capacity / line)), line, written)
