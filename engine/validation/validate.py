"""The validation: every claim of every preset, run and compared with its published value.

A claim is a number of one preset, or a mean over several: a result, a stage's exposed time, or the change from a
baseline system. Claims without a published value are predictions; they cannot fail. The module also compares estimates with
full runs: each preset is computed both ways, without training, as weights never change a time.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean, geometric_mean
from typing import Any, NamedTuple

from ..core.arithmetic import total
from ..core.graph import STAGES
from ..errors import BadFile, CannotRun
from ..estimate import estimate
from ..estimates import estimates
from ..registry import variant_names
from ..results.result import Result
from ..scenario.presets import preset, preset_names
from ..scenario.scenario import Scenario, per_table, values, with_values
from ..simulate import simulate
from .causes import cause_text, objections, with_cause
from .chance import METRICS, error_bar
from .claims import FORMS, Claim, Knobs, claims, error_percent, nearest_published
from .roofline import roofline


class ClaimPoint(NamedTuple):
    """One run that a claim needs: a preset under a training system, with changed knobs.

    With `estimated` the point is estimated instead of run in full.
    """

    preset: str
    system: str
    knobs: Knobs = ()
    estimated: bool = False


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim with the simulated value.

    preset: the preset whose file has the claim.
    claim: the claim.
    simulated_value: the simulated value.
    caused_value: the simulated value with the knobs of the claim's cause.
    objections: why that cause does not count.
    roofline: the value by the roofline, where the roofline has one.
    """

    preset: str
    claim: Claim
    simulated_value: float
    caused_value: float | None = None
    objections: tuple[str, ...] = ()
    roofline: float | None = None

    @property
    def name(self) -> str:
        """The claim's name in the accepted record: its preset and its title."""
        return f"{self.preset}: {self.claim.title}"

    @property
    def cause(self) -> str:
        """The cause of a miss as a clause: changed knobs, value, objections; or "cause unknown".

        "" for a claim that passes.
        """
        if self.passed is not False or self.claim.kind == "counterfactual":
            return ""
        if self.caused_value is None:
            return "cause unknown"
        return cause_text(self.claim.cause_knobs, self.caused_value, self.objections)

    @property
    def cause_counts(self) -> bool | None:
        """Whether a miss's cause counts; None without a miss or without a known cause."""
        return None if not self.cause or self.caused_value is None else not self.objections

    @property
    def error_percent(self) -> float | None:
        """The difference from the nearest published value, in percent of that value."""
        return (
            error_percent(self.simulated_value, self.claim.published_range)
            if self.claim.published and self.claim.published_range
            else None
        )

    @property
    def passed(self) -> bool | None:
        """Whether the difference is within the tolerance, or the value within its limit.

        None for a prediction.
        """
        if self.claim.kind == "counterfactual":
            exceeds = self.claim.at_most is not None and self.simulated_value > self.claim.at_most
            return not exceeds and not (self.claim.at_least is not None and self.simulated_value < self.claim.at_least)
        allowed, ends = self.claim.allowed_difference, self.claim.published_range
        return (
            None
            if allowed is None or ends is None
            else abs(self.simulated_value - nearest_published(self.simulated_value, ends)) <= allowed
        )

    def as_json(self) -> dict[str, Any]:
        """Return the claim as one JSON-ready object."""
        return {
            "preset": self.preset,
            "metric": self.claim.title,
            "system": self.claim.system,
            "published": self.claim.published,
            "published_to": self.claim.published_to,
            "ours": self.simulated_value,
            "error_percent": self.error_percent,
            "roofline": self.roofline,
            "tolerance": self.claim.allowed_difference,
            "at_most": self.claim.at_most,
            "at_least": self.claim.at_least,
            "kind": self.claim.kind,
            "passed": self.passed,
            "source": self.claim.source,
            "sample": self.claim.sample,
            "family": self.claim.family,
            "cause": self.cause,
            "cause_counts": self.cause_counts,
            "sample_reason": self.claim.sample_reason,
            "tolerance_note": self.claim.tolerance_note,
            "not_counted": self.claim.not_counted,
            "counts_with": self.claim.counts_with,
        }


def validate(names: Iterable[str] = ()) -> tuple[ClaimVerdict, ...]:
    """Run the claims of the named presets, or of all presets; return verdicts in order."""
    named_claims = [(name, claim) for name in tuple(names) or preset_names() for claim in claims(name)]
    return tuple(
        ClaimVerdict(
            name,
            claim,
            measure_claim(claim),
            _caused_value(claim),
            objections(name, claim, measure_claim),
            roofline(claim, measure_claim),
        )
        for name, claim in named_claims
    )


def _caused_value(claim: Claim) -> float | None:
    return measure_claim(with_cause(claim)) if claim.cause_knobs else None


def measure_claim(claim: Claim, point_result: Callable[[ClaimPoint], Result] | None = None) -> float:
    """Return the simulated value of a claim, in the claim's unit.

    point_result: the function that returns the result of a point; by default the point is run.
    """
    pairs = [
        tuple(_point_value(point_result or run_point, claim.metric, point) for point in pair) for pair in claim_points(claim)
    ]
    if claim.form != "value" and not all(simulated_value and base for simulated_value, base in pairs):
        raise BadFile(f"{claim.title!r} claims a {claim.form} of {claim.metric!r}, which is 0 here; claim its value instead.")
    if claim.aggregate == "geomean":
        return float(FORMS[claim.form](geometric_mean([simulated_value / base for simulated_value, base in pairs]), 1.0))
    return fmean(float(FORMS[claim.form](simulated_value, base)) for simulated_value, base in pairs)


def claim_points(claim: Claim) -> tuple[tuple[ClaimPoint, ClaimPoint | None], ...]:
    """Return two points for each preset of a claim: its own and its baseline's.

    The second is None for a claim without a baseline.
    """
    based = (*claim.knobs, *claim.baseline_knobs)
    return tuple(
        (
            ClaimPoint(name, claim.system, _distinct_knobs(name, claim.knobs), claim.estimated),
            ClaimPoint(name, claim.baseline, _distinct_knobs(name, based), claim.estimated) if claim.baseline else None,
        )
        for name in claim.presets
    )


def _distinct_knobs(name: str, knobs: Knobs) -> Knobs:
    """Return the knobs that differ from the preset, each with its last value, sorted.

    So equal points are equal keys, and are run once.
    """
    claim_values, preset_values = dict(knobs), values(preset(name).scenario)
    return tuple(
        (path, claim_values[path])
        for path in sorted(claim_values)
        if "model.name" in claim_values or claim_values[path] != preset_values[path]
    )


def _point_value(point_result: Callable[[ClaimPoint], Result], metric: str, point: ClaimPoint | None) -> float:
    if point is None:
        return 1.0
    result, (name, system, *_) = point_result(point), point
    if metric in STAGES:
        return 1e3 * float(total(row["Exposed [s]"] for row in result.breakdown if row["Stage"] == metric))
    metric_value = result.results.get(metric)
    if metric_value is None:
        raise BadFile(f"presets/{name}.toml claims {metric!r} of system {system}, which has no such result.")
    return metric_value


def run_point(point: ClaimPoint) -> Result:
    """Run a point, once for each process; raises CannotRun with the outcome."""
    result = _run(with_values(preset(point.preset).scenario, {"system": point.system, **dict(point.knobs)}), point.estimated)
    if not result.ran:
        raise CannotRun(f"presets/{point.preset}.toml with system={point.system} cannot run: {result.outcome}")
    return result


@lru_cache(maxsize=1024)
def _run(scenario: Scenario, estimated: bool) -> Result:
    return estimate(scenario) if estimated else simulate(scenario)


# Batches of the runs for gaps, beside each preset's own length, and the most lookups of such a run.
LENGTHS, MOST_LOOKUPS = (3, 10, 60, 200), 10_000_000
TIMING = {"run.training": False, "faults.power_loss_at_seconds": (), "faults.power_loss_mtbf_hours": None}


@dataclass(frozen=True)
class Gap:
    """One metric of a preset, by the estimate and by the full run.

    preset: the preset's name.
    system: the training system.
    batches: the length of the run.
    metric: the name of the metric.
    estimate: the estimated value, in the metric's unit.
    full_run: the full run's value, in the same unit.
    error_bar: how far the run may be from the estimate by chance [%].
    """

    preset: str
    system: str
    batches: int
    metric: str
    estimate: float
    full_run: float
    error_bar: float

    @property
    def percent(self) -> float:
        """The estimate's excess over the full run, in percent of the run."""
        return 100 * (self.estimate / self.full_run - 1)

    def as_json(self) -> dict[str, Any]:
        """Return the gap as one JSON-ready object."""
        return {
            "preset": self.preset,
            "system": self.system,
            "batches": self.batches,
            "metric": self.metric,
            "estimate": self.estimate,
            "full": self.full_run,
            "error_bar": self.error_bar,
            "gap_percent": self.percent,
        }


def gaps(name: str, system: str = "", batches: int = 0) -> tuple[Gap, ...]:
    """Return the gaps between a preset's estimate and its full run; raises CannotRun.

    The run has no faults and no training. `system` and `batches` replace the preset's own where they are given.
    """
    preset_scenario = preset(name).scenario
    scenario = with_values(
        preset_scenario,
        {**TIMING, "system": system or preset_scenario.system, "run.batches": batches or preset_scenario.run.batches},
    )
    guess, run = estimate(scenario), simulate(scenario)
    for result in (guess, run):
        if not result.ran:
            raise CannotRun(f"presets/{name}.toml with system={scenario.system} cannot run: {result.outcome}")
    bars = error_bar(scenario)
    pairs = ((metric, guess.results[metric], run.results[metric], bars[metric]) for metric in METRICS)
    return tuple(Gap(name, scenario.system, scenario.run.batches, metric, a, b, bar) for metric, a, b, bar in pairs if a and b)


def system_lengths(name: str) -> Iterator[tuple[str, int]]:
    """Yield each system that can run a preset, with a short run's length [batches]."""
    preset_scenario = preset(name).scenario
    max_batches = MOST_LOOKUPS / (preset_scenario.data.batch_size * total(per_table(preset_scenario.model, "pooling")))
    lengths = sorted({preset_scenario.run.batches, *(length for length in LENGTHS if length <= max_batches)})
    for system in variant_names("systems"):
        (system_estimate,) = estimates([with_values(preset_scenario, {"system": system})])
        yield from ((system, length) for length in lengths if system_estimate.ran)
