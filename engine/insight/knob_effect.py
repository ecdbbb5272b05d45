"""The effect of a knob here: one that changes no result of the estimate says so, with the reason where there is one.

A knob is moved to its other choices, to half and double, and to the ends of its range; what the estimate cannot
know, such as faults and weights, acts in a full run and declares so.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from math import isclose
from typing import Any

from ..caches.replay import warm
from ..errors import BadInput
from ..estimates import estimates
from ..faults.fault import active
from ..registry import load
from ..scenario.knobs import LISTING, PLACES, Knob, check, offered
from ..scenario.scenario import KNOBS, Scenario, values, with_values
from ..systems.kernels.in_force import system_in_force
from ..systems.system import constants, medium_cache, powered, readers

SAME = 1e-9  # relative; below it lies the noise of adding up in another order
NOTHING, STUCK = "No effect here", "Nothing else is possible here"
WORDS = ("choice", "switch", "text")
TRIED = {
    True: "no other choice changes a result of the estimate.",
    False: "neither half, double nor the ends of its range change a result of the estimate.",
}


@dataclass(frozen=True)
class KnobEffect:
    """Whether moving a knob changes a result, when one has to run in full to see it, and why not where it does not."""

    acts: bool
    sentence: str = ""


@lru_cache(maxsize=8192)
def effect(scenario: Scenario, path: str) -> KnobEffect:
    """Return what the knob at `path` does in this scenario; takes a few estimates where it does nothing."""
    knob = KNOBS[path]
    if knob.acts != "always":
        return _in_full(scenario, knob)
    others = list(moved(scenario, knob))
    if not others:
        return KnobEffect(True, "Moves only together with other knobs.")
    owners = readers(path)
    if owners and not any(set(owners) & powered(one.system, one.machine).keys() for one in (scenario, *others)):
        near = "near-data" in owners and not scenario.machine.near_data_compute
        missing = "near-data compute is off" if near else f"system {scenario.system} uses no {devices_named(owners)}"
        return KnobEffect(False, f"{NOTHING}: {missing}.")
    own, refusals = _outcome(scenario), []
    if not _runs(own) and not any(_runs(_outcome(other)) for other in others):
        return KnobEffect(False, f"{NOTHING}: the machine cannot run, and no other value that was tried changes that.")
    for other in others:
        found = _outcome(other)
        if isinstance(found, str):
            refusals.append(found)
        elif isinstance(own, str) or not same(own, found):
            return KnobEffect(True)
    if knob.learned and scenario.run.training and not scenario.data.digest and len(refusals) < len(others):
        return KnobEffect(True, "Acts on what a full run learns, not in the estimate.")
    start = STUCK if len(refusals) == len(others) else NOTHING
    return KnobEffect(False, f"{start}: {refusals[0] if refusals else _idle(scenario, path) or TRIED[knob.kind in WORDS]}")


def same(one: Mapping[str, float | None], other: Mapping[str, float | None]) -> bool:
    """Return whether two runs have the same results."""
    pairs = [(value, other.get(name)) for name, value in one.items()]
    alike = (a == b or (a is not None and b is not None and isclose(a, b, rel_tol=SAME)) for a, b in pairs)
    return one.keys() == other.keys() and all(alike)


def _in_full(scenario: Scenario, knob: Knob) -> KnobEffect:
    system = system_in_force(scenario)
    filled = bool(system.caches and max(system.caches(scenario)) > 0) or bool(system.cache and warm(scenario, system.cache))
    filled = filled or bool(medium_cache(scenario, system).lines)
    off = {
        "memories": "" if filled else f"system {scenario.system} has no cache that a run could begin with filled.",
        "training": "" if scenario.run.training else "functional training is off.",
        "outages": "" if active(scenario) else "no fault is asked for.",
        "file": "" if scenario.data.digest else "it acts on a data file, and there is none.",
    }
    missing = off.get(knob.acts, "") or _needed(scenario, knob.needs)
    where = f"{PLACES.get(knob.acts, 'a full run')}{', on the page Failures' * (knob.acts == 'campaign')}"
    return KnobEffect(not missing, f"{NOTHING}: {missing}" if missing else f"Acts in {where}, not in the estimate.")


def _needed(scenario: Scenario, needs: str) -> str:
    """Say what a knob lacks to do anything: a fault that strikes, or another knob that is not 0."""
    if not needs:
        return ""
    if "." in needs:
        return "" if values(scenario)[needs] else f"{needs} is 0."
    return "" if needs in active(scenario) else f"no {load('faults', needs).name} is asked for."


def _idle(scenario: Scenario, path: str) -> str:
    owners = readers(path)
    if not owners or set(owners) & set(system_in_force(scenario).devices):
        return ""
    return f"{devices_named(owners)} is powered and paid for, but system {scenario.system} does not use it."


def devices_named(devices: tuple[str, ...]) -> str:
    """Return the titles of devices as they stand inside a sentence."""
    titles = (load("devices", name).title for name in devices)
    return " or ".join(title if title[1].isupper() else title[0].lower() + title[1:] for title in titles)


@lru_cache(maxsize=256)
def _outcome(scenario: Scenario) -> Mapping[str, float | None] | str:
    (found,) = estimates([scenario])
    return found.results or found.outcome


def _runs(outcome: Mapping[str, float | None] | str) -> bool:
    return not isinstance(outcome, str) and any(value is not None for value in outcome.values())


def moved(scenario: Scenario, knob: Knob) -> Iterator[Scenario]:
    """Yield the scenario with the knob at other values, without those that it cannot take alone."""
    own = values(scenario)[knob.path]
    for value in dict.fromkeys(_others(scenario, knob, own)):
        if value == own:
            continue
        try:
            yield with_values(scenario, {knob.path: check(knob, value)})
        except BadInput:
            continue  # out of range, or at odds with another knob


def _others(scenario: Scenario, knob: Knob, own: Any) -> Iterator[Any]:
    """Yield other values: the near ones first, since most knobs show their effect at once."""
    if knob.kind == "switch":
        yield from (True, False)
    elif knob.kind == "choice":
        yield from offered(knob, own)
    elif knob.kind == "assumptions":
        yield tuple((name, one.high) for name, one in constants(scenario).items())
    elif knob.parts:
        yield "" if own else LISTING.join(knob.parts())
    elif knob.kind == "text" and knob.acts == "always":
        yield "" if own else "0"  # a plan: all on the first part, as there always is one
    elif knob.kind == "widths":
        yield (*(2 * width for width in own[:-1]), own[-1])
    elif knob.kind in ("ints", "floats") or isinstance(own, tuple):
        yield from (tuple(2 * item for item in own), tuple(item // 2 for item in own))
        yield from () if any(own) else ((knob.low,), (knob.high,))
    elif knob.kind in ("int", "float"):
        near = () if own is None else (2 * own, own // 2 if knob.kind == "int" else own / 2)
        yield from chain(near, (knob.low, knob.high))
    if knob.optional:
        yield None
