"""The persistence models: which pending writes may be durable after a power loss.

A power loss can separate the pieces of a pending write; the model names the queue in which each pending word waits.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf

import numpy as np

from ..core.arrays import Bytes
from ..errors import BadInput, nearest_hint
from ..registry import domain_names
from .media import LINE, WORD

Stream = Callable[["Write", int], int]
"""The queue that a word waits in: (word, number of its writer's queue at its memory controller) -> stream."""

Reach = Callable[[int, int], int]
"""The number of a stream's pending words that became durable: (stream, pending words) -> words.

The persistence model defines the streams: a host line by its number, a controller's queue as -1, -2, ..., or a writer's number.
"""


@dataclass(frozen=True)
class PersistenceModel:
    """The rule that says which pending words survive a power loss.

    Pending words wait in queues (streams); a prefix of each stream survives, independently of other streams.

    title, summary: the texts for users.
    stream: a function that returns the stream of a word.
    at_once: True if a write reaches the medium at once, False if the next fence brings it there. One of several GPUs runs in no
        order with the host, which can rely on the GPU's writes only after the GPU's fence.
    buffered_lines: the number of fenced lines that may wait in the device's buffer, which a power loss can take.
    announced: True if the medium's dirty-shutdown counter reports such a loss.
    safe: True if the protocol promises to restore the exact state or, after an announced loss, the exact state or a refusal.
    """

    title: str
    summary: str
    stream: Stream
    at_once: bool = False
    buffered_lines: float = 0
    announced: bool = False
    safe: bool = True


def by_line(word: "Write", queue: int) -> int:
    """Return a word's stream: its line, or for near-data writes a queue.

    That queue is its writer's at the memory controller. Streams of lines are the line numbers; streams of queues are -1, -2, and
    so on.
    """
    return -1 - queue if word.device else word.address // LINE


def each_line(word: "Write", queue: int) -> int:
    """Return a word's stream: its line, for host and near-data writes."""
    return word.address // LINE


def by_controller(word: "Write", queue: int) -> int:
    """Return a word's stream: its writer's queue at the controller, for host and near-data writes."""
    return -1 - queue


def by_word(word: "Write", queue: int) -> int:
    """Return a word's stream: a stream of its own, so that each word survives independently."""
    return word.address // WORD


def in_order(word: "Write", queue: int) -> int:
    """Return a word's stream: its writer, whose words are in the order of its program."""
    return word.writer


def domain(name: str) -> PersistenceModel:
    """Return the persistence model with this name; raises BadInput for an unknown name."""
    if name not in domain_names():
        raise BadInput(f"persistence model {name!r} is not known; {nearest_hint(name, domain_names())}")
    return MODELS[name.replace("_", "-")]


HOST = 0  # the writer of all writes of the host, of near-data logic, and of a GPU that trains alone

# Fenced bytes that one Optane module buffers before its medium: 16 to 18 KiB (Yang et al., FAST'20).
BUFFER = 16 * 1024

MODELS: Mapping[str, PersistenceModel] = {
    # The memory controller's queue is safe, caches are not.
    "adr": PersistenceModel(
        "ADR", "Flushed and fenced lines are durable; each other line keeps any prefix of its words.", by_line
    ),
    # Caches are flushed by stored energy; a store is torn at one word at most.
    "eadr": PersistenceModel("eADR", "Every store is durable at once, in the order of the program.", in_order, at_once=True),
    # Every write, the host's too, passes the device's controllers.
    "device-fifo": PersistenceModel(
        "Controller queues",
        "Writes become durable in their order at each memory controller (first in, first out).",
        by_controller,
    ),
    # No order at all between fences: the weakest that a fence allows.
    "weak-word": PersistenceModel("Weak words", "Any subset of the pending words may be durable; no order holds.", by_word),
    # CXL's flush: host caches and device buffers reach the medium before power is gone.
    "gpf-ok": PersistenceModel(
        "Global Persistent Flush",
        "Caches and buffers are flushed in time, so all stores are durable in the order of the program.",
        in_order,
        at_once=True,
    ),
    # CXL's flush, or ADR itself, fails: the device counts such a shutdown as dirty, and nothing else reports it.
    "gpf-fail": PersistenceModel(
        "Global Persistent Flush fails",
        "The newest 16 KiB may be lost, fenced lines too; only the dirty-shutdown counter shows it.",
        each_line,
        buffered_lines=BUFFER // LINE,
        announced=True,
    ),
    # The control experiment: fences promise nothing and no counter reports it, so every protocol must fail here.
    "volatile": PersistenceModel(
        "Volatile (control)",
        "Writes are never safe, and no counter shows a loss.",
        each_line,
        buffered_lines=inf,
        safe=False,
    ),
}


def at_random(rng: np.random.Generator) -> Reach:
    """Return a function that draws the length of each stream's surviving prefix."""
    return lambda stream, words: int(rng.integers(0, words + 1))


def keep_nothing(stream: int, words: int) -> int:
    """Return 0 as the length of a stream's surviving prefix: no pending word survives."""
    return 0


@dataclass(frozen=True, slots=True)
class Write:
    """A write that is not yet durable.

    address: the address of the first byte.
    content: the bytes.
    device: True for a write of the near-data logic, False for one of the host.
    writer: the number of the writer; HOST, or 1, 2, ... for each of several GPUs. Writes of different writers have no order.
    """

    address: int
    content: Bytes
    device: bool = False
    writer: int = HOST

    @property
    def stop(self) -> int:
        """The first address after the write."""
        return self.address + self.content.size

    @property
    def lines(self) -> int:
        """The number of lines that the write touches."""
        return -(-self.stop // LINE) - self.address // LINE

    def part(self, low: int, high: int) -> "Write":
        """Return the part of the write from address `low` to below `high`.

        The part may be empty.
        """
        start, stop = max(low - self.address, 0), max(high - self.address, 0)
        return Write(self.address + start, self.content[start:stop], self.device, self.writer)

    def words(self, granularity: int = WORD) -> Iterator["Write"]:
        """Yield the pieces of the write that are written atomically, `granularity` bytes each."""
        for low in range(self.address // granularity * granularity, self.stop, granularity):
            yield self.part(low, low + granularity)


def non_empty(*writes: Write) -> list[Write]:
    """Return the writes that are not empty."""
    return [write for write in writes if write.content.size]
