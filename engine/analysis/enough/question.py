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
BENCH_RESET = {**dict.fromkeys(POLICIES), NEAR_DATA: True, "policy.kernel": "auto", "policy.stashing": "off"}
BASELINE_RESET = {**dict.fromkeys((*AUTOMATIC_SIZES, LINK)), **BENCH_RESET}
MIN_WITHIN, MAX_WITHIN = -0.99, 1e3  # of `tolerance`
NO_PRICE = "no published price"
ROUNDING = 1e-9  # so that a machine is within 0 % of itself


@dataclass(frozen=True)
class Target:
    """A target for the step time.

    tolerance: the step may be longer than the baseline's step by this share; 0.1 means 10 %.
    milliseconds: the largest step [ms], used instead of the tolerance if given.
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
        """Return the target as words that follow a machine's, such as "within 10 % of DRAM"."""
        title = load_variant("systems", system).title
        if self.milliseconds is not None:
            return f"at {exact(self.milliseconds)} ms a batch or less"
        if self.tolerance < 0:
            return f"at {exact(100 * (1 + self.tolerance))} % of {title}'s step or less"
        return f"within {exact(100 * self.tolerance)} % of {title}" if self.tolerance else f"as fast as {title}"


@dataclass(frozen=True)
class Candidate:
    """An estimated machine.

    changes: the knobs that differ from the question's scenario.
    modules, gbps: PMEM modules on a node, and link [GB/s]; None where unchanged.
    result: the estimate.
    """

    changes: Mapping[str, Any]
    modules: int | None
    gbps: float | None
    result: Result

    @property
    def seconds(self) -> float:
        """Seconds of a batch, NaN where the machine cannot run."""
        return (self.result.results["Step time [ms]"] or nan) * MS if self.result.ran else nan

    @property
    def joules(self) -> float:
        """Joules of a batch."""
        return self.result.results["Energy per batch [J]"] or nan

    @property
    def dollars(self) -> float:
        """Price of the machine in USD.

        It is infinite for a machine without a price, which therefore is never the cheapest.
        """
        price = self.result.results.get("Capital cost [USD]")
        return inf if price is None else price

    @property
    def price_text(self) -> str:
        """The price and its year as text, or NO_PRICE."""
        price_text = figure(self.dollars, price_unit(self.result.scenario))
        return price_text if isfinite(self.dollars) else NO_PRICE


@dataclass(frozen=True)
class TargetQuestion:
    """A sizing question.

    scenario: the scenario, with settled numbers of nodes and memory sizes.
    own_result: the scenario's estimate.
    baseline: the baseline's estimate.
    target: the target for the step time.
    """

    scenario: Scenario
    own_result: Result
    baseline: Result
    target: Target

    @cached_property
    def reference(self) -> float:
        """Seconds with which steps are compared: the target's milliseconds, or the baseline's step."""
        if self.target.milliseconds is not None:
            return self.target.milliseconds * MS
        return (self.baseline.results["Step time [ms]"] or nan) * MS

    @property
    def goal(self) -> float:
        """The longest step that meets the target, in seconds."""
        return self.goal_of(self.reference)

    def goal_of(self, reference: float) -> float:
        """Return the longest step that meets the target, in seconds.

        reference: the seconds of the baseline's step.
        """
        if self.target.milliseconds is not None:
            return self.target.milliseconds * MS
        return (1 + self.target.tolerance + ROUNDING) * reference


@lru_cache(maxsize=256)
def baseline_of(scenario: Scenario, system: str) -> Scenario:
    """Return the same scenario under another system, with that system's own policies.

    All sizes and the link are automatic, so its memory is large enough for its tables. They stay where one machine has the
    devices of all systems (`machine.all_powered`). Near-data compute is on or off, whichever is faster.
    """
    reset = BENCH_RESET if scenario.machine.all_powered else BASELINE_RESET
    system_scenario = with_values(scenario, {"system": system, **reset})
    if "near-data" not in load_variant("systems", system).devices:
        return system_scenario
    without_near_data = with_values(system_scenario, {NEAR_DATA: False})
    seconds_with, seconds_without = step_seconds([system_scenario, without_near_data])
    return without_near_data if seconds_without < seconds_with or seconds_with != seconds_with else system_scenario


def make_question(scenario: Scenario, baseline: Scenario, target: Target) -> TargetQuestion:
    """Return the sizing question of a scenario, a baseline and a target.

    Raises CannotRun where the target needs the baseline's step, but the baseline cannot run.
    """
    settled = sized_scenario(scenario)
    own_result, base = estimates([settled, baseline])
    if not base.ran and target.milliseconds is None:
        raise CannotRun(f"The baseline, system {baseline.system}, cannot run: {base.outcome}")
    return TargetQuestion(settled, own_result, base, target)
