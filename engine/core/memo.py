"""A memo of stages that find out themselves which knobs they read: each is done once for each set of values of these.

A stage is a function of a scenario, of a group of its knobs, or of what is settled of it. It is computed with a stand-in that
notes each knob it reads; another scenario with the same values there gets the same answer. A stage that reads one knob more by
accident is computed more often, never wrongly.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import wraps
from inspect import Parameter, signature
from operator import attrgetter
from threading import Lock
from typing import Any, TypeVar, cast

Stage = TypeVar("Stage", bound=Callable[..., Any])
MOST_WAYS, MOST_PATHS = 1024, 64  # of others, and of paths that a stage may read for one of them
UNKNOWN = object()
NOTHING: Mapping[str, Any] = {}


class Reads(dict[str, Any]):
    """The dotted paths that were read, in order, while the stage was `open`."""

    open = True


class Recorder:
    """Stands in for a scenario or a group of its knobs: notes what is read of it, and can have some `changes`.

    What has been read once is kept as an attribute, so that it is not asked for again.
    """

    def __init__(self, of: Any, notes: Reads, path: str = "", changes: Mapping[str, Any] = NOTHING) -> None:
        self._of, self._notes, self._path, self._changes = of, notes, path, changes

    def __getattr__(self, name: str) -> Any:
        path = self._path + name
        if path in self._changes:
            value = self._changes[path]
        else:
            value = getattr(self._of, name)
            if isinstance(value, Recorder) or _is_group(value):
                value = Recorder(value, self._notes, path + ".", self._changes)
            elif self._notes.open:
                self._notes[path] = value
            else:
                raise RuntimeError(f"{path} is read after its stage was over; read it before making the function that uses it.")
        setattr(self, name, value)
        return value

    def changed(self, changes: Mapping[str, Any]) -> "Recorder":
        """Return the stand-in with some knobs, by dotted path, changed; they are no longer read."""
        mine = {self._path + path: value for path, value in changes.items()}
        return Recorder(self._of, self._notes, self._path, {**self._changes, **mine})

    def whole(self) -> Any:
        """Return the real value, which counts as read altogether."""
        real = self._of.whole() if isinstance(self._of, Recorder) else self._of
        if self._notes.open:
            self._notes.update({self._path[:-1]: real} if self._path else {item.name: real for item in fields(real)})
        mine = {path.removeprefix(self._path): value for path, value in self._changes.items() if path.startswith(self._path)}
        inner = {name.partition(".")[0] for name in mine if "." in name}
        parts = {name: Recorder(getattr(real, name), Reads(), self._path + name + ".", self._changes).whole() for name in inner}
        return replace(real, **parts, **{name: value for name, value in mine.items() if "." not in name})

    def __hash__(self) -> int:
        return hash(self.whole())

    def __eq__(self, other: object) -> bool:
        return bool(self.whole() == (other.whole() if isinstance(other, Recorder) else other))


def _is_group(value: Any) -> bool:
    """Return whether a value is read field by field: a dataclass that is compared by its fields."""
    declared = getattr(value, "__dataclass_params__", None)
    return declared is not None and declared.eq


def remembered(
    most: int = 4096, size: Callable[[Any], int] = lambda answer: 1, by: Callable[[Any], Any] = lambda scenario: None
) -> Callable[[Stage], Stage]:
    """Compute a stage, `stage(scenario, *others)`, once for the values that it reads of the scenario.

    At most so many answers, or answers of so much `size`, are kept for each of `others`; what a stage raises is not kept.
    Answers of each kind, which `by` tells of a scenario, are searched apart: give it where kinds read unlike paths.
    What a stage can only be given by name, such as who watches it, must not matter to the answer; nothing else may be given so.
    """

    def of(stage: Stage) -> Stage:
        ways: dict[tuple[Any, ...], Ways] = {}
        KEPT.append(ways)
        named = {name for name, one in signature(stage).parameters.items() if one.kind is Parameter.KEYWORD_ONLY}

        @wraps(stage)
        def recall(scenario: Any, *others: Any, **beside: Any) -> Any:
            if not beside.keys() <= named:
                raise TypeError(f"{stage.__name__} remembers answers by {sorted(beside.keys() - named)}: give these by position.")
            kind = (by(scenario), *others)
            for _, reads, answers in ways.get(kind, ()):
                answer = answers.get(reads(scenario), UNKNOWN)
                if answer is not UNKNOWN:
                    return answer
            notes = Reads()
            answer = stage(Recorder(scenario, notes), *others, **beside)
            notes.open = False
            paths = tuple(notes)
            reads = attrgetter(*paths) if paths else lambda scenario: ()
            values, amount = reads(scenario), size(answer)
            with WRITING:
                if len(ways) >= MOST_WAYS:
                    ways.clear()
                known = ways.get(kind, ())
                mine = next((answers for read, _, answers in known if read == paths), None)
                if mine is None:
                    mine = Answers()
                    ways[kind] = ((paths, reads, mine), *known[: MOST_PATHS - 1])
                mine.keep(values, answer, amount, most)
            return answer

        return cast(Stage, recall)

    return of


class Answers(dict[Any, Any]):
    """A stage's answers by the values that it read at the same paths, and how much they hold; written under the lock alone."""

    held = 0

    def keep(self, values: Any, answer: Any, amount: int, most: int) -> None:
        """Keep an answer, the first one for the same values, in the place of all others where these hold too much."""
        if self.held >= most:
            self.clear()
            self.held = 0
        if values not in self:
            self[values] = answer
            self.held += amount


Ways = tuple[tuple[tuple[str, ...], Callable[[Any], Any], Answers], ...]
KEPT: list[dict[tuple[Any, ...], Ways]] = []
WRITING = Lock()  # ways are replaced and looked up in one step, so whoever reads needs no lock


def forget() -> None:
    """Forget every answer of every stage."""
    with WRITING:
        for ways in KEPT:
            ways.clear()
