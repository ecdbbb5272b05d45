"""The simulation of a campaign, fault by fault.

Between two faults all sums are closed formulas. A fault during detection, restart or restore starts these three again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from .accounts import CampaignLedger
from .closed_form import StretchProgress, completed_seconds, progress_after, seconds_for
from .protection import FIDELITIES, Fidelity, Protection, ProtectionPlan


class FaultArrival(NamedTuple):
    """One fault of a campaign.

    seconds: its time [s].
    fault: its name.
    destroys: the parts that it destroys; empty for a slow-down.
    slow_seconds: the length of the slow-down [s].
    slow_factor: the factor on training time during the slow-down.
    """

    seconds: float
    fault: str
    destroys: frozenset[str]
    slow_seconds: float = 0.0
    slow_factor: float = 1.0


class CampaignRecovery(NamedTuple):
    """One recovery of a campaign.

    fault_seconds: the time of the first fault [s].
    fault: the name of the first fault.
    fidelity: the fidelity of the restored state.
    embedding_batches, mlp_batches: the batches that embeddings and MLP lost.
    detect, restart, restore: the seconds of the last attempt.
    replay: the seconds of repeated training.
    num_restarts: how often the recovery was started again.
    """

    fault_seconds: float
    fault: str
    fidelity: Fidelity
    embedding_batches: int
    mlp_batches: int
    detect: float
    restart: float
    restore: float
    replay: float
    num_restarts: int


@dataclass(frozen=True)
class CampaignTerms:
    """The terms of a campaign.

    protection: the protection.
    plan: the protection's plan on this machine.
    useful_seconds: the seconds of a batch that are useful.
    useful_joules: the joules of a batch that are useful.
    watts: the power of idle devices.
    detect, restart: mean seconds after a fault.
    initial_seconds: the seconds to write initial values where no state is restored.
    stored_bytes: the bytes that training itself stores in a batch, by medium.
    """

    protection: Protection
    plan: ProtectionPlan
    useful_seconds: float
    useful_joules: float
    watts: float
    detect: float
    restart: float
    initial_seconds: float = 0.0
    stored_bytes: Mapping[str, float] = field(default_factory=dict)


@dataclass
class CampaignOutage:
    """An outage from which the campaign has not recovered yet.

    fault_seconds: the time of the first fault [s].
    fault: the name of the first fault.
    fidelity: the worst fidelity over all faults of the outage.
    reached_batch: the batches completed at the first fault.
    completed_stretch: the progress of the stretch before, without the interrupted batch.
    rewinds: whether training goes back to a checkpoint.
    num_restarts: how often the recovery was started again.
    """

    fault_seconds: float
    fault: str
    fidelity: Fidelity
    reached_batch: int
    completed_stretch: StretchProgress
    rewinds: bool = False
    num_restarts: int = 0


@dataclass
class CampaignState:
    """The state of a campaign at one moment.

    seconds: the time [s].
    batch: the batch at which this stretch of training started.
    checkpoint_batch: the batch of the newest checkpoint that counted at the last fault.
    backup_batch: the batch of the newest rare copy that counted at the last fault.
    furthest_batch: the furthest batch ever reached.
    trained_seconds: the seconds of training in this stretch.
    slow_until: the end of the slow-down [s].
    slow_factor: the factor on training time in the slow-down.
    outage: the outage that is not over yet, or None.
    ledger: the bookings.
    recoveries: the recoveries so far.
    """

    seconds: float = 0.0
    batch: int = 0
    checkpoint_batch: int = 0
    backup_batch: int = 0
    furthest_batch: int = 0
    trained_seconds: float = 0.0
    slow_until: float = 0.0
    slow_factor: float = 1.0
    outage: CampaignOutage | None = None
    ledger: CampaignLedger = field(default_factory=CampaignLedger)
    recoveries: list[CampaignRecovery] = field(default_factory=list)


def run_faults(terms: CampaignTerms, arrivals: Iterable[FaultArrival], end: float) -> tuple[CampaignState, float]:
    """Run a campaign of `end` seconds over faults in rising order of time.

    Return the last state and the batches that count at the end.
    """
    state = CampaignState()
    for arrival in arrivals:
        if arrival.seconds >= end:
            break
        _advance(terms, state, arrival.seconds)
        if arrival.destroys:
            _strike(terms, state, arrival)
        else:
            worse = arrival.slow_factor if state.seconds >= state.slow_until else max(arrival.slow_factor, state.slow_factor)
            state.slow_until, state.slow_factor = max(state.slow_until, arrival.seconds + arrival.slow_seconds), worse
    _advance(terms, state, end)
    return state, _finish(terms, state)


def _advance(terms: CampaignTerms, state: CampaignState, end: float) -> None:
    """Advance the state to `end` [s]: first a recovery under way, then training."""
    if state.outage and not _book_recovery(terms, state, state.outage, end):
        return
    for segment_end, factor in ((min(end, state.slow_until), state.slow_factor), (end, 1.0)):
        length = segment_end - state.seconds
        if length > 0:
            slow_seconds = length * (1 - 1 / factor)
            state.ledger.book("slow", slow_seconds, slow_seconds * terms.watts)
            state.trained_seconds += length / factor
            state.seconds = segment_end


def _book_recovery(terms: CampaignTerms, state: CampaignState, outage: CampaignOutage, end: float) -> bool:
    """Book detection, restart and restore up to `end` [s]; return whether training can go on."""
    plan = terms.plan
    restore = {"lost": terms.initial_seconds, "older": max(plan.restore, plan.backup_drain)}.get(outage.fidelity, plan.restore)
    steps = {"detect": terms.detect, "restart": terms.restart, "restore": restore}
    for kind, length in steps.items():
        spent = min(length, end - state.seconds)
        share = spent / length if length else 1.0
        read_share = share if kind == "restore" and outage.fidelity != "lost" else 0.0
        state.ledger.book(kind, spent, spent * terms.watts + read_share * plan.restore_joules)
        if spent < length:
            state.seconds = end
            return False
        state.seconds += spent
    checkpoint_age = outage.reached_batch - state.checkpoint_batch
    _rewind(terms, state, outage)
    lost_batches = outage.reached_batch - state.batch if outage.rewinds else 0
    mlp, replay = lost_batches + (plan.mlp_age if outage.fidelity == "lossy" else 0), seconds_for(plan, lost_batches)
    lost_batches = lost_batches if outage.rewinds else checkpoint_age
    times = (terms.detect, terms.restart, restore, replay)
    state.recoveries.append(
        CampaignRecovery(outage.fault_seconds, outage.fault, outage.fidelity, lost_batches, mlp, *times, outage.num_restarts)
    )
    state.outage = None
    return True


def _strike(terms: CampaignTerms, state: CampaignState, arrival: FaultArrival) -> None:
    """Interrupt the batch or pause under way and start a recovery anew."""
    fidelity = terms.protection.fidelity_after(arrival.destroys)
    if state.outage:
        worst_fidelity = max(fidelity, state.outage.fidelity, key=FIDELITIES.index)
        state.outage.fidelity, state.outage.num_restarts = worst_fidelity, state.outage.num_restarts + 1
    else:
        seconds, stretch = state.trained_seconds, progress_after(terms.plan, state.trained_seconds)
        state.trained_seconds = completed_seconds(terms.plan, stretch, seconds)
        completed_stretch = progress_after(terms.plan, state.trained_seconds)
        _book(terms, state, stretch.progress_since(completed_stretch), 0.0)
        state.checkpoint_batch = max(state.checkpoint_batch, state.batch + stretch.durable_batch)
        state.backup_batch = max(state.backup_batch, _backup(terms.plan, state, seconds))
        state.outage = CampaignOutage(
            arrival.seconds, arrival.fault, fidelity, state.batch + stretch.completed_batches, completed_stretch
        )
    state.outage.rewinds |= not (terms.plan.partial and fidelity == "lossy")


def _rewind(terms: CampaignTerms, state: CampaignState, outage: CampaignOutage) -> None:
    """Set the state back to the newest checkpoint or the first batch.

    A partial recovery keeps it.
    """
    if not outage.rewinds:
        return
    _book(terms, state, outage.completed_stretch, outage.completed_stretch.completed_batches)
    state.checkpoint_batch = {"lost": 0, "older": state.backup_batch}.get(
        outage.fidelity, max(state.checkpoint_batch, state.backup_batch)
    )
    state.backup_batch = min(state.backup_batch, state.checkpoint_batch)
    state.batch, state.trained_seconds = state.checkpoint_batch, 0.0


def _backup(plan: ProtectionPlan, state: CampaignState, seconds: float) -> int:
    """Return the batch of the newest rare copy that counts after some seconds."""
    if not plan.backup_interval or seconds < plan.backup_drain:
        return 0
    reached = state.batch + progress_after(plan, seconds - plan.backup_drain).completed_batches
    newest = reached // plan.backup_interval * plan.backup_interval
    return newest if newest >= state.batch else 0  # an interrupted copy cannot start again from a later batch


def _book(terms: CampaignTerms, state: CampaignState, stretch: StretchProgress, counted_batches: float) -> None:
    """Book a stretch: new batches, repeated batches, the interrupted batch, logs and checkpoints."""
    plan, ledger = terms.plan, state.ledger
    replayed_batches = min(max(state.furthest_batch - state.batch, 0.0), counted_batches)
    for bucket, batches in (
        ("replay", replayed_batches),
        ("useful", counted_batches - replayed_batches),
        ("lost", max(stretch.batches - counted_batches, 0.0)),
    ):
        ledger.book(bucket, batches * terms.useful_seconds, batches * terms.useful_joules)
    extra, joules = plan.step - terms.useful_seconds, plan.joules - terms.useful_joules
    ledger.book(
        "checkpoint",
        stretch.batches * extra + stretch.pause_seconds,
        stretch.batches * joules + stretch.pause_seconds * terms.watts,
    )
    ledger.book("checkpoint", 0.0, stretch.checkpoints_written * plan.checkpoint_joules)
    ledger.book_bytes("protection_bytes", plan.checkpoint_bytes, stretch.checkpoints_written)
    ledger.book_bytes("protection_bytes", plan.batch_bytes, stretch.batches)
    ledger.book_bytes("training_bytes", terms.stored_bytes, stretch.batches)
    state.furthest_batch = max(state.furthest_batch, state.batch + int(counted_batches))


def _finish(terms: CampaignTerms, state: CampaignState) -> float:
    """Book the last stretch, and undone batches as lost; return the batches that count."""
    if state.outage:
        _rewind(terms, state, state.outage)
    stretch, furthest = progress_after(terms.plan, state.trained_seconds), state.furthest_batch
    _book(terms, state, stretch, stretch.batches)
    counts = state.batch + stretch.batches
    undone_batches = max(furthest - counts, 0.0)
    for bucket, batches in (("useful", -undone_batches), ("lost", undone_batches)):
        state.ledger.book(bucket, batches * terms.useful_seconds, batches * terms.useful_joules)
    state.ledger.book("checkpoint", 0.0, terms.plan.watts * state.seconds)
    return counts
