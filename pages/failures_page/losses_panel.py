"""The answer of the page Failures: hours and USD that a month loses, by protection, in a box, a chart and a table."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import pandas as pd
import streamlit as st

from engine.campaign.fault_stream import hazards_of
from engine.campaign.monthly import losses
from engine.campaign.monthly.losses import ClusterHour, ProtectionLoss
from engine.core.figures import count, figure, percent
from engine.errors import BadKnob
from engine.faults.fault import Hazard
from engine.registry import load
from engine.scenario.scenario import Scenario
from engine.systems.traffic import table_bytes
from engine.units import MINUTE
from pages.answers.headline import model_name
from pages.failures_page import fault_charts
from pages.failures_page.campaigns import Campaigns
from pages.graphics import chart
from pages.ui import answer, downloads
from pages.ui.plain import plain

ALIKE = 0.01  # of the time lost: differences that are no reason to change
FAR = 10.0  # times the next bar: longer ones are cut at the frame
WORTH = 0.01  # of the time: a protection that takes more is explained in the answer
RUNNING = "Weeks of training are being simulated, once with every protection"
RUNNING_WHY = "These faults have no closed formula: their instants are listed, or their intervals are not exponential."
REMEDY = "Nothing is lost of what you have set: change the row below, or the knobs in the sidebar, and it is computed anew."
PARTS = fault_charts.LOST_BY
HOURS, USD = "Lost [h a month]", "Lost [USD a month]"
OWN_HOURS, FAILURE_HOURS = "By the protection itself [h a month]", "By failures [h a month]"
PERIOD, PRICE, REFUSED = "Checkpoint period [min]", "Hardware it takes [USD]", "Not possible here"


@dataclass(frozen=True)
class MonthlyLosses:
    """What a month loses with every protection, least first, those that cannot be had last.

    best: the chosen protection at its best period, None without one.
    simulated: whether the shares come from campaigns, where faults have no closed form.
    """

    scenario: Scenario
    hazards: Mapping[str, Hazard]
    hour: ClusterHour
    protections: tuple[ProtectionLoss, ...]
    best: ProtectionLoss | None = None
    simulated: bool = False

    @property
    def chosen(self) -> ProtectionLoss:
        """The chosen protection."""
        return next(one for one in self.protections if one.name == self.scenario.policy.protection)

    @property
    def least(self) -> ProtectionLoss:
        """The protection that loses least."""
        return self.protections[0]

    def hours(self, share: float) -> float:
        """Return the hours that a share of a month is."""
        return share * self.hour.hours

    def usd(self, share: float) -> float:
        """Return the USD that a share of a month costs."""
        return self.hours(share) * self.hour.usd

    def told(self, loss: ProtectionLoss) -> str:
        """Return hours and USD of a loss in words."""
        return losses.month_sentence(_total(loss), self.hour)


@lru_cache(maxsize=64)
def of(scenario: Scenario) -> MonthlyLosses | None:
    """Return what a month loses by the closed form, None where the faults have none; raises what refuses the machine."""
    hazards, hour = hazards_of(scenario), losses.cluster_hour(scenario)
    try:
        found = losses.losses_by_formula(scenario, hazards)
        best = losses.best_period(scenario, scenario.policy.protection, hazards)
    except BadKnob:
        return None
    return MonthlyLosses(scenario, hazards, hour, _sorted(found), best)


def of_campaigns(scenario: Scenario, campaigns: Campaigns) -> MonthlyLosses:
    """Return what a month loses as simulated."""
    found = [
        losses.loss_by_campaigns(one.name, one.runs)
        if one.runs
        else ProtectionLoss(one.name, losses.title_of(one.name), one.refused)
        for one in campaigns.protected
    ]
    return MonthlyLosses(scenario, campaigns.hazards, losses.cluster_hour(scenario), _sorted(found), simulated=True)


def _sorted(found: list[ProtectionLoss] | tuple[ProtectionLoss, ...]) -> tuple[ProtectionLoss, ...]:
    return tuple(sorted(found, key=lambda one: (one.share is None, _total(one), one.title)))


def _total(loss: ProtectionLoss) -> float:
    return loss.share.total if loss.share else 0.0


def nowhere(month: MonthlyLosses) -> str:
    """Return why no protection is possible at all, "" where one is."""
    return "" if month.least.share else month.chosen.refused


def draw_answer(month: MonthlyLosses, example: bool) -> None:
    """Draw the answer's box."""
    answer.show(finding(month, example), reasons(month))


def finding(month: MonthlyLosses, example: bool = False) -> str:
    """Return what a month loses now, as a sentence."""
    chosen = month.chosen
    title = losses.inside(chosen.title)
    if chosen.share is None:
        return f"{chosen.title} is not possible here, {losses.inside(month.least.title)} loses {month.told(month.least)} a month"
    start = "With power lost once a day, " if example else ""
    lost = f"{month.told(chosen)} a month are lost with {title}"
    return f"{start}{lost}"


def reasons(month: MonthlyLosses) -> list[str]:
    """Return what the loss is made of, what the best period and the best protection give, and why a log is slow."""
    chosen, least = month.chosen, month.least
    if chosen.share is None:
        return [chosen.refused]
    share = chosen.share
    each = losses.cost_of_failure(chosen, month.hazards)
    costs = f", {figure(each, 's')} each" if each else ""
    whose = {True: "Checkpoints take", False: "Protecting each batch takes"}[load("protections", chosen.name).periodic]
    parts = f"{whose} {losses.hours_text(month.hours(share.protection))} ({percent(share.protection)} of the time), failures "
    parts = parts + f"{losses.hours_text(month.hours(share.failures))} ({percent(share.failures)}{costs})."
    found = [f"For {_model(month.scenario)}: {parts[0].lower()}{parts[1:]}"]
    if share.protection > WORTH:
        found.append(losses.why_sentence(month.scenario, chosen))
    best = better_period(month)
    if best and best.period:
        found.append(f"Best period: {figure(best.period, 's')}, {month.told(best)}.")
    elif month.best:
        found.append("The period is near its best.")
    other = better_protection(month)
    best_of_all = f"Best protection: {losses.inside(least.title)}{_as_good(month)}, {month.told(least)}."
    found.append(best_of_all if other else "None of the other protections loses less.")
    return found


def _model(scenario: Scenario) -> str:
    """Return the model with the size of its tables, on which the time of a checkpoint depends."""
    name, size = model_name(scenario), figure(table_bytes(scenario), "B")
    return name if size in name else f"{name} ({size} of tables)"


def _as_good(month: MonthlyLosses) -> str:
    """Return how many other protections lose about as little as the best."""
    most = _total(month.least) * (1 + ALIKE)
    others = sum(one.share is not None and _total(one) <= most for one in month.protections) - 1
    return f" and {others} more" if others else ""


def better_period(month: MonthlyLosses) -> ProtectionLoss | None:
    """Return the chosen protection at its best period, None where that changes little."""
    best = month.best
    return best if best and _total(best) < _total(month.chosen) * (1 - ALIKE) else None


def better_protection(month: MonthlyLosses) -> ProtectionLoss | None:
    """Return the protection that loses least, None where the chosen one loses about as little."""
    least, chosen = month.least, month.chosen
    return least if chosen.share is None or _total(least) < _total(chosen) * (1 - ALIKE) else None


def draw(month: MonthlyLosses) -> None:
    """Draw what an hour costs, the chart by protection, and the table."""
    frame = bars(month)
    limit = frame_limit(frame)
    how = "Mean of simulated weeks" if month.simulated else "Expected"
    chart.draw(
        frame,
        fault_charts.lost(limit),
        key="lost",
        title=chart_title(month),
        subtitle=f"{how} hours lost a month; blue: {PARTS[0]}, red: what {PARTS[1]} add; ▶ yours",
        columns={"protection": "Protection", "part": "Lost by", "hours": HOURS},
    )
    shown = table(month)
    downloads.show(readable(month), pinned="Protection")
    downloads.rows(shown, "emberpool-losses", "Download the losses as CSV")
    if impossible := [f"{one.title}: {one.refused}" for one in month.protections if one.share is None]:
        with st.expander(f"Not possible here: {count(len(impossible), 'protection')}"):
            for sentence in impossible:
                st.caption(plain(sentence))
    why = losses.why_sentence(month.scenario, month.chosen) if month.chosen.share else ""
    st.caption(plain(" ".join(filter(None, [why, losses.hour_sentence(month.hour), month.hour.assumed])), most=answer.MOST))


def chart_title(month: MonthlyLosses) -> str:
    """Return the chart's finding."""
    least = f"{month.least.title} loses least, {month.told(month.least)} a month"
    if month.chosen.share is None or month.chosen is month.least:
        return least
    return f"{least}; {losses.inside(month.chosen.title)} loses {month.told(month.chosen)}"


def bars(month: MonthlyLosses) -> pd.DataFrame:
    """Return two rows a protection that can be had, least first: protection, label, nth, part, hours, chosen."""
    rows = []
    for nth, one in enumerate(month.protections):
        if one.share is None:
            continue
        chosen = one.name == month.scenario.policy.protection
        title = one.title
        hours, usd = losses.hours_text(month.hours(_total(one))), figure(month.usd(_total(one)), "USD")
        label = f"{'▶ ' * chosen}{title}: {hours}, {usd}"
        for part, share in zip(PARTS, (one.share.protection, one.share.failures), strict=True):
            row = {"protection": title, "label": label, "nth": nth, "part": part, "hours": month.hours(share), "chosen": chosen}
            rows.append(row)
    frame = pd.DataFrame(rows)
    longer = frame.groupby("nth")["hours"].transform("sum") > frame_limit(frame) * (1 + ALIKE)
    return frame.assign(label=frame["label"].where(~longer, frame["label"] + ", bar cut"))


def frame_limit(frame: pd.DataFrame) -> float:
    """Return the hours at the frame's right end: bars more than FAR times as long as all shorter ones run out of it."""
    of_each = frame.groupby("nth").agg(hours=("hours", "sum"), chosen=("chosen", "any")).sort_values("hours")
    least = float(of_each.loc[of_each["chosen"], "hours"].max()) if of_each["chosen"].any() else 0.0
    lengths = [float(one) for one in of_each["hours"]]
    while len(lengths) > 1 and lengths[-1] > FAR * max(lengths[-2], least):
        lengths.pop()
    return lengths[-1] or 1.0


def table(month: MonthlyLosses) -> pd.DataFrame:
    """Return one row a protection: hours and USD a month, what they are made of, period, hardware, why it cannot be had."""
    chosen = month.scenario.policy.protection
    return pd.DataFrame([
        {
            "Protection": one.title,
            "Yours": "yes" if one.name == chosen else "",
            HOURS: month.hours(one.share.total) if one.share else None,
            USD: month.usd(one.share.total) if one.share else None,
            OWN_HOURS: month.hours(one.share.protection) if one.share else None,
            FAILURE_HOURS: month.hours(one.share.failures) if one.share else None,
            PERIOD: one.period / MINUTE if one.period else None,
            PRICE: one.price,
            REFUSED: one.refused,
        }
        for one in month.protections
    ])  # fmt: skip


def readable(month: MonthlyLosses) -> pd.DataFrame:
    """Return the table in words, of the protections that can be had."""
    chosen = month.scenario.policy.protection
    return pd.DataFrame([
        {
            "Protection": f"{'▶ ' * (one.name == chosen)}{one.title}",
            "Lost a month": losses.hours_text(month.hours(one.share.total)),
            "Cost a month": figure(month.usd(one.share.total), "USD"),
            "By the protection itself": losses.hours_text(month.hours(one.share.protection)),
            "By failures": losses.hours_text(month.hours(one.share.failures)),
            "Checkpoint period": figure(one.period, "s") if one.period else "no period",
            "Hardware it takes": "no price" if one.price is None else figure(one.price, "USD"),
        }
        for one in month.protections
        if one.share
    ])  # fmt: skip
