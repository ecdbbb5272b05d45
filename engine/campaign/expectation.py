"""The expectation of a campaign in closed form: useful time, worst loss, protection costs.

The share of useful time is that of `formulas.useful_time`.
"""

from collections.abc import Mapping
from math import ceil
from typing import NamedTuple

from ..faults.fault import Hazard
from ..hardware.money.bill import BillItem, bill_price
from ..scenario.scenario import Scenario
from ..units import DAY, MINUTE
from . import batch_costs, fault_stream
from .closed_form import ROUNDING, progress_after, seconds_for
from .fold import CampaignTerms
from .formulas.useful_time import RESTART, fault_group, useful_time
from .protection import Site
from .simulate import campaign_terms


class Expectation(NamedTuple):
    """The expected figures of a campaign, without a simulation.

    useful_share: samples that count at the end, over those of the scenario's estimate in the same time.
    lost_batches: the most batches that one fault makes train again, of rows or of the MLP, over all classes with a rate; all
        batches of the campaign where no state is restored.
    worst_fault: the class of that fault, the more frequent one of two; None where no fault destroys state.
    minutes: the minutes of the lost batches and of the pauses among them.
    bill: the storage that the protection needs.
    watts: mean power without a fault, less that of the scenario's estimate.
    useful_time: share of the time in which batches are trained that count, as `Campaign.ettr`.
    """

    useful_share: float
    lost_batches: float
    worst_fault: str | None
    minutes: float
    bill: tuple[BillItem, ...]
    watts: float
    useful_time: float

    @property
    def price(self) -> float | None:
        """The USD of the storage, None where a part has no published price."""
        return bill_price(self.bill)


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
    terms, site = campaign_terms(scenario, protection, hazards, period, days * DAY)
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
    return Expectation(share, worst_class.batches, worst_class.name, lost_minutes, terms.protection.bill(site), watts, useful)


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
    if fault_group(terms.protection, plan, destroyed) == RESTART:
        return float(progress_after(plan, seconds).completed_batches)
    if fidelity == "older":
        return plan.backup_interval + ceil(plan.backup_drain / plan.step - ROUNDING) - 1.0
    drain_batches = ceil(plan.drain / plan.step - ROUNDING) - 1 if plan.drain or not plan.pause else 0
    return float(plan.checkpoint_interval + drain_batches + (plan.mlp_age if fidelity == "lossy" else 0))


def _watts(terms: CampaignTerms, site: Site) -> float:
    """Return the mean power of a campaign without faults."""
    plan = terms.plan
    cycle, batches = (plan.cycle, plan.checkpoint_interval) if plan.checkpoint_interval else (plan.step, 1)
    joules = batches * plan.joules + plan.pause * terms.watts + (plan.checkpoint_joules if plan.checkpoint_interval else 0.0)
    return joules / cycle + terms.protection.watts(site, plan)
