"""Step time, energy and price over the stops of two knobs at once."""

from dataclasses import dataclass

from ...estimates import estimates
from ...scenario.scenario import Scenario
from .strips import Stop, Strip, scenario_or_refusal, stop_of_estimate


@dataclass(frozen=True)
class GridCell:
    """One pair of values of two knobs.

    first, second: the stops of the strips to which the pair belongs.
    both: the machine with both values, as a stop with the pair of values.
    """

    first: Stop
    second: Stop
    both: Stop


def knob_grid(scenario: Scenario, first: Strip, second: Strip) -> tuple[GridCell, ...]:
    """Return a cell for each pair of stops of two strips.

    The cells of a stop of `first` follow each other. Other automatic knobs stay automatic.
    """
    pairs = [(first_stop, second_stop) for first_stop in first.stops for second_stop in second.stops]
    points = [
        scenario_or_refusal(scenario, {first.path: first_stop.knob_value, second.path: second_stop.knob_value})
        for first_stop, second_stop in pairs
    ]
    results = iter(estimates([point for point in points if isinstance(point, Scenario)]))
    return tuple(
        GridCell(
            first_stop,
            second_stop,
            stop_of_estimate(
                (first_stop.knob_value, second_stop.knob_value),
                f"{first_stop.text}, {second_stop.text}",
                next(results) if isinstance(point, Scenario) else point,
            ),
        )
        for (first_stop, second_stop), point in zip(pairs, points, strict=True)
    )
