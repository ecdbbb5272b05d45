"""Knob strips: step time, energy and cost over one knob's useful values, so that one sees where it stops to matter.

All stops of all strips go through one call of `estimates`. The useful range is where the step still changes, and at least
a decade to either side of the value in force. What is automatic beside the knob stays so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

import numpy as np

from ..core.figures import exact, figure
from ..errors import BadInput
from ..estimates import estimates
from ..hardware.devices.cxl import products
from ..results.result import Result
from ..scenario import knobs
from ..scenario.knobs import Knob
from ..scenario.scenario import KNOBS, Scenario, with_values
from ..units import GB, MS
from .knob_effect import SAME
from .knob_stops import NUMBERS, WORDS, in_force, settled_or_asked, stops
from .relaxation import LINK

CHANGE = 0.01  # of the step: what changes it by less has stopped to matter
NEAR = 10.0  # factor around the value in force that is always shown
MOST = 10
# What products have beside CXL links: network ports at 90 % of their line, pinned copies over 16 lanes at 82 %.
PRODUCTS: Mapping[str, tuple[tuple[float, str], ...]] = {
    "machine.network_bandwidth_GBps": ((11.25, "100 Gb/s"), (22.5, "200 Gb/s"), (45.0, "400 Gb/s")),
    "machine.pcie_bandwidth_GBps": ((13.0, "×16 Gen3"), (26.0, "×16 Gen4"), (52.0, "×16 Gen5")),
}


@dataclass(frozen=True)
class Mark:
    """A value of a knob that a product has."""

    value: float
    text: str


@dataclass(frozen=True)
class Stop:
    """What a batch and its machine cost with the knob at `value`, in seconds, joules and USD; NaN and why, if it cannot run.

    USD are NaN too where a part has no published price.
    """

    value: Any
    text: str
    seconds: float = nan
    joules: float = nan
    dollars: float = nan
    refused: str = ""


@dataclass(frozen=True)
class Strip:
    """One knob: its stops in order, `at` the place of the value in force, the baseline as a stop, and what products have.

    From the number `enough` on, none that was looked at changes the step by 1 %: it
    is None where the last still does, and for words, which have no order.
    """

    path: str
    at: int
    stops: tuple[Stop, ...]
    baseline: Stop | None
    marks: tuple[Mark, ...]
    enough: float | None
    sentence: str

    @property
    def own(self) -> Stop:
        """The stop of the value in force."""
        return self.stops[self.at]

    @property
    def acts(self) -> bool:
        """Whether the stop in force can run, and some other that can differs from it, by more than is lost in adding up."""
        ran = [(one.seconds, one.joules, one.dollars) for one in self.stops if not one.refused]
        return not self.own.refused and not bool(np.allclose(ran, [ran[0]], rtol=SAME, atol=0.0, equal_nan=True))


def strips(scenario: Scenario, paths: Sequence[str], baseline: Scenario | None = None, most: int = MOST) -> tuple[Strip, ...]:
    """Return a strip for each of `paths` that has a value in force and acts on estimates, of at most so many numbers each.

    The value in force joins those worth looking at. Lists and texts have no strip.
    """
    settled = settled_or_asked(scenario)
    held = {path: own for path in paths if (own := _held(settled, path)) is not None}
    asked = {path: stops(settled, KNOBS[path]) for path in held}
    made = {path: [_made(scenario, path, value) for value in tried] for path, tried in asked.items()}
    points = [one for some in made.values() for one in some if isinstance(one, Scenario)]
    *found, base = estimates([*points, baseline or scenario])
    results = iter(found)
    reference = stop(baseline.system, baseline.system, base) if baseline else None
    drawn = []
    for path, tried in asked.items():
        row = [
            stop(value, knobs.write(KNOBS[path], value), next(results) if isinstance(one, Scenario) else one)
            for value, one in zip(tried, made[path], strict=True)
        ]
        drawn.append(_strip(settled, path, row, tried.index(held[path]), reference, most))
    return tuple(drawn)


def stop(value: Any, text: str, found: Result | str) -> Stop:
    """Return a result as a stop, or why there is none."""
    if isinstance(found, str) or not found.ran:
        return Stop(value, text, refused=found if isinstance(found, str) else found.outcome)
    one = found.results
    seconds, joules = (one[name] or 0.0 for name in ("Step time [ms]", "Energy per batch [J]"))
    dollars = one["Capital cost [USD]"]
    return Stop(value, text, seconds * MS, joules, nan if dollars is None else dollars)


def _held(settled: Scenario, path: str) -> Any:
    """Return the one value in force; None where there is none, or one per table."""
    knob = KNOBS[path]
    own = in_force(settled, path) if knob.kind in (*NUMBERS, *WORDS) and knob.acts == "always" else None
    return None if isinstance(own, tuple) else own


def _made(scenario: Scenario, path: str, value: Any) -> Scenario | str:
    try:
        return with_values(scenario, {path: value})
    except BadInput as error:
        return str(error)


def _strip(settled: Scenario, path: str, row: list[Stop], at: int, baseline: Stop | None, most: int) -> Strip:
    knob, own = KNOBS[path], row[at]
    ordered = knob.kind in NUMBERS
    last = _enough(row) if ordered else None
    shown = _thinned(_range(row, own), {at, at if last is None else last}, most) if ordered else list(range(len(row)))
    return Strip(
        path=path,
        at=shown.index(at),
        stops=tuple(row[i] for i in shown),
        baseline=baseline,
        marks=_marks(settled, path),
        enough=None if last is None else row[last].value,
        sentence=_numbers(knob, row, last) if ordered else _words(row, own),
    )


def _range(row: Sequence[Stop], own: Stop) -> list[int]:
    """Return the places from the first change of the step to the last, and those near the value in force."""
    moved = [i for i in range(len(row) - 1) if not _alike(row[i].seconds, row[i + 1].seconds)]
    near = [i for i, one in enumerate(row) if one.value == 0 or own.value / NEAR <= one.value <= own.value * NEAR]
    return list(range(min(moved + near), max([i + 1 for i in moved] + near) + 1))


def _alike(one: float, other: float) -> bool:
    return isfinite(one) == isfinite(other) and not abs(other - one) >= CHANGE * one


def _thinned(places: list[int], marked: set[int], most: int) -> list[int]:
    """Return at most so many of the places, evenly, both ends and those that are marked among them."""
    if len(places) <= most:
        return places
    even = np.linspace(0, len(places) - 1, most - len(marked)).round().astype(int)
    return sorted({*(places[i] for i in even), *(marked & {*places})})


def _enough(row: Sequence[Stop]) -> int | None:
    """Return the first place from which on no step differs from its own by 1 %; None if that is the last, or none runs."""
    ran = [i for i, one in enumerate(row) if not one.refused]
    for n, i in enumerate(ran[:-1]):
        if all(_alike(row[i].seconds, row[j].seconds) for j in ran[n + 1 :]):
            return i
    return None


def _marks(settled: Scenario, path: str) -> tuple[Mark, ...]:
    """Return what products have, alike ones as one."""
    found: dict[float, list[str]] = {}
    if path == LINK:
        for name, raw, payload in products(settled.machine):
            found.setdefault(round(payload / GB, 3), []).append(f"{name}, {figure(raw / GB, 'GB/s')} raw")
    return tuple(Mark(value, " or ".join(some)) for value, some in found.items()) or tuple(
        Mark(value, text) for value, text in PRODUCTS.get(path, ())
    )


def _numbers(knob: Knob, row: Sequence[Stop], enough: int | None) -> str:
    ran, unit = [one for one in row if not one.refused], f" {knob.unit}" if knob.unit else ""
    if not ran:
        return row[0].refused
    if enough is None:
        beyond = [one for one in row if one.refused and one.value > ran[-1].value]
        rest = f"beyond it: {beyond[0].refused}" if beyond else "the last value looked at."
        return f"Up to {four_digits(ran[-1].value)}{unit} the step changes; {rest}"
    if row[enough] is ran[0]:
        return f"From {four_digits(ran[0].value)} to {four_digits(ran[-1].value)}{unit} the step changes by less than 1 %."
    step = row[enough].seconds / MS
    return f"Beyond {four_digits(row[enough].value)}{unit} the step of {figure(step, 'ms')} changes by less than 1 %."


def _words(row: Sequence[Stop], own: Stop) -> str:
    ran = [one for one in row if not one.refused]
    best = min(ran, key=lambda one: one.seconds, default=own)
    if not ran or own.refused:
        return own.refused
    if _alike(own.seconds, best.seconds):
        return "No other value makes the step shorter by 1 %."
    return f"With {best.text} the step takes {figure(best.seconds / MS, 'ms')} instead of {figure(own.seconds / MS, 'ms')}."


def four_digits(value: float) -> str:
    """Return a number in four digits, with its thousands in groups."""
    return exact(float(f"{value:.4g}"))
