"""Answers of memoised stages for several design points at once.

Values of several points have no hash, so they are compared by identity, and the answers are dropped when the points are done.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import local
from typing import Any, cast

UNKNOWN = object()


class TogetherAnswers:
    """A stage's answers for values of many design points at once.

    Such values have no hash, so they are compared by identity. The answers are dropped with the `points_together` block.
    """

    def __init__(self) -> None:
        self.answers: dict[Any, dict[Any, Any]] = {}

    def find(self, ways: Any, kind: tuple[Any, ...], scenario: Any, lasting: Callable[[Any, Any, Any], Any]) -> Any:
        """Return the answer for equal values, or UNKNOWN.

        `lasting` looks in the stage's answers for values with a hash, which are in `ways`.
        """
        with suppress(TypeError):
            answer = lasting(ways, kind, scenario)
            if answer is not UNKNOWN:
                return answer
        for reads, answers in self.answers.get(_by_identity(kind), {}).items():
            answer = answers.get(_by_identity(reads(scenario)), UNKNOWN)
            if answer is not UNKNOWN:
                return answer
        return UNKNOWN

    def keep(self, kind: tuple[Any, ...], reads: Callable[[Any], Any], values: Any, answer: Any) -> bool:
        """Keep an answer if its values have no hash; return whether it was kept."""
        try:
            hash((kind, values))
        except TypeError:
            self.answers.setdefault(_by_identity(kind), {})[reads] = {_by_identity(values): answer}
            return True
        return False


class _Identity:
    """A value that is compared by identity."""

    def __init__(self, content: Any) -> None:
        self.content = content

    def __hash__(self) -> int:
        return id(self.content)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.content is other.content


def _by_identity(value: Any) -> Any:
    """Return a value with a hash: parts without one are compared by identity."""
    if isinstance(value, tuple):
        return tuple(map(_by_identity, value))
    try:
        hash(value)
    except TypeError:
        return _Identity(value)
    return value


_THREAD = local()


def are_together() -> bool:
    """Return whether this thread is in a `points_together` block."""
    return getattr(_THREAD, "answers", None) is not None


@contextmanager
def points_together() -> Iterator[None]:
    """Let stages of this thread take values of several design points.

    Their answers are forgotten at the end of the block.
    """
    outer, _THREAD.answers = getattr(_THREAD, "answers", None), {}
    try:
        yield
    finally:
        _THREAD.answers = outer


def answers_of(stage: Callable[..., Any]) -> TogetherAnswers | None:
    """Return the answers of a stage for several points, None outside a `points_together` block."""
    answers = getattr(_THREAD, "answers", None)
    return None if answers is None else cast(TogetherAnswers, answers.setdefault(stage, TogetherAnswers()))
