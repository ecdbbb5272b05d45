"""The simulation of a campaign as a fold over its faults.

Between faults all sums are closed formulas. A fault during detection, restart or restore starts all three again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from .accounts import CampaignLedger
from .closed_form import StretchProgress, completed_seconds, progress_after, seconds_for
from .protection import FIDELITIES, Fidelity, Protection, ProtectionPlan


class FaultArrival(NamedTuple):
    """One fault of a campaign.

    at: its time [s].
    fault: its name.
    destroys: the parts that it destroys; empty for a slow-down.
    slow: the length of the slow-down [s].
    factor: the factor on training time meanwhile.
    """

    at: float
    fault: str
    destroys: frozenset[str]
    slow: float = 0.0
    factor: float = 1.0


class CampaignRecovery(NamedTuple):
    """One recovery of a campaign.

    at: the time of the first fault [s].
    fault: the name of the first fault.
    keeps: the fidelity of the restored state.
    embedding_batches, mlp_batches: the batches that embeddings and MLP lost.
    detect, restart, restore: the seconds of the last attempt.
    replay: the seconds of repeated training.
    again: how often the recovery was started again.
    """

    at: float
    fault: str
    keeps: Fidelity
    embedding_batches: int
    mlp_batches: int
    detect: float
    restart: float
    restore: float
    replay: float
    again: int


@dataclass(frozen=True)
class CampaignTerms:
    """The terms of a campaign.

    protection: the protection.
    plan: the protection's plan on this machine.
    useful: the seconds of a batch that are useful.
    useful_joules: the joules of a batch that are useful.
    watts: the power of idle devices.
    detect, restart: mean seconds after a fault.
    fresh: the seconds to write initial values where no state is restored.
    stored: the bytes that training itself stores in a batch, by medium.
    """

    protection: Protection
    plan: ProtectionPlan
    useful: float
    useful_joules: float
    watts: float
    detect: float
    restart: float
    fresh: float = 0.0
    stored: Mapping[str, float] = field(default_factory=dict)


@dataclass
class CampaignOutage:
    """A recovery under way.

    at: the time of the first fault [s].
    fault: the name of the first fault.
    keeps: the worst fidelity over all faults of the outage.
    reached: the batches completed at the first fault.
    did: the progress of the stretch before, without the interrupted batch.
    rewinds: whether training goes back to a checkpoint.
    again: how often the recovery was started again.
    """

    at: float
    fault: str
    keeps: Fidelity
    reached: int
    did: StretchProgress
    rewinds: bool = False
    again: int = 0


@dataclass
class CampaignState:
    """The state of a campaign.

    now: the time [s].
    batch: the batch at which this stretch of training started.
    kept: the batch of the newest checkpoint that counted at the last fault.
    backup: the batch of the newest rare copy that counted at the last fault.
    furthest: the furthest batch ever reached.
    trained: the seconds of training in this stretch.
    slow_until: the end of the slow-down [s].
    factor: the factor on training time in the slow-down.
    outage: the recovery under way, or None.
    ledger: the bookings.
    recoveries: the recoveries so far.
    """

    now: float = 0.0
    batch: int = 0
    kept: int = 0
    backup: int = 0
    furthest: int = 0
    trained: float = 0.0
    slow_until: float = 0.0
    factor: float = 1.0
    outage: CampaignOutage | None = None
    ledger: CampaignLedger = field(default_factory=CampaignLedger)
    recoveries: list[CampaignRecovery] = field(default_factory=list)


def run_faults(terms: CampaignTerms, arrivals: Iterable[FaultArrival], end: float) -> tuple[CampaignState, float]:
    """Run a campaign of `end` seconds over faults in rising order.

    Returns the last state and the batches that count at the end.
    """
    state = CampaignState()
    for arrival in arrivals:
        if arrival.at >= end:
            break
        _advance(terms, state, arrival.at)
        if arrival.destroys:
            _strike(terms, state, arrival)
        else:
            worse = arrival.factor if state.now >= state.slow_until else max(arrival.factor, state.factor)
            state.slow_until, state.factor = max(state.slow_until, arrival.at + arrival.slow), worse
    _advance(terms, state, end)
    return state, _finish(terms, state)


def _advance(terms: CampaignTerms, state: CampaignState, end: float) -> None:
    """Advance the state to `end` [s]: first a recovery under way, then training."""
    if state.outage and not _book_recovery(terms, state, state.outage, end):
        return
    for segment_end, factor in ((min(end, state.slow_until), state.factor), (end, 1.0)):
        length = segment_end - state.now
        if length > 0:
            slow_seconds = length * (1 - 1 / factor)
            state.ledger.book("slow", slow_seconds, slow_seconds * terms.watts)
            state.trained += length / factor
            state.now = segment_end


def _book_recovery(terms: CampaignTerms, state: CampaignState, outage: CampaignOutage, end: float) -> bool:
    """Book detection, restart and restore up to `end` [s]; return whether training can go on."""
    plan = terms.plan
    restore = {"lost": terms.fresh, "older": max(plan.restore, plan.backup_drain)}.get(outage.keeps, plan.restore)
    steps = {"detect": terms.detect, "restart": terms.restart, "restore": restore}
    for kind, length in steps.items():
        spent = min(length, end - state.now)
        share = spent / length if length else 1.0
        read_share = share if kind == "restore" and outage.keeps != "lost" else 0.0
        state.ledger.book(kind, spent, spent * terms.watts + read_share * plan.restore_joules)
        if spent < length:
            state.now = end
            return False
        state.now += spent
    checkpoint_age = outage.reached - state.kept
    _rewind(terms, state, outage)
    lost_batches = outage.reached - state.batch if outage.rewinds else 0
    mlp, replay = lost_batches + (plan.stale if outage.keeps == "lossy" else 0), seconds_for(plan, lost_batches)
    lost_batches = lost_batches if outage.rewinds else checkpoint_age
    times = (terms.detect, terms.restart, restore, replay)
    state.recoveries.append(CampaignRecovery(outage.at, outage.fault, outage.keeps, lost_batches, mlp, *times, outage.again))
    state.outage = None
    return True


def _strike(terms: CampaignTerms, state: CampaignState, arrival: FaultArrival) -> None:
    """Interrupt the batch or pause under way and start a recovery anew."""
    fidelity = terms.protection.gives_back(arrival.destroys)
    if state.outage:
        worst_fidelity = max(fidelity, state.outage.keeps, key=FIDELITIES.index)
        state.outage.keeps, state.outage.again = worst_fidelity, state.outage.again + 1
    else:
        seconds, stretch = state.trained, progress_after(terms.plan, state.trained)
        state.trained = completed_seconds(terms.plan, stretch, seconds)
        completed_stretch = progress_after(terms.plan, state.trained)
        _book(terms, state, stretch.less(completed_stretch), 0.0)
        state.kept = max(state.kept, state.batch + stretch.durable)
        state.backup = max(state.backup, _backup(terms.plan, state, seconds))
        state.outage = CampaignOutage(arrival.at, arrival.fault, fidelity, state.batch + stretch.whole, completed_stretch)
    state.outage.rewinds |= not (terms.plan.partial and fidelity == "lossy")


def _rewind(terms: CampaignTerms, state: CampaignState, outage: CampaignOutage) -> None:
    """Set the state back to the newest checkpoint or the first batch.

    A partial recovery keeps it.
    """
    if not outage.rewinds:
        return
    _book(terms, state, outage.did, outage.did.whole)
    state.kept = {"lost": 0, "older": state.backup}.get(outage.keeps, max(state.kept, state.backup))
    state.backup = min(state.backup, state.kept)
    state.batch, state.trained = state.kept, 0.0


def _backup(plan: ProtectionPlan, state: CampaignState, seconds: float) -> int:
    """Return the batch of the newest rare copy that counts after some seconds."""
    if not plan.backup_every or seconds < plan.backup_drain:
        return 0
    reached = state.batch + progress_after(plan, seconds - plan.backup_drain).whole
    newest = reached // plan.backup_every * plan.backup_every
    return newest if newest >= state.batch else 0  # an interrupted copy cannot start again from a later batch


def _book(terms: CampaignTerms, state: CampaignState, stretch: StretchProgress, counted_batches: float) -> None:
    """Book a stretch: new batches, repeated batches, the interrupted batch, logs and checkpoints."""
    plan, ledger = terms.plan, state.ledger
    replayed_batches = min(max(state.furthest - state.batch, 0.0), counted_batches)
    for bucket, batches in (
        ("replay", replayed_batches),
        ("useful", counted_batches - replayed_batches),
        ("lost", max(stretch.batches - counted_batches, 0.0)),
    ):
        ledger.book(bucket, batches * terms.useful, batches * terms.useful_joules)
    extra, joules = plan.step - terms.useful, plan.joules - terms.useful_joules
    ledger.book("checkpoint", stretch.batches * extra + stretch.stood, stretch.batches * joules + stretch.stood * terms.watts)
    ledger.book("checkpoint", 0.0, stretch.written * plan.checkpoint_joules)
    ledger.carry("written", plan.written, stretch.written)
    ledger.carry("written", plan.batch_written, stretch.batches)
    ledger.carry("trained", terms.stored, stretch.batches)
    state.furthest = max(state.furthest, state.batch + int(counted_batches))


def _finish(terms: CampaignTerms, state: CampaignState) -> float:
    """Book the last stretch, and undone batches as lost; return the batches that count."""
    if state.outage:
        _rewind(terms, state, state.outage)
    stretch, furthest = progress_after(terms.plan, state.trained), state.furthest
    _book(terms, state, stretch, stretch.batches)
    counts = state.batch + stretch.batches
    undone_batches = max(furthest - counts, 0.0)
    for bucket, batches in (("useful", -undone_batches), ("lost", undone_batches)):
        state.ledger.book(bucket, batches * terms.useful, batches * terms.useful_joules)
    state.ledger.book("checkpoint", 0.0, terms.plan.watts * state.now)
    return counts
