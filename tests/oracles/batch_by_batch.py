"""A campaign the slow way: one batch after the other, one pause after the other, with a list of checkpoints; knows no formula."""

from dataclasses import dataclass, field

from engine.campaign.protection import FIDELITIES


@dataclass
class Slow:
    """Where the slow campaign stands; `again` counts batches trained again, `restores` what was read back, in shares."""

    now: float = 0.0
    batch: int = 0
    best: int = 0
    since: int = 0
    again: int = 0
    rest: float = 0.0
    backups: list = field(default_factory=lambda: [(0.0, 0)])  # as the checkpoints, but rarer
    checkpoints: list = field(default_factory=lambda: [(0.0, 0)])  # (from when it counts, its batch)
    spent: dict = field(default_factory=lambda: dict.fromkeys(("step", "pause", "detect", "restart", "restore", "restores"), 0.0))


def simulate(terms, arrivals, end):
    """Return the slow campaign at `end`; faults come in rising order, before the end, and all destroy something."""
    s, coming = Slow(), list(arrivals)
    while s.now < end:
        share, left = train(terms.plan, s, coming[0].seconds if coming else end)
        if coming:
            recover(terms, s, coming, end, left)
        else:
            s.rest = share
    return s


def train(plan, s, stop):
    """Train until `stop`; return the share of a batch that was under way, and the seconds that it or a pause had taken."""
    while True:
        due = plan.checkpoint_interval > 0 and s.since == plan.checkpoint_interval
        kind, length = ("pause", plan.pause) if due else ("step", plan.step)
        if s.now + length > stop:
            break
        s.now, s.spent[kind] = s.now + length, s.spent[kind] + length
        if due:
            s.since = 0
            s.checkpoints.append((s.now + plan.drain, s.batch))
        else:
            s.batch, s.since = s.batch + 1, s.since + 1
            s.again += s.batch <= s.best
            s.best = max(s.best, s.batch)
            if plan.backup_interval and s.batch % plan.backup_interval == 0:
                s.backups.append((s.now + plan.backup_drain, s.batch))
    left, s.now = stop - s.now, stop
    s.spent[kind] += left
    return (0.0 if due else left / plan.step), left


def recover(terms, s, coming, end, left):
    """Find what came back; begin anew when struck again on the way. What drains stands still meanwhile."""
    plan, at = terms.plan, s.now
    keeps = terms.protection.fidelity_after(coming.pop(0).destroys)
    partial = plan.partial and keeps == "lossy"
    durable = max(batch for when, batch in s.checkpoints if when <= at)
    backup = max(batch for when, batch in s.backups if when <= at)
    while True:
        restore = {"lost": terms.initial_seconds, "older": max(plan.restore, plan.backup_drain)}.get(keeps, plan.restore)
        stop = coming[0].seconds if coming else end
        for kind, length in (("detect", terms.detect), ("restart", terms.restart), ("restore", restore)):
            took = min(length, stop - s.now)
            s.spent[kind] += took
            s.now += took
            s.spent["restores"] += (took / length if length else 1.0) * (kind == "restore" and keeps != "lost")
            if took < length:
                break
        else:
            break
        if not coming:
            break
        other = terms.protection.fidelity_after(coming.pop(0).destroys)
        keeps, partial = max(keeps, other, key=FIDELITIES.index), partial and other == "lossy"
    if partial:
        later = s.now - at + left
        for copies in (s.checkpoints, s.backups):
            copies[:] = [(when if when <= at else when + later, batch) for when, batch in copies]
        return
    s.batch = {"lost": 0, "older": backup}.get(keeps, max(durable, backup))
    s.since, s.checkpoints, s.backups = 0, [(0.0, s.batch)], [(0.0, min(backup, s.batch))]
    if plan.backup_interval and s.batch % plan.backup_interval == 0:
        s.backups.append((s.now + plan.backup_drain, s.batch))  # a rare copy that the fault cut is begun again
