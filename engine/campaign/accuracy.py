"""The accuracy cost of a protection's recovery: nothing if it is exact, else what the stored studies measured."""

from dataclasses import dataclass, replace
from functools import cache
from math import log

from ..core import figures
from ..registry import load
from ..validation.studies import kept
from ..validation.studies.findings import Finding, findings, label
from ..validation.studies.protections import parsed
from ..validation.studies.rollbacks import fault_batches
from .protection import Protection, ProtectionPlan

LEAST_SHARE = 1e-5  # of the MLPs' training, below which what is taken back is not told more finely


@dataclass(frozen=True)
class AccuracyEffect:
    """Differences to a run without a fault, right after one recovery and at the study's end; none where nothing was measured.

    `exact` says that recovery gives back the very state, so that there is no difference to measure; `sentence` says which
    measured variant stands for this recovery, and what is farther than that.
    """

    exact: bool
    sentence: str
    effects: tuple[Finding, ...] = ()


def accuracy_effect(protection: str, plan: ProtectionPlan | None = None) -> AccuracyEffect:
    """Return what one recovery by a protection costs; with a plan, the measured variant nearest to what it gives back."""
    chosen: Protection = load("protections", protection)
    if "lossy" not in chosen.keeps.values():
        return AccuracyEffect(True, "What comes back is exact, so one recovery changes no later result.")
    if protection in ("relaxed", "relaxed-backup"):
        return _stale(plan.stale if plan else 100)
    if protection == "cpr":
        return _nearest("cpr", float(plan.every) / 2 if plan else 500.0, "batches")
    return _nearest("bits", 4.0, "bits")


@cache
def stored() -> tuple[Finding, ...]:
    """Return what the stored study of lossy protections found; raises BadFile where it cannot be read."""
    return findings(kept.read(kept.STORED_PROTECTIONS))


def over_many_faults(recoveries: float, batches: float, taken_back: float) -> str:
    """Return what so many relaxed recoveries of a campaign can add up to, which take back `taken_back` batches of its MLPs.

    The measured run whose recoveries take back the nearest share of its MLPs' training stands for it.
    """
    if not (recoveries and batches and taken_back > 0):
        return ""
    study = kept.read(kept.STORED_ROLLBACKS)
    plan, share = study.plan, taken_back / batches
    spread = {name: len(fault_batches(plan, name)) for name in plan.changed if name.startswith("spread")}
    shares = {name: recovered * plan.age / plan.crash_at for name, recovered in spread.items()}
    nearest = min(shares, key=lambda name: abs(log(shares[name] / share)))
    ends = (one for one in findings(study) if (one.variant, one.moment, one.measure) == (nearest, "at_end", "auc"))
    difference = next(ends).difference
    taken = figures.percent(share) if share > LEAST_SHARE else f"under {figures.percent(LEAST_SHARE)}"
    count = figures.count(spread[nearest], "recovery", "recoveries")
    return (
        f"In the mean {figures.figure(recoveries)} recoveries of this campaign take back {taken} of the MLPs' training. "
        f"Measured: {figures.percent(shares[nearest])} taken back by {count} changes AUC by "
        f"{figures.signed(difference.mean)} percentage points at the end ({figures.signed(difference.low)} to "
        f"{figures.signed(difference.high)}){', so no loss is shown' if difference.high >= 0 else ''}."
    )


def _nearest(kind: str, amount: float, unit: str) -> AccuracyEffect:
    """Return the measured variant of a kind whose amount is nearest."""
    known = {parsed(one.variant)[1] for one in stored() if parsed(one.variant)[0] == kind}
    best = min(known, key=lambda one: abs(one - amount))
    found = tuple(one for one in stored() if one.variant == f"{kind}-{best}")
    far = f" A recovery here is about {figures.count(amount)} {unit}, more than was measured." if amount > 2 * max(known) else ""
    return AccuracyEffect(False, f"Measured: {label(f'{kind}-{best}')}.{far}", found)


def _stale(age: int) -> AccuracyEffect:
    """Return the accuracy study's differences for the age nearest to that of the MLP log."""
    study = kept.read(kept.STORED)
    best = min(study.plan.changed, key=lambda one: abs(one - age))
    name = f"mlp-{best}"
    found = tuple(replace(one, variant=name) for one in findings(study) if one.variant == best)
    return AccuracyEffect(False, f"Measured: {label(name)}; the log here is up to {figures.count(age)} old.", found)
