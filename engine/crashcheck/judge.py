"""The verdict on a crash state: the recovery, compared with the reference run."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import wraps
from struct import unpack_from
from typing import ParamSpec

import numpy as np

from ..errors import CannotRun
from ..persistence import protocol, records
from ..persistence.crash_media import CrashMedia, Power
from ..persistence.layout import TABLE_START
from ..persistence.media import HEALTH, LINE, FunctionalMedia, Media
from ..persistence.recovery import RestoredState, Scan, recover
from .budget import BREAKS, NoVerdict, processor_limited, with_counted_operations
from .reference_run import BATCH_SIZE, SEED, Journal, ReferenceRun, Wrap, attach, train

State = ParamSpec("State")
Places = tuple[int, ...]
LOGS = (records.RecordKind.UNDO_ROWS, records.RecordKind.REDO_ROWS, records.RecordKind.MLP)


@dataclass(frozen=True, slots=True)
class CrashVerdict:
    """The verdict on the recovery of a state.

    batch: the recovered batch, None if there is none.
    problem: the broken invariant as a sentence, "" if all hold.
    refused: True if the recovery refused.
    no_verdict: the reason if there is no verdict; the other fields are then unknown.
    """

    batch: int | None
    problem: str = ""
    refused: bool = False
    no_verdict: str = ""


def _limited(judge: Callable[State, CrashVerdict]) -> Callable[State, CrashVerdict]:
    """Return the judge with a limit on processor time, beyond which the verdict is `no_verdict`."""
    limited = processor_limited(judge)

    @wraps(judge)
    def judged(*args: State.args, **keywords: State.kwargs) -> CrashVerdict:
        try:
            return limited(*args, **keywords)
        except NoVerdict as limit:
            return CrashVerdict(None, no_verdict=str(limit))

    return judged


@_limited
def judge(
    reference: ReferenceRun,
    image: bytes | bytearray,
    acknowledged: int,
    wrap: Wrap | None = None,
    announced: bool = False,
    lossy: bool = False,
) -> CrashVerdict:
    """Recover a crash state and judge the recovery.

    A shutdown that was `announced` as dirty must be reported. If it was `lossy`, so that fenced lines are lost, a refusal or an
    older exact state is right too.
    """
    media = FunctionalMedia(np.frombuffer(image, np.uint8))
    if not lossy and (problem := two_live_logs(reference, image)):
        return CrashVerdict(None, f"I7: {problem}")
    try:
        restored_state = recover(attach_counted(reference, media, wrap), reference.layout, reference.log, reference.bound)
    except CannotRun as refusal:
        return CrashVerdict(None, "" if lossy else f"I1: unrecoverable: {refusal}", True)
    except BREAKS as error:
        return CrashVerdict(None, f"I1: recovery ended in {type(error).__name__}: {error}")
    batch = restored_state.embedding_batch - reference.configuration.first_batch
    if announced and not restored_state.dirty:
        return CrashVerdict(batch, "I5: a dirty shutdown was not reported")
    if restored_state.dirty and not announced and not lossy:
        return CrashVerdict(batch, "I5: a shutdown that lost nothing was reported as dirty")
    if restored_state.damaged and not lossy:
        return CrashVerdict(batch, "I5: a flag under way was reported as damage")
    return CrashVerdict(batch, mismatch(reference, restored_state, 0 if lossy else acknowledged))


def attach_counted(reference: ReferenceRun, media: Media, wrap: Wrap | None) -> Media:
    """Attach the medium, perhaps wrapped, with counted operations; too many operations raise NoEnd."""
    return attach(reference.configuration, with_counted_operations(media, wrap, reference.most_operations))


def mismatch(reference: ReferenceRun, restored_state: RestoredState, acknowledged: int) -> str:
    """Return a sentence if the recovered state is wrong (I2, I4), else "".

    It must be the state of its batches.
    """
    first_batch = reference.configuration.first_batch
    b, m = restored_state.embedding_batch - first_batch, restored_state.mlp_batch - first_batch
    tables, mlps = reference.images
    if not acknowledged <= b <= reference.batches:
        return f"I2: recovered to batch {b}, though {acknowledged} was acknowledged"
    if not 0 <= b - m <= reference.bound:
        return f"I4: embeddings of batch {b} with an MLP of batch {m}, where {reference.bound} batches are the bound"
    if restored_state.table.tobytes() != tables[b]:
        return f"I2: embeddings are not those of batch {b}"
    if restored_state.mlp.tobytes() != mlps[m]:
        return f"I4: the MLP is not that of batch {m}"
    if (restored_state.reader_position, restored_state.seed) != (reference.reader(b), SEED):
        return f"I2: reader or random state are not those of batch {b}"
    return ""


def two_live_logs(reference: ReferenceRun, image: bytes | bytearray) -> str:
    """Return a sentence if two intact logs of one kind belong to one batch (I7).

    Return "" if there are none.
    """
    heads = [head[1:] for slot in reference.layout.slots if any(head := unpack_from("<3Q", image, slot.header))]
    if len(set(heads)) == len(heads):
        return ""
    media = FunctionalMedia(np.frombuffer(image, np.uint8))
    log_records = [record for slot in reference.layout.slots if (record := records.read_record(media, slot))]
    names = [(record.kind.name.lower(), record.batch) for record in log_records if record.kind in LOGS]
    return f"two live logs among {names}" if len(names) > len(set(names)) else ""


@_limited
def judge_resumed(reference: ReferenceRun, image: bytes | bytearray, acknowledged: int, wrap: Wrap | None = None) -> CrashVerdict:
    """Recover, train to the end, lose power and recover again (I3).

    The run must end like one without a crash.
    """
    media, journal = CrashMedia(np.frombuffer(image, np.uint8), Power()), Journal(acknowledged)
    try:
        counted_media = attach_counted(reference, media, wrap)
        restored_state = recover(counted_media, reference.layout, reference.log, reference.bound)
        batch = restored_state.embedding_batch - reference.configuration.first_batch
        if problem := mismatch(reference, restored_state, acknowledged):
            return CrashVerdict(batch, problem)
        train(
            reference, counted_media, restored_state.reader_position // BATCH_SIZE - reference.configuration.first_batch, journal
        )
        if protocol.read_table(media, reference.layout).tobytes() != reference.images[0][-1]:
            return CrashVerdict(batch, "I3: the resumed run ends with other embeddings than the fault-free one")
    except BREAKS as error:
        return CrashVerdict(None, f"I3: resuming ended in {type(error).__name__}: {error}")
    verdict = judge(reference, media.survivor().durable.tobytes(), journal.acknowledged, wrap)
    return replace(verdict, problem=verdict.problem and f"I3: after resuming, {verdict.problem}")


def in_use(reference: ReferenceRun) -> Iterator[int]:
    """Yield the address of every line that the protocol or the device uses."""
    yield from (0, HEALTH)
    yield from range(TABLE_START, reference.layout.nbytes, LINE)


@_limited
def judge_damaged(
    reference: ReferenceRun,
    image: bytes | bytearray,
    acknowledged: int,
    poisons: Places = (),
    flips: Places = (),
    wrap: Wrap | None = None,
) -> CrashVerdict:
    """Recover with lost lines and flipped bits: exactly, or by a refusal (I5).

    Bits are numbered over all bytes.
    If the recovery reports damaged records or a dirty shutdown, an older exact state is right too. Only a scan finds flips of
    rows, so the recovery scans if there are flips.
    """
    bytes_ = bytearray(image)
    for bit in flips:
        bytes_[bit // 8] ^= 1 << bit % 8
    media = FunctionalMedia(np.frombuffer(bytes_, np.uint8))
    for address in poisons:
        media.poison(address)
    scan: Scan = "always" if flips else "dirty"
    try:
        counted_media = attach_counted(reference, media, wrap)
        restored_state = recover(counted_media, reference.layout, reference.log, reference.bound, scan)
    except CannotRun:
        return CrashVerdict(None, "", True)
    except BREAKS as error:
        return CrashVerdict(None, f"I5: recovery of a damaged medium ended in {type(error).__name__}: {error}")
    problem = mismatch(reference, restored_state, 0 if restored_state.damaged or restored_state.dirty else acknowledged)
    return CrashVerdict(
        restored_state.embedding_batch - reference.configuration.first_batch,
        problem and f"I5: a damage passed in silence: {problem}",
    )
