"""A sizing question: a system, a baseline, and a target for the step time."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf, isfinite, nan
from typing import Any

from ...core.figures import exact, figure
from ...errors import BadInput, CannotRun
from ...estimates import estimates, step_seconds
from ...insight.decomposition import BOUND, NEAR_DATA, RELAXED
from ...insight.relaxation import LINK
from ...insight.running_costs import price_unit
from ...registry import load_variant
from ...results.result import Result
from ...scenario.scenario import Scenario, with_values
from ...schedule.machine import sized_scenario
from ...systems.sizing import AUTOMATIC_SIZES
from ...units import MS

# Searched knobs, and the system's own policies: a baseline resets them, or it would move with the scenario's knobs.
POLICIES = ("policy.log", BOUND, RELAXED, "policy.cache_policy")
BASELINE_RESET = {
    **dict.fromkeys((*AUTOMATIC_SIZES, LINK, *POLICIES)),
    NEAR_DATA: True,
    "policy.kernel": "auto",
    "policy.stashing": "off",
}
MIN_WITHIN, MAX_WITHIN = -0.99, 1e3  # of `tolerance`
NO_PRICE = "no published price"
ROUNDING = 1e-9  # so that a machine is within 0 % of itself


@dataclass(frozen=True)
class Target:
    """A target step: at most `tolerance` longer than the baseline's, or `milliseconds`.

    `within` is a share, 0.1 for 10 %.
    """

    tolerance: float = 0.1
    milliseconds: float | None = None

    def __post_init__(self) -> None:
        """Refuse a target that no step can meet; raises BadInput."""
        if not (isfinite(self.tolerance) and MIN_WITHIN <= self.tolerance <= MAX_WITHIN):
            raise BadInput(
                f"A target of {figure(100 * self.tolerance)} % above the baseline's step is not possible; choose from -99 to "
                "100,000 %."
            )
        if self.milliseconds is not None and not (isfinite(self.milliseconds) and self.milliseconds > 0):
            raise BadInput(f"A target step of {figure(self.milliseconds)} ms is not possible; choose more than 0 ms.")

    def target_text(self, system: str) -> str:
        """Return the target in words, to follow those for a machine: within 10 % of DRAM."""
        title = load_variant("systems", system).title
        if self.milliseconds is not None:
            return f"at {exact(self.milliseconds)} ms a batch or less"
        if self.tolerance < 0:
            return f"at {exact(100 * (1 + self.tolerance))} % of {title}'s step or less"
        return f"within {exact(100 * self.tolerance)} % of {title}" if self.tolerance else f"as fast as {title}"


@dataclass(frozen=True)
class Candidate:
    """An estimated machine: the knobs that differ from the question's scenario, and its result."""

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
        """Price of the machine in USD.

        It is infinite without a price, so that the machine is never the cheapest.
        """
        price = self.result.results.get("Capital cost [USD]")
        return inf if price is None else price

    @property
    def price_text(self) -> str:
        """The price with its year in words, or NO_PRICE."""
        price_text = figure(self.dollars, price_unit(self.result.scenario))
        return price_text if isfinite(self.dollars) else NO_PRICE


@dataclass(frozen=True)
class TargetQuestion:
    """A settled scenario, its own result, the baseline's result, and the target.

    Its numbers of nodes and its memory sizes are settled.
    """

    scenario: Scenario
    own_result: Result
    baseline: Result
    target: Target

    @cached_property
    def reference(self) -> float:
        """Seconds to which steps are compared: the target's milliseconds, else the baseline's step."""
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
        return (1 + self.target.tolerance + ROUNDING) * reference


@lru_cache(maxsize=256)
def baseline_of(scenario: Scenario, system: str) -> Scenario:
    """Return the same scenario under another system, with that system's own policies.

    Its memory is made large enough for its tables.
    All sizes and the link are automatic, and near-data compute is on or off, whichever is faster.
    """
    system_scenario = with_values(scenario, {"system": system, **BASELINE_RESET})
    if "near-data" not in load_variant("systems", system).devices:
        return system_scenario
    without_near_data = with_values(system_scenario, {NEAR_DATA: False})
    seconds_with, seconds_without = step_seconds([system_scenario, without_near_data])
    return without_near_data if seconds_without < seconds_with or seconds_with != seconds_with else system_scenario


def make_question(scenario: Scenario, baseline: Scenario, target: Target) -> TargetQuestion:
    """Return the question; raises CannotRun where the baseline cannot run, but is needed."""
    settled = sized_scenario(scenario)
    own_result, base = estimates([settled, baseline])
    if not base.ran and target.milliseconds is None:
        raise CannotRun(f"The baseline, system {baseline.system}, cannot run: {base.outcome}")
    return TargetQuestion(settled, own_result, base, target)
