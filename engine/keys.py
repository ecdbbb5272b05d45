"""The content address of a scenario: equal scenarios have one key, on every computer and in every process.

Points of a sweep share most of their knobs, by identity: what was written of a group last is kept, and only values that
are not the very same objects are written again.
"""

from collections.abc import Callable, Mapping
from hashlib import blake2b
from operator import attrgetter, is_
from typing import Any, Literal, NamedTuple

from engine import knobs, version
from engine.scenario import GROUPS, KNOBS, Scenario

How = Literal["full", "estimate"]


class _Written(NamedTuple):
    """A group as it was written last: its values, their texts by path, and both as lines."""

    values: tuple[Any, ...]
    texts: Mapping[str, str]
    lines: str


class _Writer:
    """Writes one group of knobs, or those that are in none."""

    def __init__(self, paths: tuple[str, ...]) -> None:
        self.paths = paths
        self.values: Callable[[Any], Any] = attrgetter(*paths, "system")  # one more, so that it is always a tuple
        self.last = _Written((), {}, "")

    def written(self, scenario: Scenario) -> _Written:
        """Return the group as text; the last one may be another thread's, but is always whole."""
        values, last = self.values(scenario), self.last
        if len(last.values) == len(values) and all(map(is_, values, last.values)):
            return last
        before = last.values or (_NEVER,) * len(values)
        texts = {
            path: last.texts[path] if value is old else knobs.write(KNOBS[path], knobs.check(KNOBS[path], value))
            for path, value, old in zip(self.paths, values, before, strict=False)
        }
        self.last = _Written(values, texts, "\n".join([f"{path}={text}" for path, text in texts.items()]))
        return self.last


_NEVER = object()
_WRITERS = tuple(_Writer(tuple(path for path in KNOBS if path.rpartition(".")[0] == group)) for group in ("", *GROUPS))


def texts(scenario: Scenario) -> dict[str, str]:
    """Return every knob's canonical text by dotted path, in declaration order: 48 and 48.0 are one bandwidth."""
    return {path: text for writer in _WRITERS for path, text in writer.written(scenario).texts.items()}


def key(scenario: Scenario, how: How) -> str:
    """Return the key, 32 hex digits, of what computing `scenario` in full or as an estimate gives."""
    return _digest([how, version.MODEL, *(writer.written(scenario).lines for writer in _WRITERS)])


def key_of_texts(written: Mapping[str, str], how: How) -> str:
    """Return the key of a scenario given by its canonical texts."""
    return _digest([how, version.MODEL, *(f"{path}={text}" for path, text in written.items())])


def _digest(lines: list[str]) -> str:
    return blake2b("\n".join(lines).encode(), digest_size=16).hexdigest()
