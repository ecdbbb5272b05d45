"""The explorer's own media, compared with the persistence models as docs/persistence.md states them.

A medium that loses less than its model says would let a broken protocol pass.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import inf
from random import Random
from typing import Any, NamedTuple

import numpy as np

from ...core.arithmetic import total
from ...core.figures import count
from ...errors import BadInput
from ...persistence.crash_media import CrashMedia, Power
from ...persistence.media import FunctionalMedia, Media, NearData, PowerLost
from ...persistence.models import Reach, at_random, domain
from ..budget import BREAKS, processor_limited
from ..reference_run import Configuration, Wrap

LINE, PAGE, HEALTH, SIZE = 64, 4096, 4032, 4096 + 20 * 1024  # more than the device buffers
STEPS = 24
INTERLEAVE, CONTROLLERS = 256, 3
WRITERS = 3  # the host and two GPUs
Piece = tuple[int, bytes, bool, int]  # address, content, written by near-data logic, writer: 0 for the host


class QueueRule(NamedTuple):
    """A persistence model.

    host, device: the kinds of the queues of host and of near-data writes.
    at_once: True if a write needs no fence.
    buffered_lines: the fenced lines that the device may lose.
    announced: True if the dirty-shutdown counter tells of such a loss.
    """

    host: str
    device: str
    at_once: bool = False
    buffered_lines: float = 0
    announced: bool = False


RULES = {
    "adr": QueueRule("line", "controller"),
    "eadr": QueueRule("one", "one", True),
    "gpf_ok": QueueRule("one", "one", True),
    "gpf_fail": QueueRule("line", "line", False, 256, True),
    "device_fifo": QueueRule("controller", "controller"),
    "weak_word": QueueRule("word", "word"),
    "volatile": QueueRule("line", "line", False, inf),
}


def lines_of(piece: Piece) -> int:
    """Return the number of lines that a piece touches."""
    return -(-(piece[0] + len(piece[1])) // LINE) - piece[0] // LINE


def cut(piece: Piece, low: int, high: int) -> list[Piece]:
    """Return the part of a piece from address `low` to below `high`.

    The list has one piece, or none.
    """
    address, content, device, writer = piece
    start, stop = max(address, low), min(address + len(content), high)
    return [(start, content[start - address : stop - address], device, writer)] if start < stop else []


@dataclass
class PlainMedium:
    """A medium that follows its rule with plain lists of pieces."""

    rule: QueueRule
    granularity: int
    cut_after: float = inf

    def __post_init__(self) -> None:
        self.volatile, self.durable = bytearray(SIZE), bytearray(SIZE)
        self.stores, self.draining, self.buffered = list[Piece](), list[Piece](), list[Piece]()
        self.line_writes = self.drains = 0
        self.lost = self.holds = False

    def write(self, address: int, content: bytes, device: bool, writer: int) -> None:
        """Write bytes, by the host, by near-data logic or by a GPU.

        The host cannot tell when a GPU's writes have arrived, so they are never at once.
        """
        self.volatile[address : address + len(content)] = content
        awaits_flush = not device and not (self.rule.at_once and writer)
        (self.stores if awaits_flush else self.draining).append((address, content, device, writer))
        if self.rule.at_once and not self.holds and not writer:
            self.draining, self.stores = self.draining + self.stores, []
            self.drain()

    def flush(self, address: int, nbytes: int, writer: int) -> None:
        """Move the writer's stores in these lines to the writes that its next fence awaits."""
        low, high = address // LINE * LINE, -(-(address + nbytes) // LINE) * LINE
        self.draining += [part for piece in self.stores if piece[3] == writer for part in cut(piece, low, high)]
        borders = [(0, low), (high, SIZE)]
        self.stores = [
            part
            for piece in self.stores
            for span in (borders if piece[3] == writer else [(0, SIZE)])
            for part in cut(piece, *span)
        ]

    def drain(self, writer: int = 0) -> None:
        """Make the writer's awaited writes durable, up to the power loss.

        The device may buffer the newest ones.
        """
        self.drains += 1
        queue = [piece for piece in self.draining if piece[3] == writer]
        others, self.draining = [piece for piece in self.draining if piece[3] != writer], []
        for piece in queue:
            room = self.cut_after - self.line_writes
            border = SIZE if lines_of(piece) <= room else (piece[0] // LINE + int(room)) * LINE
            if self.draining:
                border = 0
            self.draining += cut(piece, border, SIZE)
            self.accept(cut(piece, 0, border))
        self.lost = bool(self.draining)
        self.draining += others

    def accept(self, pieces: list[Piece]) -> None:
        """Take pieces into the device's buffer, and the oldest ones out of it."""
        self.line_writes += total(map(lines_of, pieces))
        self.buffered += pieces
        while self.buffered and total(map(lines_of, self.buffered)) > self.rule.buffered_lines:
            address, content, *_ = self.buffered.pop(0)
            self.durable[address : address + len(content)] = content

    def queues(self) -> list[list[tuple[int, bytes]]]:
        """Return the pending words of each queue, oldest first."""
        queues = defaultdict[Any, list[tuple[int, bytes]]](list)
        for address, content, device, writer in self.buffered + self.draining + self.stores:
            stop = address + len(content)
            while address < stop:
                end = min(stop, (address // self.granularity + 1) * self.granularity)
                word, content = content[: end - address], content[end - address :]
                queues[self.queue(address, device, writer)].append((address, word))
                address = end
        return list(queues.values())

    def queue(self, address: int, device: bool, writer: int) -> tuple[str, int, int]:
        """Return the queue of a word.

        Lines and words have one for all writers.
        """
        kind = self.rule.device if device else self.rule.host
        numbers = {"line": (address // LINE, 0), "word": (address // 8, 0), "one": (0, writer)}
        return kind, *numbers.get(kind, (address // INTERLEAVE % CONTROLLERS, writer))


@processor_limited
def media_problem(variant: Configuration, seed: int = 0, wrap: Wrap | None = None) -> str:
    """Return a sentence if the explorer's medium differs from its model (I10), else "".

    `variant` and `wrap` are not used. Raises NoVerdict.
    """
    try:
        return next(filter(None, _problems(Random(seed))), "")
    except (*BREAKS, PowerLost) as error:
        return f"I10: a medium ended in {type(error).__name__}: {error}"


def _problems(rng: Random) -> Iterator[str]:
    yield _functional_problem(rng)
    yield _default_problem()
    for model, rule in RULES.items():
        yield "" if domain(model).safe == (model != "volatile") else f"I10: {model} promises the wrong thing"
        for number, granularity in enumerate((8, 64, 8, 256, 8)):
            cut_after = rng.randrange(60) if number > 2 else None
            problem = _random_problem(model, rule, granularity, cut_after, rng)
            yield problem and f"I10: a medium under {model} with {granularity} B {problem}"
        problem = _torn_problem(model, rule, rng)
        yield problem and f"I10: a torn operation under {model} {problem}"
    for (model, rule), granularity in product(RULES.items(), (8, 64)):
        cut_after = rng.randrange(60) if granularity == 64 else None
        problem = _random_problem(model, rule, granularity, cut_after, rng, WRITERS)
        yield problem and f"I10: a medium of several GPUs under {model} {problem}"


def _random_problem(model: str, rule: QueueRule, granularity: int, cut_after: int | None, rng: Random, writers: int = 1) -> str:
    drains = list[CrashMedia]()
    media = CrashMedia(SIZE, Power(model, CONTROLLERS, INTERLEAVE, granularity, cut_after), watch=drains.append)
    plain = PlainMedium(rule, granularity, inf if cut_after is None else cut_after)
    for step in range(STEPS):
        is_lost = _step(media, plain, rng, step, writers)
        if is_lost != plain.lost:
            return f"lost power at the wrong time (step {step})"
        if wrong := _difference(media, plain, len(drains)):
            return f"{wrong} (step {step})"
        if is_lost:
            return _survivor_problem(media, plain) or _powerless_problem(media)
    return _survivor_problem(media, plain) or _drained_problem(media, plain)


def _step(media: CrashMedia, plain: PlainMedium, rng: Random, step: int, writers: int) -> bool:
    """Make one random operation of a random writer on both media; return whether power was lost."""
    size = rng.choice((8, 12, 64, 100, 640))
    address, kind = rng.randrange(0, SIZE - size), rng.randrange(8)
    if step == STEPS // 2 and plain.rule.buffered_lines and plain.granularity > 8:
        address, size, kind = PAGE, 18 * 1024, 0  # more than the device buffers
    content, writer = np.frombuffer(rng.randbytes(size), np.uint8), rng.randrange(writers) if writers > 1 else 0
    port: Media = media.port(writer - 1) if writer else media
    try:
        if kind <= 2:
            port.store(address, content)
            plain.write(address, content.tobytes(), False, writer)
        elif kind <= 3:
            port.device_write(address, content)
            plain.write(address, content.tobytes(), True, writer)
        elif kind <= 6:
            port.flush(address, size)
            plain.flush(address, size, writer)
        else:
            port.fence()
            plain.drain(writer)
    except PowerLost:
        plain.drain(writer) if kind == 7 else plain.write(address, content.tobytes(), kind == 3, writer)
        return True
    return False


def _difference(media: CrashMedia, plain: PlainMedium, drains: int) -> str:
    queues = sorted([(word.address, word.content.tobytes()) for word in queue] for queue in media.streams().values())
    pairs = {
        "a program's view": (media.volatile.tobytes(), bytes(plain.volatile)),
        "durable bytes": (media.durable.tobytes(), bytes(plain.durable)),
        "pending words": (queues, sorted(plain.queues())),
        "a number of line writes": (media.line_writes, plain.line_writes),
        "a number of crash points": (drains, plain.drains),
    }
    return next((f"has {name} that the model does not state" for name, (own, stated) in pairs.items() if own != stated), "")


def _survivor_problem(media: CrashMedia, plain: PlainMedium) -> str:
    for share in (0.0, 0.5, 1.0, None):
        expected = bytearray(plain.durable)
        for queue in plain.queues():
            for address, word in queue[: int((share or 0) * len(queue))]:
                expected[address : address + len(word)] = word
        if plain.rule.announced:
            count = int.from_bytes(expected[HEALTH : HEALTH + 8], "little") + 1
            expected[HEALTH : HEALTH + 8] = count.to_bytes(9, "little")[:8]
        survivor = media.survivor(None if share is None else _first_part(share))
        states = survivor.durable.tobytes(), survivor.volatile.tobytes()
        if states != (bytes(expected), bytes(expected)) or survivor.power.cut_after is not None:
            return f"leaves a wrong image if {share} of its words survive"
    draws = {at_random(np.random.default_rng(seed))(0, 3) for seed in range(60)}
    return "" if draws == {0, 1, 2, 3} else f"lets {draws} of 3 words survive"


def _first_part(share: float) -> Reach:
    """Return a function that lets a share of each queue survive."""
    return lambda stream, words: int(share * words)


def _powerless_problem(media: CrashMedia) -> str:
    calls = (lambda: media.load(0, 8), lambda: media.store(0, np.ones(8, np.uint8)), media.fence, lambda: media.flush(0, 8))
    for call in calls:
        try:
            call()
        except PowerLost:
            continue
        return "works on after power was lost"
    return ""


def _drained_problem(media: CrashMedia, plain: PlainMedium) -> str:
    media.drain()
    for address, content, *_ in plain.buffered:
        plain.durable[address : address + len(content)] = content
    return "" if media.durable.tobytes() == bytes(plain.durable) else "keeps writes in its buffer in the long run"


def _torn_problem(model: str, rule: QueueRule, rng: Random) -> str:
    """Return a sentence if an operation that is cut does not keep its first lines, a part of the next, and no more."""
    torn_words = set[int]()
    for number in range(24):
        media, share = CrashMedia(SIZE, Power(model)), (0.0, 0.5, 0.8)[number % 3]
        media.hold()
        content = np.frombuffer(bytes(1 + rng.randrange(255) for _ in range(5 * LINE)), np.uint8)
        media.store(PAGE, content)
        media.flush(PAGE, content.size)
        media.fence()
        if media.durable.any():
            return "is durable while it is held"
        media.tear(share, np.random.default_rng(number))
        media.drain()
        lines = int(share * 5)
        kept, stated = media.durable[PAGE : PAGE + content.size], content[: lines * LINE]
        words = [bool(kept[at : at + 8].any()) for at in range(lines * LINE, (lines + 1) * LINE, 8)]
        is_prefix = rule.host == "word" or words == sorted(words, reverse=True)
        rest = kept[(lines + 1) * LINE :].any() or media.durable[:PAGE].any() or media.durable[PAGE + content.size :].any()
        wrong_words = any(kept[at] != content[at] for at in np.flatnonzero(kept))
        if not np.array_equal(kept[: stated.size], stated) or not is_prefix or rest or wrong_words or media.streams():
            return f"keeps other bytes than {count(lines, 'line')} and a part of the next one"
        torn_words.add(total(words))
    return "" if len(torn_words) > 3 else "never keeps a part of its next line"


def _default_problem() -> str:
    power = Power()
    if (power.model, power.controllers, power.interleave, power.granularity, power.cut_after) != ("adr", 1, PAGE, 8, None):
        return "I10: power losses have other defaults than the model states"
    media, calls = FunctionalMedia(SIZE), list[str]()
    media.device_write = lambda address, content: calls.append("device write")  # type: ignore[method-assign]
    media.flush = lambda address, nbytes: calls.append("flush")  # type: ignore[method-assign]
    near = NearData(media)
    near.store(0, np.ones(8, np.uint8))
    near.flush(0, 8)
    for address, nbytes in ((-1, 8), (SIZE - 4, 8)):
        try:
            CrashMedia(SIZE).load(address, nbytes)
        except IndexError:
            continue
        return "I10: a medium has bytes outside its size"
    try:
        CrashMedia(SIZE, Power("no_model"))
    except BadInput:
        return "" if calls == ["device write"] else f"I10: a near-data store becomes {calls}"
    return "I10: an unknown persistence model is accepted"


def _functional_problem(rng: Random) -> str:
    """Return a sentence if lost lines do not read as zeros until they are written whole."""
    for media in (FunctionalMedia(SIZE), CrashMedia(SIZE)):
        expected, lost = bytearray(SIZE), set[int]()
        for _ in range(400):
            size = rng.choice((8, 63, 64, 65, 130, 200))
            address, kind = rng.randrange(0, SIZE - size) // 4 * 4, rng.randrange(4)
            if kind:
                content = rng.randbytes(size)
                media.store(address, np.frombuffer(content, np.uint8))
                media.flush(address, size)
                media.fence()
                expected[address : address + size] = content
                lost -= {line for line in range(SIZE // LINE) if address <= line * LINE and (line + 1) * LINE <= address + size}
            else:
                line = address // LINE
                media.poison(address)
                expected[line * LINE : (line + 1) * LINE] = bytes(LINE)
                lost.add(line)
            begin, nbytes = rng.randrange(SIZE - 300), rng.randrange(1, 300)
            is_lost = any(begin < (line + 1) * LINE and line * LINE < begin + nbytes for line in lost)
            if media.poisoned(begin, nbytes) != is_lost:
                return "I10: a medium reports lost lines that are none, or none that are"
            if media.load(begin, nbytes) != bytes(expected[begin : begin + nbytes]):
                return "I10: a medium returns other bytes than were written"
        if media.durable.tobytes() != bytes(expected):
            return "I10: a medium holds other bytes than were written"
    return ""
