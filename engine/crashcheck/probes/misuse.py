"""Misuse that the protocol must refuse with a sentence, and limits that it must accept."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.figures import count
from ...errors import BadInput, CannotRun
from ...persistence import protocol, records
from ...persistence.layout import MediumLayout
from ...persistence.logs import LOGS
from ...persistence.media import FunctionalMedia
from ...persistence.models import domain
from ...persistence.protocol import Position
from ...persistence.records import RecordKind, Stamp
from ...persistence.recovery import recover
from ..budget import BREAKS, processor_limited
from ..reference_run import Configuration, ReferenceRun, Wrap, reference_run, write_start

Probe = tuple[str, type[Exception] | None, Callable[[], object]]
"""(name of the misuse, the exception that must be raised or None, the misuse)."""


@processor_limited
def misuse_problem(variant: Configuration, seed: int = 0, wrap: Wrap | None = None) -> str:
    """Return a sentence if misuse is accepted (I11), else "".

    Limits must be accepted. `wrap` is not used. Raises NoVerdict.
    """
    reference = reference_run(replace(variant, size="small"), seed)
    for name, exception, call in _probes(reference):
        try:
            call()
            raised: str = ""
        except (BadInput, CannotRun) as refusal:
            raised = type(refusal).__name__
        except BREAKS as error:
            return f"I11: {name} ended in {type(error).__name__}: {error}"
        if raised != (exception.__name__ if exception else ""):
            return f"I11: {name}: {raised or 'nothing'} was raised, not {exception.__name__ if exception else 'nothing'}"
    return ""


def _formatted(reference: ReferenceRun) -> FunctionalMedia:
    media = FunctionalMedia(reference.layout.nbytes)
    write_start(reference, media)
    return media


def _probes(reference: ReferenceRun) -> Iterator[Probe]:
    place, log = reference.layout, reference.log
    yield from _layout_probes(reference)
    yield "recovery of zeros", CannotRun, lambda: recover(FunctionalMedia(place.nbytes), place, log)
    yield "recovery of its own layout", None, lambda: recover(_formatted(reference), place, log)
    for word in (-1, 2**63):
        for field in range(3):
            position = [0, 0, 0]
            position[field] = word
            yield f"position {position}", BadInput, partial(Position, position[0], position[1], position[2])
        for seeds in ((word, 0), (0, word)):
            yield f"seeds {seeds}", BadInput, partial(Position, 0, 0, 0, seeds)
    for word in (0, 2**63 - 1):
        yield f"positions {word}", None, partial(Position, word, word, word, (word, word))
    if Position(1, 1) != Position(1, 1, 0, (0, 0)):
        yield "a position without reader and seeds is not that of zeros", BadInput, list
    yield "an unknown persistence model", BadInput, lambda: domain("no_model")
    most_rows = place.max_log_rows
    rows = np.arange(most_rows + 1)
    yield "more rows than a log holds", CannotRun, lambda: _log_rows(reference, rows)
    yield "as many rows as a log holds", None, lambda: _log_rows(reference, reference.rows[0])
    for spare in (0, 1):
        exception: type[Exception] | None = CannotRun if spare else None
        yield f"{count(spare, 'byte')} more than a slot holds", exception, partial(_append, reference, spare)
        yield f"{count(spare, 'record')} more than slots", exception, partial(_claim, reference, spare)
    for nbytes in (0, place.mlp_bytes - 1, place.mlp_bytes):
        exception = None if nbytes == place.mlp_bytes else CannotRun
        yield f"a commit with {nbytes} B of the MLP", exception, partial(_commit, reference, nbytes)


def _layout_probes(reference: ReferenceRun) -> Iterator[Probe]:
    place = reference.layout
    others = [replace(place, **{name: getattr(place, name) + 1}) for name in ("mlp_bytes", "max_log_rows")]
    others.append(replace(place, row_checksums=not place.row_checksums))
    if isinstance(place.row_bytes, tuple):
        (rows, nbytes), *rest = place.row_bytes
        others += [replace(place, row_bytes=((rows, nbytes + 1), *rest)), replace(place, max_log_bytes=place.max_log_bytes + 8)]
        others.append(replace(place, num_rows=place.num_rows + 1, row_bytes=((rows + 1, nbytes), *rest)))
        yield "sizes of fewer rows", BadInput, lambda: MediumLayout(place.num_rows, place.row_bytes[1:], 8, 1)  # type: ignore[index]
    else:
        others += [replace(place, row_bytes=place.row_bytes + 1), replace(place, num_rows=place.num_rows + 1)]
    for other in others:
        yield f"recovery for {other}", CannotRun, partial(recover, _formatted(reference), other, reference.log)


def _log_rows(reference: ReferenceRun, rows: NDArray[Any]) -> object:
    values = reference.values(0, rows)
    return LOGS[reference.log].log_rows(_formatted(reference), reference.layout, 0, rows, values)


def _append(reference: ReferenceRun, spare: int) -> object:
    media, place = _formatted(reference), reference.layout
    pending = records.claim_slot(media, place.mlp_slots, RecordKind.MLP, 0)
    pending = records.append(media, pending, np.ones(3, np.uint8))
    return records.append(media, pending, np.ones(place.mlp_bytes - 3 + spare, np.uint8))


def _claim(reference: ReferenceRun, spare: int) -> object:
    media, slots = _formatted(reference), reference.layout.mlp_slots
    for batch in range(len(slots) - 1 + spare):
        records.seal(media, records.claim_slot(media, slots, RecordKind.MLP, batch), Stamp(0, (0, 0), 0))
    return media


def _commit(reference: ReferenceRun, nbytes: int) -> object:
    media, place, log = _formatted(reference), reference.layout, LOGS[reference.log]
    rows = log.log_rows(media, place, 0, reference.rows[0], reference.values(0, reference.rows[0]))
    mlp = protocol.log_mlp(media, place, 0, reference.mlps[0], nbytes)
    log.commit(media, place, rows, mlp, Stamp(0, (0, 0), 0))
    return media
