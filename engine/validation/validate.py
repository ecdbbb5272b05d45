"""The validation: every claim of every preset, run and compared with its published value.

A claim is a number of one preset, or a mean over several: a result, a stage's exposed time, or the change from a
baseline system. Claims without a published value are predictions; they cannot fail. The estimate's gap to the full run is
here too: every preset both ways, timing alone, as weights never change a time.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from statistics import fmean, geometric_mean
from typing import Any, NamedTuple

from ..core.graph import STAGES
from ..errors import BadFile, CannotRun
from ..estimate import estimate
from ..estimates import estimates
from ..registry import names
from ..results.result import Result
from ..scenario.presets import preset, preset_names
from ..scenario.scenario import Scenario, per_table, values, with_values
from ..simulate import simulate
from .causes import cause_text, objections, with_cause
from .chance import METRICS, error_bar
from .claims import FORMS, Claim, Knobs, claims, error_percent, nearest_published
from .roofline import roofline


class ClaimPoint(NamedTuple):
    """What a claim needs run: a preset under a training system, with some knobs changed; or only estimated."""

    preset: str
    system: str
    knobs: Knobs = ()
    estimated: bool = False


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim beside what this simulator says; `passed` is None for a prediction.

    `caused` is what a miss's experiment gives, `objections` say why that does not count as its cause, `roofline` is what would
    be said without a model, where it can be.
    """

    preset: str
    claim: Claim
    ours: float
    caused: float | None = None
    objections: tuple[str, ...] = ()
    roofline: float | None = None

    @property
    def name(self) -> str:
        """What the accepted record calls the claim: its preset and its title."""
        return f"{self.preset}: {self.claim.title}"

    @property
    def cause(self) -> str:
        """For a miss, the experiment that moves it and what it gives, or that none is known; "" elsewhere."""
        if self.passed is not False or self.claim.kind == "counterfactual":
            return ""
        if self.caused is None:
            return "cause unknown"
        return cause_text(self.claim.cause_knobs, self.caused, self.objections)

    @property
    def cause_counts(self) -> bool | None:
        """Whether a miss's cause counts; None where nothing is missed or no cause is known."""
        return None if not self.cause or self.caused is None else not self.objections

    @property
    def error_percent(self) -> float | None:
        """The difference from the published value, or from a range's nearest end, in percent of it."""
        return error_percent(self.ours, self.claim.ends) if self.claim.published and self.claim.ends else None

    @property
    def passed(self) -> bool | None:
        """Whether the difference is within the tolerance, or the value within its limit; None for a prediction."""
        if self.claim.kind == "counterfactual":
            above = self.claim.at_most is not None and self.ours > self.claim.at_most
            return not above and not (self.claim.at_least is not None and self.ours < self.claim.at_least)
        allowed, ends = self.claim.allowed, self.claim.ends
        return None if allowed is None or ends is None else abs(self.ours - nearest_published(self.ours, ends)) <= allowed

    def as_json(self) -> dict[str, Any]:
        """Return the claim as one JSON-ready object."""
        return {
            "preset": self.preset,
            "metric": self.claim.title,
            "system": self.claim.system,
            "published": self.claim.published,
            "published_to": self.claim.published_to,
            "ours": self.ours,
            "error_percent": self.error_percent,
            "roofline": self.roofline,
            "tolerance": self.claim.allowed,
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
    """Run the claims of the named presets, or of all, and return the verdicts in order."""
    wanted = [(name, claim) for name in tuple(names) or preset_names() for claim in claims(name)]
    return tuple(
        ClaimVerdict(name, claim, measure(claim), _caused(claim), objections(name, claim, measure), roofline(claim, measure))
        for name, claim in wanted
    )


def _caused(claim: Claim) -> float | None:
    return measure(with_cause(claim)) if claim.cause_knobs else None


def measure(claim: Claim, of: Callable[[ClaimPoint], Result] | None = None) -> float:
    """Return this simulator's value of a claim, in the claim's unit; `of` gives a point's result, by default its run."""
    pairs = [tuple(_value(of or run, claim.metric, point) for point in pair) for pair in points(claim)]
    if claim.form != "value" and not all(ours and base for ours, base in pairs):
        raise BadFile(f"{claim.title!r} claims a {claim.form} of {claim.metric!r}, which is 0 here; claim its value instead.")
    if claim.aggregate == "geomean":
        return float(FORMS[claim.form](geometric_mean([ours / base for ours, base in pairs]), 1.0))
    return fmean(float(FORMS[claim.form](ours, base)) for ours, base in pairs)


def points(claim: Claim) -> tuple[tuple[ClaimPoint, ClaimPoint | None], ...]:
    """Return for each preset of a claim what must be run for it: its own point, and its baseline where it has one."""
    based = (*claim.knobs, *claim.baseline_knobs)
    return tuple(
        (
            ClaimPoint(name, claim.system, _changed(name, claim.knobs), claim.estimated),
            ClaimPoint(name, claim.baseline, _changed(name, based), claim.estimated) if claim.baseline else None,
        )
        for name in claim.presets
    )


def _changed(name: str, knobs: Knobs) -> Knobs:
    """Return the last value given for each knob where it is not the preset's own, so that equal points are run once."""
    wanted, own = dict(knobs), values(preset(name).scenario)
    return tuple((path, wanted[path]) for path in sorted(wanted) if "model.name" in wanted or wanted[path] != own[path])


def _value(of: Callable[[ClaimPoint], Result], metric: str, point: ClaimPoint | None) -> float:
    if point is None:
        return 1.0
    result, (name, system, *_) = of(point), point
    if metric in STAGES:
        return 1e3 * float(sum(row["Exposed [s]"] for row in result.breakdown if row["Stage"] == metric))
    value = result.results.get(metric)
    if value is None:
        raise BadFile(f"presets/{name}.toml claims {metric!r} of system {system}, which has no such result.")
    return value


def run(point: ClaimPoint) -> Result:
    """Run a point, once in the life of the process; raises CannotRun with the outcome."""
    result = _run(with_values(preset(point.preset).scenario, {"system": point.system, **dict(point.knobs)}), point.estimated)
    if not result.ran:
        raise CannotRun(f"presets/{point.preset}.toml with system={point.system} cannot run: {result.outcome}")
    return result


@lru_cache(maxsize=1024)
def _run(scenario: Scenario, estimated: bool) -> Result:
    return estimate(scenario) if estimated else simulate(scenario)


# What the gaps are taken over, beside each preset's own system and length.
LENGTHS, MOST_LOOKUPS = (3, 10, 60, 200), 10_000_000
TIMING = {"run.training": False, "faults.power_loss_at_seconds": (), "faults.power_loss_mtbf_hours": None}


@dataclass(frozen=True)
class Gap:
    """One result of a preset, as estimated and as a full run of so many batches measured it.

    The run may be `error_bar` percent from the estimate by chance.
    """

    preset: str
    system: str
    batches: int
    metric: str
    estimate: float
    full: float
    error_bar: float

    @property
    def percent(self) -> float:
        """How much more than the full run the estimate says, in percent of the run."""
        return 100 * (self.estimate / self.full - 1)

    def as_json(self) -> dict[str, Any]:
        """Return the gap as one JSON-ready object."""
        return {**asdict(self), "gap_percent": self.percent}


def gaps(name: str, system: str = "", batches: int = 0) -> tuple[Gap, ...]:
    """Run a preset without faults and training, and return how far its estimate is off; raises CannotRun.

    It has another system or length than its own where one is given.
    """
    own = preset(name).scenario
    scenario = with_values(own, {**TIMING, "system": system or own.system, "run.batches": batches or own.run.batches})
    guess, run = estimate(scenario), simulate(scenario)
    for result in (guess, run):
        if not result.ran:
            raise CannotRun(f"presets/{name}.toml with system={scenario.system} cannot run: {result.outcome}")
    bars = error_bar(scenario)
    pairs = ((metric, guess.results[metric], run.results[metric], bars[metric]) for metric in METRICS)
    return tuple(Gap(name, scenario.system, scenario.run.batches, what, a, b, bar) for what, a, b, bar in pairs if a and b)


def pairs(name: str) -> Iterator[tuple[str, int]]:
    """Yield every system that can run a preset, with each of the lengths that are counted in seconds, and its own one."""
    own = preset(name).scenario
    most = MOST_LOOKUPS / (own.data.batch_size * sum(per_table(own.model, "pooling")))
    lengths = sorted({own.run.batches, *(length for length in LENGTHS if length <= most)})
    for system in names("systems"):
        (found,) = estimates([with_values(own, {"system": system})])
        yield from ((system, length) for length in lengths if found.ran)
