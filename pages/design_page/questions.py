"""Slow questions of the page Design, answered by worker processes.

They ask for the smallest machine, and for each number's uncertainty.
A number's uncertainty is its band, the constant that changes it most, and published numbers about it. It takes some hundred
estimates.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

from engine.analysis import uncertainty
from engine.analysis.enough.bands import Bands, bands
from engine.analysis.enough.question import Target, make_question
from engine.analysis.enough.smallest import SmallestMachines, find_smallest
from engine.analysis.verdict.decide import verdicts
from engine.analysis.verdict.question import VerdictQuestion
from engine.analysis.verdict.report.sentences import machine_words
from engine.analysis.verdict.report.software import software_words
from engine.analysis.verdict.requirement import Requirement
from engine.core.figures import count, exact, figure
from engine.errors import EmberpoolError
from engine.insight.knobs.effect import effect
from engine.insight.knobs.stops import NUMBER_KINDS, WORD_KINDS
from engine.insight.knobs.strips import Strip, strips
from engine.insight.running_costs import price_unit
from engine.registry import load_variant
from engine.scenario.scenario import KNOBS, Scenario
from engine.systems.kernels.in_force import title_of
from engine.units import MS
from engine.validation import known_error
from pages.ui.numbers import result_text, unit

STEP, ENERGY = "Step time [ms]", "Energy [J]"
SAME_PRICE = 0.98  # of a price: a system that costs more than this share is not cheaper
COMPARED_METRICS = (STEP, "Energy per batch [J]")


@dataclass(frozen=True)
class ResultBand:
    """The uncertainty of a number on the page.

    band: the number's band in a few words. sentences: the sentences that explain it.
    """

    band: str
    sentences: tuple[str, ...]


NO_RESULT_BANDS: Mapping[str, ResultBand] = MappingProxyType({})


def result_bands(scenario: Scenario, baseline: Scenario | None = None) -> dict[str, ResultBand]:
    """Return each result's uncertainty by name.

    A sentence names the constants that turn a result's comparison with the baseline.
    The mapping is empty if the machine cannot run at an end of some constant's range.
    """
    try:
        bands_by_name = {name: _sure(scenario, name, low, high) for name, (low, high) in uncertainty.bands(scenario).items()}
    except EmberpoolError:
        return {}
    for name in COMPARED_METRICS if baseline and baseline.system != scenario.system else ():
        if baseline and name in bands_by_name:
            bands_by_name[name] = replace(
                bands_by_name[name], sentences=(*bands_by_name[name].sentences, _verdict(scenario, baseline, name))
            )
    return bands_by_name


def _verdict(scenario: Scenario, baseline: Scenario, name: str) -> str:
    """Return a sentence with the conditions under which a number stays above or below the baseline's."""
    title = title_of(baseline)
    try:
        turning_points = uncertainty.find_turning_points(scenario, baseline, name)
    except EmberpoolError:
        return f"Within the constants' ranges, some machines cannot run {title}."
    claim = f"This number stays on the same side of {title}'s number"
    if not turning_points:
        return f"{claim} over each constant's whole range."
    conditions = [
        f"{turning_point.name} is {'above' if turning_point.holds_above else 'below'} "
        f"{figure(turning_point.turning_value)} {turning_point.constant.unit} "
        f"(range: {exact(turning_point.constant.low)} to {exact(turning_point.constant.high)})"
        for turning_point in turning_points
    ]
    return f"{claim} while {', and while '.join(conditions)}."


def _sure(scenario: Scenario, name: str, low: float, high: float) -> ResultBand:
    swings = uncertainty.tornado(scenario, name)
    published = known_error.known_error_sentence(scenario, name)
    if not swings:
        return ResultBand("no constant changes it", ("No constant with a range changes this number.", published))
    number_unit = _unit(scenario, name)
    words = f"{result_text(low)} to {result_text(high, number_unit)}"
    band = f"In 9 of 10 draws of all constants from their ranges, the number is {words}."
    return ResultBand(f"{result_text(low)} to {result_text(high)}", (band, _hangs_on(swings[0], number_unit), published))


def _unit(scenario: Scenario, name: str) -> str:
    return price_unit(scenario) if unit(name) == "USD" else unit(name)


def _hangs_on(swing: uncertainty.Swing, number_unit: str) -> str:
    constant = swing.constant
    return (
        f"The number depends most on {swing.name} ({constant.confidence}): "
        f"{result_text(swing.at_low)} at {exact(constant.low)} {constant.unit}, "
        f"{result_text(swing.at_high, number_unit)} at {exact(constant.high)} {constant.unit}."
    )


def acting_strips(scenario: Scenario, baseline: Scenario) -> tuple[tuple[Strip, ...], int]:
    """Return the strips of knobs that act on the estimate, and the number of these knobs."""
    paths = [
        path
        for path, knob in KNOBS.items()
        if knob.kind in (*NUMBER_KINDS, *WORD_KINDS) and knob.acts == "always" and "." in path
    ]
    acting = [path for path in paths if effect(scenario, path).acts]
    return strips(scenario, acting, baseline), len(acting)


@lru_cache(maxsize=4)
def smallest_machines(scenario: Scenario, baseline: Scenario, slowdown: float) -> SmallestMachines:
    """Return the smallest machines that are at most `slowdown` slower than the baseline.

    slowdown: a share, 0.1 for 10 %. Raises CannotRun.
    """
    return find_smallest(make_question(scenario, baseline, Target(slowdown)))


def smallest_bands(scenario: Scenario, baseline: Scenario, slowdown: float) -> Bands:
    """Return the bands of the answer of `smallest_machines`."""
    return bands(smallest_machines(scenario, baseline, slowdown))


def ranges(points: tuple[Scenario, ...]) -> dict[str, dict[str, tuple[float, float]]]:
    """Return the ranges of step time and energy in 9 of 10 draws, by metric and system.

    A system that cannot run in one of the draws is left out.
    """
    ranges_by_metric: dict[str, dict[str, tuple[float, float]]] = {STEP: {}, ENERGY: {}}
    for point in points:
        try:
            point_bands = uncertainty.bands(point)
        except EmberpoolError:
            continue
        for name, system_ranges in ranges_by_metric.items():
            system_ranges[point.system] = point_bands[name]
    return ranges_by_metric


def cheaper_system(scenario: Scenario, goal: float, dollars: float) -> str:
    """Return a sentence on a cheaper system with steps of at most `goal` seconds.

    The sentence is "" without such a system.
    """
    verdict_question = VerdictQuestion(scenario, Requirement(step_ms=goal / MS), "capital")
    try:
        cheapest_row = next(verdicts(verdict_question)).best_row
    except EmberpoolError:
        return ""
    if (
        cheapest_row is None
        or cheapest_row.capital is None
        or cheapest_row.system == scenario.system
        or cheapest_row.capital >= SAME_PRICE * dollars
    ):
        return ""
    title = load_variant("systems", cheapest_row.system).title
    prices = verdict_question.base.machine.prices
    machine = f"{machine_words(cheapest_row)}, {software_words(cheapest_row, verdict_question.software)}"
    return f"{title} meets the target for {count(cheapest_row.capital)} USD ({prices}), on {machine}."
