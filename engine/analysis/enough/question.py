"""The question: a system, the baseline that it is held against, and a target for its step time."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf, isfinite, nan
from typing import Any

from ...core.figures import exact, figure
from ...errors import BadInput, CannotRun
from ...estimates import estimates, step_seconds
from ...insight.decomposition import BOUND, NEAR, RELAXED
from ...insight.relaxation import LINK
from ...insight.running_costs import dollars
from ...registry import load
from ...results.result import Result
from ...scenario.scenario import Scenario, with_values
from ...schedule.machine import sized_scenario
from ...systems.sizing import AUTOMATIC
from ...units import MS

# What is looked for, and the system's own ways: a baseline keeps none of the scenario's, or it would move with every knob.
POLICIES = ("policy.log", BOUND, RELAXED, "policy.cache_policy")
OWN = {**dict.fromkeys((*AUTOMATIC, LINK, *POLICIES)), NEAR: True, "policy.kernel": "auto", "policy.stashing": "off"}
LEAST, MOST = -0.99, 1e3  # of `within`
NO_PRICE = "no published price"
ROUNDING = 1e-9  # so that a machine is within 0 % of itself


@dataclass(frozen=True)
class Target:
    """A step at most `within` longer than the baseline's, 0.1 for 10 %; or, where it is given, of `milliseconds`."""

    within: float = 0.1
    milliseconds: float | None = None

    def __post_init__(self) -> None:
        """Refuse what no step can meet; raises BadInput."""
        if not (isfinite(self.within) and LEAST <= self.within <= MOST):
            raise BadInput(
                f"A step within {figure(100 * self.within)} % of the baseline's is no target; choose from -99 to 100,000 %."
            )
        if self.milliseconds is not None and not (isfinite(self.milliseconds) and self.milliseconds > 0):
            raise BadInput(f"A step of {figure(self.milliseconds)} ms is no target; choose more than 0 ms.")

    def against(self, system: str) -> str:
        """Say the target in words that follow those for a machine: within 10 % of DRAM."""
        title = load("systems", system).title
        if self.milliseconds is not None:
            return f"at {exact(self.milliseconds)} ms a batch or less"
        if self.within < 0:
            return f"at {exact(100 * (1 + self.within))} % of {title}'s step or less"
        return f"within {exact(100 * self.within)} % of {title}" if self.within else f"as fast as {title}"


@dataclass(frozen=True)
class Candidate:
    """One machine that was estimated: the knobs that differ from the question's scenario, with its result."""

    changes: Mapping[str, Any]
    modules: int | None
    gbps: float | None
    result: Result

    @property
    def seconds(self) -> float:
        """Seconds of a batch, NaN where it cannot run."""
        return (self.result.results["Step time [ms]"] or nan) * MS if self.result.ran else nan

    @property
    def joules(self) -> float:
        """Joules of a batch."""
        return self.result.results["Energy per batch [J]"] or nan

    @property
    def dollars(self) -> float:
        """Price of the machine in USD, infinite where it has none, so that it is never the cheapest."""
        found = self.result.results.get("Capital cost [USD]")
        return inf if found is None else found

    @property
    def spent(self) -> str:
        """The price with its year in words, or that there is none."""
        known = figure(self.dollars, dollars(self.result.scenario))
        return known if isfinite(self.dollars) else NO_PRICE


@dataclass(frozen=True)
class Question:
    """A scenario with its nodes and memory settled, its own result and the baseline's, and the seconds to be met."""

    scenario: Scenario
    own: Result
    baseline: Result
    target: Target

    @cached_property
    def reference(self) -> float:
        """Seconds of which ratios are told: the baseline's step, or the one asked for."""
        if self.target.milliseconds is not None:
            return self.target.milliseconds * MS
        return (self.baseline.results["Step time [ms]"] or nan) * MS

    @property
    def goal(self) -> float:
        """The longest step that meets the target, in seconds."""
        return self.goal_of(self.reference)

    def goal_of(self, reference: float) -> float:
        """Return the longest step that meets the target where the baseline's takes `reference` seconds."""
        if self.target.milliseconds is not None:
            return self.target.milliseconds * MS
        return (1 + self.target.within + ROUNDING) * reference


@lru_cache(maxsize=256)
def baseline_of(scenario: Scenario, system: str) -> Scenario:
    """Return the same scenario under another system, by that system's own policies, with memory that holds its tables.

    All sizes and the link are automatic, and near-data compute is on or off, whichever is faster.
    """
    own = with_values(scenario, {"system": system, **OWN})
    if "near-data" not in load("systems", system).devices:
        return own
    without = with_values(own, {NEAR: False})
    on, off = step_seconds([own, without])
    return without if off < on or on != on else own


def ask(scenario: Scenario, baseline: Scenario, target: Target) -> Question:
    """Return the question; raises CannotRun where the baseline cannot run, but is needed."""
    settled = sized_scenario(scenario)
    own, base = estimates([settled, baseline])
    if not base.ran and target.milliseconds is None:
        raise CannotRun(f"The baseline, system {baseline.system}, cannot run: {base.outcome}")
    return Question(settled, own, base, target)
