"""Comparisons of campaigns: protections under the same faults, and periods of one protection.

A period is the time between two checkpoints.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, sqrt
from statistics import fmean, stdev
from typing import Any, NamedTuple

from ..core.arithmetic import total
from ..errors import BadKnob, CannotRun
from ..faults.fault import Hazard
from ..hardware.devices.pmem import ENDURANCE, MEDIA
from ..hardware.money.bill import bill_price
from ..registry import load_variant
from ..scenario.scenario import Scenario
from ..units import DAY, GB, HOUR, MINUTE
from ..validation.studies.paired import student_quantile
from . import fault_stream
from .closed_form import daly_period, young_period
from .expectation import expectation
from .fold import CampaignTerms, FaultArrival
from .formulas.useful_time import useful_time
from .protection import Site
from .simulate import Campaign, campaign_terms, run_campaign, run_campaign_under

Row = Mapping[str, Any]
NORMAL = 1.959964  # encloses 95 % of a normal distribution
CURVE_FAULTS = 800


def compare_protections(
    scenario: Scenario,
    protections: Sequence[str],
    hazards: Mapping[str, Hazard],
    hours: float,
    seeds: Sequence[int],
    period: float | None = None,
) -> tuple[Row, ...]:
    """Return a row for each protection: means over seeds, all under the same faults.

    For a protection that the scenario cannot have, `Refused` has the reason. Raises BadKnob for faults that no campaign can have.
    """
    fault_stream.check_count(hazards, hours * HOUR)
    rows = []
    for name in protections:
        row = {"Protection": name, "Title": load_variant("protections", name).title}
        try:
            runs = [run_campaign(scenario, name, hazards, hours, seed, period) for seed in seeds]
        except (BadKnob, CannotRun) as error:
            rows.append({**row, "Refused": str(error)})
        else:
            rows.append(
                {
                    **row,
                    "Refused": "",
                    **_period_columns(name, runs[0]),
                    **campaign_means(runs),
                    **_closed_form_columns(scenario, name, hazards, hours * HOUR / DAY, period),
                }
            )
    return tuple(rows)


def _period_columns(protection: str, run: Campaign) -> Row:
    """Return the period of a campaign's copies, None without, and the limit at which the period lies."""
    interval = load_variant("protections", protection).interval(run.plan)
    return {"Checkpoint period [min]": interval * run.plan.step / MINUTE or None, "Limit of the period": run.period_note}


def _closed_form_columns(
    scenario: Scenario, protection: str, hazards: Mapping[str, Hazard], days: float, period: float | None
) -> Row:
    """Return the columns of the closed form; None where the faults have none."""
    try:
        columns = expectation(scenario, protection, hazards, days, period)._asdict()
    except BadKnob:
        return {"Closed form": None, "closed_form": None}
    share, price = columns.pop("useful_time"), bill_price(columns.pop("bill"))
    return {"Closed form": share, "closed_form": {**columns, "price_usd": price}}


def campaign_means(runs: Sequence[Campaign]) -> Row:
    """Return the means over campaigns with different seeds, some with 95 % intervals."""
    shares = [run.ettr for run in runs]
    half = student_quantile(len(runs) - 1) * stdev(shares) / sqrt(len(runs)) if len(runs) > 1 else None
    fatal = sum(run.unrecoverable > 0 for run in runs)
    low, high = wilson_interval(fatal, len(runs))
    return {
        "Effective training time ratio": fmean(shares),
        "Half width of its 95 % interval": half,
        "Goodput [samples/s]": fmean(run.goodput for run in runs),
        "Checkpoint overhead [%]": 100 * fmean(run.checkpoint_overhead for run in runs),
        "Lost work [h]": fmean(run.seconds["lost"] + run.seconds["replay"] for run in runs) / HOUR,
        "Faults": fmean(run.faults for run in runs),
        **_recoveries(runs),
        "Unrecoverable [%]": 100 * fatal / len(runs),
        "Unrecoverable, low [%]": 100 * low,
        "Unrecoverable, high [%]": 100 * high,
        **_bytes(runs),
        **_energy(runs),
    }


def _recoveries(runs: Sequence[Campaign]) -> Row:
    """Return the mean costs of a recovery; None without recoveries."""
    recoveries = [recovery for run in runs for recovery in run.recoveries]
    columns = {
        "RPO of embeddings [batches]": "embedding_batches",
        "RPO of the MLP [batches]": "mlp_batches",
        "Detect [s]": "detect",
        "Restart [s]": "restart",
        "Restore [s]": "restore",
        "Replay [s]": "replay",
    }
    return {
        title: fmean(getattr(recovery, name) for recovery in recoveries) if recoveries else None
        for title, name in columns.items()
    }


def _bytes(runs: Sequence[Campaign]) -> Row:
    """Return the protection's bytes a day, and the PMEM wear of a year.

    The wear includes the updates of training itself.
    """
    days = runs[0].elapsed / (24 * HOUR)
    media = ("pmem", "ssd", "remote", "network")
    daily = {
        f"Written to {name} [GB/day]": fmean(run.protection_bytes.get(name, 0.0) for run in runs) / GB / days for name in media
    }
    worn = fmean((run.protection_bytes.get("pmem", 0.0) + run.training_bytes) / pmem_endurance(run.site) for run in runs)
    return {**daily, "PMEM wear [% of endurance a year]": 100 * worn * 365 / days if runs[0].site.pmem else None}


def _energy(runs: Sequence[Campaign]) -> Row:
    """Return the joules per sample that counts, and their shares by use."""
    parts = {
        "useful": ("useful",),
        "checkpoint": ("checkpoint",),
        "lost": ("lost", "replay", "slow"),
        "recovery": ("detect", "restart", "restore"),
    }
    samples = total(run.batches * run.site.scenario.data.batch_size for run in runs)
    total_joules = total(run.energy for run in runs)
    shares = {
        f"Energy, {title} [%]": 100 * total(run.joules[name] for run in runs for name in names) / total_joules
        for title, names in parts.items()
    }
    return {"Energy per sample [J]": total_joules / samples if samples else None, **shares}


def wilson_interval(hits: int, trials: int) -> tuple[float, float]:
    """Return the 95 % interval of a probability, from `hits` in `trials`.

    Source: Wilson, JASA 22, 1927.
    """
    share, square = hits / trials, NORMAL**2 / trials
    middle = (share + square / 2) / (1 + square)
    half = sqrt(square * (share * (1 - share) + square / 4)) / (1 + square)
    return max(middle - half, 0.0), min(middle + half, 1.0)


class PeriodPoint(NamedTuple):
    """The share of useful time at one checkpoint period.

    period: seconds of training between checkpoints. simulated: the share by a simulated campaign. closed_form: the share by the
    closed form, None without one.
    """

    period: float
    simulated: float
    closed_form: float | None


@dataclass(frozen=True)
class PeriodCurve:
    """Useful time against checkpoint period, with Young's and Daly's best periods [s].

    The best periods are None without random faults.
    """

    points: tuple[PeriodPoint, ...]
    young_period: float | None
    daly_period: float | None


def period_curve(
    scenario: Scenario, protection: str, hazards: Mapping[str, Hazard], periods: Sequence[float], seed: int = 1
) -> PeriodCurve:
    """Return the share of useful time at each period, all under the same faults.

    A campaign lasts `faults.campaign_days`. Daly's and Young's periods are given where the pause does not depend on the period.
    """
    if not load_variant("protections", protection).periodic:
        raise BadKnob(f"protection={protection} has no checkpoint period; choose periodic-full, check-n-run or cpr.")
    mtbf, end = fault_stream.rollback_mtbf(hazards), scenario.faults.campaign_days * DAY
    count = ceil(CURVE_FAULTS * mtbf / end) if mtbf else 1
    struck_campaigns = _struck_campaigns(scenario, hazards, seed, end, count)
    points, pauses = {}, set()
    for period in periods:
        terms, site = campaign_terms(scenario, protection, hazards, period, end)
        shares = [run_campaign_under(terms, site, arrivals, end).ettr for arrivals in struck_campaigns]
        calm = run_campaign_under(terms, site, [], end).ettr
        share = calm + total(campaign_share - calm for campaign_share in shares) / count
        made_period = terms.protection.interval(terms.plan) * terms.plan.step
        points[made_period] = PeriodPoint(made_period, share, closed_form(scenario, terms, hazards, end))
        pauses.add(terms.plan.pause)
    pause = pauses.pop() if mtbf and len(pauses) == 1 else 0.0
    best_periods = (young_period(pause, mtbf), daly_period(pause, mtbf)) if pause and mtbf else (None, None)
    return PeriodCurve(tuple(points.values()), *best_periods)


def _struck_campaigns(
    scenario: Scenario, hazards: Mapping[str, Hazard], seed: int, end: float, count: int
) -> list[list[FaultArrival]]:
    """Return the faults of those of `count` campaigns of `end` seconds that a fault strikes."""
    random = {name: replace(hazard, listed_seconds=()) for name, hazard in hazards.items() if hazard.mtbf}
    listed = {name: replace(hazard, mtbf=None) for name, hazard in hazards.items() if hazard.listed_seconds}
    listed_arrivals = fault_stream.fault_arrivals(scenario, listed, seed, end)
    campaigns: dict[int, list[FaultArrival]] = {nth: list(listed_arrivals) for nth in range(count if listed_arrivals else 0)}
    for arrival in fault_stream.fault_arrivals(scenario, random, seed, count * end):
        nth = int(arrival.seconds // end)
        campaigns.setdefault(nth, []).append(arrival._replace(seconds=arrival.seconds - nth * end))
    return [sorted(arrivals) for arrivals in campaigns.values()]


def closed_form(scenario: Scenario, terms: CampaignTerms, hazards: Mapping[str, Hazard], seconds: float) -> float | None:
    """Return the share of useful time by the closed form.

    Return None if faults are listed, or if their intervals are not exponential.
    """
    try:
        return useful_time(scenario, terms, hazards, seconds)
    except BadKnob:
        return None


def pmem_endurance(site: Site) -> float:
    """Return the bytes that a site's persistent memory can store before it is worn out.

    It is infinite for a medium without an endurance limit.
    """
    machine = site.scenario.machine
    capacity = (machine.pmem_capacity_GB or 0.0) * GB * site.nodes
    lasts = MEDIA.extra_constants(machine.pmem).get(ENDURANCE.name)
    return lasts.value * capacity if lasts else inf
