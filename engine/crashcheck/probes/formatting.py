"""Power losses while a medium is formatted.

The medium is fresh, or an earlier run has used it.
"""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ...core.arrays import Bytes
from ...errors import CannotRun
from ...persistence import protocol
from ...persistence.media import HEALTH, WORD, FunctionalMedia, Media
from ...persistence.protocol import Position
from ...persistence.recovery import RestoredState, recover
from .. import judge
from ..budget import BREAKS, processor_limited
from ..judge import CrashVerdict
from ..reference_run import SEED, Configuration, Journal, ReferenceRun, Wrap, attach, reference_run, train, write_start
from ..statement.stated_recovery import statement
from ..states import CrashPoint, Observer
from ..visit import medium_power
from .answers import checked_state

FORMER_CONTENTS = ("none", "the same configuration", "the same after a dirty shutdown", "the other log", "another layout")
AFTER_LOSS = 2  # the former content of which the dirty shutdown has taken a word
FORMER_SEED = 997  # the former run has other rows and values
START_BATCH, UNHANDLED = 1, 3  # the batch of the new checkpoint, and dirty shutdowns that nobody has handled


@dataclass(frozen=True, eq=False)
class FormerRun:
    """The run that has used the medium before.

    reference: its reference run.
    acknowledged: its newest boundary.
    image: the bytes that it left.
    """

    reference: ReferenceRun
    acknowledged: int
    image: Bytes


@lru_cache(maxsize=128)
def _former_run(variant: Configuration) -> FormerRun:
    reference, journal = reference_run(variant, FORMER_SEED), Journal()
    media = FunctionalMedia(reference.layout.nbytes)
    write_start(reference, media)
    train(reference, attach(variant, media), 0, journal)
    return FormerRun(reference, journal.acknowledged, media.durable)


def former_run(reference: ReferenceRun, content: int) -> FormerRun | None:
    """Return the run whose bytes are on the medium; None for a fresh medium.

    `content` is an index of FORMER_CONTENTS.
    """
    variant = reference.configuration
    match content:
        case 0:
            return None
        case 1 | 2:
            return _former_run(variant)
        case 3:
            return _former_run(replace(variant, log="undo" if variant.log == "redo" else "redo", late_home=False))
        case _:
            return _former_run(replace(variant, checked=not variant.checked))


@processor_limited
def format_points(
    reference: ReferenceRun, model: str, granularity: int, wrap: Wrap | None, content: int
) -> tuple[list[CrashPoint], str]:
    """Return the crash points of a format over a former content.

    A sentence comes with them if the format failed, else "". Raises NoVerdict.
    """
    start, journal = np.zeros(reference.layout.nbytes, np.uint8), Journal()
    try:
        if former := former_run(reference, content):
            nbytes = min(start.size, former.image.size)
            start[:nbytes] = former.image[:nbytes]
            start[HEALTH : HEALTH + WORD].view("<u8")[0] += UNHANDLED if content >= AFTER_LOSS else 0
            if content == AFTER_LOSS:
                _lose_word(former.reference, start)
    except BREAKS:
        return [], ""  # the exploration of training reports it
    observer = Observer(start, medium_power(model, granularity), journal)
    problem = ""
    try:
        format_again(reference, judge.attach_counted(reference, observer.media, wrap))
        journal.acknowledged = START_BATCH
    except BREAKS as error:
        problem = f"I1: formatting ended in {type(error).__name__}: {error}"
    observer.end()
    return observer.points, problem


def _lose_word(reference: ReferenceRun, image: Bytes) -> None:
    """Set a word of a row that no log restores to zero; a flush that fails may lose it."""
    row = next(row for row in range(reference.layout.num_rows) if row not in reference.rows[-1])
    address = reference.layout.row(row)
    image[address : address + WORD] = 0


def format_again(reference: ReferenceRun, media: Media) -> None:
    """Format the medium with the state at START_BATCH.

    A relaxed run's MLP is one batch older.
    """
    first, mlp_batch = reference.configuration.first_batch, START_BATCH - bool(reference.bound)
    position = Position(first + START_BATCH, first + mlp_batch, reference.reader(START_BATCH), SEED)
    protocol.format_media(media, reference.layout, reference.values(START_BATCH), reference.mlps[mlp_batch], position)


@judge.limited
def judge_format(
    reference: ReferenceRun, image: bytes | bytearray, content: int, is_done: bool, wrap: Wrap | None = None
) -> CrashVerdict:
    """Recover an interrupted format; return the verdict.

    Recovery must restore the new state, or refuse, or restore the former run's newest state. If `is_done`, only the new state
    is correct. Without a loss of this kind, a second format must leave the new state too.
    """
    media, outcome = FunctionalMedia(np.frombuffer(image, np.uint8)), statement(reference).outcome(image)
    try:
        counted_media = judge.attach_counted(reference, media, wrap)
        restored_state = checked_state(recover(counted_media, reference.layout, reference.log, reference.bound))
    except CannotRun as refusal:
        problem = f"I1: a formatted medium cannot be recovered: {refusal}" if is_done else judge.wrong_refusal(outcome)
        return CrashVerdict(None, problem or _second_format(reference, image, wrap), True)
    except BREAKS as error:
        return CrashVerdict(None, f"I1: recovery after a format ended in {type(error).__name__}: {error}")
    batch = restored_state.embedding_batch - reference.configuration.first_batch
    source, problem = reference, _unlike_new(reference, restored_state)
    former = former_run(reference, content)
    if problem and not is_done and former and former.reference.layout == reference.layout:
        source, problem = former.reference, judge.mismatch(former.reference, restored_state, former.acknowledged)
    problem = problem or judge.unlike_statement(source, outcome, restored_state, media.durable.tobytes(), padding=False)
    return CrashVerdict(batch, problem or _second_format(reference, image, wrap))


def _unlike_new(reference: ReferenceRun, restored_state: RestoredState) -> str:
    first = reference.configuration.first_batch
    if restored_state.embedding_batch != first + START_BATCH:
        return f"I2: a format of batch {START_BATCH} was recovered to batch {restored_state.embedding_batch - first}"
    if restored_state.mlp_batch != first + START_BATCH - bool(reference.bound):
        return f"I4: a format was recovered with an MLP of batch {restored_state.mlp_batch - first}"
    return judge.mismatch(reference, restored_state, START_BATCH)


def _second_format(reference: ReferenceRun, image: bytes | bytearray, wrap: Wrap | None) -> str:
    """Format the medium of an interrupted format again; return a sentence if it is not as stated, else ""."""
    media = FunctionalMedia(np.frombuffer(image, np.uint8))
    try:
        format_again(reference, judge.attach_counted(reference, media, wrap))
    except BREAKS as error:
        return f"I1: a second format ended in {type(error).__name__}: {error}"
    first = reference.configuration.first_batch
    batches = first + START_BATCH, first + START_BATCH - bool(reference.bound)
    wrong = statement(reference).wrong_rest(media.durable.tobytes(), *batches, True, padding=False)
    return wrong and f"I9: after a second format, {wrong}"
