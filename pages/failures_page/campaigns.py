"""Campaigns of the scenario in the bar, kept while scenarios repeat: all protections under the same faults, one over periods."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from engine.campaign.compare import PeriodCurve, period_curve, summary
from engine.campaign.fault_stream import hazards_of
from engine.campaign.simulate import Campaign, campaign
from engine.core.figures import count, exact
from engine.errors import EmberpoolError
from engine.faults.fault import Hazard
from engine.registry import load, names
from engine.scenario.scenario import KNOBS, Scenario, with_values
from engine.systems.system import log_policy
from engine.units import DAY, HOUR, MINUTE

SEEDS = 8
MOST_FAULTS = 2000
MOST_STRIKES = 1000  # of one protection over all seeds, at some 40 us: of many faults fewer seeds say as much
CURVE = "periodic-full"
POWER_LOSS = "faults.power_loss_mtbf_hours"
PERIODS = 25


@dataclass(frozen=True)
class Protected:
    """One protection's campaigns, one a seed, and their means; or the sentence that says why it cannot be had here."""

    name: str
    title: str
    refused: str
    runs: tuple[Campaign, ...]
    means: Mapping[str, Any]

    @property
    def share(self) -> float:
        """Mean share of the time that was useful."""
        return float(self.means["Effective training time ratio"]) if self.runs else -1.0


@dataclass(frozen=True)
class Campaigns:
    """All protections, the best first, and the seconds between faults of the whole machine, None without random ones."""

    protected: tuple[Protected, ...]
    hazards: Mapping[str, Hazard]
    mtbf: float | None

    def of(self, name: str) -> Protected:
        """Return one protection's campaigns."""
        return next(one for one in self.protected if one.name == name)


def own(scenario: Scenario) -> str:
    """Return the protection that is the system's own log, under which estimates and full runs train; "none" without one."""
    policy = log_policy(scenario, load("systems", scenario.system))
    if policy.log == "undo":
        return "relaxed" if policy.mlp_staleness_bound else "undo"
    return policy.log or "none"


def supposed(scenario: Scenario) -> Scenario:
    """Return what is shown: where no fault can strike, power is lost daily, and who chose no protection has the own log."""
    if hazards_of(scenario):
        return scenario
    hours = DAY / HOUR
    seldom = DAY / (hazards_of(with_values(scenario, {POWER_LOSS: hours}))["power-loss"].mtbf or DAY)  # once a day in all
    kept = scenario.policy.protection
    protection = own(scenario) if kept == KNOBS["policy.protection"].default else kept
    return with_values(scenario, {POWER_LOSS: hours * seldom, "policy.protection": protection})


def faults_expected(hazards: Mapping[str, Hazard], seconds: float) -> float:
    """Return how many faults are to be expected in so many seconds."""
    return sum((seconds / hazard.mtbf if hazard.mtbf else 0.0) + len(hazard.at) for hazard in hazards.values())


def too_many(scenario: Scenario) -> str:
    """Return the sentence for a campaign of more faults than a page can wait for, or ""."""
    expected = faults_expected(hazards_of(scenario), scenario.faults.campaign_days * DAY)
    if expected <= MOST_FAULTS:
        return ""
    return (
        f"{count(expected, 'fault')} are to be expected in {exact(scenario.faults.campaign_days, 'days')}, more than the "
        f"{count(MOST_FAULTS)} that the page simulates; shorten "
        "faults.campaign_days, write fewer failures, or lower faults.machines."
    )


@lru_cache(maxsize=64)
def of(scenario: Scenario) -> Campaigns:
    """Return the campaigns of a scenario, the same faults for every protection, one a seed."""
    hazards = hazards_of(scenario)
    count = seeds(hazards, scenario.faults.campaign_days * DAY)
    found = [_protected(scenario, name, hazards, count) for name in names("protections")]
    rate = sum(1 / hazard.mtbf for hazard in hazards.values() if hazard.mtbf)
    return Campaigns(tuple(sorted(found, key=lambda one: -one.share)), hazards, 1 / rate if rate else None)


def seeds(hazards: Mapping[str, Hazard], seconds: float) -> int:
    """Return how many campaigns of each protection the page can wait for."""
    return max(1, min(SEEDS, int(MOST_STRIKES / max(faults_expected(hazards, seconds), 1.0))))


def _protected(scenario: Scenario, name: str, hazards: Mapping[str, Hazard], count: int) -> Protected:
    title, first = load("protections", name).title, scenario.faults.seed
    try:
        runs = tuple(
            campaign(scenario, name, hazards, scenario.faults.campaign_days * DAY / HOUR, seed, _period(scenario, name))
            for seed in range(first, first + count)
        )
    except EmberpoolError as error:
        return Protected(name, title, str(error), (), {})
    return Protected(name, title, "", runs, summary(runs))


def _period(scenario: Scenario, name: str) -> float | None:
    """Return the checkpoint period asked for; it is for the chosen protection alone, the others keep their best."""
    asked = scenario.policy.checkpoint_minutes
    return asked * MINUTE if asked and name == scenario.policy.protection else None


def curved(scenario: Scenario) -> str:
    """Return the protection whose periods are drawn: the chosen one, or full checkpoints where it has none."""
    chosen = scenario.policy.protection
    return chosen if load("protections", chosen).periodic else CURVE


@lru_cache(maxsize=64)
def curve(scenario: Scenario, name: str) -> PeriodCurve | str:
    """Return useful time over the checkpoint period, around the best one; or the sentence that says why not."""
    hazards = hazards_of(scenario)
    try:
        middle = _middle(period_curve(scenario, name, hazards, [10 * MINUTE]))
        periods = [float(period) for period in middle * np.geomspace(1 / 60, 60, PERIODS)]
        return period_curve(scenario, name, hazards, periods, scenario.faults.seed)
    except EmberpoolError as error:
        return str(error)


def _middle(first: PeriodCurve) -> float:
    return first.daly or 10 * MINUTE
