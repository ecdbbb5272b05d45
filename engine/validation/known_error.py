"""The model's known error: the published numbers about a result on the machine that a scenario has, beside the estimate's."""

from functools import cache, lru_cache

from ..core.figures import percent
from ..results.result import Result
from ..scenario.presets import preset, preset_names
from ..scenario.scenario import KNOBS, Scenario, values
from .claims import Claim, claims, error_percent
from .validate import ClaimPoint, measure, run

# What a machine is made of: its catalogue parts, not their number or speed.
PARTS = tuple(path for path, knob in KNOBS.items() if path.startswith("machine.") and knob.kind == "choice")
# What a published number does not hang on: the system is the claim's own, and length, seeds and faults are the run's.
ASIDE = ("system", "run.", "faults.", "data.seed", "data.held_out_samples")


KINDS = {
    "calibrated": "calibrated to",
    "predicted": "not used (a mean may contain models that were)",
    "headline": "headlines, which hang on assumed watts too",
    "counterfactual": "counterfactual",
}


def sentence(scenario: Scenario, metric: str) -> str:
    """Return how far published numbers about a result are known to be from the estimate, and for which scenario."""
    near = _nearest(scenario)
    if near is None:
        return "No published number for this machine; the band is the only bound."
    found = known_errors(_parts(scenario), metric)
    if not found:
        return "Nothing is published about this result; the band is the only bound."
    name, differing = near
    by_kind = {words: [abs(off) for claim, off in found if claim.kind == kind] for kind, words in KINDS.items()}
    told = "; ".join(f"{len(off)} {words}, off by at most {percent(max(off) / 100)}" for words, off in by_kind.items() if off)
    knobs = f"{differing} knob{'s differ' if differing > 1 else ' differs'}"
    where = f" The nearest is {preset(name).title}; {knobs} here." if differing else ""
    return f"{len(found)} published number{'s' if len(found) > 1 else ''} on these parts: {told}.{where}"


@cache
def known_errors(parts: tuple[str, ...], metric: str) -> tuple[tuple[Claim, float], ...]:
    """Return the published numbers about a result of the presets with these parts, and how far in percent the estimate is off."""
    names = [name for name in preset_names() if _parts(preset(name).scenario) == parts]
    own = [claim for name in names for claim in claims(name) if not any(path in PARTS for path, _ in claim.knobs)]
    about = [claim for claim in own if claim.metric == metric and claim.published]
    return tuple((claim, error_percent(measure(claim, _estimated), claim.ends)) for claim in about if claim.ends)


def _estimated(point: ClaimPoint) -> Result:
    return run(point._replace(estimated=True))


def _parts(scenario: Scenario) -> tuple[str, ...]:
    held = values(scenario)
    return tuple(str(held[path]) for path in PARTS)


@lru_cache(maxsize=64)
def _nearest(scenario: Scenario) -> tuple[str, int] | None:
    """Return the claiming preset with the same parts from which the fewest knobs differ, and how many do."""
    names = [name for name in preset_names() if claims(name) and _parts(preset(name).scenario) == _parts(scenario)]
    ours, compared = values(scenario), [path for path in KNOBS if not path.startswith(ASIDE)]
    theirs = ((name, values(preset(name).scenario)) for name in names)
    pairs = ((name, sum(ours[path] != held[path] for path in compared)) for name, held in theirs)
    return min(pairs, key=lambda pair: pair[1], default=None)
