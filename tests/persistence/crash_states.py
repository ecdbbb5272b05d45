"""Explores the crash states of the log protocol on a small run, against the states that its story keeps."""

from collections.abc import Iterator

from engine.errors import BadInput, CannotRun
from engine.persistence import CrashMedia, Power, PowerLost, records, recover
from engine.persistence.layout import DATA
from engine.persistence.media import LINE
from tests.persistence.metered_media import region
from tests.persistence.training_story import BATCH_SIZE, SEED, formatted, train

LOG_KINDS = (records.RecordKind.UNDO_ROWS, records.RecordKind.REDO_ROWS, records.RecordKind.MLP)


def crashes(tale, start, first, acknowledged=0):
    """Yield (cut, medium, newest acknowledged boundary) for a power loss at every line write of the run."""
    cut = 0
    while True:
        media, boundaries = CrashMedia(start.durable, Power(cut_after=cut)), [acknowledged]
        try:
            train(tale, media, first, boundaries)
        except PowerLost:
            yield cut, media, boundaries[-1]
        else:
            yield cut, media, boundaries[-1]
            return
        cut += 1


def reaches(words=range(9)):
    """Yield (name, choice): the line being written keeps `word` words, all other pending streams all or nothing."""
    for word in words:
        for rest in (0, 1):
            yield f"{word}{'+' if rest else ''}", _reach(word, rest)


def _reach(word, rest):
    first = []

    def reach(stream, pending):
        first.append(stream)
        return min(word, pending) if stream == first[0] else rest * pending

    return reach


def wrong(tale, recovered, acknowledged=0):
    """Return a sentence if the recovered state is not that of the batches it claims, else None."""
    b, m = recovered.embedding_batch, recovered.mlp_batch
    if not acknowledged <= b <= tale.batches:
        return f"recovered to {b}, though {acknowledged} was acknowledged"
    if not 0 <= b - m <= tale.bound:
        return f"embeddings of {b} with an MLP of {m}, bound {tale.bound}"
    if recovered.table.tobytes() != tale.tables[b].tobytes():
        return f"embeddings are not those of batch {b}"
    if recovered.mlp.tobytes() != tale.mlps[m].tobytes():
        return f"the MLP is not that of batch {m}"
    if (recovered.reader_position, recovered.seed) != (b * BATCH_SIZE, SEED):
        return f"reader or random state are not those of batch {b}"
    return None


def two_live_logs(tale, media):
    """Return a sentence if two intact logs of one kind speak for one batch."""
    found = [record for slot in tale.layout.slots if (record := records.read(media, slot))]
    names = [(record.kind, record.batch) for record in found if record.kind in LOG_KINDS]
    return f"two live logs among {names}" if len(names) > len(set(names)) else None


def recovery_failure(tale, media, acknowledged):
    """Recover and compare; return a sentence on failure."""
    try:
        return wrong(tale, recover(media, tale.layout, tale.log, tale.bound), acknowledged)
    except (CannotRun, BadInput) as refusal:
        return f"unrecoverable: {refusal}"


def failures(tale, second=True) -> Iterator[str]:
    """Yield a line per crash state that breaks an invariant: I1, I2 or I4, I5, I6, I7; crashes, then damages."""
    start, seen = formatted(tale), set()
    try:
        for cut, media, acknowledged in crashes(tale, start, 0):
            for name, reach in reaches():
                state = media.survivor(reach)
                image = state.durable.tobytes()
                if (image, acknowledged) in seen:
                    continue
                seen.add((image, acknowledged))
                for problem in _problems(tale, state, acknowledged, second and name in ("0", "5+")):
                    yield f"cut {cut}, words {name}: {problem}"
    except CannotRun as refusal:
        yield f"training stopped: {refusal}"
        return
    yield from damage_failures(tale, start)


def _problems(tale, state, acknowledged, second):
    if problem := two_live_logs(tale, state) or recovery_failure(tale, state.survivor(), acknowledged):
        yield problem
    if second:
        yield from (f"second crash {problem}" for problem in second_crashes(tale, state, acknowledged))


def second_crashes(tale, state, acknowledged):
    """Yield failures of a power loss at every line write of recovery itself, and of resuming to the end after it."""
    cut, lost = 0, True
    while lost:
        media, lost = CrashMedia(state.durable, Power(cut_after=cut)), False
        try:
            recover(media, tale.layout, tale.log, tale.bound)
        except PowerLost:
            lost = True
        except CannotRun as refusal:
            yield f"{cut}: unrecoverable: {refusal}"
        for name, reach in reaches((0, 3)):
            again = media.survivor(reach)
            if problem := two_live_logs(tale, again) or recovery_failure(tale, again, acknowledged):
                yield f"{cut}, words {name}: {problem}"
        cut += 1
    if problem := resume_failure(tale, media.survivor(), acknowledged):
        yield problem


def resume_failure(tale, media, acknowledged):
    """Train on to the end from the recovered state; return a sentence unless that ends as the fault-free run."""
    boundaries = [acknowledged]
    train(tale, media, recover(media, tale.layout, tale.log, tale.bound).embedding_batch, boundaries)
    return recovery_failure(tale, media.survivor(), boundaries[-1])


def damage_failures(tale, start):
    """Yield crash states where, with one more line lost or one bit flipped, recovery is silently wrong."""
    for cut, media, _ in crashes(tale, start, 0):
        for name, reach in reaches((0,)):
            state = media.survivor(reach)
            for address in range(0, tale.layout.nbytes, LINE):
                if LINE <= address < DATA:
                    continue
                for damaged in damages(tale, state, address):
                    if problem := silently_wrong(tale, damaged):
                        yield f"cut {cut}, words {name}, damage at {address}: {problem}"


def damages(tale, state, address):
    """Yield the state with the line poisoned, and, outside the table, with one bit of it flipped."""
    poisoned = state.survivor()
    poisoned.poison(address)
    yield poisoned
    if region(tale.layout, address) != "data":
        flipped = state.durable.copy()
        flipped[address + 9] ^= 4
        yield CrashMedia(flipped)


def silently_wrong(tale, media):
    """Return a sentence if recovery returns a state that never was; a refusal is an honest answer."""
    try:
        return wrong(tale, recover(media, tale.layout, tale.log, tale.bound))
    except CannotRun:
        return None
