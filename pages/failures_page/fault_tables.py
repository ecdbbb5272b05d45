"""Tables behind the charts of the page Failures, and the sentences above them."""

from math import floor, log10
from typing import Any, NamedTuple

import pandas as pd

from engine.campaign.compare import PeriodCurve
from engine.campaign.fold import CampaignRecovery
from engine.campaign.monthly.losses import ProtectionLoss, title_in_sentence
from engine.campaign.reference_points import YARDSTICKS, llama_prediction
from engine.campaign.simulate import Campaign
from engine.core.figures import count, exact, figure, percent
from engine.registry import load_variant, variant_names
from engine.results.metrics import all_metrics
from engine.scenario.scenario import Scenario
from engine.systems.kernels.in_force import title_of
from engine.units import MINUTE
from pages.answers.headline import model_name
from pages.failures_page.campaigns import Campaigns, own_log_name

ROOM = 2.5  # ratio of the lowest loss to the chart's lower end, which leaves room for names
OUTAGE_PHASES = ("detect", "restart", "restore")
FORMATS = {
    "Effective training time ratio, mean over weeks": "%.4f",
    "Goodput, mean over weeks [samples/s]": "%.4g",
    "Energy per sample [J]": "%.4g",
    "Unrecoverable [%]": "%.3g",
}


class NamedPeriod(NamedTuple):
    """A checkpoint period that the chart marks with a name.

    minutes: the period [min]. lost_percent: lost time [%] where the mark is a point, None where it is a vertical rule.
    """

    name: str
    minutes: float
    lost_percent: float | None = None


def simulation_sentences(campaigns: Campaigns, scenario: Scenario, ratio: float | None) -> str:
    """Return sentences on the simulation and how its useful time compares with the estimate's.

    ratio: the estimate's effective training time ratio, under the system's own log.
    """
    count_of = max((len(protection.runs) for protection in campaigns.protections), default=0)
    title, days = title_of(scenario), exact(scenario.faults.campaign_days, "days")
    introduction = f"{title} trains {model_name(scenario)} for {days}, {count(count_of, 'time')} with different random faults."
    own_log = campaigns.campaigns_of(own_log_name(scenario))
    outcome = (
        f"over these weeks {percent(own_log.share)} of the time is useful"
        if own_log.runs
        else f"this is not possible: {own_log.refusal}"
    )
    calm = "" if ratio is None else f", against {percent(ratio)} in an estimate, which has no faults"
    log_words = "no log" if own_log.name == "none" else f"the system's own log, {title_in_sentence(own_log.title)}"
    return (
        f"{introduction} Estimates and full runs train with {log_words}: {outcome}{calm}. "
        "The share of a single full run counts only the outages of that run."
    )


def means_table(campaigns: Campaigns) -> pd.DataFrame:
    """Return a row for each protection with every mean.

    Refused protections come last, with their sentence.
    """
    rows = [
        {"Protection": protection.title, **protection.means, "Not possible here": protection.refusal}
        for protection in campaigns.protections
    ]
    return pd.DataFrame(rows).rename(columns=weeks_title)


def weeks_title(column: str) -> str:
    """Return the title of a mean over campaigns; a metric's own title is that of a single run, or of a single campaign."""
    title, bracket, unit = column.partition(" [")
    return f"{title}, mean over weeks{bracket}{unit}" if title in {metric.title for metric in all_metrics()} else column


def survival_table() -> pd.DataFrame:
    """Return a row for each protection: the state that it restores after each kind of fault."""
    rows = [
        {"Protection": load_variant("protections", name).title, **load_variant("protections", name).fidelity_by_loss}
        for name in variant_names("protections")
    ]
    return pd.DataFrame(rows)


def period_rows(curve: PeriodCurve) -> pd.DataFrame:
    """Return lost time over checkpoint periods.

    Columns: period [min], gone (lost time [%]), how (simulated or closed form).
    """
    simulated = [(point.period, point.simulated, "simulated") for point in curve.points]
    formula = [(point.period, point.closed_form, "closed form") for point in curve.points if point.closed_form is not None]
    rows = [
        {"period": period / MINUTE, "gone": 100 * (1 - share), "how": method} for period, share, method in [*simulated, *formula]
    ]
    return pd.DataFrame(rows)


def yardstick_sentences() -> tuple[str, str]:
    """Return a sentence on the chart's dotted lines, and one on Llama 3.

    The first names the lines' sources, the second the prediction from Llama 3's public numbers.
    """
    sources = "; ".join(f"{yardstick.name} ({yardstick.source})" for yardstick in YARDSTICKS)
    return (
        f"Dotted lines are results that others published for their own machines, to compare with: {sources}.",
        llama_prediction().sentence,
    )


def chart_floor(frame: pd.DataFrame) -> float:
    """Return the lower end [%] of the chart of periods.

    The end is a power of ten below the best period's loss, with room for names.
    """
    lowest_percent = max(frame["gone"].min(), 1e-4)
    return float(10 ** floor(log10(lowest_percent / ROOM)))


def periods_to_mark(
    curve: PeriodCurve, best_loss: ProtectionLoss | None, chosen_loss: ProtectionLoss | None
) -> tuple[NamedPeriod, ...]:
    """Return a curve's named periods.

    These are the period of the lowest loss, the user's own, and the optima of Daly and Young.
    """
    named_periods = [NamedPeriod("lowest loss", *lowest_loss(curve, best_loss))]
    if chosen_loss and chosen_loss.period and chosen_loss.share:
        named_periods.append(NamedPeriod("yours", chosen_loss.period / MINUTE, 100 * chosen_loss.share.total))
    formula = {"Daly": curve.daly_period, "Young": curve.young_period}
    return (
        *named_periods,
        *(NamedPeriod(author, period_seconds / MINUTE) for author, period_seconds in formula.items() if period_seconds),
    )


def lowest_loss(curve: PeriodCurve, best_loss: ProtectionLoss | None) -> tuple[float, float]:
    """Return the best period in minutes, and its lost percentage.

    Both are by the closed form if there is one, or else as simulated.
    """
    if best_loss and best_loss.period and best_loss.share:
        return best_loss.period / MINUTE, 100 * best_loss.share.total
    point = max(curve.points, key=lambda curve_point: curve_point.simulated)
    return point.period / MINUTE, 100 * (1 - point.simulated)


def best_period_sentence(curve: PeriodCurve, title: str, best_loss: ProtectionLoss | None) -> str:
    """Return a sentence on the best period, and on that of Daly's formula."""
    minutes, lost_percent = lowest_loss(curve, best_loss)
    sentence = f"{title} loses least with a period of {figure(minutes * MINUTE, 's')}: {percent(lost_percent / 100)} of the time"
    return f"{sentence}; Daly's formula gives {figure(curve.daly_period, 's')}" if curve.daly_period else sentence


def fault_timeline(run: Campaign, recovery: CampaignRecovery) -> pd.DataFrame:
    """Return the phases around one fault: lane, what, start, end [s from the fault]."""
    undone = min(max(recovery.replay, 0.0), recovery.fault_seconds)
    lead_seconds = min(recovery.fault_seconds, undone + 0.6 * max(undone, _outage_seconds(recovery)))
    rows: list[dict[str, Any]] = [
        {"lane": "Training", "what": "counts", "start": -lead_seconds, "end": -undone},
        {"lane": "Training", "what": "lost", "start": -undone, "end": 0.0},
    ]
    elapsed = 0.0
    for phase in OUTAGE_PHASES:
        lasts = getattr(recovery, phase)
        rows.append({"lane": "Recovery", "what": phase, "start": elapsed, "end": elapsed + lasts})
        elapsed += lasts
    replay_end = elapsed + recovery.replay
    rows.append({"lane": "Training", "what": "replayed", "start": elapsed, "end": replay_end})
    rows.append({"lane": "Training", "what": "counts", "start": replay_end, "end": replay_end + 0.4 * (lead_seconds + elapsed)})
    rows += [
        {"lane": "Checkpoint", "what": "checkpoint", **checkpoint} for checkpoint in _checkpoints(run, -undone, -lead_seconds)
    ]
    return pd.DataFrame([row for row in rows if row["end"] > row["start"] or row["lane"] == "Checkpoint"])


def _checkpoints(run: Campaign, newest: float, earliest: float) -> list[dict[str, float]]:
    """Return the checkpoints before a fault, from the one that recovery uses back to `earliest`."""
    if not run.plan.checkpoint_interval:
        return []
    cycle, lasts = run.plan.cycle, run.plan.pause + run.plan.drain
    ends = [newest - k * cycle for k in range(50) if newest - k * cycle > earliest]
    return [{"start": end - lasts, "end": end} for end in ends]


def _outage_seconds(recovery: CampaignRecovery) -> float:
    return recovery.detect + recovery.restart + recovery.restore


def retrained_text(recovery: CampaignRecovery) -> str:
    """Return a clause on the batches that a recovery trains a second time."""
    batches = recovery.embedding_batches
    return f"{count(batches, 'batch', 'batches')} {'is' if batches == 1 else 'are'} trained again"


def recovery_sentence(run: Campaign, recovery: CampaignRecovery) -> str:
    """Return a sentence on one fault: its time, its outage, and its recovery."""
    title = load_variant("faults", recovery.fault).title
    outage_text = figure(_outage_seconds(recovery), "s")
    times = "once" if recovery.num_restarts == 1 else count(recovery.num_restarts, "time")
    interruption_words = f", as recovery was interrupted {times}" if recovery.num_restarts else ""
    rows, mlps = count(recovery.embedding_batches, "batch"), count(recovery.mlp_batches, "batch")
    outcome = {
        "lost": "nothing is restored, and training starts at batch 0",
        "lossy": f"embeddings that are {rows} old and MLPs that are {mlps} old are restored",
        "exact": f"all state is restored; {retrained_text(recovery)} in {figure(recovery.replay, 's')}",
    }[recovery.fidelity]
    stop_text = f"{title} after {figure(recovery.fault_seconds, 's')}"
    return f"{stop_text}: training stands still for {outage_text}{interruption_words}, then {outcome}"
