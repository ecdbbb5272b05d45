"""Knob strips: step time, energy and price over the useful values of one knob.

They show from which value on a knob has no more effect.
All stops of all strips are estimated in one call of `estimates`. The shown range is where the step time still changes, and at
least a decade on either side of the value in force. Other automatic knobs stay automatic.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, nan
from typing import Any

import numpy as np

from ...core.figures import exact, figure
from ...errors import BadInput
from ...estimates import estimates
from ...results.result import Result
from ...scenario import knobs
from ...scenario.knobs import Knob
from ...scenario.scenario import KNOBS, Scenario, clear_contradictions, with_values
from ...units import MS
from .effect import EQUAL_WITHIN
from .sold import first_not_sold, lowest_shown, neighbours, products_of
from .stops import NUMBER_KINDS, WORD_KINDS, knob_stops, resolved_value, settled_if_possible

LEAST_CHANGE = 0.01  # of the step: a smaller change does not matter
NEAR_FACTOR = 10.0  # factor around the value in force that is always shown
MAX_STOPS = 10


@dataclass(frozen=True)
class Mark:
    """A value of a knob that a real product has, and the product's name."""

    knob_value: float
    text: str


@dataclass(frozen=True)
class Stop:
    """A batch's time and energy and the machine's price at one value of a knob.

    knob_value, text: the knob's value, and the same as text.
    seconds, joules: step time [s] and energy [J] of a batch; NaN where the machine cannot run.
    dollars: the machine's price [USD]; NaN also where a part has no published price.
    refused: why the machine cannot run; "" where it can.
    not_sold: why no product has this value; "" if one has, or if nothing is known of products.
    """

    knob_value: Any
    text: str
    seconds: float = nan
    joules: float = nan
    dollars: float = nan
    refused: str = ""
    not_sold: str = ""


@dataclass(frozen=True)
class Strip:
    """One knob's stops, from which a page draws a strip.

    path: the knob.
    own_index: the index of the value in force among the stops.
    stops: the stops in the order of their values.
    baseline: the baseline system as a stop, if there is one.
    marks: values that products have.
    sufficient_value: the value beyond which no stop changes the step by 1 %. None for words, and where the last stop still does.
    sentence: the finding.
    """

    path: str
    own_index: int
    stops: tuple[Stop, ...]
    baseline: Stop | None
    marks: tuple[Mark, ...]
    sufficient_value: float | None
    sentence: str

    @property
    def own_stop(self) -> Stop:
        """The stop of the value in force."""
        return self.stops[self.own_index]

    @property
    def acts(self) -> bool:
        """Whether the stop in force can run and the results differ between stops.

        Differences within rounding (EQUAL_WITHIN) do not count.
        """
        outcomes = [(stop.seconds, stop.joules, stop.dollars) for stop in self.stops if not stop.refused]
        return not self.own_stop.refused and not bool(
            np.allclose(outcomes, [outcomes[0]], rtol=EQUAL_WITHIN, atol=0.0, equal_nan=True)
        )


def strips(
    scenario: Scenario, paths: Sequence[str], baseline: Scenario | None = None, most: int = MAX_STOPS
) -> tuple[Strip, ...]:
    """Return a strip for each of `paths` that has a single value in force.

    Each strip has at most `most` numbers. The value in force is added to the useful values. Knobs that hold a list or a free text
    have no strip.
    """
    settled = settled_if_possible(scenario)
    values_in_force = {
        path: value_in_force for path in paths if (value_in_force := _single_value_in_force(settled, path)) is not None
    }
    stop_values = {path: strip_values(settled, path) for path in values_in_force}
    points_by_path = {
        path: [scenario_or_refusal(scenario, {path: candidate}) for candidate in candidates]
        for path, candidates in stop_values.items()
    }
    points = [point for path_points in points_by_path.values() for point in path_points if isinstance(point, Scenario)]
    *estimated, base = estimates([*points, baseline or scenario])
    results = iter(estimated)
    reference = stop_of_estimate(baseline.system, baseline.system, base) if baseline else None
    strips_by_path = []
    for path, candidates in stop_values.items():
        row = [
            stop_of_estimate(
                candidate, knobs.write(KNOBS[path], candidate), next(results) if isinstance(point, Scenario) else point
            )
            for candidate, point in zip(candidates, points_by_path[path], strict=True)
        ]
        strips_by_path.append(_strip(settled, path, row, candidates.index(values_in_force[path]), reference, most))
    return tuple(strips_by_path)


def strip_values(settled: Scenario, path: str) -> list[Any]:
    """Return the values that a knob's strip looks at.

    They are the useful values, and of numbers also the products next to the value in force.
    """
    knob, value_in_force = KNOBS[path], resolved_value(settled, path)
    candidates = knob_stops(settled, knob)
    if knob.kind not in NUMBER_KINDS:
        return candidates
    sold = (candidate for candidate in neighbours(settled, path, value_in_force) if _in_range(knob, candidate))
    return sorted({*candidates, *sold})


def _in_range(knob: Knob, number: float) -> bool:
    return (knob.low is None or number >= knob.low) and (knob.high is None or number <= knob.high)


def stop_of_estimate(knob_value: Any, text: str, estimate: Result | str) -> Stop:
    """Return the stop of an estimated result, or of the sentence that refuses it."""
    if isinstance(estimate, str) or not estimate.ran:
        return Stop(knob_value, text, refused=estimate if isinstance(estimate, str) else estimate.outcome)
    results = estimate.results
    seconds, joules = (results[name] or 0.0 for name in ("Step time [ms]", "Energy per batch [J]"))
    dollars = results["Capital cost [USD]"]
    return Stop(knob_value, text, seconds * MS, joules, nan if dollars is None else dollars)


def _single_value_in_force(settled: Scenario, path: str) -> Any:
    """Return a knob's value in force; None for a knob that has none, or one per table."""
    knob = KNOBS[path]
    value_in_force = (
        resolved_value(settled, path) if knob.kind in (*NUMBER_KINDS, *WORD_KINDS) and knob.acts == "always" else None
    )
    return None if isinstance(value_in_force, tuple) else value_in_force


def scenario_or_refusal(scenario: Scenario, changes: Mapping[str, Any]) -> Scenario | str:
    """Return the scenario with changed knobs, or the sentence that refuses them."""
    try:
        return with_values(scenario, clear_contradictions(scenario, changes)[0])
    except BadInput as error:
        return str(error)


def _strip(settled: Scenario, path: str, row: list[Stop], own_index: int, baseline: Stop | None, max_stops: int) -> Strip:
    knob, own_stop = KNOBS[path], row[own_index]
    ordered = knob.kind in NUMBER_KINDS
    enough_index = _enough_index(row) if ordered else None
    places, not_sold, first = [*range(len(row))], "", len(row)
    if ordered:
        places = _range(row, own_stop, lowest_shown(settled, path))
        runnable = {i: row[i].knob_value for i in places if not row[i].refused}
        first, not_sold = first_not_sold(settled, path, runnable) or (first, not_sold)
        beyond = next((i for i in places if i >= first and i > own_index), len(row))  # one is shown, and the value in force
        kept_indices = _kept_indices(settled, path, row, own_index, enough_index)
        places = _thinned([i for i in places if i <= beyond], kept_indices, max_stops)
    return Strip(
        path=path,
        own_index=places.index(own_index),
        stops=tuple(replace(row[i], not_sold=not_sold if i >= first else "") for i in places),
        baseline=baseline,
        marks=_marks(settled, path),
        sufficient_value=None if enough_index is None else row[enough_index].knob_value,
        sentence=_numbers(knob, row, enough_index) if ordered else _words(row, own_stop),
    )


def _kept_indices(settled: Scenario, path: str, row: Sequence[Stop], own_index: int, enough_index: int | None) -> set[int]:
    """Return the indices of stops that no thinning drops: in force, enough, and the products next to the value in force."""
    sold = {*neighbours(settled, path, row[own_index].knob_value)}
    return {
        own_index,
        own_index if enough_index is None else enough_index,
        *(i for i in range(len(row)) if row[i].knob_value in sold),
    }


def _range(row: Sequence[Stop], own_stop: Stop, lowest: float) -> list[int]:
    """Return the indices from the step's first change to its last, and those near the value in force.

    Changes below the value `lowest` do not count.
    """
    changes = [
        i for i in range(len(row) - 1) if row[i].knob_value >= lowest and not _same_step(row[i].seconds, row[i + 1].seconds)
    ]
    runs = any(not stop.refused for stop in row)  # where none runs, another knob is to blame, and all are offered
    least_near = min(own_stop.knob_value, max(own_stop.knob_value / NEAR_FACTOR, lowest))
    near_places = [
        i
        for i, stop in enumerate(row)
        if stop is own_stop
        or (
            not (stop.refused and runs)
            and (stop.knob_value == 0 or least_near <= stop.knob_value <= own_stop.knob_value * NEAR_FACTOR)
        )
    ]
    return list(range(min(changes + near_places), max([i + 1 for i in changes] + near_places) + 1))


def _same_step(seconds: float, other_seconds: float) -> bool:
    return isfinite(seconds) == isfinite(other_seconds) and not abs(other_seconds - seconds) >= LEAST_CHANGE * seconds


def _thinned(places: list[int], marked: set[int], max_places: int) -> list[int]:
    """Return at most `max_places` of the places, evenly, with both ends and the marked places among them."""
    if len(places) <= max_places:
        return places
    even_places = np.linspace(0, len(places) - 1, max_places - len(marked)).round().astype(int)
    return sorted({*(places[i] for i in even_places), *(marked & {*places})})


def _enough_index(row: Sequence[Stop]) -> int | None:
    """Return the index of the first step that no later step differs from by 1 %; None for the last, or if none runs."""
    runnable = [i for i, stop in enumerate(row) if not stop.refused]
    for n, i in enumerate(runnable[:-1]):
        if all(_same_step(row[i].seconds, row[j].seconds) for j in runnable[n + 1 :]):
            return i
    return None


def _marks(settled: Scenario, path: str) -> tuple[Mark, ...]:
    """Return the marks of products on a knob; products of the same rate share a mark."""
    return tuple(Mark(rate, text) for rate, text in products_of(settled.machine, path))


def _numbers(knob: Knob, row: Sequence[Stop], enough_index: int | None) -> str:
    runnable, unit = [stop for stop in row if not stop.refused], f" {knob.unit}" if knob.unit else ""
    if not runnable:
        return row[0].refused
    if enough_index is None:
        larger_refused = [stop for stop in row if stop.refused and stop.knob_value > runnable[-1].knob_value]
        rest = f"beyond it: {larger_refused[0].refused}" if larger_refused else "the last value looked at."
        return f"Up to {four_digits(runnable[-1].knob_value)}{unit} the step changes; {rest}"
    if row[enough_index] is runnable[0]:
        first_value, last_value = (four_digits(stop.knob_value) for stop in (runnable[0], runnable[-1]))
        return f"From {first_value} to {last_value}{unit} the step changes by less than 1 %."
    step = row[enough_index].seconds / MS
    return f"Beyond {four_digits(row[enough_index].knob_value)}{unit} the step of {figure(step, 'ms')} changes by less than 1 %."


def _words(row: Sequence[Stop], own_stop: Stop) -> str:
    runnable = [stop for stop in row if not stop.refused]
    fastest = min(runnable, key=lambda stop: stop.seconds, default=own_stop)
    if not runnable or own_stop.refused:
        return own_stop.refused
    if _same_step(own_stop.seconds, fastest.seconds):
        return "No other value shortens the step by 1 % or more."
    milliseconds, own_milliseconds = figure(fastest.seconds / MS, "ms"), figure(own_stop.seconds / MS, "ms")
    return f"With {fastest.text} the step takes {milliseconds} instead of {own_milliseconds}."


def four_digits(number: float) -> str:
    """Return a number rounded to four digits as text, with a thousands separator.

    A whole number has all its digits.
    """
    return exact(number if number == round(number) else float(f"{number:.4g}"))
