"""The caches in front of a machine's media, as one cache of lines."""

from typing import NamedTuple

from ..scenario.machine import MachineKnobs
from ..units import GB
from .device import assumed_value, nodes
from .devices.pmem import MEDIA, modules


class LineCache(NamedTuple):
    """Lines of the caches of all the machine's modules, and the bytes of a line.

    The `dirty` lines written last are written at full rate; 0 if all lines are.
    """

    lines: int = 0
    nbytes: float = 1.0
    dirty: int = 0

    @property
    def written_last(self) -> "LineCache":
        """The dirty lines as a cache of their own.

        All lines that a batch looks up are written.
        """
        return LineCache(self.dirty, self.nbytes)


NO_CACHE = LineCache()


def line_cache(machine: MachineKnobs) -> LineCache:
    """Return the caches of a machine's media as one cache, over which lines spread evenly.

    A medium without a cache has no line. The capacity must be settled.
    """
    media = MEDIA[machine.pmem]
    capacity = assumed_value(machine, "pmem", media.cache) * GB
    if not capacity:
        return NO_CACHE
    line = assumed_value(machine, "pmem", media.cache_line)
    cards, dirty = modules(machine) * nodes(machine), assumed_value(machine, "pmem", media.dirty_set) * GB
    dirty_lines = max(1, int(cards * min(dirty, capacity) / line)) if dirty else 0
    return LineCache(max(1, int(cards * capacity / line)), line, dirty_lines)
