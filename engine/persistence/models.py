"""The persistence models: which writes on their way to the medium may have become durable when power is lost.

A write on its way has pieces that power can separate; the model names the queue that each pending word waits in.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf

import numpy as np

from ..core.arrays import Bytes
from ..errors import BadInput, nearest
from ..registry import domain_names
from .media import LINE, WORD

Stream = Callable[[int, bool, int], int]
"""The queue that a word waits in: (address, written by near-data logic, memory controller) -> stream."""

Reach = Callable[[int, int], int]
"""How many of a stream's pending words became durable: (stream, pending words) -> words.

What a stream is, the persistence model says: a host line by its number, a controller's queue as -1, -2, ...
"""


@dataclass(frozen=True)
class PersistenceModel:
    """A row of the table of persistence models. Of each stream a prefix of its pending words survives, streams being independent.

    A write reaches the medium with the next fence, or `at_once`. A fence may leave its last `buffered_lines` lines in a buffer
    that power can take; if such a loss is `announced`, the medium's dirty-shutdown counter tells. `safe` says whether the
    protocol promises to recover under it: exactly, or, where a loss is announced, exactly or by a refusal.
    """

    title: str
    summary: str
    stream: Stream
    at_once: bool = False
    buffered_lines: float = 0
    announced: bool = False
    safe: bool = True


def by_line(address: int, device: bool, controller: int) -> int:
    """Host writes wait by line; near-data writes in one queue per controller, -1, -2, ..."""
    return -1 - controller if device else address // LINE


def each_line(address: int, device: bool, controller: int) -> int:
    """Every write waits by line."""
    return address // LINE


def by_controller(address: int, device: bool, controller: int) -> int:
    """Every write waits in the queue of its controller."""
    return -1 - controller


def by_word(address: int, device: bool, controller: int) -> int:
    """Every word waits alone."""
    return address // WORD


def in_order(address: int, device: bool, controller: int) -> int:
    """There is one queue, in program order."""
    return 0


def domain(name: str) -> PersistenceModel:
    """Return a persistence model by name; raises BadInput."""
    if name not in domain_names():
        raise BadInput(f"persistence model {name!r} is not known; {nearest(name, domain_names())}")
    return MODELS[name.replace("_", "-")]


# What one Optane module holds that is fenced but not on the medium: 16 to 18 KiB (Yang et al., FAST'20).
BUFFER = 16 * 1024

MODELS: Mapping[str, PersistenceModel] = {
    # What has reached the memory controller is safe, caches are not.
    "adr": PersistenceModel(
        "ADR", "Flushed and fenced lines are durable; of others each keeps any prefix of its words.", by_line
    ),
    # Caches are flushed by stored energy; a store is torn at one word at most.
    "eadr": PersistenceModel("eADR", "Every store is durable at once, in program order.", in_order, at_once=True),
    # Every write, the host's too, passes the device's controllers.
    "device-fifo": PersistenceModel(
        "Controller queues", "Writes are durable first in, first out per memory controller.", by_controller
    ),
    # No order at all between fences: the weakest that a fence allows.
    "weak-word": PersistenceModel("Weak words", "Any subset of pending words may be durable.", by_word),
    # CXL's: host caches and device buffers reach the medium before power is gone.
    "gpf-ok": PersistenceModel(
        "Global Persistent Flush", "Caches and buffers are flushed in time: program order.", in_order, at_once=True
    ),
    # That, or ADR itself, fails: the device counts such a shutdown as dirty, and nothing else tells.
    "gpf-fail": PersistenceModel(
        "Global Persistent Flush fails",
        "Of the newest 16 KiB also fenced lines may be lost; only the dirty-shutdown counter tells.",
        each_line,
        buffered_lines=BUFFER // LINE,
        announced=True,
    ),
    # The control: fences promise nothing and nobody tells, so every protocol must fail here.
    "volatile": PersistenceModel(
        "Volatile (control)",
        "Nothing that was written is safe, and nothing tells.",
        each_line,
        buffered_lines=inf,
        safe=False,
    ),
}


def at_random(rng: np.random.Generator) -> Reach:
    """Return the choice that lets each stream keep a random prefix of its pending words."""
    return lambda stream, words: int(rng.integers(0, words + 1))


def nothing(stream: int, words: int) -> int:
    """Let no pending word survive."""
    return 0


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes on their way into the durable image."""

    address: int
    data: Bytes
    device: bool = False

    @property
    def stop(self) -> int:
        """The first address behind the bytes."""
        return self.address + self.data.size

    @property
    def lines(self) -> int:
        """How many lines the bytes touch."""
        return -(-self.stop // LINE) - self.address // LINE

    def part(self, low: int, high: int) -> "Write":
        """Return what lies in addresses [low, high), perhaps nothing."""
        start, stop = max(low - self.address, 0), max(high - self.address, 0)
        return Write(self.address + start, self.data[start:stop], self.device)

    def words(self, granularity: int = WORD) -> Iterator["Write"]:
        """Yield the pieces that are written atomically, `granularity` bytes each."""
        for low in range(self.address // granularity * granularity, self.stop, granularity):
            yield self.part(low, low + granularity)


def some(*writes: Write) -> list[Write]:
    """Return the writes that have bytes."""
    return [write for write in writes if write.data.size]
