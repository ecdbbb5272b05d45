"""What Design finds beside the page, in a process that knows nothing of pages: its answer, and how sure each number is.

The band, the constant it hangs on most, and the published numbers about it take a good hundred estimates.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

from engine.analysis import uncertainty
from engine.analysis.enough import drawn
from engine.analysis.enough.question import Target, ask
from engine.analysis.enough.smallest import Enough, enough
from engine.analysis.verdict.decide import VerdictQuestion, decisions
from engine.analysis.verdict.report.sentences import machine_words
from engine.analysis.verdict.requirement import Requirement
from engine.core.figures import count, exact, figure
from engine.errors import EmberpoolError
from engine.insight.knob_effect import effect
from engine.insight.knob_stops import NUMBERS, WORDS
from engine.insight.knob_strips import Strip, strips
from engine.insight.running_costs import dollars
from engine.registry import load
from engine.scenario.scenario import KNOBS, Scenario
from engine.systems.kernels.in_force import title_of
from engine.units import MS
from engine.validation import known_error
from pages.ui.numbers import readable, unit

STEP, ENERGY = "Step time [ms]", "Energy [J]"
SAME = 0.98  # of a price: less is as dear
COMPARED = (STEP, "Energy per batch [J]")


@dataclass(frozen=True)
class Sure:
    """The band in a few words to stand under a number, and the sentences behind it."""

    band: str
    story: tuple[str, ...]


NOTHING: Mapping[str, Sure] = MappingProxyType({})


def sure(scenario: Scenario, baseline: Scenario | None = None) -> dict[str, Sure]:
    """Return how sure each result is, by its name, and where its verdict against the baseline turns.

    Nothing where an end of some range cannot run.
    """
    try:
        found = {name: _sure(scenario, name, low, high) for name, (low, high) in uncertainty.bands(scenario).items()}
    except EmberpoolError:
        return {}
    for name in COMPARED if baseline and baseline.system != scenario.system else ():
        if baseline and name in found:
            found[name] = replace(found[name], story=(*found[name].story, _verdict(scenario, baseline, name)))
    return found


def _verdict(scenario: Scenario, baseline: Scenario, name: str) -> str:
    """Return while what a number stays on its side of the baseline's, as a sentence."""
    title = title_of(baseline)
    try:
        found = uncertainty.turns(scenario, baseline, name)
    except EmberpoolError:
        return f"Not all machines within the constants' ranges run under {title}."
    against = f"That it is more, or less, than under {title} holds"
    if not found:
        return f"{against} over each constant's whole range."
    told = [
        f"{one.name} is {'above' if one.above else 'below'} {figure(one.at)} {one.constant.unit} "
        f"(range: {exact(one.constant.low)} to {exact(one.constant.high)})"
        for one in found
    ]
    return f"{against} while {', and while '.join(told)}."


def _sure(scenario: Scenario, name: str, low: float, high: float) -> Sure:
    swings = uncertainty.tornado(scenario, name)
    published = known_error.sentence(scenario, name)
    if not swings:
        return Sure("no constant moves it", ("No constant with a range moves it.", published))
    of = _unit(scenario, name)
    words = f"{readable(low)} to {readable(high, of)}"
    band = f"9 of 10 draws of all constants from their ranges give {words}."
    return Sure(f"{readable(low)} to {readable(high)}", (band, _hangs_on(swings[0], of), published))


def _unit(scenario: Scenario, name: str) -> str:
    return dollars(scenario) if unit(name) == "USD" else unit(name)


def _hangs_on(swing: uncertainty.Swing, of: str) -> str:
    one = swing.constant
    return (
        f"It hangs most on {swing.name} ({one.confidence}): {readable(swing.at_low)} at {exact(one.low)} {one.unit}, "
        f"{readable(swing.at_high, of)} at {exact(one.high)} {one.unit}."
    )


def every_knob(scenario: Scenario, baseline: Scenario) -> tuple[tuple[Strip, ...], int]:
    """Return the strips of all knobs that act on the estimate, and how many these are."""
    paths = [path for path, knob in KNOBS.items() if knob.kind in (*NUMBERS, *WORDS) and knob.acts == "always" and "." in path]
    acting = [path for path in paths if effect(scenario, path).acts]
    return strips(scenario, acting, baseline), len(acting)


@lru_cache(maxsize=4)
def smallest(scenario: Scenario, baseline: Scenario, within: float) -> Enough:
    """Return the smallest machines that are at most so much slower than the baseline; raises CannotRun."""
    return enough(ask(scenario, baseline, Target(within)))


def smallest_bands(scenario: Scenario, baseline: Scenario, within: float) -> drawn.Bands:
    """Return how sure `smallest` is."""
    return drawn.bands(smallest(scenario, baseline, within))


def ranges(points: tuple[Scenario, ...]) -> dict[str, dict[str, tuple[float, float]]]:
    """Return between what step time and energy lie in 9 of 10 draws, by system; without those that some draw cannot run."""
    found: dict[str, dict[str, tuple[float, float]]] = {STEP: {}, ENERGY: {}}
    for point in points:
        try:
            bands = uncertainty.bands(point)
        except EmberpoolError:
            continue
        for name, of in found.items():
            of[point.system] = bands[name]
    return found


def cheaper_system(scenario: Scenario, goal: float, dollars: float) -> str:
    """Return in a sentence which other system meets a step of `goal` seconds for less; "" where none does."""
    asked = VerdictQuestion(scenario, Requirement(step_ms=goal / MS), "capital")
    try:
        best = next(decisions(asked)).best
    except EmberpoolError:
        return ""
    if best is None or best.capital is None or best.system == scenario.system or best.capital >= SAME * dollars:
        return ""
    title = load("systems", best.system).title
    return f"{title} does it for {count(best.capital)} USD ({asked.base.machine.prices}), on {machine_words(best)}."
