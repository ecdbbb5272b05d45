"""Holds the simulator to the literature: every claim of every preset, run and compared with its published value.

A claim is a number of one preset, or a mean over several: a result, a stage's exposed time, or the change from a
baseline system. Claims without a published value are predictions; they cannot fail.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean, geometric_mean
from typing import Any

from engine.errors import BadFile
from engine.presets import Preset, preset, preset_names
from engine.result import STAGES, Result
from engine.scenario import Scenario, with_values
from engine.simulate import simulate

FORMS: Mapping[str, Callable[[float, float], float]] = {
    "value": lambda ours, base: ours,
    "speed-up": lambda ours, base: base / ours,
    "saving [%]": lambda ours, base: 100 * (1 - ours / base),
}
KINDS = ("calibrated", "predicted", "headline", "counterfactual")


@dataclass(frozen=True)
class Claim:
    """One published number: `metric` is a result's name, or a stage's for its exposed milliseconds.

    `form` compares with the same preset under system `baseline`; `aggregate` (mean, or geomean of this/baseline)
    goes over `presets`. The tolerance is absolute, in the claim's own unit, or in percent of the published value.
    """

    title: str
    metric: str
    system: str
    presets: tuple[str, ...]
    kind: str
    source: str
    published: float | None = None
    tolerance: float | None = None
    tolerance_percent: float | None = None
    form: str = "value"
    baseline: str = ""
    aggregate: str = "mean"

    @property
    def allowed(self) -> float | None:
        """The largest difference from the published value that passes; None for a prediction."""
        if self.published is None:
            return None
        return self.tolerance if self.tolerance is not None else abs(self.published) * (self.tolerance_percent or 0.0) / 100


@dataclass(frozen=True)
class Verdict:
    """A claim beside what this simulator says; `passed` is None for a prediction."""

    preset: str
    claim: Claim
    ours: float

    @property
    def error_percent(self) -> float | None:
        """The difference from the published value, in percent of it."""
        return None if not self.claim.published else 100 * (self.ours / self.claim.published - 1)

    @property
    def passed(self) -> bool | None:
        """Whether the difference is within the tolerance."""
        allowed, published = self.claim.allowed, self.claim.published
        return None if allowed is None or published is None else abs(self.ours - published) <= allowed

    def as_json(self) -> dict[str, Any]:
        """Return the claim as one JSON-ready object."""
        return {
            "preset": self.preset,
            "metric": self.claim.title,
            "system": self.claim.system,
            "published": self.claim.published,
            "ours": self.ours,
            "error_percent": self.error_percent,
            "tolerance": self.claim.allowed,
            "kind": self.claim.kind,
            "passed": self.passed,
            "source": self.claim.source,
        }


def claims(name: str) -> tuple[Claim, ...]:
    """Return the claims of a preset; raises BadFile where one is not well formed."""
    return tuple(_claim(preset(name), number, entry) for number, entry in enumerate(preset(name).claims, 1))


def validate(names: Iterable[str] = ()) -> tuple[Verdict, ...]:
    """Run the claims of the named presets, or of all, and return the verdicts in order."""
    wanted = tuple(names) or preset_names()
    return tuple(Verdict(name, claim, measure(claim)) for name in wanted for claim in claims(name))


def measure(claim: Claim) -> float:
    """Return this simulator's value of a claim, in the claim's unit."""
    pairs = [(_value(name, claim.system, claim.metric), _value(name, claim.baseline, claim.metric)) for name in claim.presets]
    if claim.aggregate == "geomean":
        return float(FORMS[claim.form](geometric_mean([ours / base for ours, base in pairs]), 1.0))
    return fmean(float(FORMS[claim.form](ours, base)) for ours, base in pairs)


def _value(name: str, system: str, metric: str) -> float:
    if not system:
        return 1.0
    result = _run(with_values(preset(name).scenario, {"system": system}))
    if metric in STAGES:
        return 1e3 * float(sum(row["Exposed [s]"] for row in result.breakdown if row["Stage"] == metric))
    value = result.results.get(metric)
    if value is None:
        raise BadFile(f"presets/{name}.toml claims {metric!r} of system {system}, which has no such result.")
    return value


@lru_cache(maxsize=256)
def _run(scenario: Scenario) -> Result:
    return simulate(scenario)


def _claim(owner: Preset, number: int, entry: Mapping[str, Any]) -> Claim:
    where = f"presets/{owner.name}.toml, claim {number}"
    given = {"title": entry.get("metric"), "presets": (owner.name,), "system": owner.scenario.system, **entry}
    given["presets"] = tuple(given["presets"])
    try:
        claim = Claim(**given)
    except TypeError as error:
        raise BadFile(f"{where} is not well formed: {error}.") from None
    if claim.kind not in KINDS or claim.form not in FORMS or claim.aggregate not in ("mean", "geomean"):
        raise BadFile(f"{where}: kind is one of {KINDS}, form one of {tuple(FORMS)}, aggregate mean or geomean.")
    if (claim.form != "value" and not claim.baseline) or (claim.aggregate == "geomean" and claim.form == "value"):
        raise BadFile(f"{where}: a {claim.form} needs a baseline system.")
    return claim
