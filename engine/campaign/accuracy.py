"""The accuracy cost of a protection's recovery, from the stored studies.

An exact recovery has no accuracy cost.
"""

from dataclasses import dataclass, replace
from functools import cache
from math import log

from ..core import figures
from ..registry import load_variant
from ..validation.studies import study_file
from ..validation.studies.findings import Finding, findings, variant_label
from ..validation.studies.protections import parse_variant
from ..validation.studies.rollbacks import fault_batches
from .protection import Protection, ProtectionPlan

PERCENT = 100.0  # percentage points in 1
LEAST_SHARE = 1e-5  # of the MLPs' training; a smaller share is only told as smaller


@dataclass(frozen=True)
class AccuracyEffect:
    """The differences between a recovered run and a run without a fault.

    is_exact: whether recovery restores the exact state, so that there is no difference.
    sentence: the measured variant that stands for this recovery, and a note if the recovery goes back further than measured.
    effects: the differences right after a recovery and at the study's end; empty without a measurement.
    """

    is_exact: bool
    sentence: str
    effects: tuple[Finding, ...] = ()


def accuracy_effect(protection: str, plan: ProtectionPlan | None = None) -> AccuracyEffect:
    """Return the accuracy effect of one recovery by a protection.

    With a plan, the effect is that of the measured variant most similar to the plan's recovery.
    """
    definition: Protection = load_variant("protections", protection)
    if "lossy" not in definition.fidelity_by_loss.values():
        return AccuracyEffect(True, "The recovered state is exact, so a recovery changes no later result.")
    if protection in ("relaxed", "relaxed-backup"):
        return _stale_effect(plan.mlp_age if plan else 100)
    if protection == "cpr":
        return _nearest_effect("cpr", float(plan.checkpoint_interval) / 2 if plan else 500.0, "batches")
    return _nearest_effect("bits", 4.0, "bits")


@cache
def stored_findings() -> tuple[Finding, ...]:
    """Return the findings of the stored study of lossy protections; raises BadFile."""
    return findings(study_file.read_study(study_file.STORED_PROTECTIONS))


def many_faults_sentence(recoveries: float, batches: float, taken_back: float) -> str:
    """Return a sentence on the accuracy cost of a campaign's many relaxed recoveries, or "".

    recoveries: the number of recoveries.
    batches: the batches of the campaign.
    taken_back: the batches of the MLPs' training that all recoveries undo together.
    The sentence has the measured run whose undone share is closest to the campaign's.
    """
    if not (recoveries and batches and taken_back > 0):
        return ""
    study = study_file.read_study(study_file.STORED_ROLLBACKS)
    plan, share = study.plan, taken_back / batches
    spread = {name: len(fault_batches(plan, name)) for name in plan.compared_variants if name.startswith("spread")}
    shares = {name: recovered * plan.age / plan.crash_at for name, recovered in spread.items()}
    nearest = min(shares, key=lambda name: abs(log(shares[name] / share)))
    ends = (
        finding for finding in findings(study) if (finding.variant, finding.moment, finding.measure) == (nearest, "at_end", "auc")
    )
    difference = next(ends).difference
    share_text = figures.percent(share) if share > LEAST_SHARE else f"under {figures.percent(LEAST_SHARE)}"
    count = figures.count(spread[nearest], "recovery", "recoveries")
    return (
        f"On average, {figures.figure(recoveries)} recoveries of this campaign undo {share_text} of the MLPs' training. "
        f"Measured: {figures.percent(shares[nearest])} undone by {count} changes AUC by {figures.signed(difference.mean)} "
        f"percentage points at the end ({figures.signed(difference.low)} to "
        f"{figures.signed(difference.high)}){', so no loss is shown' if difference.high >= 0 else ''}."
    )


def stale_mlp_cost(age: int) -> str:
    """Return a clause on the AUC that a recovery to an older MLP costs.

    age: batches that the MLP is older. Beyond the study the cost is unknown. The smallest age of the study that is at least
    as old stands for it; the interval is of 95 %.
    """
    study = study_file.read_study(study_file.STORED_ACCURACY)
    ages = sorted(study.plan.compared_variants)
    if age > ages[-1]:
        return f"AUC: unknown (studied to {figures.count(ages[-1], 'batch', 'batches')})"
    studied_age = next(candidate for candidate in ages if candidate >= age)
    (difference,) = (
        finding.difference
        for finding in findings(study)
        if (finding.variant, finding.moment, finding.measure) == (studied_age, "at_end", "auc")
    )
    mean, half_width = difference.mean / PERCENT, difference.half_width / PERCENT
    sign = "+" * (mean > 0)
    return f"AUC {sign}{figures.with_error(mean, half_width)} (studied to {figures.count(ages[-1], 'batch', 'batches')})"


def _nearest_effect(kind: str, amount: float, unit: str) -> AccuracyEffect:
    """Return the effect of the measured variant of a kind with the nearest amount."""
    measured_amounts = {
        parse_variant(finding.variant)[1] for finding in stored_findings() if parse_variant(finding.variant)[0] == kind
    }
    nearest_amount = min(measured_amounts, key=lambda candidate: abs(candidate - amount))
    effects = tuple(finding for finding in stored_findings() if finding.variant == f"{kind}-{nearest_amount}")
    note = (
        f" A recovery here is about {figures.count(amount)} {unit}, more than was measured."
        if amount > 2 * max(measured_amounts)
        else ""
    )
    return AccuracyEffect(False, f"Measured: {variant_label(f'{kind}-{nearest_amount}')}.{note}", effects)


def _stale_effect(age: int) -> AccuracyEffect:
    """Return the accuracy study's effect for the age nearest to that of the MLP log."""
    study = study_file.read_study(study_file.STORED_ACCURACY)
    nearest_age = min(study.plan.compared_variants, key=lambda candidate: abs(candidate - age))
    name = f"mlp-{nearest_age}"
    effects = tuple(replace(finding, variant=name) for finding in findings(study) if finding.variant == nearest_age)
    return AccuracyEffect(False, f"Measured: {variant_label(name)}; the log here is up to {figures.count(age)} old.", effects)
