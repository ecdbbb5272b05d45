"""The model's known error: published numbers on a scenario's parts, compared with estimates."""

from functools import cache, lru_cache

from ..core.figures import count, percent
from ..results.result import Result
from ..scenario.presets import preset, preset_names
from ..scenario.scenario import KNOBS, Scenario, values
from .claims import Claim, claims, error_percent
from .validate import ClaimPoint, measure_claim, run_point

# Knobs that choose a machine's parts from the catalogue, not their number or speed.
PARTS = tuple(path for path, knob in KNOBS.items() if path.startswith("machine.") and knob.kind == "choice")
# Knobs that no published number depends on: the system is the claim's own; length, seeds and faults are the run's.
IGNORED_KNOBS = ("system", "run.", "faults.", "data.seed", "data.held_out_samples")


KIND_WORDS = {
    "calibrated": "calibrated to",
    "predicted": "not used (a mean may contain models that were)",
    "headline": "headlines, which hang on assumed watts too",
    "counterfactual": "counterfactual",
}


def known_error_sentence(scenario: Scenario, metric: str) -> str:
    """Return a sentence on the error of a metric, known from published numbers.

    The numbers were measured on the same parts as the scenario's.
    """
    nearest_preset = _nearest(scenario)
    if nearest_preset is None:
        return "No published number exists for this machine; only the band says how wrong the result may be."
    claim_errors = known_errors(_parts(scenario), metric)
    if not claim_errors:
        return "No published number exists for this result; only the band says how wrong it may be."
    name, differing = nearest_preset
    by_kind = {words: [abs(error) for claim, error in claim_errors if claim.kind == kind] for kind, words in KIND_WORDS.items()}
    counts_text = "; ".join(
        f"{len(errors)} {words}, off by at most {percent(max(errors) / 100)}" for words, errors in by_kind.items() if errors
    )
    knobs = f"{differing} knob{'s differ' if differing > 1 else ' differs'}"
    nearest_text = f" The nearest is {preset(name).title}; {knobs} here." if differing else ""
    return f"{count(len(claim_errors), 'published number')} on these parts: {counts_text}.{nearest_text}"


@cache
def known_errors(parts: tuple[str, ...], metric: str) -> tuple[tuple[Claim, float], ...]:
    """Return published claims about a metric on these parts, each with its error [%].

    The error is that of the estimate.
    """
    names = [name for name in preset_names() if _parts(preset(name).scenario) == parts]
    unchanged_claims = [claim for name in names for claim in claims(name) if not any(path in PARTS for path, _ in claim.knobs)]
    metric_claims = [claim for claim in unchanged_claims if claim.metric == metric and claim.published]
    return tuple(
        (claim, error_percent(measure_claim(claim, _estimated), claim.published_range))
        for claim in metric_claims
        if claim.published_range
    )


def _estimated(point: ClaimPoint) -> Result:
    return run_point(point._replace(estimated=True))


def _parts(scenario: Scenario) -> tuple[str, ...]:
    knob_values = values(scenario)
    return tuple(str(knob_values[path]) for path in PARTS)


@lru_cache(maxsize=64)
def _nearest(scenario: Scenario) -> tuple[str, int] | None:
    """Return the nearest claiming preset with the same parts, and the number of differing knobs."""
    names = [name for name in preset_names() if claims(name) and _parts(preset(name).scenario) == _parts(scenario)]
    knob_values, compared = values(scenario), [path for path in KNOBS if not path.startswith(IGNORED_KNOBS)]
    preset_knobs = ((name, values(preset(name).scenario)) for name in names)
    pairs = ((name, sum(knob_values[path] != preset_values[path] for path in compared)) for name, preset_values in preset_knobs)
    return min(pairs, key=lambda pair: pair[1], default=None)
