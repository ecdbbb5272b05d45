"""Alike cases in one test (`each`), drawn examples (`examples`), and how many of both `make test` and `make slow` take."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import is_hypothesis_test, settings

TOLD = 5  # failures told of one test
Case = dict[str, Any]
Test = Callable[..., None]


@dataclass
class Asked:
    """What a run of the tests asks for: all cases and new examples, or only what concerns one name."""

    all: bool = False
    words: frozenset[str] = frozenset()  # that mean the name
    device: bool = False  # whose constants are named after it, as pmem.read-rate


ASKED = Asked()


def examples(count: int) -> settings:
    """Return settings that draw so many examples, ten times as many for `make slow`."""
    return settings(max_examples=count * (10 if ASKED.all else 1))


def mentions(value: Any) -> bool:
    """Return whether a case's value is what is asked about, holds it, or is a thing of its name."""
    if isinstance(value, str):
        return not ASKED.words.isdisjoint((value, value.partition(".")[0] if ASKED.device else value, *value.split()))
    if isinstance(value, Mapping):
        return any(map(mentions, value)) or any(map(mentions, value.values()))
    if isinstance(value, tuple | list | set | frozenset):
        return any(map(mentions, value))
    return any(isinstance(own := getattr(value, name, None), str) and own in ASKED.words for name in ("name", "path", "system"))


def chosen(cases: list[Case], few: int) -> list[Case]:
    """Return the cases to run: those asked about, or else all; a few of them, of as many different values as can be."""
    cases = [case for case in cases if mentions(case)] or cases
    left = Random(0).sample(cases, len(cases))
    found: list[Case] = []
    if ASKED.all or not few:
        return cases
    seen: set[str] = set()
    while left and len(found) < few:
        found.append(max(left, key=lambda case: len(set(told(case)) - seen)))
        left = [case for case in left if case is not found[-1]]
        seen |= set(told(found[-1]))
    return found


def told(case: Case) -> list[str]:
    """Return how a failure names the values of its case."""
    names = {name: getattr(value, "path", None) or getattr(value, "__name__", value) for name, value in case.items()}
    return [f"{name}={repr(value)[:300]}" for name, value in names.items()]


def run(test: Test, cases: list[Case], fixtures: Case) -> None:
    """Run a test on all cases, and fail with what failed."""
    failed: list[Exception] = []
    for case in cases:
        try:
            test(**fixtures, **case)
        except (Exception, pytest.fail.Exception) as error:
            failure = error if isinstance(error, Exception) else AssertionError(str(error))
            failure.add_note("Case: " + ", ".join(told(case)))
            failed.append(failure)
            if len(failed) == TOLD:
                break
    if failed:
        raise failed[0] if len(failed) == 1 else ExceptionGroup(f"{len(failed)} cases fail; no more than {TOLD} are told", failed)


def each(arguments: str | tuple[str, ...], values: Iterable[Any], few: int = 0) -> Callable[[Test], Test]:
    """Run a test on each case in turn, as parametrize would, but as one test that names the cases that fail.

    Of all combinations with further `each`, `make test` runs `few` if that is given, and `make slow` all.
    """
    names = tuple(word.strip() for word in arguments.split(",")) if isinstance(arguments, str) else arguments
    rows = [dict(zip(names, value if len(names) > 1 else (value,), strict=True)) for value in values]

    def decorate(test: Test) -> Test:
        inner, cases = getattr(test, "test", test), [row | more for row, more in product(rows, getattr(test, "cases", [{}]))]
        assert cases, f"{test.__name__} has no case"
        limit = few or getattr(test, "few", 0)

        def loop(**fixtures: Any) -> None:
            run(inner, chosen(cases, limit), fixtures)

        signature = inspect.signature(test)
        left = [parameter for name, parameter in signature.parameters.items() if name not in names]
        marks = [*getattr(test, "pytestmark", [])]
        if is_hypothesis_test(inner) or 0 < limit < len(cases):
            marks.append(pytest.mark.more.mark)
        loop.__name__, loop.__doc__, loop.__module__ = test.__name__, test.__doc__, test.__module__
        loop.__dict__.update(__signature__=signature.replace(parameters=left), pytestmark=marks)
        loop.__dict__.update(test=inner, cases=cases, few=limit)
        return loop

    return decorate
