"""Metrics over weeks of faults, as numbers beside a point's estimate: one campaign under its own knobs.

Each point trains for `faults.campaign_days` under `policy.protection` and the faults that its knobs say, drawn by
`faults.seed`: points with the same faults are struck at the same instants, so that they can be compared.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from math import nan
from typing import NamedTuple

from ..campaign import fault_stream
from ..campaign.simulate import Campaign, campaign
from ..errors import EmberpoolError
from ..results.result import Result
from ..scenario.scenario import KNOBS, Scenario, values
from ..units import DAY, HOUR, MINUTE


class Week(NamedTuple):
    """A number of a campaign: whether more is better, and how it is read."""

    highest: bool
    of: Callable[[Campaign], float]


WEEKS: Mapping[str, Week] = {
    "Effective training time ratio over weeks": Week(True, lambda done: done.ettr),
    "Goodput over weeks [samples/s]": Week(True, lambda done: done.goodput),
    "Lost work over weeks [h]": Week(False, lambda done: (done.seconds["lost"] + done.seconds["replay"]) / HOUR),
}


def over_weeks(scenario: Scenario, name: str) -> float | None:
    """Return a number of the scenario's campaign; None where no fault can strike, or the protection cannot be had."""
    done = _campaign(scenario)
    return None if done is None else WEEKS[name].of(done)


def all_over_weeks(scenarios: Iterable[Scenario]) -> tuple[tuple[float, ...], ...]:
    """Return all numbers of each scenario's campaign, NaN for None."""
    return tuple(tuple(nan if (one := over_weeks(s, name)) is None else one for name in WEEKS) for s in scenarios)


@lru_cache(maxsize=16)
def _campaign(scenario: Scenario) -> Campaign | None:
    hazards, minutes = fault_stream.hazards_of(scenario), scenario.policy.checkpoint_minutes
    period = None if minutes is None else minutes * MINUTE
    hours = scenario.faults.campaign_days * DAY / HOUR
    try:
        return campaign(scenario, scenario.policy.protection, hazards, hours, scenario.faults.seed, period) if hazards else None
    except EmberpoolError:
        return None


def number(result: Result, name: str) -> float | None:
    """Return one of a result's numbers, of its scenario's knobs by path, or of its campaign; None where it has none."""
    if name in KNOBS:
        found = values(result.scenario)[name]
        return None if found is None or isinstance(found, tuple) else float(found)
    if name in WEEKS:
        return over_weeks(result.scenario, name) if result.ran else None
    return result.results.get(name)
