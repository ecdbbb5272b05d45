"""Tables behind the charts of the page Failures, and the sentences above them."""

from math import floor, log10
from typing import Any, NamedTuple

import pandas as pd

from engine.campaign.compare import PeriodCurve
from engine.campaign.fold import CampaignRecovery
from engine.campaign.monthly.losses import ProtectionLoss, inside
from engine.campaign.reference_points import YARDSTICKS, llama
from engine.campaign.simulate import Campaign
from engine.core.figures import count, exact, figure, percent
from engine.registry import load, names
from engine.scenario.scenario import Scenario
from engine.systems.kernels.in_force import title_of
from engine.units import MINUTE
from pages.answers.headline import model_name
from pages.failures_page.campaigns import Campaigns, own

ROOM = 2.5  # times: how far below the lowest loss the chart of periods goes on, for the names at its bottom
RECOVERS = ("detect", "restart", "restore")
# What a single run's results call otherwise: a campaign has weeks of faults, and a protection instead of the system's log.
OVER_WEEKS = {
    "Effective training time ratio": "Effective training time ratio over weeks",
    "Goodput [samples/s]": "Goodput over weeks [samples/s]",
}
FORMATS = {
    "Effective training time ratio over weeks": "%.4f",
    "Goodput over weeks [samples/s]": "%.4g",
    "Energy per sample [J]": "%.4g",
    "Unrecoverable [%]": "%.3g",
}


class Marked(NamedTuple):
    """A period with a name, in minutes; with the percentage that it loses it is a point, else a rule."""

    name: str
    minutes: float
    gone: float | None = None


def simulated(found: Campaigns, scenario: Scenario, ratio: float | None) -> str:
    """Return what is simulated, and how it goes with estimates, whose `ratio` of useful time is under the system's own log."""
    count_of = max((len(one.runs) for one in found.protected), default=0)
    title, days = title_of(scenario), exact(scenario.faults.campaign_days, "days")
    told = f"{title} trains {model_name(scenario)} for {days}, {count(count_of, 'time')} with other random faults."
    one = found.of(own(scenario))
    here = f"over these weeks that keeps {percent(one.share)} of the time useful" if one.runs else f"not possible: {one.refused}"
    calm = "" if ratio is None else f"; without faults, as an estimate has it, {percent(ratio)}"
    whose = "no log" if one.name == "none" else f"the system's own log, {inside(one.title)}"
    return f"{told} Estimates and full runs train under {whose}: {here}{calm}. A single run's share counts its own outages alone."


def means(found: Campaigns) -> pd.DataFrame:
    """Return one row a protection with every mean, those that cannot be had at the end with their sentence."""
    rows = [{"Protection": one.title, **one.means, "Not possible here": one.refused} for one in found.protected]
    return pd.DataFrame(rows).rename(columns=OVER_WEEKS)


def survives() -> pd.DataFrame:
    """Return what each protection gives back of what a fault destroys."""
    rows = [{"Protection": load("protections", name).title, **load("protections", name).keeps} for name in names("protections")]
    return pd.DataFrame(rows)


def periods(curve: PeriodCurve) -> pd.DataFrame:
    """Return the time that is not useful over the checkpoint period: minutes, share, how it is known."""
    simulated = [(one.period, one.simulated, "simulated") for one in curve.points]
    formula = [(one.period, one.closed_form, "closed form") for one in curve.points if one.closed_form is not None]
    rows = [{"period": period / MINUTE, "gone": 100 * (1 - share), "how": how} for period, share, how in [*simulated, *formula]]
    return pd.DataFrame(rows)


def yardsticks() -> tuple[str, str]:
    """Return what the dashed lines are, and what Llama 3's public numbers would give."""
    told = "; ".join(f"{one.name} ({one.source})" for one in YARDSTICKS)
    return f"Dotted: what others publish of their own machines, to compare with, not to reach: {told}.", llama().sentence


def lowest(frame: pd.DataFrame) -> float:
    """Return the least percentage worth drawing: a power of ten well below the best period's, so that names have room."""
    least = max(frame["gone"].min(), 1e-4)
    return float(10 ** floor(log10(least / ROOM)))


def marked(curve: PeriodCurve, best: ProtectionLoss | None, chosen: ProtectionLoss | None) -> tuple[Marked, ...]:
    """Return the named periods of a curve: the lowest loss, one's own, and the best of Young and Daly."""
    found = [Marked("lowest loss", *lowest_loss(curve, best))]
    if chosen and chosen.period and chosen.share:
        found.append(Marked("yours", chosen.period / MINUTE, 100 * chosen.share.total))
    formula = {"Daly": curve.daly, "Young": curve.young}
    return (*found, *(Marked(who, value / MINUTE) for who, value in formula.items() if value))


def lowest_loss(curve: PeriodCurve, best: ProtectionLoss | None) -> tuple[float, float]:
    """Return minutes and percentage of the period that loses least: by the closed form, or else as simulated."""
    if best and best.period and best.share:
        return best.period / MINUTE, 100 * best.share.total
    point = max(curve.points, key=lambda one: one.simulated)
    return point.period / MINUTE, 100 * (1 - point.simulated)


def on_periods(curve: PeriodCurve, title: str, best: ProtectionLoss | None) -> str:
    """Return where the best period lies, and by Daly's formula."""
    minutes, gone = lowest_loss(curve, best)
    told = f"{title} loses least when written every {figure(minutes * MINUTE, 's')}: {percent(gone / 100)} of the time"
    return f"{told}; Daly's formula says {figure(curve.daly, 's')}" if curve.daly else told


def around(run: Campaign, recovery: CampaignRecovery) -> pd.DataFrame:
    """Return what happens around one fault, seconds from it: lane, what, start, end."""
    undone = min(max(recovery.replay, 0.0), recovery.at)
    before = min(recovery.at, undone + 0.6 * max(undone, _down(recovery)))
    rows: list[dict[str, Any]] = [
        {"lane": "Training", "what": "counts", "start": -before, "end": -undone},
        {"lane": "Training", "what": "lost", "start": -undone, "end": 0.0},
    ]
    now = 0.0
    for what in RECOVERS:
        lasts = getattr(recovery, what)
        rows.append({"lane": "Recovery", "what": what, "start": now, "end": now + lasts})
        now += lasts
    after = now + recovery.replay
    rows.append({"lane": "Training", "what": "replayed", "start": now, "end": after})
    rows.append({"lane": "Training", "what": "counts", "start": after, "end": after + 0.4 * (before + now)})
    rows += [{"lane": "Checkpoint", "what": "checkpoint", **one} for one in _checkpoints(run, -undone, -before)]
    return pd.DataFrame([row for row in rows if row["end"] > row["start"] or row["lane"] == "Checkpoint"])


def _checkpoints(run: Campaign, newest: float, since: float) -> list[dict[str, float]]:
    """Return the checkpoints before a fault, from the one that it goes back to."""
    if not run.plan.every:
        return []
    cycle, lasts = run.plan.cycle, run.plan.pause + run.plan.drain
    ends = [newest - k * cycle for k in range(50) if newest - k * cycle > since]
    return [{"start": end - lasts, "end": end} for end in ends]


def _down(recovery: CampaignRecovery) -> float:
    return recovery.detect + recovery.restart + recovery.restore


def again_text(recovery: CampaignRecovery) -> str:
    """Return how many batches a recovery trains a second time."""
    batches = recovery.embedding_batches
    return f"{count(batches, 'batch', 'batches')} {'is' if batches == 1 else 'are'} trained again"


def on_recovery(run: Campaign, recovery: CampaignRecovery) -> str:
    """Return one fault's story as a sentence."""
    title = load("faults", recovery.fault).title
    down = figure(_down(recovery), "s")
    times = "once" if recovery.again == 1 else count(recovery.again, "time")
    again = f" after it was interrupted {times}" if recovery.again else ""
    rows, mlps = count(recovery.embedding_batches), count(recovery.mlp_batches)
    lost = {
        "lost": "nothing came back: training starts at batch 0",
        "lossy": f"embeddings {rows} and MLPs {mlps} batches behind come back",
        "exact": f"everything comes back; {again_text(recovery)}, {figure(recovery.replay, 's')}",
    }[recovery.keeps]
    return f"{title} after {figure(recovery.at, 's')}: training stands still for {down}{again}, then {lost}"
