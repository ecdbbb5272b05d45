"""Hours and USD that a month of training loses: to the protection itself, and to failures.

Shares are those of the closed form (`expectation.useful_time`), so that no seed moves them; where faults have none they come
from simulated campaigns. An hour costs what the whole cluster costs in it: capital written off, and electricity.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from statistics import fmean

import numpy as np

from ...core.figures import count, exact, factor, figure, percent
from ...errors import CannotRun, EmberpoolError
from ...estimate import estimate
from ...faults.fault import Hazard
from ...insight.running_costs import assumptions, paid_while_training, room_watts
from ...registry import every, load, names
from ...scenario.scenario import Scenario, with_values
from ...units import DAY, HOUR, MINUTE, MS
from .. import fault_stream
from ..closed_form import daly, effective
from ..expectation import useful_time
from ..simulate import Campaign, terms_of

WIDEST, TRIED = 60.0, 60  # periods tried around Daly's: the factor on either side, and how many
NARROWER = 2  # how often the grid is drawn closer around the best


@dataclass(frozen=True)
class LostShare:
    """Shares of the time that train nothing that counts: of the protection without any failure, and what failures add."""

    protection: float
    failures: float

    @property
    def total(self) -> float:
        """Both together."""
        return self.protection + self.failures


@dataclass(frozen=True)
class ProtectionLoss:
    """What a protection loses, or the sentence that says why it cannot be had.

    period: seconds of training between two checkpoints, None of a protection without them.
    pause: seconds that training stands for one.
    step, bare_step: seconds of a batch with the protection, and without any.
    price: USD of what the protection takes, None where a part has no published price.
    """

    name: str
    title: str
    refused: str = ""
    share: LostShare | None = None
    period: float | None = None
    pause: float = 0.0
    step: float = 0.0
    bare_step: float = 0.0
    price: float | None = None


@dataclass(frozen=True)
class ClusterHour:
    """USD of an hour of all machines together, and what that is made of.

    capital, electricity: USD of the hour, the former None where a part has no published price.
    machines, capital_each, watts: how many machines, USD to buy one, and watts in the room of all of them.
    hours: of training in a month.
    """

    capital: float | None
    electricity: float
    machines: int
    capital_each: float | None
    watts: float
    hours: float
    assumed: str

    @property
    def usd(self) -> float:
        """The whole hour; electricity alone where capital has no price."""
        return (self.capital or 0.0) + self.electricity


def cluster_hour(scenario: Scenario) -> ClusterHour:
    """Return what an hour of a scenario's whole cluster costs; raises CannotRun where it does not train."""
    result = estimate(scenario)
    if not result.ran:
        raise CannotRun(result.outcome)
    machine, machines = result.scenario.machine, scenario.faults.machines
    step, capital = (result.results["Step time [ms]"] or 0.0) * MS, result.results["Capital cost [USD]"]
    watts = room_watts(result.scenario, (result.results["Energy per batch [J]"] or 0.0) / step)
    paid = paid_while_training(machine, capital, watts, HOUR)
    return ClusterHour(
        capital=None if paid.capital is None else paid.capital * machines,
        electricity=paid.electricity * machines,
        machines=machines,
        capital_each=capital,
        watts=watts * machines,
        hours=machine.training_hours_a_month,
        assumed=assumptions(scenario),
    )


def hour_sentence(hour: ClusterHour) -> str:
    """Return what an hour costs and what that is made of."""
    power = f"{figure(hour.electricity, 'USD')} of electricity for {figure(hour.watts, 'W')}"
    if hour.capital is None or hour.capital_each is None:
        return f"An hour of the whole cluster costs {power}; a part of it has no published price, so capital is left out."
    each = f"{figure(hour.capital_each, 'USD')} written off"
    bought = f"{count(hour.machines, 'machine')} of {each}" if hour.machines > 1 else each
    return (
        f"An hour of the whole cluster costs {figure(hour.usd, 'USD')}: {figure(hour.capital, 'USD')} of capital ({bought}) and "
        f"{power}."
    )


def losses_by_formula(scenario: Scenario, hazards: Mapping[str, Hazard]) -> tuple[ProtectionLoss, ...]:
    """Return each protection's loss by the closed form; raises BadKnob for faults that have none.

    The chosen protection has the period asked for, all others have their best.
    """
    asked, chosen = scenario.policy.checkpoint_minutes, scenario.policy.protection
    return tuple(
        loss_by_formula(scenario, name, hazards, asked * MINUTE if asked and name == chosen else None)
        for name in names("protections")
    )


def loss_by_formula(
    scenario: Scenario, protection: str, hazards: Mapping[str, Hazard], period: float | None = None
) -> ProtectionLoss:
    """Return what one protection loses, `period` seconds between checkpoints; raises BadKnob for faults without a formula."""
    title = title_of(protection)
    try:
        terms, site = terms_of(scenario, protection, fault_stream.rollback_mtbf(hazards), period)
    except EmberpoolError as error:
        return ProtectionLoss(protection, title, str(error))
    useful = useful_time(scenario, terms, hazards, scenario.faults.campaign_days * DAY)
    calm, plan = effective(terms.plan, terms.useful, inf, 0.0), terms.plan
    periodic = load("protections", protection).periodic
    return ProtectionLoss(
        name=protection,
        title=title,
        share=LostShare(1 - calm, calm - useful),
        period=plan.every * plan.step if periodic else None,
        pause=plan.pause,
        step=plan.step,
        bare_step=site.bare.step,
        price=terms.protection.price(site),
    )


def loss_by_campaigns(protection: str, runs: Sequence[Campaign]) -> ProtectionLoss:
    """Return what simulated campaigns of one protection have lost in the mean."""
    own = fmean(run.seconds["checkpoint"] / run.elapsed for run in runs)
    chosen, plan, site = load("protections", protection), runs[0].plan, runs[0].site
    return ProtectionLoss(
        name=protection,
        title=title_of(protection),
        share=LostShare(own, 1 - fmean(run.ettr for run in runs) - own),
        period=plan.every * plan.step if chosen.periodic else None,
        pause=plan.pause,
        step=plan.step,
        bare_step=site.bare.step,
        price=chosen.price(site),
    )


def best_period(scenario: Scenario, protection: str, hazards: Mapping[str, Hazard]) -> ProtectionLoss | None:
    """Return the loss at the period that loses least by the closed form; None where no period is best, or is possible."""
    mtbf = fault_stream.rollback_mtbf(hazards)
    first = loss_by_formula(scenario, protection, hazards)
    if mtbf is None or first.period is None or first.share is None:
        return None
    best, wide = first, WIDEST
    middle = daly(max(first.pause, first.step), mtbf)
    for _ in range(NARROWER):
        periods = middle * np.geomspace(1 / wide, wide, TRIED)
        tried = [loss_by_formula(scenario, protection, hazards, float(period)) for period in periods]
        best = min([best, *tried], key=lambda loss: loss.share.total if loss.share else inf)
        middle, wide = best.period or middle, wide ** (2 / TRIED)
    return best


def why_sentence(scenario: Scenario, loss: ProtectionLoss) -> str:
    """Return why a protection takes time without any failure: the exposed writes of its log, or the pause of a checkpoint."""
    if loss.share is None or loss.share.protection <= 0:
        return ""
    if loss.pause and loss.period:
        return (
            f"Training stands {figure(loss.pause, 's')} for each checkpoint, every {figure(loss.period, 's')}: "
            f"{percent(loss.pause / (loss.pause + loss.period))} of the time."
        )
    chosen = load("protections", loss.name)
    slower = f"A batch is {factor(loss.step / loss.bare_step)} as long, {figure(loss.step, 's')}"
    if not chosen.log or loss.step <= loss.bare_step:
        return ""
    rows = estimate(with_values(scenario, chosen.log(scenario))).breakdown
    logs = [row for row in rows if row["Stage"] == "Checkpoint" and row["Exposed [s]"] > 0]
    if not logs:
        return f"{slower} instead of {figure(loss.bare_step, 's')}."
    most = max(logs, key=lambda row: row["Exposed [s]"])
    same = sum(row["Busy [s]"] for row in rows if row["Device"] == most["Device"] and row["Stage"] != "Checkpoint")
    beside = f", busy with the tables for {figure(same, 's')}" if same else ""
    device = inside(every("devices")[most["Device"]].title)
    return f"{slower}: {figure(most['Exposed [s]'], 's')} of it wait for log writes on {device}{beside}."


def title_of(protection: str) -> str:
    """Return a protection's title; that of none says so by itself."""
    return "No protection" if protection == "none" else str(load("protections", protection).title)


def inside(title: str) -> str:
    """Return a title as it is written inside a sentence: names and initials keep their capitals."""
    first = title.split()[0].rstrip(",")
    return title if first[1:].lower() != first[1:] or "-" in first else title[0].lower() + title[1:]


def cost_of_failure(loss: ProtectionLoss, hazards: Mapping[str, Hazard]) -> float | None:
    """Return the seconds that one fault costs in the mean; None without random faults."""
    rate = sum(1 / hazard.mtbf for hazard in hazards.values() if hazard.mtbf)
    return loss.share.failures / rate if rate and loss.share else None


def month_sentence(share: float, hour: ClusterHour) -> str:
    """Return the hours and USD of a share of a month."""
    return f"{hours_text(share * hour.hours)} and {figure(share * hour.hours * hour.usd, 'USD')}"


def hours_text(hours: float) -> str:
    """Return hours of a month in hours, minutes of less than a tenth of one."""
    return exact(0, "h") if hours < 1e-9 else figure(hours, "h") if hours >= 0.1 else figure(hours * HOUR, "s")
