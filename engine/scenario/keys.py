"""The content address of a scenario: equal scenarios have one key, on every computer and in every process.

Points of a sweep share most of their knobs, by identity: what was written of a group last is kept, and only values that
are not the very same objects are written again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import compress
from operator import attrgetter, is_not, ne
from typing import Any, Literal, NamedTuple

from .. import version
from . import knobs
from .scenario import GROUPS, KNOBS, Scenario

How = Literal["full", "estimate"]


class KnobTexts(NamedTuple):
    """A group as it was written last: the group itself, its values, their texts by path, a line each, and all lines.

    The line of a knob that is later than keys is empty at its default, and none of all lines.
    """

    of: Any
    values: tuple[Any, ...]
    texts: Mapping[str, str]
    rows: tuple[str, ...]
    lines: str


class _Writer:
    """Writes one group of knobs, or those that are in none."""

    def __init__(self, group: str) -> None:
        self.group = group
        self.paths = tuple(path for path in KNOBS if path.rpartition(".")[0] == group)
        names = (path.rpartition(".")[2] for path in self.paths)
        self.values: Callable[[Any], Any] = attrgetter(*names, "__class__")  # one more, so that it is always a tuple
        self.last = KnobTexts(None, (_NEVER,) * len(self.paths), {}, ("",) * len(self.paths), "")

    def written(self, scenario: Scenario) -> KnobTexts:
        """Return the group as text; the last one may be another thread's, but is always whole."""
        of, last = getattr(scenario, self.group) if self.group else scenario, self.last
        if of is last.of:
            return last
        values, texts, rows = self.values(of), dict(last.texts), list(last.rows)
        for number in compress(range(len(rows)), map(is_not, values, last.values)):
            path = self.paths[number]
            texts[path] = text = knobs.write(KNOBS[path], knobs.check(KNOBS[path], values[number]))
            rows[number] = "" if KNOBS[path].later and values[number] == KNOBS[path].default else f"{path}={text}"
        self.last = KnobTexts(of, values, texts, tuple(rows), "\n".join(filter(None, rows)))
        return self.last


_NEVER = object()
_WRITERS = tuple(_Writer(group) for group in ("", *GROUPS))


def written(scenario: Scenario) -> tuple[KnobTexts, ...]:
    """Return the scenario's groups as texts, for whoever needs both its key and what differs."""
    return tuple(writer.written(scenario) for writer in _WRITERS)


def texts(scenario: Scenario) -> dict[str, str]:
    """Return every knob's canonical text by dotted path, in declaration order: 48 and 48.0 are one bandwidth."""
    return {path: text for group in written(scenario) for path, text in group.texts.items()}


def rows(scenario: Scenario) -> list[str]:
    """Return the lines of which keys are made, a knob each."""
    return [row for group in written(scenario) for row in group.rows if row]


def differing(base: tuple[KnobTexts, ...], groups: tuple[KnobTexts, ...]) -> Iterator[tuple[str, str, Any]]:
    """Yield path, text and value of what differs from `base`.

    A different model is yielded whole, as its name alone would bring its own knobs.
    """
    for old, new in zip(base, groups, strict=True):
        if new.lines != old.lines:
            whole = new.texts.get("model.name") != old.texts.get("model.name")
            known = zip(new.texts.items(), new.values, strict=False)
            for (path, text), value in known if whole else compress(known, map(ne, new.rows, old.rows)):
                yield path, text, value


def key(scenario: Scenario, how: How) -> str:
    """Return the key, 32 hex digits, of what computing `scenario` in full or as an estimate gives."""
    return key_of(written(scenario), how)


def key_of(groups: tuple[KnobTexts, ...], how: How) -> str:
    """Return the key of a scenario given by its groups."""
    return digest([how, version.MODEL, *(group.lines for group in groups)])


def digest(lines: Sequence[str]) -> str:
    """Return 32 hex digits of some lines."""
    return blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()
