"""The notes on a knob's card: what checkpoint relaxation costs, and why near-data compute is slower where it is."""

from engine.campaign.accuracy import stale_mlp_cost
from engine.core import catalog
from engine.core.figures import count
from engine.insight.decomposition import BOUND, NEAR_DATA
from engine.insight.knobs.moves import change_words, moved_sentence
from engine.insight.knobs.strips import LEAST_CHANGE, Strip, four_digits
from engine.insight.memory.near_data import slower_reason
from engine.results.result import Result
from engine.scenario.scenario import Scenario

STALENESS = "MLP staleness [batches]"
NOTHING_LOST = "A power loss takes back no batch of the MLP."


def line(scenario: Scenario, strip: Strip, result: Result) -> str:
    """Return a card's line: what the knob moves; for relaxation what it buys and costs, for near-data compute a reason too."""
    if strip.path == BOUND:
        return relaxation_line(strip, result)
    return " ".join(filter(None, (moved_sentence(strip), near_data_note(scenario, strip) if strip.path == NEAR_DATA else "")))


def relaxation_line(strip: Strip, result: Result) -> str:
    """Return what the staleness bound in force buys against a bound of 0, and the AUC that a power loss costs then."""
    age = round(result.results.get(STALENESS) or 0)
    strict = next((stop for stop in strip.stops if stop.knob_value == 0 and not stop.refused), None)
    if not age or not strict or strip.own_stop.refused:
        return f"{moved_sentence(strip)} {NOTHING_LOST if result.ran and not age else ''}".rstrip()
    relaxed, bound = strip.own_stop, strip.sufficient_value
    saved = f"step {change_words(relaxed.seconds / strict.seconds)}, energy {change_words(relaxed.joules / strict.joules)}"
    end = f", no more beyond {four_digits(bound)}" if bound is not None and relaxed.knob_value >= bound else ""
    older = f"After a power loss the MLP is up to {count(age, 'batch', 'batches')} older: {stale_mlp_cost(age)}."
    return f"Against a strict log: {saved}{end}. {older}"


def near_data_note(scenario: Scenario, strip: Strip) -> str:
    """Return why near-data compute is slower, and whether a product has its logic."""
    without_logic, with_logic = ({stop.knob_value: stop for stop in strip.stops}[is_near] for is_near in (False, True))
    slower = with_logic.seconds > (1 + LEAST_CHANGE) * without_logic.seconds
    part = catalog.availability("near-data", scenario.machine.near_data_logic)
    product = "" if part.state == "on sale" else "No product has this logic: its watts and price are assumptions."
    return " ".join(filter(None, (slower_reason(scenario) if slower else "", product)))
