"""One campaign: a scenario's machine trains for days under a protection and faults; and many of them, by seed."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp

from ..core.figures import exact, figure
from ..errors import BadKnob, nearest
from ..faults.fault import Hazard
from ..registry import load, names
from ..scenario.scenario import Scenario
from ..units import HOUR
from . import batch_costs, fault_stream
from .accounts import closed
from .fold import CampaignRecovery, FaultArrival, Terms, fold
from .protection import Protection, ProtectionPlan, Site
from .site import site

MOST_HOURS = 1e6


@dataclass(frozen=True)
class Campaign:
    """What a campaign came to. Seconds and joules by bucket (see `accounts.BUCKETS`), bytes by medium.

    `batches` count at the end; `trained_written` are the bytes that training itself stored in persistent memory, whatever
    became of it.
    """

    plan: ProtectionPlan
    site: Site
    elapsed: float
    batches: float
    seconds: Mapping[str, float]
    joules: Mapping[str, float]
    written: Mapping[str, float]
    trained_written: float
    recoveries: tuple[CampaignRecovery, ...]
    faults: int

    @property
    def ettr(self) -> float:
        """Share of the elapsed time in which batches were trained that count at the end, logs and checkpoints not included."""
        return self.seconds["useful"] / self.elapsed

    @property
    def goodput(self) -> float:
        """Samples per second that count."""
        return self.batches * self.site.scenario.data.batch_size / self.elapsed

    @property
    def checkpoint_overhead(self) -> float:
        """Seconds of logs and checkpoints per second of training."""
        trained = sum(self.seconds[name] for name in ("useful", "lost", "replay"))
        return self.seconds["checkpoint"] / trained if trained else 0.0

    @property
    def unrecoverable(self) -> int:
        """How often nothing came back and training started again."""
        return sum(recovery.keeps == "lost" for recovery in self.recoveries)

    @property
    def energy(self) -> float:
        """All joules."""
        return sum(self.joules.values())


def campaign(
    scenario: Scenario,
    protection: str,
    hazards: Mapping[str, Hazard],
    hours: float,
    seed: int,
    period: float | None = None,
) -> Campaign:
    """Simulate `hours` of training, `period` seconds between checkpoints (None: the best). Raises BadKnob and CannotRun."""
    terms, where = terms_of(scenario, protection, fault_stream.rollback_mtbf(hazards), period)
    if not 0 < hours <= MOST_HOURS:
        raise BadKnob(f"A campaign of {figure(hours, 'h')} is not possible; give more than 0 and at most {exact(MOST_HOURS)} h.")
    arrivals = fault_stream.fault_arrivals(scenario, hazards, seed, hours * HOUR)
    return campaign_under(terms, where, arrivals, hours * HOUR)


def campaign_under(terms: Terms, where: Site, arrivals: list[FaultArrival], end: float) -> Campaign:
    """Simulate `end` seconds under these very faults."""
    state, batches = fold(terms, arrivals, end)
    ledger = state.ledger
    return Campaign(
        plan=terms.plan,
        site=where,
        elapsed=state.now,
        batches=batches,
        seconds=closed(ledger.seconds),
        joules=closed(ledger.joules),
        written=closed(ledger.written),
        trained_written=closed(ledger.trained).get("pmem", 0.0),
        recoveries=tuple(state.recoveries),
        faults=len(arrivals),
    )


def terms_of(scenario: Scenario, protection: str, mtbf: float | None, period: float | None = None) -> tuple[Terms, Site]:
    """Return what a campaign goes by, and the site that it follows from."""
    if protection not in names("protections"):
        raise BadKnob(f"protection={protection!r} is not known; {nearest(protection, names('protections'), 'protections')}")
    if period is not None and not 0 < period < MOST_HOURS * HOUR:
        raise BadKnob(
            f"A checkpoint period of {figure(period, 's')} is not possible; give more than 0 s, or nothing for the best one."
        )
    chosen: Protection = load("protections", protection)
    logged = batch_costs.logged_costs(scenario, chosen.log(scenario)) if chosen.log else None
    where = site(scenario, logged, mtbf, period)
    plan = chosen.plan(where)
    useful, joules = min(where.bare.step, plan.step), min(where.bare.joules, plan.joules)
    faults, fresh = scenario.faults, max(plan.restore, plan.backup_drain, where.state / where.home.write)
    late = faults.late_detection_share * faults.late_detection_seconds
    noticed = faults.detect_seconds * exp(faults.detect_sigma**2 / 2) + late
    repaired = faults.repair_median_seconds * exp(faults.repair_sigma**2 / 2) + faults.restart_seconds
    stored = {"pmem": where.bare.written}
    return Terms(chosen, plan, useful, joules, where.watts, noticed, repaired, fresh, stored), where
