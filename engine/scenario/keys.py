"""The content address of a scenario: equal scenarios have one key, in every process.

The key is the same on every computer. Points of a sweep share most of their knobs, by identity: each group's last texts are
kept, and only values that are other objects are written again.
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
    """A group as it was written last.

    group: the group itself.
    values: its values.
    texts: their texts by path.
    rows: a line for each knob; the line of a knob marked `later` is empty at its default.
    lines: all lines that are not empty.
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
    """Return the scenario's groups as texts, for its key and for differences."""
    return tuple(writer.write_group(scenario) for writer in _WRITERS)


def texts(scenario: Scenario) -> dict[str, str]:
    """Return every knob's canonical text by dotted path, in declaration order.

    48 and 48.0 are one bandwidth.
    """
    return {path: text for group in group_texts(scenario) for path, text in group.texts.items()}


def key_lines(scenario: Scenario) -> list[str]:
    """Return the lines of the key, one for each knob."""
    return [row for group in group_texts(scenario) for row in group.rows if row]


def changed_knobs(base: tuple[KnobTexts, ...], groups: tuple[KnobTexts, ...]) -> Iterator[tuple[str, str, Any]]:
    """Yield path, text and value of each knob that differs from `base`.

    Of another model all knobs are yielded, as its name alone would set its own knobs.
    """
    for old_texts, new_texts in zip(base, groups, strict=True):
        if new_texts.lines != old_texts.lines:
            new_model = new_texts.texts.get("model.name") != old_texts.texts.get("model.name")
            settings = zip(new_texts.texts.items(), new_texts.values, strict=False)
            for (path, text), setting in settings if new_model else compress(settings, map(ne, new_texts.rows, old_texts.rows)):
                yield path, text, setting


def key(scenario: Scenario, fidelity: Fidelity) -> str:
    """Return the key of the result of `scenario`, in full or as an estimate.

    The key has 32 hex digits.
    """
    return key_of(group_texts(scenario), fidelity)


def key_of(groups: tuple[KnobTexts, ...], fidelity: Fidelity) -> str:
    """Return the key of a scenario given by its groups."""
    return digest([fidelity, version.MODEL, *(group.lines for group in groups)])


def digest(lines: Sequence[str]) -> str:
    """Return a digest of some lines, 32 hex digits."""
    return blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()
