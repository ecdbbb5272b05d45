"""Protected candidates: the share of samples that count under faults, by protection.

A system with its own log is protected by that log; any other system may have any protection of `campaign`. If no fault has a
rate, no samples are lost, and no protection is bought.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ...campaign.expectation import expectation_of
from ...campaign.fault_stream import hazards_of
from ...campaign.formulas.useful_time import check_exponential
from ...campaign.protection import Protection
from ...campaign.simulate import campaign_terms, checkpoint_period
from ...errors import BadKnob, CannotRun
from ...faults.fault import Hazard
from ...hardware.hosts import host_channels
from ...hardware.money.bill import BillItem, bill_price
from ...hardware.money.prices import with_owned_parts
from ...insight.running_costs import room_watts
from ...registry import all_variants, load_variant
from ...scenario.scenario import Scenario, with_values
from ...systems.buildable import does_not_fit
from ...systems.sizing import max_dram_GiB
from ...systems.system import Settled, log_policy, powered_devices
from ...units import DAY, GiB
from .candidates import CandidateEstimate

PROTECTION = "policy.protection"
NO_PROTECTION = "none"


class CandidateProtection(NamedTuple):
    """A protection of a candidate, with its losses and costs.

    name: name of the protection.
    share: share of samples that count.
    lost_batches: batches that the worst fault loses.
    lost_minutes: minutes that the worst fault loses.
    worst_fault: name of the worst fault, None without one.
    price: USD of the protection, None without a published price.
    watts: power of the protection at the room's meter [W].
    bill: the storage that it needs.
    """

    name: str = NO_PROTECTION
    share: float = 1.0
    lost_batches: float = 0.0
    lost_minutes: float = 0.0
    worst_fault: str | None = None
    price: float | None = 0.0
    watts: float = 0.0
    bill: tuple[BillItem, ...] = ()

    def add_to(self, candidate: CandidateEstimate) -> CandidateEstimate:
        """Return the candidate with the price and power of its protection added."""
        capital = None if candidate.capital is None or self.price is None else candidate.capital + self.price
        return candidate._replace(capital=capital, watts=candidate.watts + self.watts)


def has_fault_rate(scenario: Scenario) -> bool:
    """Return whether any fault has a rate in a scenario.

    Raises BadKnob for faults that have no closed form.
    """
    hazards = hazards_of(scenario)
    check_exponential(hazards)
    return bool(hazards)


def protection_without_faults(scenario: Scenario) -> CandidateProtection:
    """Return the protection of a machine without faults: the system's own log, or none."""
    return CandidateProtection(
        next(
            (name for name, protection in all_variants("protections").items() if protection.log and _suits(protection, scenario)),
            NO_PROTECTION,
        )
    )


def protections(scenario: Scenario, settled: Settled) -> list[CandidateProtection]:
    """Return each protection that a machine can have, with its losses and costs."""
    hazards, guards = hazards_of(scenario), []
    for name, protection in all_variants("protections").items():
        if _suits(protection, scenario):
            try:
                guards.append(_expected_protection(scenario, settled, name, hazards))
            except (BadKnob, CannotRun):
                continue
    return guards


def _suits(protection: Protection, scenario: Scenario) -> bool:
    """Return whether a protection suits a system: its own log, or no log for a system without one."""
    system = load_variant("systems", scenario.system)
    if protection.log is None or not system.log_policy.log:
        return protection.log is None and not system.log_policy.log
    try:
        knobs = protection.log(scenario)
    except BadKnob:
        return False
    return knobs.get("system", scenario.system) == scenario.system and log_policy(
        with_values(scenario, knobs), system
    ) == log_policy(scenario, system)


def _expected_protection(scenario: Scenario, settled: Settled, name: str, hazards: Mapping[str, Hazard]) -> CandidateProtection:
    """Return a protection of a machine, as expected over the campaign; raises BadKnob and CannotRun."""
    seconds = scenario.faults.campaign_days * DAY
    terms, site = campaign_terms(scenario, name, hazards, checkpoint_period(scenario), seconds)
    needs, machine = terms.protection.storage_needs(site), settled.scenario.machine
    room = max_dram_GiB(host_channels(machine)) * GiB
    if needs.get("dram", 0.0) > room or does_not_fit(settled, drives=round(needs.get("drives", 0.0))):
        raise CannotRun(f"protection={name} does not fit the machine.")
    expectation = expectation_of(scenario, terms, site, hazards, seconds)
    watts, devices = room_watts(settled.scenario, expectation.watts), powered_devices(settled.scenario.system, machine).values()
    bill = with_owned_parts(machine, expectation.bill, [item for device in devices for item in device.bill])
    return CandidateProtection(
        name,
        expectation.useful_share,
        expectation.lost_batches,
        expectation.minutes,
        expectation.worst_fault,
        bill_price(bill),
        watts,
        bill,
    )
