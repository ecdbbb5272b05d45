"""The tree of exceptions for users' mistakes and for runs that are impossible.

    EmberpoolError
    ├── BadInput        the user's input cannot be read: exit status 2
    │   ├── BadKnob     an unknown knob, or a value outside its range
    │   ├── BadLink     a link that cannot be opened
    │   └── BadFile     a data, scenario or store file that cannot be used
    │       ├── UndescribedTable    a table of data without a description of its columns
    │       └── UnlikeModel     a data file of another shape than the model
    ├── CannotRun       a valid scenario that this machine cannot run: exit status 3
    ├── NoRoom          this computer lacks the memory for the simulation, another may have it: exit status 3
    └── Cancelled       a computation was stopped because no viewer waits for it any more

Each message is one sentence that names the input, its value and unit, the allowed values and the remedy.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from .version import PROGRAM

LONG_WORD = re.compile(r"\S{161,}")
SENTENCE, WITH_PATHS = 300, 2000  # characters of a sentence, which begins with the fault and ends with the remedy
LINE = re.compile(r":[0-9]+(?=: )|: (?:sample|row) [0-9,]+(?=[ :])")  # the line of a fault, behind the name of its file
# Kinds of faults by words of a sentence, for a BadFile that was raised without one.
KINDS = (
    (r"\blooks like\b|\bis a trace\b|\bneither\b.*\bnor\b", "the format is none of those that are read"),
    (r"\bTOML\b|\bmapping\b|\.toml: ", "the mapping cannot be used"),
    (r"\bbeside (it|them)\b|\bbelong together\b", "a file that belongs to it is missing or another one"),
    (r"\bUTF-|\bNUL byte\b|\bpickle\b", "the bytes are no plain text or arrays"),
    (r"\bdamaged\b|\bcut off\b|\bcopy it again\b|\bcannot be read\b", "the file is damaged, cut off or cannot be read"),
    (r"\bheader\b|\bcolumns?\b", "the columns are not those that are expected"),
    (r"\bnumber\b|\blabel\b|\btime\b|\bids?\b|\bknown\b|\bmissing\b|\bfinite\b", "a value is not one that its column can have"),
)
UNUSABLE = "the file cannot be used as data"
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


class EmberpoolError(Exception):
    """Root of the tree; pages and the command line catch exactly this class.

    If a message or one of its words is too long, its middle is cut.
    """

    max_length = SENTENCE

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(self._shorten(argument) if isinstance(argument, str) else argument for argument in arguments))

    def _shorten(self, sentence: str) -> str:
        cut, half = LONG_WORD.sub(lambda word: f"{word[0][:60]}…{word[0][-60:]}", sentence), self.max_length // 2 - 3
        return cut if len(cut) <= self.max_length else f"{cut[:half]} ... {cut[-half:]}"


class BadInput(EmberpoolError):
    """An input of the user cannot be read, or its value is not allowed."""


class BadKnob(BadInput):
    """A knob is unknown, or its value is not one that it can take."""


class BadLink(BadInput):
    """A shared link cannot be opened as it stands."""


class BadFile(BadInput):
    """A file cannot be read.

    The message begins with the file's name and the line, if any, or with a command and the file's name.
    The message may quote the file. `kind` describes the fault without a quote, as in "a cell is not a number", for readers who
    may not see the file's content; without `kind`, one of `KINDS` is used. `remedy` is text to copy, which is printed on lines of
    its own after the sentence: a mapping to save, or commands to run.
    """

    max_length = WITH_PATHS

    def __init__(self, *arguments: object, kind: str = "", remedy: str = "") -> None:
        super().__init__(*arguments)
        self.kind, self.remedy = kind, remedy.rstrip("\n")

    def __str__(self) -> str:
        return "\n".join(filter(None, (super().__str__(), self.remedy)))

    def outline(self, names: Iterable[str]) -> str:
        """Return the file, the line and the kind of the fault, without the file's content.

        names: names of files, one of which may begin the message.
        """
        text = super().__str__()
        name = next((name for name in sorted(names, key=len, reverse=True) if name and text.startswith(name)), "")
        line = LINE.match(text, len(name)) if name else None
        kind = self.kind or next((kind for words, kind in KINDS if re.search(words, QUOTED.sub("", text))), UNUSABLE)
        place = (name or "A data file") + (line[0] if line else "")
        return f"{place}: {kind}; `{PROGRAM} run --data FILE` shows what it holds there."


class UndescribedTable(BadFile):
    """A table of data has no description of its columns.

    `columns` are the columns' names; the remedy is a guess of the mapping that describes them.
    """

    def __init__(self, *arguments: object, remedy: str = "", columns: Sequence[str] = ()) -> None:
        super().__init__(*arguments, remedy=remedy)
        self.columns = tuple(columns)


class UnlikeModel(BadFile):
    """A data file has another shape than the model.

    fact: the difference.
    way: the settings to copy, which give the model the file's shape.
    changes: the same settings by knob.
    The message is never cut.
    """

    def __init__(self, fact: str, way: str = "", changes: Mapping[str, Any] | None = None) -> None:
        super().__init__(f"{fact}; {way}." if way else fact)
        self.fact, self.changes = fact, dict(changes or {})

    def _shorten(self, sentence: str) -> str:
        return sentence


class CannotRun(EmberpoolError):
    """A valid scenario does not fit its machine, or cannot recover from a fault."""


class NoRoom(EmberpoolError):
    """This computer's memory is too small for the computation.

    No result is stored, as another computer may have enough memory.
    """


class Cancelled(EmberpoolError):
    """The progress callback asked the computation to stop; no result exists."""


def nearest_hint(name: str, known_words: list[str] | tuple[str, ...], listing: str = "") -> str:
    """Return a hint with the known word closest to `name`, or with all words.

    All known words are named if they are few. `listing` is the argument of the command `list` that prints all words.
    """
    lower = {word.lower(): word for word in known_words}
    close = get_close_matches(name, known_words, n=1, cutoff=0.5) or get_close_matches(name.lower(), lower, n=1, cutoff=0.5)
    if close:
        return f"did you mean {lower.get(close[0], close[0])}?"
    if len(known_words) <= 12:
        return f"known are {', '.join(known_words)}."
    list_hint = f"; `{PROGRAM} list {listing}` names them all" if listing else f", such as {', '.join(known_words[:3])}"
    return f"there are {len(known_words)}{list_hint}."
