"""The expectation of a campaign in closed form: useful time, worst loss, protection costs.

A class of faults belongs to one of four groups, by the state that the protection restores. With L the group's rate of faults a
second and D the seconds to notice, restart and restore, the share of progress that each group leaves is:

    back to the newest checkpoint   `kept_share` over the checkpoints' cycle, `effective` in a long campaign
    partial, nothing trained again  exp(-L D): only the time of the outage is lost
    back to the rarer copy          `kept_share` over the rarer copy's cycle
    no state restored               `restarted_share`, over the campaign's own length

Slow stretches leave `slowed_share`. Several groups multiply their shares, which is first order: it is neglected that a fault of
one group may strike in another group's outage, or interrupt its copy.
"""

from collections.abc import Mapping
from math import ceil, exp, inf
from typing import NamedTuple

from ..core.arithmetic import total
from ..core.figures import exact
from ..errors import BadKnob
from ..faults.fault import Hazard
from ..registry import load_variant
from ..scenario.scenario import Scenario
from ..units import DAY, MINUTE
from . import batch_costs, fault_stream
from .closed_form import ROUNDING, effective, kept_share, progress_after, restarted_share, seconds_for, slowed_share
from .fold import CampaignTerms
from .protection import Protection, ProtectionPlan, Site
from .simulate import campaign_terms

ROLLBACK, PARTIAL, RARE_COPY, RESTART = GROUPS = ("rollback", "partial", "rarer copy", "restart")


class Expectation(NamedTuple):
    """The expected figures of a campaign, without a simulation.

    useful_share: samples that count at the end, over those of the scenario's estimate in the same time.
    lost_batches: the most batches that one fault makes train again, of rows or of the MLP, over all classes with a rate; all
        batches of the campaign where no state is restored.
    worst_fault: the class of that fault, the more frequent one of two; None where no fault destroys state.
    minutes: the minutes of the lost batches and of the pauses among them.
    price: USD of the storage that the protection needs, None where a part has no published price.
    watts: mean power without a fault, less that of the scenario's estimate.
    useful_time: share of the time in which batches are trained that count, as `Campaign.ettr`.
    """

    useful_share: float
    lost_batches: float
    worst_fault: str | None
    minutes: float
    price: float | None
    watts: float
    useful_time: float


class WorstFault(NamedTuple):
    """The class of faults that can lose most batches.

    batches: the batches that it can lose. rate: its faults a second. name: its name; None where no fault destroys state.
    """

    batches: float
    rate: float
    name: str | None


def expectation(
    scenario: Scenario, protection: str, hazards: Mapping[str, Hazard], days: float, period: float | None = None
) -> Expectation:
    """Return the expectation of `days` of training.

    Raises CannotRun, and BadKnob for faults without a formula.
    """
    terms, site = campaign_terms(scenario, protection, fault_stream.rollback_mtbf(hazards), period)
    return expectation_of(scenario, terms, site, hazards, days * DAY)


def expectation_of(
    scenario: Scenario, terms: CampaignTerms, site: Site, hazards: Mapping[str, Hazard], seconds: float
) -> Expectation:
    """Return the expectation of a campaign of some seconds with known terms."""
    plan, estimated = terms.plan, batch_costs.estimated_costs(scenario)
    useful = useful_time(scenario, terms, hazards, seconds)
    share = useful * estimated.step / terms.useful_seconds
    worst_class = worst_fault(terms, hazards, seconds)
    watts = _watts(terms, site) - estimated.energy / estimated.step
    lost_minutes = seconds_for(plan, worst_class.batches) / MINUTE
    return Expectation(share, worst_class.batches, worst_class.name, lost_minutes, terms.protection.price(site), watts, useful)


def useful_time(scenario: Scenario, terms: CampaignTerms, hazards: Mapping[str, Hazard], seconds: float) -> float:
    """Return the mean share of time spent on batches that count, as `Campaign.ettr`."""
    check_exponential(hazards)
    plan, faults, rates = terms.plan, scenario.faults, _rates(terms, hazards)
    downtime, backup_restore = terms.detect + terms.restart, max(plan.restore, plan.backup_drain)
    share = effective(plan, terms.useful_seconds, inf, 0.0)
    share *= kept_share(rates[ROLLBACK], plan.cycle, plan.drain, downtime + plan.restore, seconds)
    share *= exp(-rates[PARTIAL] * (downtime + plan.restore))
    share *= kept_share(
        rates[RARE_COPY], seconds_for(plan, plan.backup_interval), plan.backup_drain, downtime + backup_restore, seconds
    )
    share *= restarted_share(rates[RESTART], downtime + terms.initial_seconds, seconds)
    slow = total(
        1 / hazard.mtbf for name, hazard in hazards.items() if hazard.mtbf and load_variant("faults", name).kind == "fail-slow"
    )
    return share * slowed_share(slow, faults.fail_slow_seconds, batch_costs.slowdown(scenario)) if slow else share


def check_exponential(hazards: Mapping[str, Hazard]) -> None:
    """Raise BadKnob for faults without a closed form.

    These are faults at listed instants, and faults whose intervals are not exponential.
    """
    fault_stream.check_hazards(hazards)
    for name, hazard in hazards.items():
        if hazard.listed_seconds:
            raise BadKnob(
                f"The knob faults.{name.replace('-', '_')}_at_seconds or faults.trace fixes instants of {name}, for which there "
                "is no closed formula; clear both, or simulate the campaign."
            )
        if hazard.mtbf and hazard.shape != 1:
            raise BadKnob(
                f"faults.weibull_shape={exact(hazard.shape)} of {name} has no closed formula; set it to 1, or simulate the "
                "campaign."
            )


def worst_fault(terms: CampaignTerms, hazards: Mapping[str, Hazard], seconds: float) -> WorstFault:
    """Return the class of faults that loses most batches at its worst moment.

    That a fault may interrupt a copy which an earlier fault made necessary is neglected.
    """
    losses = [WorstFault(0.0, 0.0, None)]
    for name, hazard in hazards.items():
        if hazard.mtbf and (destroyed := fault_stream.destroyed_parts(name)):
            losses.append(WorstFault(_most_lost(terms, destroyed, seconds), 1 / hazard.mtbf, name))
    return max(losses, key=lambda fault: (fault.batches, fault.rate))


def _most_lost(terms: CampaignTerms, destroyed: frozenset[str], seconds: float) -> float:
    """Return the completed batches lost just before the next checkpoint counts."""
    plan, fidelity = terms.plan, terms.protection.fidelity_after(destroyed)
    if _fault_group(terms.protection, plan, destroyed) == RESTART:
        return float(progress_after(plan, seconds).completed_batches)
    if fidelity == "older":
        return plan.backup_interval + ceil(plan.backup_drain / plan.step - ROUNDING) - 1.0
    drain_batches = ceil(plan.drain / plan.step - ROUNDING) - 1 if plan.drain or not plan.pause else 0
    return float(plan.checkpoint_interval + drain_batches + (plan.mlp_age if fidelity == "lossy" else 0))


def _rates(terms: CampaignTerms, hazards: Mapping[str, Hazard]) -> Mapping[str, float]:
    """Return the faults a second by group."""
    rates = dict.fromkeys(GROUPS, 0.0)
    for name, hazard in hazards.items():
        if hazard.mtbf and (destroyed := fault_stream.destroyed_parts(name)):
            rates[_fault_group(terms.protection, terms.plan, destroyed)] += 1 / hazard.mtbf
    return rates


def _fault_group(protection: Protection, plan: ProtectionPlan, destroyed: frozenset[str]) -> str:
    """Return the group of a fault under a protection: one of GROUPS."""
    fidelity = protection.fidelity_after(destroyed)
    if fidelity == "lossy" and plan.partial:
        return PARTIAL
    copies = {"lost": 0, "older": plan.backup_interval}.get(fidelity, plan.checkpoint_interval)
    return RESTART if not copies else RARE_COPY if fidelity == "older" else ROLLBACK


def _watts(terms: CampaignTerms, site: Site) -> float:
    """Return the mean power of a campaign without faults."""
    plan = terms.plan
    cycle, batches = (plan.cycle, plan.checkpoint_interval) if plan.checkpoint_interval else (plan.step, 1)
    joules = batches * plan.joules + plan.pause * terms.watts + (plan.checkpoint_joules if plan.checkpoint_interval else 0.0)
    return joules / cycle + terms.protection.watts(site, plan)
