"""The verdict on one crash state: the real recovery from it, compared with the arrays of the reference run."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import wraps
from struct import unpack_from
from typing import ParamSpec

import numpy as np

from ..errors import CannotRun
from ..persistence import protocol, records
from ..persistence.crash_media import CrashMedia, Power
from ..persistence.layout import DATA
from ..persistence.media import HEALTH, LINE, FunctionalMedia, Media
from ..persistence.recovery import Recovered, Scan, recover
from .budget import BREAKS, NoVerdict, counted, processor_limited
from .reference_run import BATCH_SIZE, SEED, Journal, ReferenceRun, Wrap, attach, train

State = ParamSpec("State")
Places = tuple[int, ...]
LOGS = (records.RecordKind.UNDO_ROWS, records.RecordKind.REDO_ROWS, records.RecordKind.MLP)


@dataclass(frozen=True, slots=True)
class CrashVerdict:
    """What recovery made of a state: the batch it went back to, or why it refused, and what is wrong with that.

    `no_verdict` says why there is none: then nothing else is known.
    """

    batch: int | None
    problem: str = ""
    refused: bool = False
    no_verdict: str = ""


def _limited(judge: Callable[State, CrashVerdict]) -> Callable[State, CrashVerdict]:
    """Return a judge that says so where its processor time was too short for a verdict."""
    limited = processor_limited(judge)

    @wraps(judge)
    def judged(*args: State.args, **named: State.kwargs) -> CrashVerdict:
        try:
            return limited(*args, **named)
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
    """Recover a crash state. A shutdown that was `announced` as dirty must be reported; only where it was `lossy`, fenced
    lines having been lost, a refusal or an older exact state is honest."""
    media = FunctionalMedia(np.frombuffer(image, np.uint8))
    if not lossy and (problem := two_live_logs(reference, image)):
        return CrashVerdict(None, f"I7: {problem}")
    try:
        found = recover(attach_counted(reference, media, wrap), reference.layout, reference.log, reference.bound)
    except CannotRun as refusal:
        return CrashVerdict(None, "" if lossy else f"I1: unrecoverable: {refusal}", True)
    except BREAKS as error:
        return CrashVerdict(None, f"I1: recovery ended in {type(error).__name__}: {error}")
    batch = found.embedding_batch - reference.configuration.first
    if announced and not found.dirty:
        return CrashVerdict(batch, "I5: a dirty shutdown was not reported")
    if found.dirty and not announced and not lossy:
        return CrashVerdict(batch, "I5: a shutdown that lost nothing was reported as dirty")
    if found.damaged and not lossy:
        return CrashVerdict(batch, "I5: a flag under way was reported as damage")
    return CrashVerdict(batch, mismatch(reference, found, 0 if lossy else acknowledged))


def attach_counted(reference: ReferenceRun, media: Media, wrap: Wrap | None) -> Media:
    """Attach the medium, perhaps wrapped; a run or recovery of too many operations is ended."""
    return attach(reference.configuration, counted(media, wrap, reference.most_operations))


def mismatch(reference: ReferenceRun, found: Recovered, acknowledged: int) -> str:
    """Return a sentence if the recovered state is not that of the batches it claims (I2, I4)."""
    first = reference.configuration.first
    b, m = found.embedding_batch - first, found.mlp_batch - first
    tables, mlps = reference.images
    if not acknowledged <= b <= reference.batches:
        return f"I2: recovered to batch {b}, though {acknowledged} was acknowledged"
    if not 0 <= b - m <= reference.bound:
        return f"I4: embeddings of batch {b} with an MLP of batch {m}, where {reference.bound} batches are the bound"
    if found.table.tobytes() != tables[b]:
        return f"I2: embeddings are not those of batch {b}"
    if found.mlp.tobytes() != mlps[m]:
        return f"I4: the MLP is not that of batch {m}"
    if (found.reader_position, found.seed) != (reference.reader(b), SEED):
        return f"I2: reader or random state are not those of batch {b}"
    return ""


def two_live_logs(reference: ReferenceRun, image: bytes | bytearray) -> str:
    """Return a sentence if two intact logs of one kind speak for one batch (I7)."""
    heads = [head[1:] for slot in reference.layout.slots if any(head := unpack_from("<3Q", image, slot.header))]
    if len(set(heads)) == len(heads):
        return ""
    media = FunctionalMedia(np.frombuffer(image, np.uint8))
    found = [record for slot in reference.layout.slots if (record := records.read(media, slot))]
    names = [(record.kind.name.lower(), record.batch) for record in found if record.kind in LOGS]
    return f"two live logs among {names}" if len(names) > len(set(names)) else ""


@_limited
def judge_resumed(reference: ReferenceRun, image: bytes | bytearray, acknowledged: int, wrap: Wrap | None = None) -> CrashVerdict:
    """Recover, train to the end from where the reader stands, lose power, recover: as if nothing had happened (I3)."""
    media, journal = CrashMedia(np.frombuffer(image, np.uint8), Power()), Journal(acknowledged)
    try:
        seen = attach_counted(reference, media, wrap)
        found = recover(seen, reference.layout, reference.log, reference.bound)
        batch = found.embedding_batch - reference.configuration.first
        if problem := mismatch(reference, found, acknowledged):
            return CrashVerdict(batch, problem)
        train(reference, seen, found.reader_position // BATCH_SIZE - reference.configuration.first, journal)
        if protocol.read_table(media, reference.layout).tobytes() != reference.images[0][-1]:
            return CrashVerdict(batch, "I3: the resumed run ends with other embeddings than the fault-free one")
    except BREAKS as error:
        return CrashVerdict(None, f"I3: resuming ended in {type(error).__name__}: {error}")
    again = judge(reference, media.survivor().durable.tobytes(), journal.acknowledged, wrap)
    return replace(again, problem=again.problem and f"I3: after resuming, {again.problem}")


def in_use(reference: ReferenceRun) -> Iterator[int]:
    """Yield the address of every line that the protocol or the device uses."""
    yield from (0, HEALTH)
    yield from range(DATA, reference.layout.nbytes, LINE)


@_limited
def judge_damaged(
    reference: ReferenceRun,
    image: bytes | bytearray,
    acknowledged: int,
    poisons: Places = (),
    flips: Places = (),
    wrap: Wrap | None = None,
) -> CrashVerdict:
    """Recover with lines lost and bits (numbered over all bytes) flipped: exactly, or by a refusal (I5).

    Where it reports damaged records or a dirty shutdown, an older exact state is honest. Flips of rows are only seen by a
    recovery that scans, so it does where there are any.
    """
    bytes_ = bytearray(image)
    for bit in flips:
        bytes_[bit // 8] ^= 1 << bit % 8
    media = FunctionalMedia(np.frombuffer(bytes_, np.uint8))
    for address in poisons:
        media.poison(address)
    scan: Scan = "always" if flips else "dirty"
    try:
        seen = attach_counted(reference, media, wrap)
        found = recover(seen, reference.layout, reference.log, reference.bound, scan)
    except CannotRun:
        return CrashVerdict(None, "", True)
    except BREAKS as error:
        return CrashVerdict(None, f"I5: recovery of a damaged medium ended in {type(error).__name__}: {error}")
    problem = mismatch(reference, found, 0 if found.damaged or found.dirty else acknowledged)
    return CrashVerdict(
        found.embedding_batch - reference.configuration.first, problem and f"I5: a damage passed in silence: {problem}"
    )
