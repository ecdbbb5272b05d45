"""The answer of the page Failures: losses of a month by protection.

A box, a chart and a table show hours and USD.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import pandas as pd
import streamlit as st

from engine.campaign.fault_stream import hazards_of
from engine.campaign.monthly import loss_rows, losses
from engine.campaign.monthly.loss_rows import sorted_losses, total_share
from engine.campaign.monthly.losses import ClusterHour, ProtectionLoss
from engine.core.figures import count, figure, percent
from engine.errors import BadKnob
from engine.faults.fault import Hazard
from engine.registry import load_variant
from engine.scenario.scenario import Scenario
from engine.systems.traffic import table_bytes
from pages.answers.headline import model_name
from pages.failures_page import fault_charts
from pages.failures_page.campaigns import Campaigns
from pages.graphics import chart
from pages.ui import answer, downloads
from pages.ui.plain import escape_markdown

NEGLIGIBLE_SHARE = 0.01  # of the time lost: smaller differences are no reason to change
MAX_BAR_RATIO = 10.0  # times the next bar's length: longer bars are cut at the frame
EXPLAINED_SHARE = 0.01  # of the time: the answer explains a protection that takes more
RUNNING = "Weeks of training are being simulated, once with every protection"
RUNNING_WHY = "These faults have no closed formula, as their times are listed or their intervals are not exponential."
REMEDY = "Your settings are kept: change the row below, or the knobs in the sidebar, to compute the losses again."
PARTS = fault_charts.LOSS_PARTS


@dataclass(frozen=True)
class MonthlyLosses:
    """Losses of a month with every protection.

    scenario: the scenario, with an example fault if it has none.
    hazards: rates and times of faults by name.
    cluster_hour: the cost of an hour of all machines, and the hours of training in a month.
    protections: a loss for each protection, the least first, impossible ones last.
    best_period_loss: the chosen protection at its best period, None without one.
    simulated: True if the shares come from campaigns, as the faults have no closed form.
    """

    scenario: Scenario
    hazards: Mapping[str, Hazard]
    cluster_hour: ClusterHour
    protections: tuple[ProtectionLoss, ...]
    best_period_loss: ProtectionLoss | None = None
    simulated: bool = False

    @property
    def chosen_loss(self) -> ProtectionLoss:
        """The loss of the chosen protection."""
        return next(loss for loss in self.protections if loss.name == self.scenario.policy.protection)

    @property
    def least_loss(self) -> ProtectionLoss:
        """The loss of the protection that loses least."""
        return self.protections[0]

    def hours(self, share: float) -> float:
        """Return the hours of a share of a month."""
        return share * self.cluster_hour.hours

    def usd(self, share: float) -> float:
        """Return the cost [USD] of a share of a month."""
        return self.cluster_hour.usd_a_month(share)

    def loss_text(self, loss: ProtectionLoss) -> str:
        """Return hours and USD of a loss as text."""
        return losses.month_sentence(total_share(loss), self.cluster_hour)


@lru_cache(maxsize=64)
def monthly_losses(scenario: Scenario) -> MonthlyLosses | None:
    """Return a month's losses by the closed form, None if the faults have no closed form.

    Raises the EmberpoolError that refuses the machine.
    """
    hazards, hour = hazards_of(scenario), losses.cluster_hour(scenario)
    try:
        protection_losses = losses.losses_by_formula(scenario, hazards)
        best_period_loss = losses.best_period(scenario, scenario.policy.protection, hazards)
    except BadKnob:
        return None
    return MonthlyLosses(scenario, hazards, hour, sorted_losses(protection_losses), best_period_loss)


def losses_by_campaigns(scenario: Scenario, campaigns: Campaigns) -> MonthlyLosses:
    """Return a month's losses by simulated campaigns."""
    protection_losses = [
        losses.loss_by_campaigns(protection.name, protection.runs)
        if protection.runs
        else ProtectionLoss(protection.name, losses.protection_title(protection.name), protection.refusal)
        for protection in campaigns.protections
    ]
    return MonthlyLosses(
        scenario, campaigns.hazards, losses.cluster_hour(scenario), sorted_losses(protection_losses), simulated=True
    )


def all_refused(month: MonthlyLosses) -> str:
    """Return the reason why no protection is possible, "" if any is possible."""
    return "" if month.least_loss.share else month.chosen_loss.refusal


def draw_answer(month: MonthlyLosses, example: bool) -> None:
    """Draw the answer's box."""
    answer.show(finding(month, example), reasons(month))


def finding(month: MonthlyLosses, example: bool = False) -> str:
    """Return a sentence on the losses of a month with the chosen protection."""
    chosen_loss = month.chosen_loss
    title = losses.title_in_sentence(chosen_loss.title)
    if chosen_loss.share is None:
        least_title = losses.title_in_sentence(month.least_loss.title)
        return f"{chosen_loss.title} is not possible here; {least_title} loses {month.loss_text(month.least_loss)} a month"
    start = "With power lost once a day, " if example else ""
    loss_words = f"{month.loss_text(chosen_loss)} a month are lost with {title}"
    return f"{start}{loss_words}"


def reasons(month: MonthlyLosses) -> list[str]:
    """Return sentences that explain the loss and its remedies.

    The sentences name the loss's parts, the best period, the best protection, and why a log is slow.
    """
    chosen_loss, least_loss = month.chosen_loss, month.least_loss
    if chosen_loss.share is None:
        return [chosen_loss.refusal]
    share = chosen_loss.share
    failure_seconds = losses.cost_of_failure(chosen_loss, month.hazards)
    costs = f", {figure(failure_seconds, 's')} each" if failure_seconds else ""
    protection = load_variant("protections", chosen_loss.name)
    subject = "Checkpoints take" if protection.periodic and not protection.log else "Protecting each batch takes"
    parts = f"{subject} {losses.hours_text(month.hours(share.protection))} ({percent(share.protection)} of the time), failures "
    parts = parts + f"{losses.hours_text(month.hours(share.failures))} ({percent(share.failures)}{costs})."
    sentences = [f"For {_model(month.scenario)}: {parts[0].lower()}{parts[1:]}"]
    if share.protection > EXPLAINED_SHARE:
        sentences.append(losses.why_sentence(month.scenario, chosen_loss))
    best_loss = better_period(month)
    if best_loss and best_loss.period:
        sentences += [f"The best period is {figure(best_loss.period, 's')}, which loses {month.loss_text(best_loss)} a month."]
        sentences += [best_loss.note] * bool(best_loss.note)
    else:
        sentences += ["The checkpoint period is near the best period."] * bool(month.best_period_loss)
        sentences += [chosen_loss.note] * bool(chosen_loss.note)
    better_loss = better_protection(month)
    best_of_all = (
        f"The best protection is {losses.title_in_sentence(least_loss.title)}{_as_good(month)}, "
        f"which loses {month.loss_text(least_loss)} a month."
    )
    sentences.append(best_of_all if better_loss else "No other protection loses less.")
    return sentences


def _model(scenario: Scenario) -> str:
    """Return the model's name with the size of its tables.

    The size determines the time of a checkpoint.
    """
    name, size = model_name(scenario), figure(table_bytes(scenario), "B")
    return name if size in name else f"{name} ({size} of tables)"


def _as_good(month: MonthlyLosses) -> str:
    """Return words on other protections that lose about as little as the best.

    The text is "" for none.
    """
    limit = total_share(month.least_loss) * (1 + NEGLIGIBLE_SHARE)
    equal_count = sum(loss.share is not None and total_share(loss) <= limit for loss in month.protections) - 1
    return f" ({count(equal_count, 'protection')} more {'is' if equal_count == 1 else 'are'} as good)" if equal_count else ""


def better_period(month: MonthlyLosses) -> ProtectionLoss | None:
    """Return the chosen protection's loss at its best period.

    Return None if the present period is near the best.
    """
    best_loss = month.best_period_loss
    return best_loss if best_loss and total_share(best_loss) < total_share(month.chosen_loss) * (1 - NEGLIGIBLE_SHARE) else None


def better_protection(month: MonthlyLosses) -> ProtectionLoss | None:
    """Return the loss of the best protection, None if the chosen protection loses about as little."""
    least_loss, chosen_loss = month.least_loss, month.chosen_loss
    return (
        least_loss
        if chosen_loss.share is None or total_share(least_loss) < total_share(chosen_loss) * (1 - NEGLIGIBLE_SHARE)
        else None
    )


def draw(month: MonthlyLosses) -> None:
    """Draw the chart and the table of losses by protection, and the price of an hour."""
    frame = bar_rows(month)
    limit = frame_limit(frame)
    method = "Mean of simulated weeks" if month.simulated else "Expected"
    chart.draw(
        frame,
        fault_charts.loss_bars(limit),
        key="lost",
        title=chart_title(month),
        subtitle=f"{method} hours lost a month; blue: by {PARTS[0]}, red: by {PARTS[1]}; ▶ your protection",
        columns={"protection": "Protection", "part": "Lost by", "hours": loss_rows.HOURS},
    )
    losses_table = table(month)
    downloads.show(table_in_words(month), pinned="Protection")
    downloads.rows(losses_table, "emberpool-losses", "Download the losses as CSV")
    if impossible := [f"{loss.title}: {loss.refusal}" for loss in month.protections if loss.share is None]:
        with st.expander(f"Not possible here: {count(len(impossible), 'protection')}"):
            for sentence in impossible:
                st.caption(escape_markdown(sentence))
    reason = losses.why_sentence(month.scenario, month.chosen_loss) if month.chosen_loss.share else ""
    st.caption(
        escape_markdown(
            " ".join(filter(None, [reason, losses.hour_sentence(month.cluster_hour), month.cluster_hour.assumptions])),
            most=answer.MAX_LETTERS,
        )
    )


def chart_title(month: MonthlyLosses) -> str:
    """Return the chart's finding."""
    least_sentence = f"{month.least_loss.title} loses least, {month.loss_text(month.least_loss)} a month"
    if month.chosen_loss.share is None or month.chosen_loss is month.least_loss:
        return least_sentence
    return f"{least_sentence}; {losses.title_in_sentence(month.chosen_loss.title)} loses {month.loss_text(month.chosen_loss)}"


def bar_rows(month: MonthlyLosses) -> pd.DataFrame:
    """Return two rows for each possible protection, the least loss first.

    Columns: protection, label, nth, part (protection or failures), hours, chosen.
    """
    rows = []
    for nth, loss in enumerate(month.protections):
        if loss.share is None:
            continue
        is_chosen = loss.name == month.scenario.policy.protection
        title = loss.title
        hours, usd = losses.hours_text(month.hours(total_share(loss))), figure(month.usd(total_share(loss)), "USD")
        label = f"{'▶ ' * is_chosen}{title}: {hours}, {usd}"
        for part, share in zip(PARTS, (loss.share.protection, loss.share.failures), strict=True):
            row = {
                "protection": title,
                "label": label,
                "nth": nth,
                "part": part,
                "hours": month.hours(share),
                "chosen": is_chosen,
            }
            rows.append(row)
    frame = pd.DataFrame(rows)
    longer = frame.groupby("nth")["hours"].transform("sum") > frame_limit(frame) * (1 + NEGLIGIBLE_SHARE)
    return frame.assign(label=frame["label"].where(~longer, frame["label"] + ", bar cut"))


def frame_limit(frame: pd.DataFrame) -> float:
    """Return the hours at the chart's right end.

    A bar is cut there if it is more than FAR times as long as the next shorter bar, and as the chosen protection's.
    """
    of_each = frame.groupby("nth").agg(hours=("hours", "sum"), chosen=("chosen", "any")).sort_values("hours")
    chosen_hours = float(of_each.loc[of_each["chosen"], "hours"].max()) if of_each["chosen"].any() else 0.0
    lengths = [float(hours) for hours in of_each["hours"]]
    while len(lengths) > 1 and lengths[-1] > MAX_BAR_RATIO * max(lengths[-2], chosen_hours):
        lengths.pop()
    return lengths[-1] or 1.0


def table(month: MonthlyLosses) -> pd.DataFrame:
    """Return a row for each protection, for the downloaded file."""
    return pd.DataFrame(loss_rows.loss_rows(month.protections, month.cluster_hour, month.scenario.policy.protection))


def table_in_words(month: MonthlyLosses) -> pd.DataFrame:
    """Return the table as text for readers, with possible protections only."""
    chosen_name = month.scenario.policy.protection
    return pd.DataFrame([
        {
            "Protection": f"{'▶ ' * (loss.name == chosen_name)}{loss.title}",
            "Lost a month": losses.hours_text(month.hours(loss.share.total)),
            "Cost a month": figure(month.usd(loss.share.total), "USD"),
            "By the protection itself": losses.hours_text(month.hours(loss.share.protection)),
            "By failures": losses.hours_text(month.hours(loss.share.failures)),
            "Checkpoint period": figure(loss.period, "s") if loss.period else "no period",
            "Hardware it takes": "no price" if loss.price is None else figure(loss.price, "USD"),
        }
        for loss in month.protections
        if loss.share
    ])  # fmt: skip
