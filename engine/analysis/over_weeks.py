"""Metrics over weeks of faults, from one simulated campaign for each point.

They are shown next to the point's estimate, and each follows its own point's knobs.
A point trains for `faults.campaign_days` under `policy.protection` and the faults of its knobs, drawn by `faults.seed`. Points
with the same fault knobs have faults at the same times, so that they can be compared.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from math import nan
from typing import NamedTuple

from ..campaign import fault_stream
from ..campaign.simulate import Campaign, checkpoint_period, run_campaign
from ..errors import EmberpoolError
from ..results.result import Result
from ..scenario.scenario import KNOBS, Scenario, values
from ..units import DAY, HOUR


class CampaignMetric(NamedTuple):
    """A metric of a campaign: its better direction, and the function that reads its number.

    highest: whether higher is better.
    """

    highest: bool
    measure: Callable[[Campaign], float]


CAMPAIGN_METRICS: Mapping[str, CampaignMetric] = {
    "Effective training time ratio over weeks": CampaignMetric(True, lambda run: run.ettr),
    "Goodput over weeks [samples/s]": CampaignMetric(True, lambda run: run.goodput),
    "Lost work over weeks [h]": CampaignMetric(False, lambda run: (run.seconds["lost"] + run.seconds["replay"]) / HOUR),
}


def campaign_metric(scenario: Scenario, name: str) -> float | None:
    """Return the number of the named metric, from the scenario's campaign.

    Return None where no fault can strike, or the protection is impossible.
    """
    campaign_run = _campaign(scenario)
    return None if campaign_run is None else CAMPAIGN_METRICS[name].measure(campaign_run)


def campaign_metrics(scenarios: Iterable[Scenario]) -> tuple[tuple[float, ...], ...]:
    """Return all campaign metrics of each scenario, NaN where there is none.

    The order is that of CAMPAIGN_METRICS.
    """
    return tuple(
        tuple(nan if (campaign_number := campaign_metric(s, name)) is None else campaign_number for name in CAMPAIGN_METRICS)
        for s in scenarios
    )


@lru_cache(maxsize=16)
def _campaign(scenario: Scenario) -> Campaign | None:
    hazards, period = fault_stream.hazards_of(scenario), checkpoint_period(scenario)
    hours = scenario.faults.campaign_days * DAY / HOUR
    try:
        return (
            run_campaign(scenario, scenario.policy.protection, hazards, hours, scenario.faults.seed, period) if hazards else None
        )
    except EmberpoolError:
        return None


def result_number(result: Result, name: str) -> float | None:
    """Return the number of a result, a numeric knob or a campaign metric, by name.

    Return None where the point has no such number.
    """
    if name in KNOBS:
        setting = values(result.scenario)[name]
        return None if setting is None or isinstance(setting, tuple) else float(setting)
    if name in CAMPAIGN_METRICS:
        return campaign_metric(result.scenario, name) if result.ran else None
    return result.results.get(name)
