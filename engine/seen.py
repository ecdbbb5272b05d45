"""What a computation reads of a scenario is seen, not declared: it is then done once for each set of values that it reads.

A stage is a function of a scenario, or of a group of its knobs. It is computed with a stand-in that notes each knob it reads;
another scenario with the same values there gets the same answer. A stage that reads one knob more by accident is
computed more often, never wrongly.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from operator import attrgetter
from typing import Any, TypeVar, cast

Stage = TypeVar("Stage", bound=Callable[..., Any])
MOST_ANSWERS, MOST_WAYS = 4096, 64
UNKNOWN = object()


class Notes(dict[str, Any]):
    """The dotted paths that were read, in order, while the stage was `open`."""

    open = True


class Seen:
    """Stands in for a scenario or a group of its knobs: notes what is read of it, and can have some `changes`."""

    __slots__ = ("_changes", "_notes", "_of", "_path")

    def __init__(self, of: Any, notes: Notes, path: str = "", changes: Mapping[str, Any] | None = None) -> None:
        self._of, self._notes, self._path, self._changes = of, notes, path, changes or {}

    def __getattr__(self, name: str) -> Any:
        path = self._path + name
        if path in self._changes:
            return self._changes[path]
        value = getattr(self._of, name)
        if isinstance(value, Seen) or is_dataclass(value):
            return Seen(value, self._notes, path + ".", self._changes)
        self._note(path, value)
        return value

    def _note(self, path: str, value: Any) -> None:
        if not self._notes.open:
            raise RuntimeError(f"{path} is read after its stage was over; read it before making the function that uses it.")
        self._notes[path] = value

    def changed(self, changes: Mapping[str, Any]) -> "Seen":
        """Return the stand-in with some knobs, by dotted path, changed; they are no longer read."""
        return Seen(self._of, self._notes, self._path, {**self._changes, **changes})

    @property
    def changes(self) -> Mapping[str, Any]:
        """What has been changed, by dotted path."""
        return self._changes

    def whole(self) -> Any:
        """Return the real value, which counts as read altogether."""
        real = self._of.whole() if isinstance(self._of, Seen) else self._of
        if self._notes.open:
            self._notes.update({self._path[:-1]: real} if self._path else {item.name: real for item in fields(real)})
        mine = {path.removeprefix(self._path): value for path, value in self._changes.items() if path.startswith(self._path)}
        inner = {name.partition(".")[0] for name in mine if "." in name}
        parts = {name: Seen(getattr(real, name), Notes(), self._path + name + ".", self._changes).whole() for name in inner}
        return replace(real, **parts, **{name: value for name, value in mine.items() if "." not in name})

    def __hash__(self) -> int:
        return hash(self.whole())

    def __eq__(self, other: object) -> bool:
        return bool(self.whole() == (other.whole() if isinstance(other, Seen) else other))


def remembered(stage: Stage) -> Stage:
    """Compute `stage(scenario, *others)` once for the values that it reads of the scenario; what it raises is not kept."""
    ways: dict[tuple[Any, ...], tuple[tuple[Callable[[Any], Any], dict[Any, Any]], ...]] = {}

    @wraps(stage)
    def recall(scenario: Any, *others: Any) -> Any:
        for reads, answers in ways.get(others, ()):
            answer = answers.get(reads(scenario), UNKNOWN)
            if answer is not UNKNOWN:
                return answer
        notes = Notes()
        answer = stage(Seen(scenario, notes), *others)
        notes.open = False
        reads = reading(tuple(notes))
        known = ways.get(others, ())
        answers = next((found for way, found in known if way is reads), {})
        if len(answers) >= MOST_ANSWERS:
            answers.clear()
        answers[reads(scenario)] = answer
        if not any(way is reads for way, _ in known):
            ways[others] = ((reads, answers), *known[: MOST_WAYS - 1])
        return answer

    return cast(Stage, recall)


READINGS: dict[tuple[str, ...], Callable[[Any], Any]] = {}


def reading(paths: tuple[str, ...]) -> Callable[[Any], Any]:
    """Return the function that reads the knobs at these dotted paths, one function for equal paths."""
    return READINGS.setdefault(paths, attrgetter(*paths) if paths else lambda scenario: ())
