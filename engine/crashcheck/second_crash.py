"""Second crashes: power lost again inside recovery, training resumed to the end, lines lost and bits flipped."""

from collections.abc import Iterator
from itertools import islice, zip_longest
from random import Random

import numpy as np

from ..errors import CannotRun
from ..persistence.media import HEALTH
from ..persistence.models import domain
from ..persistence.recovery import recover
from . import judge, states
from .budget import BREAKS, NoVerdict, processor_limited
from .judge import CrashVerdict
from .reference_run import Journal, ReferenceRun, Wrap, train
from .states import Counts, CrashPoint, Observer
from .visit import Search, power, visit

UNLIKE = {"gpf_fail": ("gpf_ok",), "gpf_ok": ("gpf_fail",)}  # the same device, whose flush fails or does not
AFTERWARDS = 1  # batches of training in which power may be lost the second time


def crash_in_recovery(search: Search, model: str, point: CrashPoint, counts: Counts) -> None:
    """Lose power a second time: at every operation of the recovery (I6), and of the training after it.

    Where the first loss may have taken fenced lines along, or not, the second is of either kind.
    """
    search.report.depth = 2
    for again in (model, *UNLIKE.get(model, ())):
        both = model if again == model else f"{model}.{again}"
        try:
            points = after_recovery(search.reference, (model, again), point, counts, search.effort.granularity, search.wrap)
        except NoVerdict as limit:
            search.note(both, f"{point.operation}:{point.name(counts)},resume", CrashVerdict(None, no_verdict=str(limit)))
            return
        rng, room = Random(point.operation), len(search.seen) + max(search.effort.states // search.effort.recoveries, 20)
        turns = zip_longest(*(_simple(second, rng) for second in points))
        for second, kept in (one for turn in turns for one in turn if one):
            if len(search.seen) < room and not search.failed:
                where = f"{point.operation}/{second.operation}:{point.name(counts)}/{second.name(kept)}"
                visit(search, again, second, kept, where, both)


@processor_limited
def after_recovery(
    reference: ReferenceRun, models: tuple[str, str], point: CrashPoint, counts: Counts, granularity: int, wrap: Wrap | None
) -> list[CrashPoint]:
    """Return the points inside a state's recovery, judged before, and in the training that follows, unless it refuses.

    `models` are those of the first and the second loss. What a recovery leaves that refuses must be refused again, or exact.
    Raises NoVerdict.
    """
    model, again = models
    lost = domain(model).announced and (point.after_loss or counts != point.sizes or again != model)  # or said to be
    journal = Journal(0 if domain(model).announced else point.acknowledged)
    start = np.frombuffer(point.image(counts), np.uint8)
    observer = Observer(start, power(again, granularity), journal, lost)
    try:
        seen = judge.attach_counted(reference, observer.media, wrap)
        found = recover(seen, reference.layout, reference.log, reference.bound)
        journal.acknowledged = found.embedding_batch - reference.configuration.first
        observer.after_loss = lost and domain(again).announced
        train(reference, seen, journal.acknowledged, journal, AFTERWARDS)
    except CannotRun:
        pass
    except BREAKS:
        return observer.points
    observer.end()
    return observer.points


def resume(search: Search, model: str, point: CrashPoint, counts: Counts) -> None:
    """Train on to the end from a state (I3)."""
    if domain(model).announced:
        return
    search.report.resumed += 1
    verdict = judge.judge_resumed(search.reference, point.image(counts), point.acknowledged, search.wrap)
    if verdict.problem or verdict.no_verdict:
        search.note(model, f"{point.operation}:{point.name(counts)},resume", verdict)


def lose_flag(search: Search, model: str, point: CrashPoint, counts: Counts) -> None:
    """Lose each flag, and the dirty-shutdown counter, one at a time: nothing older must be taken for the newest (I5, I7)."""
    for address in (HEALTH, *(slot.header for slot in search.reference.layout.slots)):
        _damage(search, model, point, counts, f"p{address}", poisons=(address,))


def damage(search: Search, model: str, point: CrashPoint, counts: Counts) -> None:
    """Lose every line in use, and flip a bit in each, one at a time (I5); then lose the whole medium."""
    rng = Random(point.operation)
    lines = tuple(judge.in_use(search.reference))
    for address in lines:
        bit = 8 * address + rng.randrange(512)
        _damage(search, model, point, counts, f"p{address}", poisons=(address,))
        if address != HEALTH:  # the device's own register, whose flips only the device could see
            _damage(search, model, point, counts, f"f{bit}", flips=(bit,))
    _damage(search, model, point, counts, ",".join(f"p{address}" for address in lines), poisons=lines)


def _damage(search: Search, model: str, point: CrashPoint, counts: Counts, name: str, **lost: tuple[int, ...]) -> None:
    search.report.damaged += 1
    verdict = judge.judge_damaged(search.reference, point.image(counts), point.acknowledged, **lost, wrap=search.wrap)
    if verdict.problem or verdict.no_verdict:
        search.note(model, f"{point.operation}:{point.name(counts)},{name}", verdict)


def _simple(point: CrashPoint, rng: Random) -> Iterator[tuple[CrashPoint, Counts]]:
    """Yield what may be left at a point: all or nothing, then one stream apart from the others, shuffled."""
    yield from ((point, counts) for counts in states.deviating(point.sizes, 0))
    rests = (0,) * len(point.sizes), point.sizes
    apart = [(rest, at, n) for rest in rests for at, size in enumerate(point.sizes) for n in range(size + 1) if n != rest[at]]
    yield from ((point, (*rest[:at], n, *rest[at + 1 :])) for rest, at, n in rng.sample(apart, len(apart)))


def spread(chosen: list[tuple[CrashPoint, Counts]], number: int, rng: Random) -> list[tuple[CrashPoint, Counts]]:
    """Return so many of the states, by turns from every point, so that no moment of the protocol is left out."""
    groups: dict[int, list[tuple[CrashPoint, Counts]]] = {}
    for point, counts in rng.sample(chosen, len(chosen)):
        groups.setdefault(point.operation, []).append((point, counts))
    turns = (one for turn in zip_longest(*groups.values()) for one in turn if one)
    return list(islice(turns, number))
