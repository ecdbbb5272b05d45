"""A campaign the slow way: one batch after the other, one pause after the other, with a list of checkpoints; knows no formula."""

from dataclasses import dataclass, field

from engine.campaign.protection import FIDELITIES


@dataclass
class Slow:
    """Where the slow campaign stands; `replays` counts batches trained again, `restores` what was read back, in shares."""

    clock: float = 0.0
    batch: int = 0
    high_mark: int = 0
    age: int = 0
    replays: int = 0
    rest: float = 0.0
    backups: list = field(default_factory=lambda: [(0.0, 0)])  # as the checkpoints, but rarer
    checkpoints: list = field(default_factory=lambda: [(0.0, 0)])  # (from when it counts, its batch)
    spent: dict = field(default_factory=lambda: dict.fromkeys(("step", "pause", "detect", "restart", "restore", "restores"), 0.0))


def simulate(terms, arrivals, end):
    """Return the slow campaign at `end`; faults come in rising order, before the end, and all destroy something."""
    s, coming = Slow(), list(arrivals)
    while s.clock < end:
        share, lost_seconds = train(terms.plan, s, coming[0].seconds if coming else end)
        if coming:
            recover(terms, s, coming, end, lost_seconds)
        else:
            s.rest = share
    return s


def train(plan, s, stop):
    """Train until `stop`; return the share of a batch that was under way, and the seconds that it or a pause had taken."""
    while True:
        due = plan.checkpoint_interval > 0 and s.age == plan.checkpoint_interval
        kind, length = ("pause", plan.pause) if due else ("step", plan.step)
        if s.clock + length > stop:
            break
        s.clock, s.spent[kind] = s.clock + length, s.spent[kind] + length
        if due:
            s.age = 0
            s.checkpoints.append((s.clock + plan.drain, s.batch))
        else:
            s.batch, s.age = s.batch + 1, s.age + 1
            s.replays += s.batch <= s.high_mark
            s.high_mark = max(s.high_mark, s.batch)
            if plan.backup_interval and s.batch % plan.backup_interval == 0:
                s.backups.append((s.clock + plan.backup_drain, s.batch))
    elapsed, s.clock = stop - s.clock, stop
    s.spent[kind] += elapsed
    return (0.0 if due else elapsed / plan.step), elapsed


def recover(terms, s, coming, end, lost_seconds):
    """Find what came back; begin anew when struck again on the way. What drains stands still meanwhile."""
    plan, fault_time = terms.plan, s.clock
    fidelity = terms.protection.fidelity_after(coming.pop(0).destroys)
    partial = plan.partial and fidelity == "lossy"
    durable = max(batch for ready_time, batch in s.checkpoints if ready_time <= fault_time)
    backup = max(batch for ready_time, batch in s.backups if ready_time <= fault_time)
    while True:
        restore = {"lost": terms.initial_seconds, "older": max(plan.restore, plan.backup_drain)}.get(fidelity, plan.restore)
        stop = coming[0].seconds if coming else end
        for kind, length in (("detect", terms.detect), ("restart", terms.restart), ("restore", restore)):
            took = min(length, stop - s.clock)
            s.spent[kind] += took
            s.clock += took
            s.spent["restores"] += (took / length if length else 1.0) * (kind == "restore" and fidelity != "lost")
            if took < length:
                break
        else:
            break
        if not coming:
            break
        next_fidelity = terms.protection.fidelity_after(coming.pop(0).destroys)
        fidelity, partial = max(fidelity, next_fidelity, key=FIDELITIES.index), partial and next_fidelity == "lossy"
    if partial:
        later = s.clock - fault_time + lost_seconds
        for copies in (s.checkpoints, s.backups):
            copies[:] = [(ready_time if ready_time <= fault_time else ready_time + later, batch) for ready_time, batch in copies]
        return
    s.batch = {"lost": 0, "older": backup}.get(fidelity, max(durable, backup))
    s.age, s.checkpoints, s.backups = 0, [(0.0, s.batch)], [(0.0, min(backup, s.batch))]
    if plan.backup_interval and s.batch % plan.backup_interval == 0:
        s.backups.append((s.clock + plan.backup_drain, s.batch))  # a rare copy that the fault cut is begun again
