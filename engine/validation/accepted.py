"""The accepted record: the error of each published number when it was last accepted.

The file `presets/accepted.json` is only rewritten with a reason. If a number has become worse, the model version must be higher
too.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path

from .. import version
from ..core.figures import count, figure
from ..errors import BadFile, BadInput
from ..results.csv_table import write_atomically
from ..scenario.presets import FOLDER
from ..user_text import decoded_file, json_content
from .claims import OUT_OF_SAMPLE, PublishedRange, ends_text
from .scoreboard import PublishedNumber

FILE = FOLDER / "accepted.json"
NOISE, BOTH_NUMBERS = 0.05, 5.0  # points of error: NOISE is another computer's rounding; above FAR both numbers are told
FIELD_BY_KEY = {"ours": "simulated_value"}  # of the record's file


@dataclass(frozen=True)
class Accepted:
    """One published number as it was accepted.

    published, published_to: the published value, or both ends of a range.
    simulated_value: the simulated value at that time.
    error_percent: its error [%].
    family: the family whose median counts the number; "" if none does.
    roofline: the value by the roofline, of a number that counts.
    """

    published: float
    simulated_value: float
    error_percent: float
    published_to: float | None = None
    family: str = ""
    roofline: float | None = None

    @property
    def published_range(self) -> PublishedRange:
        """The published range, both ends equal where it is one number."""
        return self.published, self.published if self.published_to is None else self.published_to


@dataclass(frozen=True)
class AcceptedRecord:
    """The accepted numbers by name, with model version, day and reason of the last change."""

    model: str
    date: str
    reason: str
    numbers: Mapping[str, Accepted]

    @property
    def counted_numbers(self) -> tuple[PublishedNumber, ...]:
        """The numbers of the scoreboard: those out of sample that count, as accepted."""
        return tuple(
            PublishedNumber(
                name=name,
                family=accepted.family,
                sample=OUT_OF_SAMPLE,
                published=accepted.published,
                simulated_value=accepted.simulated_value,
                published_to=accepted.published_to,
                roofline=accepted.roofline,
            )
            for name, accepted in self.numbers.items()
            if accepted.family
        )


def read_record(file: Path = FILE) -> AcceptedRecord:
    """Read the record; raises BadFile where it is missing or damaged."""
    try:
        content = json_content(decoded_file(file), file.name)
        numbers = {
            name: Accepted(**{FIELD_BY_KEY.get(key, key): number for key, number in fields.items()})
            for name, fields in content.pop("numbers").items()
        }
        record = AcceptedRecord(**content, numbers=numbers)
        _number(record.model)
        for accepted in numbers.values():
            _check_numbers(accepted)
        return record
    except (BadFile, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise BadFile(
            f"{file.name} cannot be read ({error}); replace it with `{version.PROGRAM} validate --accept REASON`."
        ) from None


def _check_numbers(accepted: Accepted) -> None:
    """Raise TypeError or ValueError unless the fields are finite numbers."""
    for number in (accepted.published, accepted.simulated_value, accepted.error_percent, *accepted.published_range):
        if not isfinite(number):
            raise ValueError(f"{number} is not a finite number")


def worse_numbers(record: AcceptedRecord, numbers: Sequence[PublishedNumber], every: bool) -> tuple[str, ...]:
    """Return a sentence for each number that is further from its publication than accepted.

    A changed published number gives a sentence too. With `every`, `numbers` are all published numbers: an accepted number without
    a claim then gives a sentence too.
    """
    sentences = [sentence for score in numbers if (sentence := _worse(record.numbers.get(score.name), score))]
    unclaimed_names = sorted(set(record.numbers) - {score.name for score in numbers}) if every else []
    return (*sentences, *(f"{name}: accepted, but no longer claimed." for name in unclaimed_names))


def _worse(accepted: Accepted | None, score: PublishedNumber) -> str:
    if accepted is None:
        return f"{score.name}: not in the accepted record."
    if accepted.published_range != score.published_range:
        published_now, published_before = ends_text(score.published_range, "g"), ends_text(accepted.published_range, "g")
        return f"{score.name}: published is {published_now} now, and was {published_before} when it was accepted."
    points = abs(score.error_percent) - abs(accepted.error_percent)
    if points != points or points > NOISE:
        numbers_text = (
            f": ours was {figure(accepted.simulated_value)} and is {figure(score.simulated_value)}, "
            f"for {ends_text(score.published_range)}"
            if points > BOTH_NUMBERS
            else ""
        )
        return f"{score.name}: {figure(points)} points further off than accepted{numbers_text}."
    return ""


def accept_numbers(numbers: Iterable[PublishedNumber], reason: str, file: Path = FILE) -> None:
    """Write the accepted record anew, with these numbers and a reason.

    Raises BadInput without a reason, or if numbers got worse under the same model version. With a damaged record, nothing can
    be compared: it is only replaced.
    """
    if not reason.strip():
        raise BadInput("--accept needs a reason, which is written into the record; give one after --accept.")
    scores = tuple(numbers)
    accepted_record = None
    with suppress(BadFile):
        accepted_record = read_record(file)
    if accepted_record:
        comparable_scores = [
            score
            for score in scores
            if (accepted := accepted_record.numbers.get(score.name)) and accepted.published_range == score.published_range
        ]
        worse_sentences = worse_numbers(accepted_record, comparable_scores, every=False)
        if worse_sentences and _number(version.MODEL) <= _number(accepted_record.model):
            raise BadInput(
                f"{count(len(worse_sentences), 'number got', 'numbers got')} worse under the model version "
                f"{accepted_record.model} that accepted them, "
                f"first {worse_sentences[0]} "
                "Raise MODEL in engine/version.py, or undo what made them worse."
            )
    content = {
        "model": version.MODEL,
        "date": datetime.now(UTC).date().isoformat(),
        "reason": reason,
        "numbers": {score.name: _number_fields(score) for score in scores},
    }
    write_atomically(file, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def _number_fields(score: PublishedNumber) -> dict[str, float | str]:
    fields: dict[str, float | str | None] = {
        "published": score.published,
        "published_to": score.published_to,
        "ours": score.simulated_value,
        "error_percent": score.error_percent,
        "family": score.family if score.is_counted else None,
        "roofline": score.roofline if score.is_counted else None,
    }
    return {key: field for key, field in fields.items() if field is not None}


def _number(model: str) -> tuple[int, ...]:
    return tuple(int(part) for part in model.split("."))
