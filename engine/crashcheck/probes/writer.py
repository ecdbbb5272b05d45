"""The simulator's writer of log operations, compared with the explored training.

Its operations must be the same, recovery must restore each of its cuts, and a log that is cut must keep its first lines alone.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np

from ...core.figures import count
from ...errors import BadInput
from ...persistence.crash_media import CrashMedia
from ...persistence.media import LINE, FunctionalMedia, Media, with_gpus
from ...persistence.models import domain
from ...persistence.protocol import Position
from ...persistence.replay import LogWriter, PersistEvent, StartState, replay_events
from ...registry import domain_names
from ..budget import BREAKS, processor_limited
from ..judge import judge
from ..reference_run import SEED, Configuration, Journal, ReferenceRun, Wrap, attach, reference_run, train, write_start

SHARES = (0.0, 0.6, 0.95)
GRANULARITIES = {"adr": 64, "weak_word": 8}
Operation = tuple[str, int, Any]


class OperationList(FunctionalMedia):
    """A medium that notes its writes, flushes and fences, and their GPU."""

    def __init__(self, nbytes: int) -> None:
        super().__init__(nbytes)
        self.operations: list[Operation] = []
        self._by = ""

    def port(self, gpu: int) -> Media:
        """Return the medium as a GPU writes it, whose number is in the notes."""
        port = OperationList(0)
        port.durable, port.operations, port._by = self.durable, self.operations, f" by GPU {gpu}"
        return port

    def store(self, address: int, content: Any) -> None:
        """Write bytes from the host."""
        self._note("store", address, content.tobytes())
        super().store(address, content)

    def device_write(self, address: int, content: Any) -> None:
        """Write bytes from the near-data logic."""
        self._note("device_write", address, content.tobytes())
        FunctionalMedia.store(self, address, content)

    def flush(self, address: int, nbytes: int) -> None:
        """Note the flush of a range."""
        self._note("flush", address, nbytes)

    def fence(self) -> None:
        """Note the fence."""
        self._note("fence", 0, 0)

    def writes(self) -> list[Operation]:
        """Return the stores and device writes so far."""
        return [operation for operation in self.operations if operation[0].startswith(("store", "device_write"))]

    def _note(self, name: str, address: int, content: Any) -> None:
        self.operations.append((f"{name}{self._by}", address, content))


@processor_limited
def writer_problem(variant: Configuration, seed: int = 0, wrap: Wrap | None = None) -> str:
    """Return a sentence if the simulator's writer differs from the training, else "".

    A cut that is not recovered gives a sentence too. `wrap` is not used. Raises NoVerdict.
    """
    reference = reference_run(replace(variant, size="small"), seed)
    try:
        return _unlike_training(reference) or next(filter(None, _cut_problems(reference, seed)), "")
    except BREAKS as error:
        return f"I1: the writer ended in {type(error).__name__}: {error}"


def _start(reference: ReferenceRun) -> StartState:
    first = reference.configuration.first_batch
    row_bytes = reference.row_sizes if reference.configuration.mixed else None
    return StartState(reference.values(0), reference.mlps[0], Position(first, first, reference.reader(0), SEED), row_bytes)


def _events(reference: ReferenceRun) -> list[PersistEvent]:
    """Return the log operations of the run; a relaxed run logs every second MLP."""
    first, update = reference.configuration.first_batch, "home write" if reference.log == "redo" else "embedding update"
    events = list[PersistEvent]()
    for batch in range(reference.batches):
        has_mlp = not reference.bound or batch % 2 == 0
        names = ["embedding log", *(["mlp log"] if has_mlp else []), "commit", update]
        events += [PersistEvent(name, first + batch, 1.0) for name in names]
    return events


def _writer(reference: ReferenceRun, media: Any) -> LogWriter:
    first = reference.configuration.first_batch
    changes = {first + batch: reference.change(batch) for batch in range(reference.batches)}
    return LogWriter(media, reference.layout, reference.log, _start(reference), changes)


def _unlike_training(reference: ReferenceRun) -> str:
    runs = list[list[Operation]]()
    for is_writer in (True, False):
        media = OperationList(reference.layout.nbytes)
        write_start(reference, media)
        media.operations.clear()
        attached = attach(reference.configuration, media)
        if is_writer:
            writer = _writer(reference, attached)
            for event in _events(reference):
                writer.carry_out(event)
            attached.fence()
        else:
            train(reference, attached, 0, Journal())
        runs.append(media.operations)
    if reference.bound:  # the explored training writes a relaxed MLP log in two pieces
        runs.clear()
    for number, (own, trained) in enumerate(zip_longest(*runs) if runs else ()):
        if own != trained:
            return f"I2: operation {number} of the writer is {own and own[:2]}, that of the training {trained and trained[:2]}"
    try:
        _writer(reference, FunctionalMedia(reference.layout.nbytes)).carry_out(
            PersistEvent("no op", _events(reference)[0].batch, 1)
        )
    except BadInput:
        return ""
    return "I11: the writer accepted an unknown operation"


def _wrong_cut(reference: ReferenceRun, done: list[PersistEvent], undone: list[PersistEvent], media: CrashMedia) -> str:
    """Return a sentence unless each log that is cut keeps its first lines and a part of the next (I10)."""
    operations = OperationList(reference.layout.nbytes)
    write_start(reference, operations)
    writer = _writer(reference, with_gpus(operations, reference.configuration.num_gpus))
    for event in done:
        writer.carry_out(event)
    for event in undone if not media.domain.buffered_lines else []:
        before = operations.durable.tobytes()
        operations.operations.clear()
        writer.carry_out(event)
        for _, address, content in operations.writes() if event.op.endswith("log") else ():  # one store, or one of each GPU
            lines, stop = int(event.done_share * -(-len(content) // LINE)), address + len(content)
            kept, rest = address + lines * LINE, min(address + (lines + 1) * LINE, stop)
            image = media.durable.tobytes()
            if image[address:kept] != content[: kept - address] or image[rest:stop] != before[rest:stop]:
                return f"I10: a log that is cut keeps other bytes than {count(lines, 'line')} and a part of the next one"
    return ""


def _cut_problems(reference: ReferenceRun, seed: int) -> Iterator[str]:
    """Yield a sentence, or "", for each cut of the run's log operations under each safe persistence model."""
    events, rng, first = _events(reference), np.random.default_rng(seed), reference.configuration.first_batch
    ahead = int(reference.log == "redo")
    changes = {first + batch: reference.change(batch) for batch in range(reference.batches)}
    models = [name for name in domain_names() if domain(name).safe]
    for number in range(len(events) + 1):
        model, announced = models[number % len(models)], domain(models[number % len(models)]).announced
        done, undone = events[:number], [replace(event, done_share=SHARES[number % 3]) for event in events[number : number + 1]]
        if undone and undone[0].op == "embedding log":
            undone += [replace(event, done_share=0.5) for event in events[number + 1 : number + 2] if event.op == "mlp log"]
        granularity, num_gpus = GRANULARITIES.get(model, 8), reference.configuration.num_gpus
        media = replay_events(
            reference.layout, _start(reference), done + undone, changes, reference.log, rng, model, granularity, num_gpus
        )
        committed = [event.batch - first + ahead for event in done if event.op == "commit"]
        verdict = judge(reference, media.durable.tobytes(), max(committed, default=0), None, announced, announced)
        problem = verdict.problem or verdict.no_verdict or _wrong_cut(reference, done, undone, media)
        yield problem and f"{problem} (replayed under {model} up to {(done + undone)[-1]})"
