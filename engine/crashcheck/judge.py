"""The verdict on a crash state: its recovery is compared with the reference run."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import wraps
from struct import unpack_from
from typing import ParamSpec

import numpy as np

from ..core.figures import count
from ..errors import CannotRun
from ..persistence import protocol, records
from ..persistence.crash_media import CrashMedia, Power
from ..persistence.layout import TABLE_START
from ..persistence.media import HEALTH, LINE, FunctionalMedia, Media, PortedMedia
from ..persistence.recovery import RestoredState, Scan, recover
from .budget import BREAKS, NoVerdict, failure_sentence, processor_limited, with_counted_operations
from .probes.answers import checked_state
from .reference_run import BATCH_SIZE, SEED, Journal, ReferenceRun, Wrap, attach, train
from .statement.stated_recovery import StatedOutcome, statement

State = ParamSpec("State")
Places = tuple[int, ...]
LOGS = (records.RecordKind.UNDO_ROWS, records.RecordKind.REDO_ROWS, records.RecordKind.MLP)


@dataclass(frozen=True, slots=True)
class CrashVerdict:
    """The verdict on the recovery of a crash state.

    batch: the recovered batch, or None if recovery has restored none.
    problem: a sentence that begins with the broken invariant, such as "I2: ..."; "" if all invariants hold.
    refused: True if the recovery refused to restore a state.
    no_verdict: the reason why there is no verdict, else ""; with a reason, the other fields are meaningless.
    """

    batch: int | None
    problem: str = ""
    refused: bool = False
    no_verdict: str = ""

    @property
    def is_exact(self) -> bool:
        """True if the exact state was restored, though the medium is not as stated (I9)."""
        return self.problem.startswith("I9") and self.batch is not None


def limited(judge: Callable[State, CrashVerdict]) -> Callable[State, CrashVerdict]:
    """Return the judge with a limit on processor time, beyond which the verdict is `no_verdict`.

    An exception that comes out of the protocol is a verdict too.
    """
    limited_judge = processor_limited(judge)

    @wraps(judge)
    def judged(*args: State.args, **keywords: State.kwargs) -> CrashVerdict:
        try:
            return limited_judge(*args, **keywords)
        except NoVerdict as limit:
            return CrashVerdict(None, no_verdict=str(limit))
        except BREAKS as error:
            return CrashVerdict(None, failure_sentence(error))

    return judged


@limited
def judge(
    reference: ReferenceRun,
    image: bytes | bytearray,
    acknowledged: int,
    wrap: Wrap | None = None,
    announced: bool = False,
    lossy: bool = False,
    maybe_dirty: bool = False,
) -> CrashVerdict:
    """Recover a crash state; return the verdict on the recovery.

    image: the bytes of the medium after the power loss.
    acknowledged: the newest batch boundary that was promised to be durable.
    wrap: a function that wraps the medium, or None.
    announced: True if the device has announced a dirty shutdown, which recovery must report.
    lossy: True if fenced lines may be lost; then a refusal or an older exact state is correct too.
    maybe_dirty: True if an earlier dirty shutdown may not be recorded as handled yet.
    """
    media, outcome = FunctionalMedia(np.frombuffer(image, np.uint8)), statement(reference).outcome(image)
    if not lossy and (problem := two_live_logs(reference, image)):
        return CrashVerdict(None, f"I7: {problem}")
    try:
        counted_media = attach_counted(reference, media, wrap)
        restored_state = checked_state(recover(counted_media, reference.layout, reference.log, reference.bound))
    except CannotRun as refusal:
        return CrashVerdict(None, wrong_refusal(outcome) if lossy else f"I1: unrecoverable: {refusal}", True)
    except BREAKS as error:
        return CrashVerdict(None, f"I1: recovery ended in {type(error).__name__}: {error}")
    batch = restored_state.embedding_batch - reference.configuration.first_batch
    if announced and not restored_state.dirty:
        return CrashVerdict(batch, "I5: a dirty shutdown was not reported")
    if restored_state.dirty and not announced and not lossy and not maybe_dirty:
        return CrashVerdict(batch, "I5: a shutdown that lost nothing was reported as dirty")
    if restored_state.damaged and not lossy:
        return CrashVerdict(batch, "I5: a flag under way was reported as damage")
    problem = mismatch(reference, restored_state, 0 if lossy else acknowledged)
    return CrashVerdict(batch, problem or unlike_statement(reference, outcome, restored_state, media.durable.tobytes()))


def attach_counted(reference: ReferenceRun, media: PortedMedia, wrap: Wrap | None) -> Media:
    """Return the medium for the protocol, with counted operations, and wrapped by `wrap` if given.

    The medium of each GPU is counted and wrapped on its own. Too many operations raise NoEnd.
    """
    return attach(reference.configuration, media, lambda own: with_counted_operations(own, wrap, reference.most_operations))


def mismatch(reference: ReferenceRun, restored_state: RestoredState, acknowledged: int) -> str:
    """Return a sentence if the recovered state differs from the reference run, else "".

    The state must be that of its batches (I2 for embeddings, I4 for the MLP), at or after the batch `acknowledged`.
    """
    first_batch = reference.configuration.first_batch
    b, m = restored_state.embedding_batch - first_batch, restored_state.mlp_batch - first_batch
    tables, mlps = reference.images
    if not acknowledged <= b <= reference.batches:
        return f"I2: recovered to batch {b}, though {acknowledged} was acknowledged"
    if not 0 <= b - m <= reference.bound:
        return (
            f"I4: embeddings of batch {b} with an MLP of batch {m}, where "
            f"{count(reference.bound, 'batch is', 'batches are')} the bound"
        )
    if restored_state.table.tobytes() != tables[b]:
        return f"I2: embeddings are not those of batch {b}"
    if restored_state.mlp.tobytes() != mlps[m]:
        return f"I4: the MLP is not that of batch {m}"
    if (restored_state.reader_position, restored_state.seed) != (reference.reader(b), SEED):
        return f"I2: reader or random state are not those of batch {b}"
    return ""


def wrong_refusal(outcome: StatedOutcome) -> str:
    """Return a sentence if recovery has refused a state that the stated recovery restores, else ""."""
    return "" if outcome.refusal else f"I5: recovery refused a state whose batch {outcome.batch} is intact"


def unlike_statement(
    reference: ReferenceRun, outcome: StatedOutcome, restored_state: RestoredState, image: bytes, padding: bool = True
) -> str:
    """Return a sentence if a recovery differs from the stated one, else "".

    image: the bytes of the medium after the recovery (I9).
    padding: False if bytes that nothing uses may have any value.
    """
    if outcome.refusal:
        return f"{'I5' if outcome.has_format else 'I9'}: recovery accepted a state that it must refuse: {outcome.refusal}"
    if restored_state.embedding_batch != outcome.batch:
        return f"I2: recovered to batch {restored_state.embedding_batch}, though batch {outcome.batch} is the newest intact one"
    if restored_state.mlp_batch != outcome.mlp_batch:
        return f"I4: the MLP is that of batch {restored_state.mlp_batch}, though that of {outcome.mlp_batch} is intact"
    if (restored_state.dirty, restored_state.damaged) != (outcome.dirty, outcome.damaged):
        return f"I5: reported {count(restored_state.damaged, 'damaged record')} and dirty={restored_state.dirty}, not {outcome}"
    problem = statement(reference).wrong_rest(image, outcome.batch, outcome.mlp_batch, True, padding)
    return problem and f"I9: after recovery, {problem}"


def two_live_logs(reference: ReferenceRun, image: bytes | bytearray) -> str:
    """Return a sentence if one batch has two intact logs of one kind (I7), else ""."""
    heads = [head[1:] for slot in reference.layout.slots if any(head := unpack_from("<3Q", image, slot.header))]
    if len(set(heads)) == len(heads):
        return ""
    media = FunctionalMedia(np.frombuffer(image, np.uint8))
    log_records = [record for slot in reference.layout.slots if (record := records.read_record(media, slot))]
    names = [(record.kind.name.lower(), record.batch) for record in log_records if record.kind in LOGS]
    return f"two live logs among {names}" if len(names) > len(set(names)) else ""


@limited
def judge_resumed(reference: ReferenceRun, image: bytes | bytearray, acknowledged: int, wrap: Wrap | None = None) -> CrashVerdict:
    """Recover, train to the end, lose power, and recover again (I3); return the verdict.

    The run must end with the same state as the run without a crash.
    """
    media, journal = CrashMedia(np.frombuffer(image, np.uint8), Power()), Journal(acknowledged)
    try:
        counted_media = attach_counted(reference, media, wrap)
        restored_state = checked_state(recover(counted_media, reference.layout, reference.log, reference.bound))
        batch = restored_state.embedding_batch - reference.configuration.first_batch
        if problem := mismatch(reference, restored_state, acknowledged) or changed_again(
            reference, counted_media, restored_state
        ):
            return CrashVerdict(batch, problem)
        train(
            reference, counted_media, restored_state.reader_position // BATCH_SIZE - reference.configuration.first_batch, journal
        )
        if protocol.read_table(media, reference.layout).tobytes() != reference.images[0][-1]:
            return CrashVerdict(batch, "I3: the resumed run ends with other embeddings than the fault-free one")
    except BREAKS as error:
        return CrashVerdict(None, f"I3: resuming ended in {type(error).__name__}: {error}")
    verdict = judge(reference, media.survivor().durable.tobytes(), journal.acknowledged, wrap)
    is_format = verdict.problem.startswith("I9")
    return verdict if is_format else replace(verdict, problem=verdict.problem and f"I3: after resuming, {verdict.problem}")


def changed_again(reference: ReferenceRun, media: Media, restored_state: RestoredState) -> str:
    """Return a sentence if a second recovery without a loss restores another state (I6), else ""."""
    again = checked_state(recover(media, reference.layout, reference.log, reference.bound, "always"))
    states = [
        (state.embedding_batch, state.mlp_batch, state.reader_position, state.seed, state.table.tobytes(), state.mlp.tobytes())
        for state in (restored_state, again)
    ]
    if states[0] != states[1] or again.dirty or again.damaged:
        return "I6: a second recovery without a loss restores another state, or reports a loss"
    return ""


def in_use(reference: ReferenceRun) -> Iterator[int]:
    """Yield the address of each line that the protocol or the device uses."""
    yield from (0, HEALTH)
    yield from range(TABLE_START, reference.layout.nbytes, LINE)


@limited
def judge_damaged(
    reference: ReferenceRun,
    image: bytes | bytearray,
    acknowledged: int,
    poisons: Places = (),
    flips: Places = (),
    wrap: Wrap | None = None,
) -> CrashVerdict:
    """Recover a state with lost lines and flipped bits (I5); return the verdict.

    Recovery must restore the exact state, or refuse. If it reports damaged records or a dirty shutdown, an older exact state is
    correct too.
    poisons: the addresses of lost lines.
    flips: the numbers of flipped bits, counted over all bytes. With flips, recovery scans the table; otherwise flips in rows
        would not be found.
    """
    bytes_ = bytearray(image)
    for bit in flips:
        bytes_[bit // 8] ^= 1 << bit % 8
    media = FunctionalMedia(np.frombuffer(bytes_, np.uint8))
    for address in poisons:
        media.poison(address)
    scan: Scan = "always" if flips else "dirty"
    lost_image, lost_lines = media.durable.tobytes(), {address // LINE for address in poisons}
    outcome = statement(reference).outcome(lost_image, scan == "always", lost_lines)
    try:
        counted_media = attach_counted(reference, media, wrap)
        restored_state = checked_state(recover(counted_media, reference.layout, reference.log, reference.bound, scan))
    except CannotRun:
        return CrashVerdict(None, wrong_refusal(outcome), True)
    except BREAKS as error:
        return CrashVerdict(None, f"I5: recovery of a damaged medium ended in {type(error).__name__}: {error}")
    problem = mismatch(reference, restored_state, 0 if restored_state.damaged or restored_state.dirty else acknowledged)
    return CrashVerdict(
        restored_state.embedding_batch - reference.configuration.first_batch,
        f"I5: a damage passed in silence: {problem}"
        if problem
        else unlike_statement(reference, outcome, restored_state, media.durable.tobytes(), padding=False),
    )
