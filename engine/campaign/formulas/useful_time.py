"""The share of useful time in closed form, by groups of faults.

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
from math import exp

from ...core.arithmetic import total
from ...core.figures import exact
from ...errors import BadKnob
from ...faults.fault import Hazard
from ...registry import load_variant
from ...scenario.scenario import Scenario
from .. import batch_costs, fault_stream
from ..closed_form import calm_share, kept_share, restarted_share, seconds_for, slowed_share
from ..fold import CampaignTerms
from ..protection import Protection, ProtectionPlan

ROLLBACK, PARTIAL, RARE_COPY, RESTART = GROUPS = ("rollback", "partial", "rarer copy", "restart")


def useful_time(scenario: Scenario, terms: CampaignTerms, hazards: Mapping[str, Hazard], seconds: float) -> float:
    """Return the mean share of time spent on batches that count, as `Campaign.ettr`.

    Raises BadKnob for faults without a closed form.
    """
    check_exponential(hazards)
    return time_left(terms, group_rates(terms, hazards), seconds) * speed_left(scenario, hazards)


def time_left(terms: CampaignTerms, rates: Mapping[str, float], seconds: float) -> float:
    """Return the share of time that faults of these rates leave.

    rates: faults a second by group. Slow stretches are left out.
    """
    plan, downtime = terms.plan, terms.detect + terms.restart
    share = calm_share(plan, terms.useful_seconds, seconds)
    share *= kept_share(rates[ROLLBACK], plan.cycle, plan.drain, downtime + plan.restore, seconds)
    share *= exp(-rates[PARTIAL] * (downtime + plan.restore))
    backup_cycle, backup_restore = seconds_for(plan, plan.backup_interval), max(plan.restore, plan.backup_drain)
    share *= kept_share(rates[RARE_COPY], backup_cycle, plan.backup_drain, downtime + backup_restore, seconds)
    return share * restarted_share(rates[RESTART], downtime + terms.initial_seconds, seconds)


def speed_left(scenario: Scenario, hazards: Mapping[str, Hazard]) -> float:
    """Return the share of speed that faults which slow devices down leave."""
    slow = total(
        1 / hazard.mtbf for name, hazard in hazards.items() if hazard.mtbf and load_variant("faults", name).kind == "fail-slow"
    )
    return slowed_share(slow, scenario.faults.fail_slow_seconds, batch_costs.slowdown(scenario)) if slow else 1.0


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


def group_rates(terms: CampaignTerms, hazards: Mapping[str, Hazard]) -> Mapping[str, float]:
    """Return the faults a second by group."""
    rates = dict.fromkeys(GROUPS, 0.0)
    for name, hazard in hazards.items():
        if hazard.mtbf and (destroyed := fault_stream.destroyed_parts(name)):
            rates[fault_group(terms.protection, terms.plan, destroyed)] += 1 / hazard.mtbf
    return rates


def fault_group(protection: Protection, plan: ProtectionPlan, destroyed: frozenset[str]) -> str:
    """Return the group of a fault under a protection: one of GROUPS."""
    fidelity = protection.fidelity_after(destroyed)
    if fidelity == "lossy" and plan.partial:
        return PARTIAL
    copies = {"lost": 0, "older": plan.backup_interval}.get(fidelity, plan.checkpoint_interval)
    return RESTART if not copies else RARE_COPY if fidelity == "older" else ROLLBACK
