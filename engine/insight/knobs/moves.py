"""Moves of a knob: how step time, energy and price change over its strip."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan

from ...core.figures import figure, percent
from ...scenario.scenario import KNOBS
from .strips import LEAST_CHANGE, Stop, Strip, four_digits

QUANTITIES = {"Step": "seconds", "Energy": "joules", "Price": "dollars"}
MINUS = "\N{MINUS SIGN}"
DOUBLE = 2.0  # ratio from which a rise is told as a factor


@dataclass(frozen=True)
class KnobMove:
    """One quantity over the stops of a strip that run.

    quantity: "Step", "Energy" or "Price".
    first, last: its values at the first and the last stop, for words at the value in force and at the fastest other; NaN if
        unknown.
    least, most: its least and its largest value; NaN if unknown.
    least_at: the text of the stop with the least value.
    """

    quantity: str
    first: float
    last: float
    least: float
    most: float
    least_at: str

    @property
    def is_known(self) -> bool:
        """Whether the quantity is known at both ends."""
        return not (isnan(self.first) or isnan(self.last))

    @property
    def is_flat(self) -> bool:
        """Whether the quantity changes by less than 1 %, as far as it is known."""
        return isnan(self.least) or self.most < (1 + LEAST_CHANGE) * self.least or self.most == self.least

    @property
    def clause(self) -> str:
        """The change as a clause, such as "Step: +15 %" or "Price: × 25"."""
        if not self.is_known:
            return f"{self.quantity}: unknown"
        if self.is_flat:
            return f"{self.quantity}: nothing"
        if self.least < min(self.first, self.last) * (1 - LEAST_CHANGE):
            return f"{self.quantity}: least at {self.least_at}"
        return f"{self.quantity}: {change_words(self.last / self.first) if self.first else 'from 0'}"


def change_words(ratio: float) -> str:
    """Return a ratio of new to old in words: a signed percentage, from double on "× 15.0"."""
    if ratio >= DOUBLE:
        return f"× {figure(ratio)}"
    return f"{'+' if ratio >= 1 else MINUS}{percent(abs(ratio - 1))}"


def moves(strip: Strip) -> tuple[KnobMove, ...]:
    """Return the moves of step time, energy and price, in this order."""
    compared = _compared_stops(strip)
    return tuple(_move(quantity, field, compared) for quantity, field in QUANTITIES.items())


def is_flat(strip: Strip) -> bool:
    """Return whether step time, energy and price all stay within 1 % over a strip."""
    return all(move.is_flat for move in moves(strip))


def moved_sentence(strip: Strip) -> str:
    """Return a sentence on the changes that a knob makes over its strip.

    It has the value from which on the step stays. If fewer than two stops run, it is the first refusal.
    """
    if len(_running(strip)) < 2:
        return next((stop.refused for stop in strip.stops if stop.refused), "")
    step, energy, price = (move.clause for move in moves(strip))
    enough = strip.sufficient_value
    if enough is not None and enough < strip.stops[-1].knob_value and not moves(strip)[0].is_flat:
        step += f", none beyond {four_digits(enough)}"
    start = "" if _is_ordered(strip) else f"{_compared_stops(strip)[0].text} → {_compared_stops(strip)[-1].text}: "
    return f"{start}{step}. {energy}. {price}."


def _is_ordered(strip: Strip) -> bool:
    return KNOBS[strip.path].kind in ("int", "float")


def _running(strip: Strip) -> list[Stop]:
    return [stop for stop in strip.stops if not stop.refused]


def _compared_stops(strip: Strip) -> list[Stop]:
    """Return the stops to compare, from first to last.

    Those of a number run from the least to the largest, those of a switch from off to on, and those of other words from the value
    in force to the fastest other.
    """
    running = _running(strip)
    if _is_ordered(strip) or KNOBS[strip.path].kind == "switch" or strip.own_stop.refused or len(running) < 2:
        return running
    fastest = min((stop for stop in running if stop is not strip.own_stop), key=lambda stop: stop.seconds)
    return [strip.own_stop, fastest]


def _value_text(stop: Stop) -> str:
    return (
        four_digits(stop.knob_value) if isinstance(stop.knob_value, float | int) and stop.text not in ("on", "off") else stop.text
    )


def _move(quantity: str, field: str, stops: Sequence[Stop]) -> KnobMove:
    numbers = {_value_text(stop): float(getattr(stop, field)) for stop in stops}
    known = {text: number for text, number in numbers.items() if not isnan(number)}
    if not known:
        return KnobMove(quantity, nan, nan, nan, nan, "")
    least_at = min(known, key=known.__getitem__)
    first, *_, last = (*numbers.values(), *numbers.values())  # also of a single stop
    return KnobMove(quantity, first, last, known[least_at], max(known.values()), least_at)
