"""One campaign: a scenario's machine trains for days under a protection and faults."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import exp
from types import MappingProxyType

from ..core.arithmetic import total
from ..core.figures import exact, figure
from ..errors import BadKnob, nearest_hint
from ..faults.fault import Hazard
from ..registry import load_variant, variant_names
from ..scenario.fault_knobs import Faults
from ..scenario.scenario import Scenario
from ..units import DAY, HOUR, MINUTE
from . import batch_costs, fault_stream
from .accounts import exact_sums
from .fold import CampaignRecovery, CampaignTerms, FaultArrival, run_faults
from .formulas import best_period
from .protection import Protection, ProtectionPlan, Site
from .site import site

MOST_HOURS = 1e6
NO_FAULTS: Mapping[str, Hazard] = MappingProxyType({})


@dataclass(frozen=True)
class Campaign:
    """The figures of a finished campaign.

    plan: the protection's plan.
    site: the machine.
    elapsed: seconds of the campaign.
    batches: batches that count at the end.
    seconds, joules: sums by bucket (see `accounts.BUCKETS`).
    protection_bytes: bytes that the protection wrote, by medium.
    training_bytes: bytes that training itself stored in persistent memory, also in batches that were lost.
    recoveries: the recoveries in order.
    faults: the number of faults.
    period_note: a sentence on the limit at which the plan's period lies, "" within the limits.
    """

    plan: ProtectionPlan
    site: Site
    elapsed: float
    batches: float
    seconds: Mapping[str, float]
    joules: Mapping[str, float]
    protection_bytes: Mapping[str, float]
    training_bytes: float
    recoveries: tuple[CampaignRecovery, ...]
    faults: int
    period_note: str = ""

    @property
    def ettr(self) -> float:
        """Share of the time spent on batches that count, without logs and checkpoints.

        ETTR stands for effective training time ratio.
        """
        return self.seconds["useful"] / self.elapsed

    @property
    def goodput(self) -> float:
        """Samples per second that count."""
        return self.batches * self.site.scenario.data.batch_size / self.elapsed

    @property
    def checkpoint_overhead(self) -> float:
        """Seconds of logs and checkpoints divided by seconds of training."""
        trained = total(self.seconds[name] for name in ("useful", "lost", "replay"))
        return self.seconds["checkpoint"] / trained if trained else 0.0

    @property
    def unrecoverable(self) -> int:
        """The number of recoveries that restored no state, so that training started again."""
        return sum(recovery.fidelity == "lost" for recovery in self.recoveries)

    @property
    def energy(self) -> float:
        """The joules of all buckets."""
        return total(self.joules.values())


def run_campaign(
    scenario: Scenario,
    protection: str,
    hazards: Mapping[str, Hazard],
    hours: float,
    seed: int,
    period: float | None = None,
) -> Campaign:
    """Simulate `hours` of training; raises BadKnob and CannotRun.

    period: seconds between two copies; None for the best period.
    """
    if not 0 < hours <= MOST_HOURS:
        raise BadKnob(f"A campaign of {figure(hours, 'h')} is not possible; give more than 0 and at most {exact(MOST_HOURS)} h.")
    terms, campaign_site = campaign_terms(scenario, protection, hazards, period, hours * HOUR)
    arrivals = fault_stream.fault_arrivals(scenario, hazards, seed, hours * HOUR)
    campaign = run_campaign_under(terms, campaign_site, arrivals, hours * HOUR)
    return replace(campaign, period_note=best_period.period_note(terms, campaign_site, hazards, hours * HOUR))


def run_campaign_under(terms: CampaignTerms, campaign_site: Site, arrivals: list[FaultArrival], end: float) -> Campaign:
    """Simulate `end` seconds of training under given faults."""
    state, batches = run_faults(terms, arrivals, end)
    ledger = state.ledger
    return Campaign(
        plan=terms.plan,
        site=campaign_site,
        elapsed=state.seconds,
        batches=batches,
        seconds=exact_sums(ledger.seconds),
        joules=exact_sums(ledger.joules),
        protection_bytes=exact_sums(ledger.protection_bytes),
        training_bytes=exact_sums(ledger.training_bytes).get("pmem", 0.0),
        recoveries=tuple(state.recoveries),
        faults=len(arrivals),
    )


def checkpoint_period(scenario: Scenario) -> float | None:
    """Return the seconds between two copies that the knobs set for every protection.

    Return None for the best period of each.
    """
    minutes = scenario.policy.checkpoint_minutes
    return None if minutes is None else minutes * MINUTE


def campaign_terms(
    scenario: Scenario,
    protection: str,
    hazards: Mapping[str, Hazard] = NO_FAULTS,
    period: float | None = None,
    seconds: float | None = None,
) -> tuple[CampaignTerms, Site]:
    """Return the terms and the site of a campaign; raises BadKnob and CannotRun.

    period: seconds between two copies; None for the best period, or for the customary one where no random fault needs a copy.
    seconds: the length of the campaign; None for `faults.campaign_days`.
    """
    if protection not in variant_names("protections"):
        raise BadKnob(
            f"protection={protection!r} is not known; {nearest_hint(protection, variant_names('protections'), 'protections')}"
        )
    if period is not None and not 0 < period < MOST_HOURS * HOUR:
        raise BadKnob(
            f"A checkpoint period of {figure(period, 's')} is not possible; give more than 0 s, or nothing for the best one."
        )
    fault_stream.check_hazards(hazards)
    return _campaign_terms(
        scenario, protection, tuple(sorted(hazards.items())), period, seconds or scenario.faults.campaign_days * DAY
    )


@lru_cache(maxsize=256)
def _campaign_terms(
    scenario: Scenario, protection: str, named_hazards: tuple[tuple[str, Hazard], ...], period: float | None, seconds: float
) -> tuple[CampaignTerms, Site]:
    definition: Protection = load_variant("protections", protection)
    logged = batch_costs.logged_costs(scenario, definition.log(scenario)) if definition.log else None
    hazards = dict(named_hazards)
    mtbf = best_period.copy_mtbf(definition, hazards)
    campaign_site = site(scenario, logged, mtbf, period)

    def terms_at(copy_period: float) -> CampaignTerms:
        return _terms(definition, replace(campaign_site, period=copy_period), scenario.faults)

    if definition.periodic and period is None and mtbf:
        best = best_period.best_period(terms_at, campaign_site, definition, hazards, seconds)
        campaign_site = replace(campaign_site, period=best)
    return _terms(definition, campaign_site, scenario.faults), campaign_site


def _terms(definition: Protection, campaign_site: Site, faults: Faults) -> CampaignTerms:
    """Return the terms of a campaign with a protection at a site."""
    plan, bare = definition.plan(campaign_site), campaign_site.unlogged_pace
    late_seconds = faults.late_detection_share * faults.late_detection_seconds
    return CampaignTerms(
        protection=definition,
        plan=plan,
        useful_seconds=min(bare.step, plan.step),
        useful_joules=min(bare.joules, plan.joules),
        watts=campaign_site.watts,
        detect=faults.detect_seconds * exp(faults.detect_sigma**2 / 2) + late_seconds,
        restart=faults.repair_median_seconds * exp(faults.repair_sigma**2 / 2) + faults.restart_seconds,
        initial_seconds=max(plan.restore, plan.backup_drain, campaign_site.state / campaign_site.home.write_rate),
        stored_bytes={"pmem": bare.pmem_bytes},
    )
