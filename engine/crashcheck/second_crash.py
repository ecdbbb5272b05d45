"""Second crashes: power loss during recovery or after it, lost lines, and flipped bits."""

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
from .visit import Search, medium_power, visit

OTHER_FLUSH_MODELS = {"gpf_fail": ("gpf_ok",), "gpf_ok": ("gpf_fail",)}  # the same device, whose flush fails or does not
BATCHES_AFTER_RECOVERY = 1  # batches of training in which power may be lost the second time


def crash_in_recovery(search: Search, model: str, point: CrashPoint, counts: Counts) -> None:
    """Judge a second power loss at each operation of a recovery (I6).

    The training after the recovery is included. `point` and `counts` name the state after the first power loss. If the device's
    flush may fail at a power loss or not, the second loss is explored with both.
    """
    search.report.depth = 2
    for second_model in (model, *OTHER_FLUSH_MODELS.get(model, ())):
        model_names = model if second_model == model else f"{model}.{second_model}"
        try:
            points = after_recovery(
                search.reference, (model, second_model), point, counts, search.effort.granularity, search.wrap
            )
        except NoVerdict as limit:
            search.note(model_names, f"{point.operation}:{point.name(counts)},resume", CrashVerdict(None, no_verdict=str(limit)))
            return
        rng, room = Random(point.operation), len(search.verdicts) + max(search.effort.states // search.effort.recoveries, 20)
        turns = zip_longest(*(_simple(second, rng) for second in points))
        for second, second_counts in (second_state for turn in turns for second_state in turn if second_state):
            if len(search.verdicts) < room and not search.failed:
                location = f"{point.operation}/{second.operation}:{point.name(counts)}/{second.name(second_counts)}"
                visit(search, second_model, second, second_counts, location, model_names)


@processor_limited
def after_recovery(
    reference: ReferenceRun, models: tuple[str, str], point: CrashPoint, counts: Counts, granularity: int, wrap: Wrap | None
) -> list[CrashPoint]:
    """Return the crash points of a state's recovery and of the training after it.

    If the recovery refuses, there is no training, and a later recovery must refuse too or restore the exact state.
    `models` are the persistence models of the first and of the second power loss. Raises NoVerdict.
    """
    model, second_model = models
    is_lossy = domain(model).announced and (point.after_loss or counts != point.sizes or second_model != model)  # or said to be
    journal = Journal(0 if domain(model).announced else point.acknowledged)
    start = np.frombuffer(point.image(counts), np.uint8)
    observer = Observer(start, medium_power(second_model, granularity), journal, is_lossy)
    try:
        counted_media = judge.attach_counted(reference, observer.media, wrap)
        restored_state = recover(counted_media, reference.layout, reference.log, reference.bound)
        journal.acknowledged = restored_state.embedding_batch - reference.configuration.first_batch
        observer.after_loss = is_lossy and domain(second_model).announced
        train(reference, counted_media, journal.acknowledged, journal, BATCHES_AFTER_RECOVERY)
    except CannotRun:
        pass
    except BREAKS:
        return observer.points
    observer.end()
    return observer.points


def judge_resume(search: Search, model: str, point: CrashPoint, counts: Counts) -> None:
    """Judge the recovery of a state with training to its end (I3)."""
    if domain(model).announced:
        return
    search.report.resumed += 1
    verdict = judge.judge_resumed(search.reference, point.image(counts), point.acknowledged, search.wrap)
    if verdict.problem or verdict.no_verdict:
        search.note(model, f"{point.operation}:{point.name(counts)},resume", verdict)


def lose_flag(search: Search, model: str, point: CrashPoint, counts: Counts) -> None:
    """Judge a state with each flag or the dirty-shutdown counter lost (I5, I7).

    Lines are lost one at a time. No older state may count as the newest state.
    """
    for address in (HEALTH, *(slot.header for slot in search.reference.layout.slots)):
        _damage(search, model, point, counts, f"p{address}", poisons=(address,))


def judge_damages(search: Search, model: str, point: CrashPoint, counts: Counts) -> None:
    """Judge a state with each used line lost, and with a bit flipped (I5).

    Lines are damaged one at a time; at last all lines are lost.
    """
    rng = Random(point.operation)
    lines = tuple(judge.in_use(search.reference))
    for address in lines:
        bit = 8 * address + rng.randrange(512)
        _damage(search, model, point, counts, f"p{address}", poisons=(address,))
        if address != HEALTH:  # the device's own register, whose flips only the device could notice
            _damage(search, model, point, counts, f"f{bit}", flips=(bit,))
    _damage(search, model, point, counts, ",".join(f"p{address}" for address in lines), poisons=lines)


def _damage(search: Search, model: str, point: CrashPoint, counts: Counts, name: str, **damages: tuple[int, ...]) -> None:
    search.report.damaged += 1
    verdict = judge.judge_damaged(search.reference, point.image(counts), point.acknowledged, **damages, wrap=search.wrap)
    if verdict.problem or verdict.no_verdict:
        search.note(model, f"{point.operation}:{point.name(counts)},{name}", verdict)


def _simple(point: CrashPoint, rng: Random) -> Iterator[tuple[CrashPoint, Counts]]:
    """Yield the simple states of a point: all or nothing, then one stream that differs from the others, shuffled."""
    yield from ((point, counts) for counts in states.deviating_counts(point.sizes, 0))
    rests = (0,) * len(point.sizes), point.sizes
    deviations = [
        (rest, stream, n)
        for rest in rests
        for stream, size in enumerate(point.sizes)
        for n in range(size + 1)
        if n != rest[stream]
    ]
    yield from ((point, (*rest[:stream], n, *rest[stream + 1 :])) for rest, stream, n in rng.sample(deviations, len(deviations)))


def spread(crash_states: list[tuple[CrashPoint, Counts]], number: int, rng: Random) -> list[tuple[CrashPoint, Counts]]:
    """Return `number` of the states, spread evenly over all crash points.

    So no part of the protocol is left out.
    """
    groups: dict[int, list[tuple[CrashPoint, Counts]]] = {}
    for point, counts in rng.sample(crash_states, len(crash_states)):
        groups.setdefault(point.operation, []).append((point, counts))
    turns = (crash_state for turn in zip_longest(*groups.values()) for crash_state in turn if crash_state)
    return list(islice(turns, number))
