"""The axes of a sweep: knobs with listed values, spaced values, or a range.

`KNOB=V1,V2,...` lists values. `KNOB=LOW:HIGH:COUNT` has COUNT values at equal steps, with `:log` at equal ratios. COUNT is only
for grids: a random sample draws from the whole range, so it needs `KNOB=LOW:HIGH` only. A link writes `KNOB:V1,V2,...` for the
same axis.
"""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import figures
from ..errors import BadKnob
from ..scenario import knobs
from ..scenario.knobs import Knob
from ..scenario.scenario import declaration

MOST_POINTS = 100_000
AXIS_TEXT = re.compile(r"(\s*([\w.]+)\s*[=:])(.*)", re.DOTALL)
NUMBERS = ("float", "int", "floats", "ints")
WHOLE_KINDS = ("int", "ints")
RANGE = re.compile(r"([^:,]*):([^:,]*?)(?::([^:,]*?))?(?::([^:,]*))?")
Array = np.ndarray


@dataclass(frozen=True)
class Span:
    """The range of an axis.

    low, high: the ends of the range.
    count: the number of values, None for a range without COUNT.
    log: True if the values are spaced by equal ratios, False for equal steps.
    """

    low: float
    high: float
    count: int | None = None
    log: bool = False

    def __str__(self) -> str:
        """The range as text, as links write it."""
        count = [] if self.count is None else [str(self.count)]
        return ":".join([*(repr(end).removesuffix(".0") for end in (self.low, self.high)), *count, *["log"] * self.log])


@dataclass(frozen=True)
class Axis:
    """An axis of a sweep: a knob's dotted path, its values, and its range.

    `span` is None for listed values. A range without COUNT has no values; only a random sample can draw from it.
    """

    path: str
    values: tuple[Any, ...]
    span: Span | None = None

    def __str__(self) -> str:
        """The axis as text, as links write it."""
        values_text = (
            str(self.span) if self.span else ",".join(knobs.write(declaration(self.path), setting) for setting in self.values)
        )
        return f"{self.path}:{values_text}"

    @property
    def has_levels(self) -> bool:
        """Whether the axis has separate values (a list or whole numbers), not a continuous range."""
        return self.span is None or declaration(self.path).kind in WHOLE_KINDS

    def axis_numbers(self, shares: Array) -> Array:
        """Return the positions on the axis for shares from 0 to 1.

        A position is a number of the range, or the index of a listed value.
        """
        if self.span is None:
            index: Array = np.minimum(np.floor(shares * len(self.values)), len(self.values) - 1)
            return index
        low, high = self.span.low, self.span.high
        top = high + 1 if self.has_levels else high  # so that all whole numbers have equal shares
        positions = low * (top / low) ** shares if self.span.log else low + (top - low) * shares
        axis_numbers: Array = np.clip(np.floor(positions) if self.has_levels else positions, low, high)
        return axis_numbers

    def setting(self, number: float) -> Any:
        """Return the knob's value at a position on the axis, rounded to a link's digits."""
        return self.values[int(number)] if self.span is None else _rounded_setting(declaration(self.path), float(number))


def split_axis(text: str) -> tuple[str, str, str]:
    """Return the knob, the text before the values, and the values of an axis's text.

    Return ("", `text`, "") for a text that is no axis.
    """
    match = AXIS_TEXT.fullmatch(text)
    return (match[2], match[1], match[3]) if match else ("", text, "")


def parse(text: str) -> Axis:
    """Return the axis of a text from the command line or a link; raises BadKnob."""
    match = AXIS_TEXT.fullmatch(text)
    if not match:
        raise BadKnob(f"axis {text[:80]!r} cannot be read; write KNOB=V1,V2,... or KNOB=LOW:HIGH:COUNT, with :log for ratios.")
    knob = declaration(match[2])
    spaced = RANGE.fullmatch(match[3]) if knob.kind in NUMBERS else None
    span = _span(knob, spaced) if spaced else None
    axis_values = _spaced(knob, span) if span else _listed_values(knob, match[3])
    if len(set(axis_values)) < len(axis_values):
        raise BadKnob(f"axis {knob.path}={match[3][:80]} has the same value twice; write each value once.")
    return Axis(knob.path, axis_values, span)


def _listed_values(knob: Knob, text: str) -> tuple[Any, ...]:
    words = text.split(",", MOST_POINTS)
    if len(words) > MOST_POINTS:
        raise BadKnob(f"axis {knob.path} has more than {figures.count(MOST_POINTS)} values; write fewer.")
    if not all(word.strip() for word in words):
        raise BadKnob(f"axis {knob.path}={text[:80]!r} has an empty value; write KNOB=V1,V2,... without gaps.")
    return tuple(knobs.parse(knob, word) for word in words)


def _span(knob: Knob, match: re.Match[str]) -> Span:
    low, high = (_bound(knob, text) for text in match.group(1, 2))
    has_no_count = match[4] is None and (match[3] is None or match[3].strip() == "log")
    count = None if has_no_count else _count(knob, match[3])
    scale = ((match[3] if has_no_count else match[4]) or "").strip()
    if scale not in ("", "log"):
        raise BadKnob(
            f"axis {knob.path} has the unknown scale {scale!r}; write :log for equal ratios, or nothing for equal steps."
        )
    if low > high:
        raise BadKnob(f"axis {knob.path} goes from {low:g} down to {high:g}; write LOW:HIGH:COUNT with LOW at most HIGH.")
    if scale and low <= 0:
        raise BadKnob(f"axis {knob.path} starts at {low:g}, but equal ratios need LOW above 0; raise it or drop :log.")
    return Span(low, high, count, bool(scale))


def _spaced(knob: Knob, span: Span) -> tuple[Any, ...]:
    if span.count is None:
        return ()
    space = np.geomspace if span.log else np.linspace
    steps = [_rounded_setting(knob, step) for step in space(span.low, span.high, span.count).tolist()]
    return tuple(dict.fromkeys(steps)) if knob.kind in WHOLE_KINDS else tuple(steps)


def _bound(knob: Knob, text: str) -> float:
    bound = knobs.parse(knob, text)
    numbers = bound if isinstance(bound, tuple) else (bound,)
    if len(numbers) != 1 or numbers[0] is None:
        raise BadKnob(
            f"axis {knob.path} has the bound {text[:40]!r}, which is not a number; write LOW and HIGH as one number each."
        )
    return float(numbers[0])


def _count(knob: Knob, text: str) -> int:
    word = text.strip()
    if not word.isascii() or not word.isdigit() or not 1 <= int(word[:9]) <= MOST_POINTS or len(word) > 9:
        raise BadKnob(
            f"axis {knob.path} has the COUNT {text[:40]!r}; write a whole number from 1 to {figures.count(MOST_POINTS)}."
        )
    return int(word)


def _rounded_setting(knob: Knob, step: float) -> Any:
    """Return a number that the knob can take.

    It is whole, one of the allowed numbers, or has 12 digits.
    """
    number: float = (
        min(knob.allowed_numbers, key=lambda allowed: abs(allowed - step)) if knob.allowed_numbers else float(f"{step:.12g}")
    )
    number = round(number) if knob.kind in WHOLE_KINDS else number
    return (number,) if knob.kind in ("ints", "floats") else number
