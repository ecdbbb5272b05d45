"""The accepted record: what each published number's error was when it was last looked at, and what got worse since.

It is `presets/accepted.json`, written anew only with a reason, and never over something worse unless the model version rose.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from .. import version
from ..core.figures import figure
from ..errors import BadFile, BadInput
from ..scenario.presets import FOLDER
from .claims import Ends, ends_text
from .scoreboard import PublishedNumber

FILE = FOLDER / "accepted.json"
NOISE, FAR = 0.05, 5.0  # points of error: what another computer's last digits may move, and what is told with both numbers


@dataclass(frozen=True)
class Accepted:
    """One published number as it was accepted: the published value or range, ours, and our error in percent of it."""

    published: float
    ours: float
    error_percent: float
    published_to: float | None = None

    @property
    def ends(self) -> Ends:
        """The published range, both ends equal where it is one number."""
        return self.published, self.published if self.published_to is None else self.published_to


@dataclass(frozen=True)
class AcceptedRecord:
    """The accepted numbers by name, at a model version, with the day and the reason of the last change."""

    model: str
    date: str
    reason: str
    numbers: Mapping[str, Accepted]


def read(file: Path = FILE) -> AcceptedRecord:
    """Read the record; raises BadFile where it is missing or damaged."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        numbers = {name: Accepted(**entry) for name, entry in content.pop("numbers").items()}
        return AcceptedRecord(**content, numbers=numbers)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadFile(
            f"{file.name} cannot be read ({error}); write it anew with `{version.PROGRAM} validate --accept REASON`."
        ) from None


def worse(record: AcceptedRecord, found: Sequence[PublishedNumber], every: bool) -> tuple[str, ...]:
    """Return a sentence for each number that is further off than accepted, or that no longer is the number accepted.

    With `every`, `found` is all that is published, so that what was accepted and is no longer claimed counts too.
    """
    told = [sentence for score in found if (sentence := _worse(record.numbers.get(score.name), score))]
    gone = sorted(set(record.numbers) - {score.name for score in found}) if every else []
    return (*told, *(f"{name}: accepted, but no longer claimed." for name in gone))


def _worse(accepted: Accepted | None, score: PublishedNumber) -> str:
    if accepted is None:
        return f"{score.name}: not in the accepted record."
    if accepted.ends != score.ends:
        now, before = ends_text(score.ends, "g"), ends_text(accepted.ends, "g")
        return f"{score.name}: published is {now} now, and was {before} when it was accepted."
    points = abs(score.error_percent) - abs(accepted.error_percent)
    if points != points or points > NOISE:
        both = (
            f": ours was {figure(accepted.ours)} and is {figure(score.ours)}, for {ends_text(score.ends)}" if points > FAR else ""
        )
        return f"{score.name}: {figure(points)} points further off than accepted{both}."
    return ""


def accept(found: Iterable[PublishedNumber], reason: str, file: Path = FILE) -> None:
    """Write the record anew; raises BadInput without a reason, or for what got worse under the same model version."""
    if not reason.strip():
        raise BadInput("A record is accepted for a reason; give it after --accept.")
    scores = tuple(found)
    if file.exists():
        old = read(file)
        known = [score for score in scores if (had := old.numbers.get(score.name)) and had.ends == score.ends]
        lost = worse(old, known, every=False)
        if lost and _number(version.MODEL) <= _number(old.model):
            raise BadInput(
                f"{len(lost)} numbers got worse under the model version {old.model} that accepted them, first {lost[0]} "
                "Raise MODEL in engine/version.py, or undo what made them worse."
            )
    content = {
        "model": version.MODEL,
        "date": datetime.now(UTC).date().isoformat(),
        "reason": reason,
        "numbers": {score.name: _entry(score) for score in scores},
    }
    file.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _entry(score: PublishedNumber) -> dict[str, float]:
    upper = {} if score.published_to is None else {"published_to": score.published_to}
    return {"published": score.published, **upper, "ours": score.ours, "error_percent": score.error_percent}


def _number(model: str) -> tuple[int, ...]:
    return tuple(int(part) for part in model.split("."))
