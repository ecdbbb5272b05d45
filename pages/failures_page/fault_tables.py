"""Tables behind the charts of the page Failures, and the sentences above them."""

from math import floor, log10
from typing import Any

import pandas as pd

from engine.campaign.accounts import BUCKETS
from engine.campaign.compare import PeriodCurve
from engine.campaign.fold import CampaignRecovery
from engine.campaign.reference_points import YARDSTICKS, llama
from engine.campaign.simulate import Campaign
from engine.registry import load, names
from engine.scenario.scenario import Scenario
from engine.units import DAY, HOUR, MINUTE
from pages.answers.headline import model_name
from pages.failures_page.campaigns import Campaigns, Protected, own

OF = ("Time", "Energy")
ALIKE = 0.001  # of the time: shares nearer to each other are told as one
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


def length(seconds: float) -> str:
    """Return a length of time in the unit that one would say it in."""
    for unit, name in ((365 * DAY, "years"), (DAY, "days"), (HOUR, "h"), (MINUTE, "min"), (1.0, "s"), (1e-3, "ms")):
        if seconds >= 2 * unit or name == "ms":
            return f"{seconds / unit:.3g} {name}"
    raise ValueError("a length of time has no unit")


def finding(found: Campaigns, scenario: Scenario) -> str:
    """Return what the page has to say in one sentence."""
    fit = [one for one in found.protected if one.runs]
    best, chosen = fit[0], found.of(scenario.policy.protection)
    how_often = f"A fault every {length(found.mtbf)}" if found.mtbf else "With the faults that are listed"
    told = f"{how_often}: {_own(chosen)} keeps {_kept(chosen)} of the time useful" if chosen.runs else f"{how_often}"
    alike = [one for one in fit if best.share - one.share < ALIKE]
    if chosen in alike and chosen.name != "none":
        return f"{told}, {'more than' if len(alike) == 1 else 'as much as'} any other protection"
    most = "no protection" if best.name == "none" else _own(best)
    keeps = f"{most} keeps most" if len(alike) == 1 else f"{most} and {len(alike) - 1} more keep most"
    return f"{told}{'; ' if chosen.runs else ': '}{keeps}, {_kept(best)}"


def _own(one: Protected) -> str:
    """A title inside a sentence: a name of its own keeps its capital."""
    return one.title if one.title[1:2].isupper() or "-" in one.title.split()[0] else one.title[0].lower() + one.title[1:]


def _kept(one: Protected) -> str:
    return f"{100 * one.share:.3g} %" if one.share < 0.99 else f"{100 * one.share:.4g} %"


def under_own_log(found: Campaigns, scenario: Scenario, ratio: float | None) -> str:
    """Return how the campaigns go with estimates and full runs, whose `ratio` of useful time is under the system's own log."""
    one = found.of(own(scenario))
    here = f"over these weeks that keeps {_kept(one)}" if one.runs else f"which no campaign can have: {one.refused}"
    calm = "" if ratio is None else f"; without faults, as an estimate has it, {100 * ratio:.3g} %"
    whose = "no log" if one.name == "none" else f"the system's own log, {_own(one)}"
    return f"Estimates and full runs train under {whose}: {here}{calm}. A single run's share counts its own outages alone."


def example(scenario: Scenario, shown: Scenario) -> str:
    """Return the sentence that says what is shown though nobody asked for it."""
    protection = shown.policy.protection
    log = "" if protection == scenario.policy.protection else " under the system's own log"
    log = " of a system without a log" if log and protection == "none" else log
    return f"No fault that can strike is asked for: as an example, power is lost once a day{log}. Choose others below."


def setting(found: Campaigns, scenario: Scenario) -> str:
    """Return under what the campaigns run."""
    faults = scenario.faults
    together = f"{faults.machines:,} such machines together" if faults.machines > 1 else "one such machine"
    rates = "" if faults.rates == "none" else f" at the rates of {faults.rates}"
    classes = ", ".join(
        f"{load('faults', name).name} every {length(hazard.mtbf)}"
        for name, hazard in sorted(found.hazards.items(), key=lambda one: one[1].mtbf or 0.0)
        if hazard.mtbf
    )
    told = f"System {scenario.system} trains {model_name(scenario)} for {faults.campaign_days:g} days on {together}{rates}."
    return f"{told} Altogether: {classes}." if classes else told


def spent(found: Campaigns, of: str, scenario: Scenario) -> pd.DataFrame:
    """Return the share of each bucket by protection, best first: protection, label, nth, part, share, chosen."""
    rows = []
    for nth, one in enumerate(found.protected):
        if not one.runs:
            continue
        chosen, log = one.name == scenario.policy.protection, one.name == own(scenario) != "none"
        books = [run.seconds if of == "Time" else run.joules for run in one.runs]
        total = sum(sum(book.values()) for book in books)
        shares = {part: 100 * sum(book[part] for book in books) / total for part in BUCKETS}
        title = one.title + ", the system's own log" * log
        label = f"{title}: {shares['useful']:.3g} % useful{'  ◀ this one' * chosen}"
        rows += [
            {"protection": one.title, "label": label, "nth": nth, "part": part, "share": share, "chosen": chosen}
            for part, share in shares.items()
        ]
    return pd.DataFrame(rows)


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


def taken_away(periods: pd.DataFrame) -> pd.DataFrame:
    """Return the periods as a file has them, with units."""
    return periods.rename(columns={"period": "Checkpoint period [min]", "gone": "Time not useful [%]", "how": "Known by"})


def yardsticks() -> tuple[str, str]:
    """Return what the dashed lines are, and what Llama 3's public numbers would give."""
    told = "; ".join(f"{one.name} ({one.source})" for one in YARDSTICKS)
    return f"Dashed: what others publish of their own machines, to compare with, not to reach: {told}.", llama().sentence


def lowest(frame: pd.DataFrame) -> float:
    """Return the least share worth drawing: a round number below the best period's."""
    return float(10 ** floor(log10(max(frame["gone"].min(), 1e-4))))


def best(curve: PeriodCurve) -> tuple[tuple[str, float], ...]:
    """Return the best periods of Young and of Daly, in minutes; none without random faults."""
    found = {"Daly": curve.daly, "Young": curve.young}
    return tuple((who, value / MINUTE) for who, value in sorted(found.items(), key=lambda one: one[1] or 0.0) if value)


def on_periods(curve: PeriodCurve, title: str) -> str:
    """Return where the best period lies, by simulation and by formula."""
    best = max(curve.points, key=lambda one: one.simulated)
    told = f"{title} keeps most when written every {length(best.period)}: {100 * best.simulated:.4g} % of the time useful"
    return f"{told}; Daly's formula says {length(curve.daly)}" if curve.daly else told


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


def on_recovery(run: Campaign, recovery: CampaignRecovery) -> str:
    """Return one fault's story as a sentence."""
    title = load("faults", recovery.fault).title
    down = length(_down(recovery))
    times = "once" if recovery.again == 1 else f"{recovery.again} times"
    again = f" after it was interrupted {times}" if recovery.again else ""
    lost = {
        "lost": "nothing came back: training starts at batch 0",
        "lossy": f"embeddings {recovery.embedding_batches:,} and MLPs {recovery.mlp_batches:,} batches behind come back",
        "exact": f"everything comes back; {recovery.embedding_batches:,} batches are trained again, {length(recovery.replay)}",
    }[recovery.keeps]
    return f"{title} after {length(recovery.at)}: training stands still for {down}{again}, then {lost}"
