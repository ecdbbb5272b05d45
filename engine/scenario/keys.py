"""The key of a result, a digest of its scenario: equal scenarios have equal keys.

The key is the same in every process and on every computer. The points of a sweep share most of their knob values as the same
Python objects. So each group's latest texts are kept, and only values that are other objects are written as text again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import compress
from operator import attrgetter, is_not, ne
from typing import Any, Literal, NamedTuple

from .. import version
from . import knobs
from .scenario import GROUPS, KNOBS, Scenario

Fidelity = Literal["full", "estimate"]


class KnobTexts(NamedTuple):
    """A group of knobs and its texts.

    group: the group.
    values: the knobs' values.
    texts: the values' texts by path.
    rows: a line "path=text" for each knob; "" for a knob added later (`Knob.added_later`) that has its default.
    lines: all rows that are not empty, joined.
    """

    group: Any
    values: tuple[Any, ...]
    texts: Mapping[str, str]
    rows: tuple[str, ...]
    lines: str


class _Writer:
    """Writes one group of knobs, or the knobs outside groups."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.paths = tuple(path for path in KNOBS if path.rpartition(".")[0] == group)
        names = (path.rpartition(".")[2] for path in self.paths)
        self.values: Callable[[Any], Any] = attrgetter(*names, "__class__")  # a second name, so that the getter returns a tuple
        self.last_texts = KnobTexts(None, (_NO_VALUE,) * len(self.paths), {}, ("",) * len(self.paths), "")

    def write_group(self, scenario: Scenario) -> KnobTexts:
        """Return the group as text.

        The last texts may be from another thread, but are always complete.
        """
        group, previous = getattr(scenario, self.group) if self.group else scenario, self.last_texts
        if group is previous.group:
            return previous
        values, texts, rows = self.values(group), dict(previous.texts), list(previous.rows)
        for number in compress(range(len(rows)), map(is_not, values, previous.values)):
            path = self.paths[number]
            texts[path] = text = knobs.write(KNOBS[path], knobs.check(KNOBS[path], values[number]))
            rows[number] = "" if KNOBS[path].added_later and values[number] == KNOBS[path].default else f"{path}={text}"
        self.last_texts = KnobTexts(group, values, texts, tuple(rows), "\n".join(filter(None, rows)))
        return self.last_texts


_NO_VALUE = object()
_WRITERS = tuple(_Writer(group) for group in ("", *GROUPS))


def group_texts(scenario: Scenario) -> tuple[KnobTexts, ...]:
    """Return the texts of each group of a scenario's knobs.

    The first group has the knobs outside groups.
    """
    return tuple(writer.write_group(scenario) for writer in _WRITERS)


def texts(scenario: Scenario) -> dict[str, str]:
    """Return every knob's canonical text by dotted path, in declaration order.

    Equal values have the same text: 48 and 48.0.
    """
    return {path: text for group in group_texts(scenario) for path, text in group.texts.items()}


def key_lines(scenario: Scenario) -> list[str]:
    """Return the lines "path=text" of a scenario's knobs, from which its key is computed."""
    return [row for group in group_texts(scenario) for row in group.rows if row]


def changed_knobs(base: tuple[KnobTexts, ...], groups: tuple[KnobTexts, ...]) -> Iterator[tuple[str, str, Any]]:
    """Yield path, text and value of each knob in `groups` that differs from `base`.

    If the model's name differs, all knobs are yielded, as a model's name sets the other knobs of the model.
    """
    for old_texts, new_texts in zip(base, groups, strict=True):
        if new_texts.lines != old_texts.lines:
            new_model = new_texts.texts.get("model.name") != old_texts.texts.get("model.name")
            settings = zip(new_texts.texts.items(), new_texts.values, strict=False)
            for (path, text), setting in settings if new_model else compress(settings, map(ne, new_texts.rows, old_texts.rows)):
                yield path, text, setting


def key(scenario: Scenario, fidelity: Fidelity) -> str:
    """Return the key of a scenario's result, 32 hex digits.

    `fidelity` says whether the result is an estimate or of a full run.
    """
    return key_of(group_texts(scenario), fidelity)


def key_of(groups: tuple[KnobTexts, ...], fidelity: Fidelity) -> str:
    """Return the key of a scenario's result from the texts of the scenario's groups."""
    return digest([fidelity, version.MODEL, *(group.lines for group in groups)])


def digest(lines: Sequence[str]) -> str:
    """Return a digest of lines of text: 32 hex digits."""
    return blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()
