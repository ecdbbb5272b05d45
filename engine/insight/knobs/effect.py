"""The effect of a knob: whether it changes an estimate's result, and if not, why.

The knob is set to each of its other choices, or to half, double and the ends of its range. Knobs of faults and of training,
which an estimate does not read, declare that they act in a full run.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from math import isclose
from typing import Any

from ...caches.replay import starts_warm
from ...core.part_files.lists import LISTING
from ...errors import BadInput
from ...estimates import estimates
from ...faults.fault import active_faults
from ...hardware.device import readers
from ...registry import load_variant
from ...scenario.knobs import PLACES, Knob, check, offered_words
from ...scenario.scenario import KNOBS, Scenario, clear_contradictions, values, with_values
from ...systems.kernels.in_force import system_in_force
from ...systems.system import constants, medium_cache, powered_devices

EQUAL_WITHIN = 1e-9  # relative; below it lies the noise of adding up in another order
NO_EFFECT, NO_OTHER_VALUE = "No effect here", "Nothing else is possible here"
WORD_KINDS = ("choice", "switch", "text")
TRIED_VALUES = {
    True: "no other choice changes a result of the estimate.",
    False: "neither half, double nor the ends of its range change a result of the estimate.",
}


@dataclass(frozen=True)
class KnobEffect:
    """Whether a changed knob changes a result.

    `sentence` says why the result does not change, or which full run shows the change.
    """

    acts: bool
    sentence: str = ""


@lru_cache(maxsize=8192)
def effect(scenario: Scenario, path: str) -> KnobEffect:
    """Return the effect of the knob at `path` on the scenario's estimate.

    A few estimates are computed where the knob has no effect.
    """
    knob = KNOBS[path]
    if knob.acts != "always":
        return _in_full(scenario, knob)
    variants = list(moved_scenarios(scenario, knob))
    if not variants:
        return KnobEffect(True, "Changes the result only together with other knobs.")
    owners = readers(path)
    if owners and not any(
        set(owners) & powered_devices(variant.system, variant.machine).keys() for variant in (scenario, *variants)
    ):
        lacks_near_data = "near-data" in owners and not scenario.machine.near_data_compute
        reason = "near-data compute is off" if lacks_near_data else f"system {scenario.system} uses no {device_titles(owners)}"
        return KnobEffect(False, f"{NO_EFFECT}: {reason}.")
    own_outcome, refusals = _outcome(scenario), []
    if not _runs(own_outcome) and not any(_runs(_outcome(variant)) for variant in variants):
        return KnobEffect(False, f"{NO_EFFECT}: the machine cannot run, and no other value that was tried changes that.")
    for variant in variants:
        outcome = _outcome(variant)
        if isinstance(outcome, str):
            refusals.append(outcome)
        elif isinstance(own_outcome, str) or not equal_results(own_outcome, outcome):
            return KnobEffect(True)
    if knob.learned and scenario.run.training and not scenario.data.digest and len(refusals) < len(variants):
        return KnobEffect(True, "Changes the learning in a full run, not the estimate.")
    start = NO_OTHER_VALUE if len(refusals) == len(variants) else NO_EFFECT
    return KnobEffect(
        False, f"{start}: {refusals[0] if refusals else _idle(scenario, path) or TRIED_VALUES[knob.kind in WORD_KINDS]}"
    )


def equal_results(results: Mapping[str, float | None], other_results: Mapping[str, float | None]) -> bool:
    """Return whether two runs have equal results, up to rounding (EQUAL_WITHIN)."""
    pairs = [(number, other_results.get(name)) for name, number in results.items()]
    equalities = (a == b or (a is not None and b is not None and isclose(a, b, rel_tol=EQUAL_WITHIN)) for a, b in pairs)
    return results.keys() == other_results.keys() and all(equalities)


def _in_full(scenario: Scenario, knob: Knob) -> KnobEffect:
    system = system_in_force(scenario)
    starts_filled = bool(system.caches and max(system.caches(scenario)) > 0) or bool(
        system.cache and starts_warm(scenario, system.cache)
    )
    starts_filled = starts_filled or bool(medium_cache(scenario, system).lines)
    obstacles = {
        "memories": "" if starts_filled else f"system {scenario.system} has no cache that a run could begin with filled.",
        "training": "" if scenario.run.training else "functional training is off.",
        "outages": "" if active_faults(scenario) else "no fault is asked for.",
        "file": "" if scenario.data.digest else "it acts on a data file, and there is none.",
    }
    obstacle = obstacles.get(knob.acts, "") or _unmet_need(scenario, knob.needs)
    place = f"{PLACES.get(knob.acts, 'a full run')}{', on the page Failures' * (knob.acts == 'campaign')}"
    return KnobEffect(not obstacle, f"{NO_EFFECT}: {obstacle}" if obstacle else f"Changes results in {place}, not the estimate.")


def _unmet_need(scenario: Scenario, needs: str) -> str:
    """Return the condition that a knob lacks: a fault that strikes, or another knob above 0; "" for none."""
    if not needs:
        return ""
    if "." in needs:
        return "" if values(scenario)[needs] else f"{needs} is 0."
    return "" if needs in active_faults(scenario) else f"no {load_variant('faults', needs).name} is asked for."


def _idle(scenario: Scenario, path: str) -> str:
    owners = readers(path)
    if not owners or set(owners) & set(system_in_force(scenario).devices):
        return ""
    return f"{device_titles(owners)} is powered and paid for, but system {scenario.system} does not use it."


def device_titles(devices: tuple[str, ...]) -> str:
    """Return the titles of devices joined by "or", lowered for use inside a sentence."""
    titles = (load_variant("devices", name).title for name in devices)
    return " or ".join(title if title[1].isupper() else title[0].lower() + title[1:] for title in titles)


@lru_cache(maxsize=256)
def _outcome(scenario: Scenario) -> Mapping[str, float | None] | str:
    (estimate,) = estimates([scenario])
    return estimate.results or estimate.outcome


def _runs(outcome: Mapping[str, float | None] | str) -> bool:
    return not isinstance(outcome, str) and any(number is not None for number in outcome.values())


def moved_scenarios(scenario: Scenario, knob: Knob) -> Iterator[Scenario]:
    """Yield the scenario at each other value that this one knob can take."""
    value_in_force = values(scenario)[knob.path]
    for candidate in dict.fromkeys(_candidates(scenario, knob, value_in_force)):
        if candidate == value_in_force:
            continue
        try:
            yield with_values(scenario, clear_contradictions(scenario, {knob.path: check(knob, candidate)})[0])
        except BadInput:
            continue  # out of range, or at odds with another knob


def _candidates(scenario: Scenario, knob: Knob, value_in_force: Any) -> Iterator[Any]:
    """Yield candidate values of a knob, the near ones first, since most knobs show their effect at once."""
    if knob.kind == "switch":
        yield from (True, False)
    elif knob.kind == "choice":
        yield from offered_words(knob, value_in_force)
    elif knob.kind == "assumptions":
        yield tuple((name, constant.high) for name, constant in constants(scenario).items())
    elif knob.parts:
        yield "" if value_in_force else LISTING.join(knob.parts.words())
    elif knob.kind == "text" and knob.acts == "always":
        yield "" if value_in_force else "0"  # a plan: all on the first part, as there always is one
    elif knob.kind == "widths":
        yield (*(2 * width for width in value_in_force[:-1]), value_in_force[-1])
    elif knob.kind in ("ints", "floats") or isinstance(value_in_force, tuple):
        yield from (tuple(2 * number for number in value_in_force), tuple(number // 2 for number in value_in_force))
        yield from () if any(value_in_force) else ((knob.low,), (knob.high,))
    elif knob.kind in ("int", "float"):
        neighbours = (
            ()
            if value_in_force is None
            else (2 * value_in_force, value_in_force // 2 if knob.kind == "int" else value_in_force / 2)
        )
        yield from chain(neighbours, (knob.low, knob.high))
    if knob.optional:
        yield None
