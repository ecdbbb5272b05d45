"""The fold over faults that is a campaign: train until one strikes, notice it, restart, restore, train on.

Between faults everything is closed arithmetic. A fault during detection, restart or restore starts all three over.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from .accounts import CampaignLedger
from .closed_form import StretchProgress, completed_seconds, progress_after, seconds_for
from .protection import KEEPS, Keeps, Protection, ProtectionPlan


class FaultArrival(NamedTuple):
    """A fault: when, its name, what it destroys; if nothing, training takes `factor` times as long for `slow` seconds."""

    at: float
    fault: str
    destroys: frozenset[str]
    slow: float = 0.0
    factor: float = 1.0


class CampaignRecovery(NamedTuple):
    """One recovery: what came back, how many batches embeddings and MLP lost, and seconds until nothing is missing.

    `again` is how often it was begun again; the seconds are those of its last attempt, `replay` those of training again.
    """

    at: float
    fault: str
    keeps: Keeps
    embedding_batches: int
    mlp_batches: int
    detect: float
    restart: float
    restore: float
    replay: float
    again: int


@dataclass(frozen=True)
class Terms:
    """What a campaign goes by: protection and plan, seconds and joules of a useful batch, idle watts, times to come back.

    `fresh` are the seconds that first values take where nothing comes back, `stored` the bytes that a batch itself stores,
    by medium.
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
    """A recovery under way: the first fault, the worst that comes back, how far training had come, whether it goes back.

    `did` is what the stretch before it has done, without the batch that was cut.
    """

    at: float
    fault: str
    keeps: Keeps
    reached: int
    did: StretchProgress
    rewinds: bool = False
    again: int = 0


@dataclass
class CampaignState:
    """Where a campaign stands: the batch it last began at, the furthest ever reached, seconds trained since, and its books.

    `kept` is the batch of the newest checkpoint that counted when a fault last struck, `backup` that of the newest rare copy.
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


def fold(terms: Terms, arrivals: Iterable[FaultArrival], end: float) -> tuple[CampaignState, float]:
    """Run a campaign of `end` seconds over faults in rising order; return its last state and the batches that count then."""
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


def _advance(terms: Terms, state: CampaignState, to: float) -> None:
    """Go on until `to`: with the recovery under way, then with training, slowly where a fault says so."""
    if state.outage and not _come_back(terms, state, state.outage, to):
        return
    for last, factor in ((min(to, state.slow_until), state.factor), (to, 1.0)):
        length = last - state.now
        if length > 0:
            more = length * (1 - 1 / factor)
            state.ledger.book("slow", more, more * terms.watts)
            state.trained += length / factor
            state.now = last


def _come_back(terms: Terms, state: CampaignState, outage: CampaignOutage, to: float) -> bool:
    """Book detection, restart and restore as far as they get until `to`; return whether training can go on."""
    plan = terms.plan
    restore = {"lost": terms.fresh, "older": max(plan.restore, plan.backup_drain)}.get(outage.keeps, plan.restore)
    steps = {"detect": terms.detect, "restart": terms.restart, "restore": restore}
    for kind, length in steps.items():
        spent = min(length, to - state.now)
        share = spent / length if length else 1.0
        read = share if kind == "restore" and outage.keeps != "lost" else 0.0
        state.ledger.book(kind, spent, spent * terms.watts + read * plan.restore_joules)
        if spent < length:
            state.now = to
            return False
        state.now += spent
    old = outage.reached - state.kept
    _rewind(terms, state, outage)
    behind = outage.reached - state.batch if outage.rewinds else 0
    mlp, replay = behind + (plan.stale if outage.keeps == "lossy" else 0), seconds_for(plan, behind)
    behind = behind if outage.rewinds else old
    times = (terms.detect, terms.restart, restore, replay)
    state.recoveries.append(CampaignRecovery(outage.at, outage.fault, outage.keeps, behind, mlp, *times, outage.again))
    state.outage = None
    return True


def _strike(terms: Terms, state: CampaignState, arrival: FaultArrival) -> None:
    """Cut the batch or pause under way, and begin to recover, from the start if a recovery was under way."""
    keeps = terms.protection.gives_back(arrival.destroys)
    if state.outage:
        worst = max(keeps, state.outage.keeps, key=KEEPS.index)
        state.outage.keeps, state.outage.again = worst, state.outage.again + 1
    else:
        seconds, did = state.trained, progress_after(terms.plan, state.trained)
        state.trained = completed_seconds(terms.plan, did, seconds)
        left = progress_after(terms.plan, state.trained)
        _book(terms, state, did.less(left), 0.0)
        state.kept = max(state.kept, state.batch + did.durable)
        state.backup = max(state.backup, _backup(terms.plan, state, seconds))
        state.outage = CampaignOutage(arrival.at, arrival.fault, keeps, state.batch + did.whole, left)
    state.outage.rewinds |= not (terms.plan.partial and keeps == "lossy")


def _rewind(terms: Terms, state: CampaignState, outage: CampaignOutage) -> None:
    """Go back to the newest checkpoint, or to the first batch; a partial recovery goes on where training was."""
    if not outage.rewinds:
        return
    _book(terms, state, outage.did, outage.did.whole)
    state.kept = {"lost": 0, "older": state.backup}.get(outage.keeps, max(state.kept, state.backup))
    state.backup = min(state.backup, state.kept)
    state.batch, state.trained = state.kept, 0.0


def _backup(plan: ProtectionPlan, state: CampaignState, seconds: float) -> int:
    """Return the batch of the newest rare copy that counts after so many seconds of this stretch."""
    if not plan.backup_every or seconds < plan.backup_drain:
        return 0
    reached = state.batch + progress_after(plan, seconds - plan.backup_drain).whole
    newest = reached // plan.backup_every * plan.backup_every
    return newest if newest >= state.batch else 0  # a copy that was cut cannot be begun again from a later batch


def _book(terms: Terms, state: CampaignState, did: StretchProgress, counted: float) -> None:
    """Book a stretch: batches that are new, batches trained again, the one that was cut, logs and checkpoints."""
    plan, ledger = terms.plan, state.ledger
    again = min(max(state.furthest - state.batch, 0.0), counted)
    for bucket, batches in (("replay", again), ("useful", counted - again), ("lost", max(did.batches - counted, 0.0))):
        ledger.book(bucket, batches * terms.useful, batches * terms.useful_joules)
    extra, joules = plan.step - terms.useful, plan.joules - terms.useful_joules
    ledger.book("checkpoint", did.batches * extra + did.stood, did.batches * joules + did.stood * terms.watts)
    ledger.book("checkpoint", 0.0, did.written * plan.checkpoint_joules)
    ledger.carry("written", plan.written, did.written)
    ledger.carry("written", plan.batch_written, did.batches)
    ledger.carry("trained", terms.stored, did.batches)
    state.furthest = max(state.furthest, state.batch + int(counted))


def _finish(terms: Terms, state: CampaignState) -> float:
    """Book the last stretch, and as lost what was undone and not trained again; return the batches that count."""
    if state.outage:
        _rewind(terms, state, state.outage)
    did, furthest = progress_after(terms.plan, state.trained), state.furthest
    _book(terms, state, did, did.batches)
    counts = state.batch + did.batches
    gone = max(furthest - counts, 0.0)
    for bucket, batches in (("useful", -gone), ("lost", gone)):
        state.ledger.book(bucket, batches * terms.useful, batches * terms.useful_joules)
    state.ledger.book("checkpoint", 0.0, terms.plan.watts * state.now)
    return counts
