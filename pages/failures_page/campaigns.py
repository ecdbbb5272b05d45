"""Campaigns of a scenario, cached.

Campaigns are those of all protections under the same faults, and of one protection over checkpoint periods.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from engine.campaign.compare import PeriodCurve, campaign_means, period_curve
from engine.campaign.fault_stream import hazards_of
from engine.campaign.simulate import Campaign, campaign_terms, checkpoint_period, run_campaign
from engine.core.arithmetic import total
from engine.core.figures import count, exact
from engine.errors import EmberpoolError
from engine.faults.fault import Hazard
from engine.registry import load_variant, variant_names
from engine.scenario.scenario import KNOBS, Scenario, with_values
from engine.systems.system import log_policy
from engine.units import DAY, HOUR

SEEDS = 8
MOST_FAULTS = 2000
MOST_STRIKES = 1000  # of one protection over all seeds, some 40 us each; with many faults fewer seeds suffice
CURVE_PROTECTION = "periodic-full"
POWER_LOSS = "faults.power_loss_mtbf_hours"
PERIODS = 25


@dataclass(frozen=True)
class ProtectionCampaigns:
    """One protection's campaigns, one for each seed.

    name: the protection's name.
    title: the name for readers.
    refusal: the sentence why the scenario cannot have this protection, "" if it can.
    runs: the campaigns, empty if refused.
    means: mean results by column title.
    """

    name: str
    title: str
    refusal: str
    runs: tuple[Campaign, ...]
    means: Mapping[str, Any]

    @property
    def share(self) -> float:
        """Mean share of useful time, -1 if refused."""
        return float(self.means["Effective training time ratio"]) if self.runs else -1.0


@dataclass(frozen=True)
class Campaigns:
    """The campaigns of all protections, the best first.

    mtbf: seconds between faults of the whole machine, None without random faults.
    """

    protections: tuple[ProtectionCampaigns, ...]
    hazards: Mapping[str, Hazard]
    mtbf: float | None

    def campaigns_of(self, name: str) -> ProtectionCampaigns:
        """Return one protection's campaigns."""
        return next(protection for protection in self.protections if protection.name == name)


def own_log_name(scenario: Scenario) -> str:
    """Return the protection that the system's own log is, as in estimates and full runs.

    It is "none" for a system without a log.
    """
    policy = log_policy(scenario, load_variant("systems", scenario.system))
    if policy.log == "undo":
        return "relaxed" if policy.mlp_staleness_bound else "undo"
    return policy.log or "none"


def with_example_fault(scenario: Scenario) -> Scenario:
    """Return the scenario, with an example fault if no fault can strike.

    Power is then lost once a day. The example has the system's own log as protection if the user chose none.
    """
    if hazards_of(scenario):
        return scenario
    hours = DAY / HOUR
    seldom = DAY / (hazards_of(with_values(scenario, {POWER_LOSS: hours}))["power-loss"].mtbf or DAY)  # once a day in all
    chosen_protection = scenario.policy.protection
    protection = own_log_name(scenario) if chosen_protection == KNOBS["policy.protection"].default else chosen_protection
    return with_values(scenario, {POWER_LOSS: hours * seldom, "policy.protection": protection})


def expected_faults(hazards: Mapping[str, Hazard], seconds: float) -> float:
    """Return the expected number of faults in `seconds` seconds."""
    return total((seconds / hazard.mtbf if hazard.mtbf else 0.0) + len(hazard.listed_seconds) for hazard in hazards.values())


def too_many_faults(scenario: Scenario) -> str:
    """Return the refusal of a campaign with too many faults for a page, "" otherwise."""
    expected = expected_faults(hazards_of(scenario), scenario.faults.campaign_days * DAY)
    if expected <= MOST_FAULTS:
        return ""
    return (
        f"{count(expected, 'fault')} are expected in {exact(scenario.faults.campaign_days, 'days')}, more than the "
        f"{count(MOST_FAULTS)} that the page simulates; shorten "
        "faults.campaign_days, write fewer failures, or lower faults.machines."
    )


@lru_cache(maxsize=64)
def simulate_campaigns(scenario: Scenario) -> Campaigns:
    """Return the campaigns of every protection under the same faults, one for each seed."""
    hazards = hazards_of(scenario)
    count = seed_count(hazards, scenario.faults.campaign_days * DAY)
    protections = [_protected(scenario, name, hazards, count) for name in variant_names("protections")]
    rate = total(1 / hazard.mtbf for hazard in hazards.values() if hazard.mtbf)
    return Campaigns(tuple(sorted(protections, key=lambda protection: -protection.share)), hazards, 1 / rate if rate else None)


def seed_count(hazards: Mapping[str, Hazard], seconds: float) -> int:
    """Return the number of campaigns that the page simulates for each protection."""
    return max(1, min(SEEDS, int(MOST_STRIKES / max(expected_faults(hazards, seconds), 1.0))))


def _protected(scenario: Scenario, name: str, hazards: Mapping[str, Hazard], count: int) -> ProtectionCampaigns:
    title, first_seed = load_variant("protections", name).title, scenario.faults.seed
    try:
        runs = tuple(
            run_campaign(scenario, name, hazards, scenario.faults.campaign_days * DAY / HOUR, seed, checkpoint_period(scenario))
            for seed in range(first_seed, first_seed + count)
        )
    except EmberpoolError as error:
        return ProtectionCampaigns(name, title, str(error), (), {})
    return ProtectionCampaigns(name, title, "", runs, campaign_means(runs))


def curve_protection(scenario: Scenario) -> str:
    """Return the protection whose periods are drawn.

    This is the chosen protection, or full checkpoints if that has no period.
    """
    protection = scenario.policy.protection
    return protection if load_variant("protections", protection).periodic else CURVE_PROTECTION


@lru_cache(maxsize=64)
def curve(scenario: Scenario, name: str) -> PeriodCurve | str:
    """Return useful time over checkpoint periods around the best one.

    If the curve is refused, the sentence of the refusal is returned.
    """
    hazards = hazards_of(scenario)
    try:
        plan = campaign_terms(scenario, name, hazards)[0].plan
        middle = load_variant("protections", name).interval(plan) * plan.step
        periods = [float(period) for period in middle * np.geomspace(1 / 60, 60, PERIODS)]
        return period_curve(scenario, name, hazards, periods, scenario.faults.seed)
    except EmberpoolError as error:
        return str(error)
