"""Second crashes: power loss during recovery or after it, lost lines, and flipped bits."""

from collections.abc import Iterator
from itertools import islice, zip_longest
from random import Random
from struct import unpack_from
from typing import NamedTuple

import numpy as np

from ..errors import CannotRun
from ..persistence.media import HEALTH
from ..persistence.models import domain
from ..persistence.recovery import recover
from ..registry import domain_names
from . import judge, states
from .budget import BREAKS, NoVerdict, processor_limited
from .judge import CrashVerdict
from .probes.answers import checked_state
from .reference_run import Journal, ReferenceRun, Wrap, train
from .states import Counts, CrashPoint, Observer
from .visit import Search, medium_power, visit

OTHER_FLUSH_MODELS = {"gpf_fail": ("gpf_ok",), "gpf_ok": ("gpf_fail",)}  # the same device, whose flush fails or does not
BATCHES_AFTER_RECOVERY = 1  # batches of training in which power may be lost the second time
THIRD_LOSSES, THIRD_STATES = 2, 12  # recoveries of a recovery that are interrupted, and their states


class Losses(NamedTuple):
    """The power losses of a state, as its replay line names them.

    models: the persistence model of each loss.
    operations: the operation of each loss.
    choices: the surviving words of each loss.
    """

    models: tuple[str, ...]
    operations: tuple[int, ...]
    choices: tuple[str, ...]

    def then(self, model: str, point: CrashPoint, counts: Counts) -> "Losses":
        """Return these losses and one more."""
        return Losses((*self.models, model), (*self.operations, point.operation), (*self.choices, point.name(counts)))

    @property
    def location(self) -> str:
        """The end of the replay line."""
        return f"{'/'.join(map(str, self.operations))}:{'/'.join(self.choices)}"

    @property
    def model_names(self) -> str:
        """The models in the replay line: one if all are equal."""
        return self.models[0] if len(set(self.models)) == 1 else ".".join(self.models)


def later_models(model: str, turn: int) -> tuple[str, ...]:
    """Return the persistence models of the next power loss.

    These are the same, that of the other outcome of a flush, and another one by turns.
    """
    others = [name for name in domain_names() if domain(name).safe and name != model]
    return tuple(dict.fromkeys((model, *OTHER_FLUSH_MODELS.get(model, ()), others[turn % len(others)])))


def crash_in_recovery(search: Search, model: str, point: CrashPoint, counts: Counts) -> None:
    """Judge a second power loss at each operation of a recovery (I6).

    A third one is judged in some recoveries of those. The training after the recovery is included. `point` and `counts` name the
    state after the first power loss. The second loss is explored under the same persistence model and under others.
    """
    first, states_each = Losses((), (), ()).then(model, point, counts), search.effort.states // search.effort.recoveries
    for second_model in later_models(model, point.operation):
        exact_states = _crash_again(search, first, point, counts, second_model, max(states_each, 20))
        for second, second_counts in spread(exact_states, THIRD_LOSSES, Random(point.operation)):
            losses, third_model = (
                first.then(second_model, second, second_counts),
                later_models(second_model, second.operation)[-1],
            )
            _crash_again(search, losses, second, second_counts, third_model, THIRD_STATES)


def _crash_again(
    search: Search, losses: Losses, point: CrashPoint, counts: Counts, model: str, limit: int
) -> list[tuple[CrashPoint, Counts]]:
    """Judge one more power loss after `losses`, in about `limit` states; return the new states that are exact."""
    search.report.depth = max(search.report.depth, len(losses.models) + 1)
    try:
        points = after_recovery(
            search.reference, (losses.models[-1], model), point, counts, search.effort.granularity, search.wrap
        )
    except NoVerdict as time_limit:
        search.note(losses.model_names, f"{losses.location},resume", CrashVerdict(None, no_verdict=str(time_limit)))
        return []
    search.report.pairs.add((losses.models[-1], model))
    rng, room = Random(point.operation), len(search.verdicts) + limit
    turns, exact_states = zip_longest(*(_simple(later, rng) for later in points)), list[tuple[CrashPoint, Counts]]()
    for later, later_counts in (state for turn in turns for state in turn if state):
        if len(search.verdicts) < room and not search.failed:
            every_loss = losses.then(model, later, later_counts)
            if visit(search, model, later, later_counts, every_loss.location, every_loss.model_names):
                exact_states.append((later, later_counts))
    return exact_states


@processor_limited
def after_recovery(
    reference: ReferenceRun, models: tuple[str, str], point: CrashPoint, counts: Counts, granularity: int, wrap: Wrap | None
) -> list[CrashPoint]:
    """Return the crash points of a state's recovery and of the training after it.

    If the recovery refuses, there is no training, and a later recovery must refuse too or restore the exact state.
    `models` are the persistence models of the latest and of the next power loss. Raises NoVerdict.
    """
    announced = domain(models[0]).announced
    is_lossy = point.after_loss or (announced and counts != point.sizes)
    journal = Journal(0 if is_lossy else point.acknowledged)
    start = np.frombuffer(point.image(counts), np.uint8)
    power = medium_power(models[1], granularity)
    observer = Observer(start, power, journal, is_lossy, point.maybe_dirty or announced)
    try:
        counted_media = judge.attach_counted(reference, observer.media, wrap)
        restored_state = checked_state(recover(counted_media, reference.layout, reference.log, reference.bound))
        journal.acknowledged = restored_state.embedding_batch - reference.configuration.first_batch
        observer.after_loss = False
        train(reference, counted_media, journal.acknowledged, journal, BATCHES_AFTER_RECOVERY)
        observer.maybe_dirty = False  # the fences of training have made the note durable
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


def spread(
    crash_states: list[tuple[CrashPoint, Counts]], number: int, rng: Random, reference: ReferenceRun | None = None
) -> list[tuple[CrashPoint, Counts]]:
    """Return `number` of the states, spread evenly over all crash points.

    So no part of the protocol is left out. With a reference run they are spread over the combinations of flags instead, so that
    recoveries of every kind are among them.
    """
    groups: dict[object, list[tuple[CrashPoint, Counts]]] = {}
    for point, counts in rng.sample(crash_states, len(crash_states)):
        group = flag_states(reference, point.image(counts)) if reference else point.operation
        groups.setdefault(group, []).append((point, counts))
    turns = (crash_state for turn in zip_longest(*groups.values()) for crash_state in turn if crash_state)
    return list(islice(turns, number))


def flag_states(reference: ReferenceRun, image: bytes | bytearray) -> tuple[tuple[str, ...], ...]:
    """Return the sorted states of the flags: free, torn or whole.

    The result is (states of the row slots, states of the MLP slots).
    """
    names = [
        "whole" if all(words) else "torn" if any(words) else "free"
        for words in (unpack_from("<8Q", image, slot.header) for slot in reference.layout.slots)
    ]
    num_rows = len(reference.layout.row_slots)
    return tuple(sorted(names[:num_rows])), tuple(sorted(names[num_rows:]))
