"""Alike cases in one test (`each`), drawn examples (`examples`), and how many of both `make test` and `make slow` take.

All that `make slow` draws hangs on one seed, which it prints: `make slow-engine SEED=...` draws the same again.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any, TypeVar

import pytest
from hypothesis import is_hypothesis_test, settings

MOST_FAILURES = 5  # failures told of one test
Case = dict[str, Any]
Test = Callable[..., None]
Value = TypeVar("Value")


@dataclass
class Selection:
    """What a run of the tests asks for: all cases and new examples, or only what concerns one name."""

    all: bool = False
    seed: str = ""  # that draws what `make slow` takes of many
    words: frozenset[str] = frozenset()  # that mean the name
    device: bool = False  # whose constants are named after it, as pmem.read-rate


SELECTION = Selection()


def examples(count: int) -> settings:
    """Return settings that draw so many examples, ten times as many for `make slow`."""
    return settings(max_examples=count * (10 if SELECTION.all else 1))


def draw(values: Sequence[Value], count: int, about: str = "") -> list[Value]:
    """Return so many of many values, in their order; which ones, the seed of `make slow` says.

    about: what else tells one drawing from another of as many values.
    """
    places = Random(f"{SELECTION.seed} {about}").sample(range(len(values)), min(count, len(values)))
    return [values[place] for place in sorted(places)]


def mentions(argument: Any) -> bool:
    """Return whether a case's value is what is asked about, holds it, or is a thing of its name."""
    if isinstance(argument, str):
        return not SELECTION.words.isdisjoint(
            (argument, argument.partition(".")[0] if SELECTION.device else argument, *argument.split())
        )
    if isinstance(argument, Mapping):
        return any(map(mentions, argument)) or any(map(mentions, argument.values()))
    if isinstance(argument, tuple | list | set | frozenset):
        return any(map(mentions, argument))
    return any(
        isinstance(text := getattr(argument, name, None), str) and text in SELECTION.words for name in ("name", "path", "system")
    )


def sampled_cases(cases: list[Case], limit: int, most: int = 0) -> list[Case]:
    """Return the cases to run: those asked about, or else all; a few of them, of as many different values as can be.

    most: the cases that `make slow` draws by its seed; 0 for all.
    """
    cases = [case for case in cases if mentions(case)] or cases
    if SELECTION.all:
        return draw(cases, most or len(cases))
    if not limit:
        return cases
    pool = Random(0).sample(cases, len(cases))
    sample: list[Case] = []
    labels: set[str] = set()
    while pool and len(sample) < limit:
        sample.append(max(pool, key=lambda case: len(set(case_labels(case)) - labels)))
        pool = [case for case in pool if case is not sample[-1]]
        labels |= set(case_labels(sample[-1]))
    return sample


def case_labels(case: Case) -> list[str]:
    """Return how a failure names the values of its case."""
    names = {name: getattr(argument, "path", None) or getattr(argument, "__name__", argument) for name, argument in case.items()}
    return [f"{name}={repr(argument)[:300]}" for name, argument in names.items()]


def run(test: Test, cases: list[Case], fixtures: Case) -> None:
    """Run a test on all cases, and fail with what failed."""
    failed: list[Exception] = []
    for case in cases:
        try:
            test(**fixtures, **case)
        except (Exception, pytest.fail.Exception) as error:
            failure = error if isinstance(error, Exception) else AssertionError(str(error))
            failure.add_note("Case: " + ", ".join(case_labels(case)))
            failed.append(failure)
            if len(failed) == MOST_FAILURES:
                break
    if failed:
        raise (
            failed[0]
            if len(failed) == 1
            else ExceptionGroup(f"{len(failed)} cases fail; no more than {MOST_FAILURES} are told", failed)
        )


def each(arguments: str | tuple[str, ...], values: Iterable[Any], few: int = 0, most: int = 0) -> Callable[[Test], Test]:
    """Run a test on each case in turn, as parametrize would, but as one test that names the cases that fail.

    Of all combinations with further `each`, `make test` runs `few` if that is given, and `make slow` all, or `most` drawn ones.
    """
    names = tuple(word.strip() for word in arguments.split(",")) if isinstance(arguments, str) else arguments
    rows = [dict(zip(names, row if len(names) > 1 else (row,), strict=True)) for row in values]

    def decorate(test: Test) -> Test:
        inner, cases = getattr(test, "test", test), [row | case for row, case in product(rows, getattr(test, "cases", [{}]))]
        assert cases, f"{test.__name__} has no case"
        limit, drawn = few or getattr(test, "few", 0), most or getattr(test, "most", 0)

        def loop(**fixtures: Any) -> None:
            run(inner, sampled_cases(cases, limit, drawn), fixtures)

        signature = inspect.signature(test)
        parameters = [parameter for name, parameter in signature.parameters.items() if name not in names]
        marks = [*getattr(test, "pytestmark", [])]
        if is_hypothesis_test(inner) or 0 < limit < len(cases):
            marks.append(pytest.mark.more.mark)
        loop.__name__, loop.__doc__, loop.__module__ = test.__name__, test.__doc__, test.__module__
        loop.__dict__.update(__signature__=signature.replace(parameters=parameters), pytestmark=marks)
        loop.__dict__.update(test=inner, cases=cases, few=limit, most=drawn)
        return loop

    return decorate
