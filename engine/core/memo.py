"""Memoise a function on exactly the knobs that it reads.

A stage is a function whose first argument is a scenario, a group of its knobs, or its settled part. The stage is computed with a
recorder in place of this argument; the recorder notes each knob that the stage reads. A later call whose scenario has the same
values of these knobs gets the same answer. If a stage reads one knob too many by mistake, it is computed more often, but its
answers stay right.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import wraps
from inspect import Parameter, signature
from operator import attrgetter
from threading import Lock
from typing import Any, TypeVar, cast

from .points.answers import UNKNOWN, answers_of, are_together
from .points.parts import number_of_points, record
from .points.per_point import Differ, NotTogether, at_each_point

Stage = TypeVar("Stage", bound=Callable[..., Any])
MAX_WAYS, MAX_PATHS = 1024, 64  # of sets of other arguments, and of sets of paths that a stage may read for one of them
NO_CHANGES: Mapping[str, Any] = {}
GIVEN = "?"  # ends the note of a knob of which only is asked whether it has a value
IS_GROUP: dict[type, bool] = {}  # by type: a stage reads thousands of knobs


class Reads(dict[str, Any]):
    """The values that a stage has read, by the path of the knob.

    Under a path that ends in GIVEN stands whether the knob has a value. `open` is True until the stage has returned.
    """

    open = True


class Recorder:
    """A stand-in for a scenario or a group that notes each knob read.

    `changes` has values that replace those of some knobs, by dotted path. A knob's value is kept as an attribute after the first
    read, so that a second read is cheap.
    """

    def __init__(self, knobs: Any, notes: Reads, path: str = "", changes: Mapping[str, Any] = NO_CHANGES) -> None:
        self._knobs, self._notes, self._path, self._changes = knobs, notes, path, changes

    def __getattr__(self, name: str) -> Any:
        path = self._path + name
        if path in self._changes:
            knob_value = self._changes[path]
        else:
            knob_value = getattr(self._knobs, name)
            if isinstance(knob_value, Recorder) or _is_group(knob_value):
                knob_value = Recorder(knob_value, self._notes, path + ".", self._changes)
            elif self._notes.open:
                self._notes[path] = knob_value
            else:
                raise RuntimeError(
                    f"{path} is read after the memoised function has returned; read it before making the function that uses it."
                )
        setattr(self, name, knob_value)
        return knob_value

    def is_given(self, name: str) -> bool:
        """Return whether a knob has a value, and note only that."""
        path = self._path + name
        if path in self._changes:
            return self._changes[path] is not None
        given = is_given(self._knobs, name)
        if self._notes.open and path not in self._notes:
            self._notes[path + GIVEN] = given
        return given

    def with_changes(self, changes: Mapping[str, Any]) -> "Recorder":
        """Return the recorder with the values of some knobs replaced, by dotted path.

        The replaced knobs are no longer noted as read.
        """
        changes_by_path = {self._path + path: knob_value for path, knob_value in changes.items()}
        return Recorder(self._knobs, self._notes, self._path, {**self._changes, **changes_by_path})

    def real_knobs(self) -> Any:
        """Return the real scenario or group; all its knobs then count as read."""
        real = self._knobs.real_knobs() if isinstance(self._knobs, Recorder) else self._knobs
        if self._notes.open:
            self._notes.update({self._path[:-1]: real} if self._path else {knob.name: real for knob in fields(real)})
        local_changes = {
            path.removeprefix(self._path): knob_value for path, knob_value in self._changes.items() if path.startswith(self._path)
        }
        changed_groups = {name.partition(".")[0] for name in local_changes if "." in name}
        parts = {
            name: Recorder(getattr(real, name), Reads(), self._path + name + ".", self._changes).real_knobs()
            for name in changed_groups
        }
        own_changes = {name: knob_value for name, knob_value in local_changes.items() if "." not in name}
        return record(type(real), {**vars(real), **parts, **own_changes})

    def __hash__(self) -> int:
        return hash(self.real_knobs())

    def __eq__(self, scenario: object) -> bool:
        return bool(self.real_knobs() == (scenario.real_knobs() if isinstance(scenario, Recorder) else scenario))


def is_given(knobs: Any, name: str) -> bool:
    """Return whether a knob of a group is not automatic.

    A stage that asks this, and not whether the knob is None, is computed once for all values of the knob.
    """
    return knobs.is_given(name) if isinstance(knobs, Recorder) else getattr(knobs, name) is not None


def _reader(notes: Reads) -> Callable[[Any], Any]:
    """Return a function from a scenario or a group to the values that a stage has read of it."""
    read_paths = [path for path in notes if not path.endswith(GIVEN)]
    values: Callable[[Any], Any] = attrgetter(*read_paths) if read_paths else lambda knobs: ()
    asked = [path.removesuffix(GIVEN).rpartition(".") for path in notes if path.endswith(GIVEN)]
    if not asked:
        return values
    return lambda knobs: (
        values(knobs),
        *(is_given(attrgetter(group)(knobs) if group else knobs, name) for group, _, name in asked),
    )


def _is_group(candidate: Any) -> bool:
    """Return whether a candidate is read field by field: a dataclass that is compared by its fields."""
    kind = type(candidate)
    if kind not in IS_GROUP:
        declared = getattr(kind, "__dataclass_params__", None)
        IS_GROUP[kind] = declared is not None and declared.eq
    return IS_GROUP[kind]


def memoised(
    most: int = 4096,
    size: Callable[[Any], int] = lambda answer: 1,
    by: Callable[[Any], Any] = lambda scenario: None,
    each_point_alone: bool = False,
) -> Callable[[Stage], Stage]:
    """Return a decorator that computes a stage once for equal knobs that it reads.

    A stage is a function `stage(scenario, *others)`.

    most: the limit on the total `size` of the answers that are kept for each value of `others`; exceptions are not kept.
    size: a function to the size of an answer, 1 by default.
    by: a function to the kind of a scenario; each kind has answers of its own. Give it if scenarios of different kinds read
        different knobs.
    each_point_alone: True if the stage is computed for each of several design points alone where it has no columns.

    Keyword-only arguments of a stage, such as a progress callback, must not change the answer; all other arguments must be
    positional.
    """

    def decorate(stage: Stage) -> Stage:
        ways: Ways = {}
        MEMOS.append(ways)
        keyword_names = {
            name for name, parameter in signature(stage).parameters.items() if parameter.kind is Parameter.KEYWORD_ONLY
        }

        @wraps(stage)
        def recall(scenario: Any, *arguments: Any, **keywords: Any) -> Any:
            if not keywords.keys() <= keyword_names:
                raise TypeError(
                    f"{stage.__name__} remembers answers by {sorted(keywords.keys() - keyword_names)}: give these by position."
                )
            kind, several = (by(scenario), *arguments), answers_of(stage)
            answer = _find(ways, kind, scenario) if several is None else several.find(ways, kind, scenario, _find)
            if answer is not UNKNOWN:
                return answer
            notes = Reads()
            recorder = Recorder(scenario, notes)
            try:
                answer = stage(recorder, *arguments, **keywords)
            except (Differ, TypeError):  # a TypeError comes from an operation without columns
                if several is None or not each_point_alone or not number_of_points((recorder.real_knobs(), arguments)):
                    raise
                answer = at_each_point(recall, (recorder.real_knobs(), *arguments), keywords)
            notes.open = False
            reads = _reader(notes)
            values = reads(scenario)
            if several is None or not several.keep(kind, reads, values, answer):
                with WRITE_LOCK:
                    _answers_by_paths(ways, kind, tuple(notes), reads).keep(values, answer, size(answer), most)
            return answer

        return cast(Stage, recall)

    return decorate


def _find(ways: "Ways", kind: tuple[Any, ...], scenario: Any) -> Any:
    """Return the answer for equal knobs, or UNKNOWN."""
    for _, reads, answers in ways.get(kind, ()):
        answer = answers.get(reads(scenario), UNKNOWN)
        if answer is not UNKNOWN:
            return answer
    return UNKNOWN


def _answers_by_paths(ways: "Ways", kind: tuple[Any, ...], paths: tuple[str, ...], reads: Callable[[Any], Any]) -> "Answers":
    """Return the answers by the values of the knobs `paths`, a new object for new paths."""
    if len(ways) >= MAX_WAYS:
        ways.clear()
    known_ways = ways.get(kind, ())
    path_answers = next((answers for known_paths, _, answers in known_ways if known_paths == paths), None)
    if path_answers is None:
        path_answers = Answers()
        ways[kind] = ((paths, reads, path_answers), *known_ways[: MAX_PATHS - 1])
    return path_answers


class Answers(dict[Any, Any]):
    """A stage's answers by the values that it read, and their total size.

    All answers of one instance were computed from the same knobs. Only a thread that holds WRITE_LOCK may write.
    """

    total_size = 0

    def keep(self, values: Any, answer: Any, amount: int, max_size: int) -> None:
        """Keep an answer unless there is an answer for these values.

        Before that, drop all answers if their total size has reached `max_size`.
        """
        if self.total_size >= max_size:
            self.clear()
            self.total_size = 0
        if values not in self:
            self[values] = answer
            self.total_size += amount


def point_by_point(stage: Stage) -> Stage:
    """Return a stage that computes each design point alone where it has no columns.

    Outside a `points_together` block it is the stage itself.
    """

    @wraps(stage)
    def computed(scenario: Any, *arguments: Any, **options: Any) -> Any:
        if not are_together():
            return stage(scenario, *arguments, **options)
        try:
            return stage(scenario, *arguments, **options)
        except (Differ, TypeError):  # a TypeError comes from an operation without columns
            real = scenario.real_knobs() if isinstance(scenario, Recorder) else scenario
            if not number_of_points((real, arguments, options)):
                raise
            return at_each_point(stage, (real, *arguments), options)

    return cast(Stage, computed)


def refuse_points(scenario: Any) -> None:
    """Raise NotTogether for a scenario of several design points.

    A stage calls it where trying all points together costs too much.
    """
    if are_together():
        real = scenario.real_knobs() if isinstance(scenario, Recorder) else scenario
        if number_of_points(real):
            raise NotTogether("a search over machines.")


PathMemos = tuple[tuple[tuple[str, ...], Callable[[Any], Any], Answers], ...]
Ways = dict[tuple[Any, ...], PathMemos]
MEMOS: list[Ways] = []
WRITE_LOCK = Lock()  # ways are replaced and looked up in one step, so readers need no lock


def clear_memos() -> None:
    """Drop every answer of every stage."""
    with WRITE_LOCK:
        for ways in MEMOS:
            ways.clear()
