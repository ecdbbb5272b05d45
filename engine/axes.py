"""The axes of a sweep: a knob and the values it takes, and the grid of scenarios that they span.

`KNOB=V1,V2,...` lists values; `KNOB=LOW:HIGH:COUNT` spaces them evenly and `:log` by equal ratios.
A link writes the same axis as `KNOB:V1,V2,...`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from engine import knobs
from engine.errors import BadKnob
from engine.knobs import Knob
from engine.scenario import Scenario, known, with_values

MOST_POINTS = 100_000
SAMPLE = 0x5A  # the purpose of the random stream that picks a subset
WRITTEN = re.compile(r"\s*([\w.]+)\s*[=:](.*)", re.DOTALL)
NUMBERS = ("float", "int", "floats", "ints")
RANGE = re.compile(r"([^:,]*):([^:,]*):([^:,]*)(:[^:,]*)?")


@dataclass(frozen=True)
class Axis:
    """One knob by dotted path, and its values in the order in which they were written."""

    path: str
    values: tuple[Any, ...]

    def __str__(self) -> str:
        """The axis as links write it."""
        return f"{self.path}:{','.join(knobs.write(known(self.path), value) for value in self.values)}"


def parse(text: str) -> Axis:
    """Read one axis as written on the command line or in a link; raises BadKnob with a sentence."""
    match = WRITTEN.fullmatch(text)
    if not match:
        raise BadKnob(f"axis {text[:80]!r} cannot be read; write KNOB=V1,V2,... or KNOB=LOW:HIGH:COUNT, with :log for ratios.")
    knob = known(match[1])
    spaced = RANGE.fullmatch(match[2]) if knob.kind in NUMBERS else None
    found = _spaced(knob, spaced) if spaced else _listed(knob, match[2])
    if len(set(found)) < len(found):
        raise BadKnob(f"axis {knob.path}={match[2][:80]} gives a value twice; name each value once.")
    return Axis(knob.path, found)


def grid(
    base: Scenario, axes: Iterable[Axis], settings: Mapping[str, Any] | None = None, sample: int | None = None
) -> tuple[Scenario, ...]:
    """Return every combination of the axes' values, the first axis slowest; without axes, `base` alone.

    `settings` are knobs to set beside the axes: a swept `model.name` comes before them, an axis of the same
    knob after them. `sample` keeps so many points, drawn without repeats by the data seed, in grid order.
    """
    axes = tuple(axes)
    _check_grid(axes)
    combinations = product(*(axis.values for axis in axes))
    chosen = combinations if sample is None else _sampled(combinations, _size(axes), sample, base.data.seed)
    return tuple(_point(base, axes, settings or {}, combination) for combination in chosen)


def _point(base: Scenario, axes: Sequence[Axis], settings: Mapping[str, Any], combination: Sequence[Any]) -> Scenario:
    place = {axis.path: value for axis, value in zip(axes, combination, strict=True)}
    try:
        return with_values(base, {**settings, **place})
    except BadKnob as error:
        where = ", ".join(f"{path}={knobs.write(known(path), value)}" for path, value in place.items())
        raise BadKnob(f"At {where}: {error}" if where else str(error)) from error


def _sampled(combinations: Iterable[Any], size: int, count: int, seed: int) -> Iterable[Any]:
    if count < 1:
        raise BadKnob(f"sample={count} keeps no point; choose at least 1.")
    kept = set(np.random.default_rng([seed, SAMPLE]).permutation(size)[:count].tolist())
    return (combination for index, combination in enumerate(combinations) if index in kept)


def _check_grid(axes: Sequence[Axis]) -> None:
    paths = [axis.path for axis in axes]
    for path in paths:
        if paths.count(path) > 1:
            raise BadKnob(f"axis {path} is given twice; list all its values in one axis.")
    if _size(axes) > MOST_POINTS:
        raise BadKnob(f"The axes span {_size(axes):,} points; at most {MOST_POINTS:,} are allowed: take fewer values.")


def _size(axes: Sequence[Axis]) -> int:
    return prod(len(axis.values) for axis in axes)


def _listed(knob: Knob, text: str) -> tuple[Any, ...]:
    words = text.split(",", MOST_POINTS)
    if len(words) > MOST_POINTS:
        raise BadKnob(f"axis {knob.path} lists more than {MOST_POINTS:,} values; take fewer.")
    if not all(word.strip() for word in words):
        raise BadKnob(f"axis {knob.path}={text[:80]!r} has an empty value; write KNOB=V1,V2,... without gaps.")
    return tuple(knobs.parse(knob, word) for word in words)


def _spaced(knob: Knob, match: re.Match[str]) -> tuple[Any, ...]:
    low, high = (_bound(knob, text) for text in match.group(1, 2))
    count = _count(knob, match[3])
    scale = (match[4] or ":").strip(": ")
    if scale not in ("", "log"):
        raise BadKnob(f"axis {knob.path} has the scale {scale!r}; write :log for equal ratios, or nothing for equal steps.")
    if low > high:
        raise BadKnob(f"axis {knob.path} goes from {low:g} down to {high:g}; write LOW:HIGH:COUNT with LOW at most HIGH.")
    if scale and low <= 0:
        raise BadKnob(f"axis {knob.path} starts at {low:g}, but equal ratios need LOW above 0; raise it or drop :log.")
    steps = np.geomspace(low, high, count) if scale else np.linspace(low, high, count)
    return _values(knob, steps.tolist())


def _bound(knob: Knob, text: str) -> float:
    value = knobs.parse(knob, text)
    numbers = value if isinstance(value, tuple) else (value,)
    if len(numbers) != 1 or numbers[0] is None:
        raise BadKnob(f"axis {knob.path} has the bound {text[:40]!r}; LOW and HIGH must each be one number.")
    return float(numbers[0])


def _count(knob: Knob, text: str) -> int:
    word = text.strip()
    if not word.isascii() or not word.isdigit() or not 1 <= int(word[:9]) <= MOST_POINTS or len(word) > 9:
        raise BadKnob(f"axis {knob.path} has COUNT {text[:40]!r}; write a whole number from 1 to {MOST_POINTS:,}.")
    return int(word)


def _values(knob: Knob, steps: list[float]) -> tuple[Any, ...]:
    """Whole and without repeats for a whole-numbered knob; else at 12 digits, so that 0.1 reads 0.1."""
    if knob.kind in ("int", "ints"):
        numbers: list[Any] = list(dict.fromkeys(round(step) for step in steps))
    else:
        numbers = [float(f"{step:.12g}") for step in steps]
    return tuple((number,) if knob.kind in ("ints", "floats") else number for number in numbers)
