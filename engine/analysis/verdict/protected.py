"""Protected candidates: what faults leave of a machine's samples, under the protection that makes most of them.

A system that keeps a log of its own is protected by that; any other may be given what `campaign` knows. Without a fault that
has a rate nothing is lost, and nothing more is bought.
"""

from collections.abc import Mapping
from typing import NamedTuple

from ...campaign.expectation import check_exponential, expectation_of
from ...campaign.fault_stream import hazards_of, rollback_mtbf
from ...campaign.protection import Protection
from ...campaign.simulate import terms_of
from ...errors import BadKnob, CannotRun
from ...faults.fault import Hazard
from ...hardware.hosts import host_channels
from ...insight.running_costs import room_watts
from ...registry import every, load
from ...scenario.scenario import Scenario, with_values
from ...systems.buildable import does_not_fit
from ...systems.sizing import most_dimms
from ...systems.system import Settled, log_policy
from ...units import DAY, MINUTE, GiB
from .candidates import Estimated

PROTECTION = "policy.protection"
NONE = "none"


class Protected(NamedTuple):
    """A protection of a candidate: the share of samples that count, the most that one fault loses, and what it adds.

    `price` is in USD, None without a published price; `watts` are at the room's meter.
    """

    name: str = NONE
    share: float = 1.0
    lost_batches: float = 0.0
    lost_minutes: float = 0.0
    worst_fault: str | None = None
    price: float | None = 0.0
    watts: float = 0.0

    def added_to(self, one: Estimated) -> Estimated:
        """Return a candidate with price and power of its protection."""
        capital = None if one.capital is None or self.price is None else one.capital + self.price
        return one._replace(capital=capital, watts=one.watts + self.watts)


def struck(scenario: Scenario) -> bool:
    """Return whether a fault has a rate; raises BadKnob for faults that have no closed form."""
    hazards = hazards_of(scenario)
    check_exponential(hazards)
    return bool(hazards)


def unstruck(scenario: Scenario) -> Protected:
    """Return a machine that no fault strikes: by its own log, or by nothing."""
    return Protected(next((name for name, one in every("protections").items() if one.log and _suits(one, scenario)), NONE))


def protections(scenario: Scenario, settled: Settled) -> list[Protected]:
    """Return what each protection that a machine can have makes of it."""
    hazards, found = hazards_of(scenario), []
    for name, one in every("protections").items():
        if _suits(one, scenario):
            try:
                found.append(_protected(scenario, settled, name, hazards))
            except (BadKnob, CannotRun):
                continue
    return found


def _suits(protection: Protection, scenario: Scenario) -> bool:
    """Return whether a protection is the log that a scenario's system keeps already, or, where it keeps none, no log."""
    system = load("systems", scenario.system)
    if protection.log is None or not system.log_policy.log:
        return protection.log is None and not system.log_policy.log
    try:
        knobs = protection.log(scenario)
    except BadKnob:
        return False
    return knobs.get("system", scenario.system) == scenario.system and log_policy(
        with_values(scenario, knobs), system
    ) == log_policy(scenario, system)


def _protected(scenario: Scenario, settled: Settled, name: str, hazards: Mapping[str, Hazard]) -> Protected:
    """Return what a protection makes of a machine; raises BadKnob and CannotRun where it cannot be had."""
    minutes = scenario.policy.checkpoint_minutes
    period = None if minutes is None else minutes * MINUTE
    terms, site = terms_of(scenario, name, rollback_mtbf(hazards), period)
    takes, machine = terms.protection.takes(site), settled.scenario.machine
    room = most_dimms(host_channels(machine)) * GiB
    if takes.get("dram", 0.0) > room or does_not_fit(settled, drives=round(takes.get("drives", 0.0))):
        raise CannotRun(f"protection={name} does not fit the machine.")
    found = expectation_of(scenario, terms, site, hazards, scenario.faults.campaign_days * DAY)
    watts = room_watts(settled.scenario, found.watts)
    return Protected(name, found.useful_share, found.lost_batches, found.minutes, found.worst_fault, found.price, watts)
