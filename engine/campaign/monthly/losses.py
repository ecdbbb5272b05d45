"""Hours and USD that a month of training loses by protection and by failures.

Shares are those of the closed form (`expectation.useful_time`), so that no seed changes them; for faults without a closed form
they come from simulated campaigns. The cost of an hour is the written-off part of the whole cluster's price, and its electricity.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from ...core.arithmetic import total
from ...core.figures import count, exact, factor, figure, percent
from ...errors import CannotRun, EmberpoolError
from ...estimate import estimate
from ...faults.fault import Hazard
from ...insight.running_costs import assumptions, meter_watts, training_cost
from ...registry import all_variants, load_variant, variant_names
from ...results.result import Result
from ...scenario.scenario import Scenario, with_values
from ...units import DAY, HOUR
from ..closed_form import calm_share
from ..formulas.best_period import copy_mtbf, period_note
from ..formulas.useful_time import useful_time
from ..simulate import Campaign, campaign_terms, checkpoint_period

LOST_USD = "Lost [USD a month]"  # by the protection and by failures, on Decide and Failures


@dataclass(frozen=True)
class LostShare:
    """The shares of the time that are lost.

    protection: lost by the protection, in training without failures. failures: lost by failures.
    """

    protection: float
    failures: float

    @property
    def total(self) -> float:
        """The sum of both shares."""
        return self.protection + self.failures


@dataclass(frozen=True)
class ProtectionLoss:
    """The loss by a protection, or the reason why the scenario cannot have it.

    name, title: name and title of the protection.
    refusal: the reason; "" where the protection is possible.
    share: the lost shares of the time; None where refused.
    period: seconds of training between two copies, None for a protection without periodic copies.
    note: a sentence on the limit at which the period lies, "" within the limits.
    pause: seconds that training stands still for a checkpoint.
    step, bare_step: seconds of a batch with the protection, and without any.
    price: USD of the storage that the protection needs, None where a part has no published price.
    """

    name: str
    title: str
    refusal: str = ""
    share: LostShare | None = None
    period: float | None = None
    note: str = ""
    pause: float = 0.0
    step: float = 0.0
    bare_step: float = 0.0
    price: float | None = None


@dataclass(frozen=True)
class ClusterHour:
    """USD of an hour of all machines together, and its parts.

    capital: USD of the machines' price that is written off in the hour, None where a part has no published price.
    electricity: USD of electricity in the hour.
    machines: the number of machines.
    machine_price: USD to buy one machine.
    watts: watts of all machines at the room's meter.
    hours: hours of training in a month.
    assumptions: the assumptions as text.
    """

    capital: float | None
    electricity: float
    machines: int
    machine_price: float | None
    watts: float
    hours: float
    assumptions: str

    @property
    def usd(self) -> float:
        """USD of the hour; only electricity where the machines have no price."""
        return (self.capital or 0.0) + self.electricity

    def usd_a_month(self, share: float) -> float:
        """Return the USD of a share of a month's hours of training."""
        return share * self.hours * self.usd


def cluster_hour(scenario: Scenario) -> ClusterHour:
    """Return the cost of an hour of a scenario's cluster.

    Raises CannotRun where the scenario cannot train.
    """
    result = estimate(scenario)
    if not result.ran:
        raise CannotRun(result.outcome)
    return hour_of(result)


def hour_of(result: Result) -> ClusterHour:
    """Return the cost of an hour of a cluster of an estimate's machines.

    The estimate has run.
    """
    machine, machines = result.scenario.machine, result.scenario.faults.machines
    watts, capital = meter_watts(result), result.results["Capital cost [USD]"]
    paid = training_cost(machine, capital, watts, HOUR)
    return ClusterHour(
        capital=None if paid.capital is None else paid.capital * machines,
        electricity=paid.electricity * machines,
        machines=machines,
        machine_price=capital,
        watts=watts * machines,
        hours=machine.training_hours_a_month,
        assumptions=assumptions(result.scenario),
    )


def hour_sentence(hour: ClusterHour) -> str:
    """Return a sentence on the cost of an hour and its parts."""
    each = " a machine" if hour.machines > 1 else ""
    watts = figure(hour.watts / hour.machines, "W")
    power = f"{figure(hour.electricity, 'USD')} of electricity for a power at the meter of {watts}{each}"
    if hour.capital is None or hour.machine_price is None:
        return f"An hour of the whole cluster costs {power}; a part of it has no published price, so capital is left out."
    machine_text = f"{figure(hour.machine_price, 'USD')} written off"
    capital_text = f"{count(hour.machines, 'machine')} of {machine_text}" if hour.machines > 1 else machine_text
    return (
        f"An hour of the whole cluster costs {figure(hour.usd, 'USD')}: {figure(hour.capital, 'USD')} of capital "
        f"({capital_text}) and {power}."
    )


def losses_by_formula(scenario: Scenario, hazards: Mapping[str, Hazard]) -> tuple[ProtectionLoss, ...]:
    """Return each protection's loss by the closed form; raises BadKnob for faults without one.

    Protections that copy have the scenario's period; where that is automatic, each has its best period.
    """
    period = checkpoint_period(scenario)
    return tuple(loss_by_formula(scenario, name, hazards, period) for name in variant_names("protections"))


def loss_by_formula(
    scenario: Scenario, protection: str, hazards: Mapping[str, Hazard], period: float | None = None
) -> ProtectionLoss:
    """Return one protection's loss by the closed form; raises BadKnob for faults without one.

    period: seconds between checkpoints; None for the best period.
    """
    title = protection_title(protection)
    seconds = scenario.faults.campaign_days * DAY
    try:
        terms, site = campaign_terms(scenario, protection, hazards, period, seconds)
    except EmberpoolError as error:
        return ProtectionLoss(protection, title, str(error))
    useful, calm = useful_time(scenario, terms, hazards, seconds), calm_share(terms.plan, terms.useful_seconds, seconds)
    return ProtectionLoss(
        name=protection,
        title=title,
        share=LostShare(1 - calm, calm - useful),
        period=terms.protection.interval(terms.plan) * terms.plan.step or None,
        note=period_note(terms, site, hazards, seconds),
        pause=terms.plan.pause,
        step=terms.plan.step,
        bare_step=site.unlogged_pace.step,
        price=terms.protection.price(site),
    )


def loss_by_campaigns(protection: str, runs: Sequence[Campaign]) -> ProtectionLoss:
    """Return the mean loss of simulated campaigns of one protection."""
    checkpoint_share = fmean(run.seconds["checkpoint"] / run.elapsed for run in runs)
    definition, plan, site = load_variant("protections", protection), runs[0].plan, runs[0].site
    return ProtectionLoss(
        name=protection,
        title=protection_title(protection),
        share=LostShare(checkpoint_share, 1 - fmean(run.ettr for run in runs) - checkpoint_share),
        period=definition.interval(plan) * plan.step or None,
        note=runs[0].period_note,
        pause=plan.pause,
        step=plan.step,
        bare_step=site.unlogged_pace.step,
        price=definition.price(site),
    )


def best_period(scenario: Scenario, protection: str, hazards: Mapping[str, Hazard]) -> ProtectionLoss | None:
    """Return the loss at the period that loses least by the closed form.

    Return None where no random fault needs periodic copies, for a protection without them, or where the protection is refused.
    """
    best_loss = loss_by_formula(scenario, protection, hazards)
    if copy_mtbf(load_variant("protections", protection), hazards) is None or best_loss.period is None:
        return None
    return best_loss


def why_sentence(scenario: Scenario, loss: ProtectionLoss) -> str:
    """Return a sentence on why a protection takes time without failures, or "".

    The cause is checkpoint pauses, or log writes for which batches wait.
    """
    if loss.share is None or loss.share.protection <= 0:
        return ""
    if loss.pause and loss.period:
        return (
            f"Training stands {figure(loss.pause, 's')} for each checkpoint, every {figure(loss.period, 's')}: "
            f"{percent(loss.pause / (loss.pause + loss.period))} of the time."
        )
    definition = load_variant("protections", loss.name)
    slower = f"A batch is {factor(loss.step / loss.bare_step)} as long, {figure(loss.step, 's')}"
    if not definition.log or loss.step <= loss.bare_step:
        return ""
    rows = estimate(with_values(scenario, definition.log(scenario))).breakdown
    logs = [row for row in rows if row["Stage"] == "Checkpoint" and row["Exposed [s]"] > 0]
    if not logs:
        return f"{slower} instead of {figure(loss.bare_step, 's')}."
    longest_row = max(logs, key=lambda row: row["Exposed [s]"])
    table_seconds = total(
        row["Busy [s]"] for row in rows if row["Device"] == longest_row["Device"] and row["Stage"] != "Checkpoint"
    )
    busy_text = f", busy with the tables for {figure(table_seconds, 's')}" if table_seconds else ""
    device = title_in_sentence(all_variants("devices")[longest_row["Device"]].title)
    return f"{slower}: {figure(longest_row['Exposed [s]'], 's')} of it wait for log writes on {device}{busy_text}."


def protection_title(protection: str) -> str:
    """Return a protection's title; "No protection" for the protection named none."""
    return "No protection" if protection == "none" else str(load_variant("protections", protection).title)


def title_in_sentence(title: str) -> str:
    """Return a title in small letters for use inside a sentence.

    Names and abbreviations keep their capitals.
    """
    first_word = title.split()[0].rstrip(",")
    return title if first_word[1:].lower() != first_word[1:] or "-" in first_word else title[0].lower() + title[1:]


def cost_of_failure(loss: ProtectionLoss, hazards: Mapping[str, Hazard]) -> float | None:
    """Return the mean cost of a fault in seconds; None without random faults."""
    rate = total(1 / hazard.mtbf for hazard in hazards.values() if hazard.mtbf)
    return loss.share.failures / rate if rate and loss.share else None


def month_sentence(share: float, hour: ClusterHour) -> str:
    """Return a clause with the hours and USD of a share of a month."""
    return f"{hours_text(share * hour.hours)} and {figure(hour.usd_a_month(share), 'USD')}"


def hours_text(hours: float) -> str:
    """Return hours as text, in smaller units below 0.1 h."""
    return exact(0, "h") if hours < 1e-9 else figure(hours, "h") if hours >= 0.1 else figure(hours * HOUR, "s")
