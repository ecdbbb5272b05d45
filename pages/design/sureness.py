"""How sure each result of an estimate is: its band, the constant it hangs on most, and the published numbers about it.

It takes a good hundred estimates, so that it is computed when a scenario has stood still, and kept while scenarios repeat.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from engine.analysis.uncertainty import Swing, bands, tornado
from engine.errors import EmberpoolError
from engine.scenario.scenario import Scenario
from engine.validation import known_error
from pages.common.numbers import readable, unit

MOST_KEPT = 512
_KEPT: dict[Scenario, Mapping[str, "Sure"]] = {}


@dataclass(frozen=True)
class Sure:
    """The band in a few words to stand under a number, and the sentences behind it."""

    band: str
    story: tuple[str, ...]


NOTHING: Mapping[str, Sure] = MappingProxyType({})


def known(scenario: Scenario) -> Mapping[str, Sure] | None:
    """Return how sure each result is, by its name, if that has been computed."""
    return _KEPT.get(scenario)


def found(scenario: Scenario) -> Mapping[str, Sure]:
    """Return how sure each result is, by its name; nothing where an end of some range cannot run."""
    ready = _KEPT.get(scenario)
    if ready is None:
        ready = _found(scenario)
        if len(_KEPT) >= MOST_KEPT:
            _KEPT.clear()  # rare, and safe beside other sessions' threads
        _KEPT[scenario] = ready
    return ready


def _found(scenario: Scenario) -> Mapping[str, Sure]:
    try:
        return {name: _sure(scenario, name, low, high) for name, (low, high) in bands(scenario).items()}
    except EmberpoolError:
        return NOTHING


def _sure(scenario: Scenario, name: str, low: float, high: float) -> Sure:
    swings = tornado(scenario, name)
    published = known_error.sentence(scenario, name)
    if not swings:
        return Sure("no constant moves it", ("No constant with a range moves it.", published))
    words = f"{readable(low)} to {readable(high, unit(name))}"
    band = f"9 of 10 draws of all constants from their ranges give {words}."
    return Sure(f"{readable(low)} to {readable(high)}", (band, _hangs_on(swings[0], name), published))


def _hangs_on(swing: Swing, name: str) -> str:
    one = swing.constant
    return (
        f"It hangs most on {swing.name} ({one.confidence}): {readable(swing.at_low)} at {one.low:g} {one.unit}, "
        f"{readable(swing.at_high, unit(name))} at {one.high:g} {one.unit}."
    )
