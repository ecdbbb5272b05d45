"""The findings of a study, by variant, moment and measure, and their table.

A finding is a difference between paired runs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import stdev
from typing import Any

from ...core import figures
from . import rollbacks
from .paired import PairedDifference, paired_difference
from .protections import NOUNS, WORDS, parse_variant
from .study_file import KINDS, Study

MOMENTS = {"at_recovery": "right after recovery", "at_end": "at the end"}
# Field of a score: its title, the factor to the unit of the table, and that unit.
MEASURES = {
    "accuracy": ("Accuracy", 1.0, "percentage points"),
    "auc": ("AUC", 100.0, "percentage points"),
    "loss": ("Log loss", 1.0, "nats"),
}


# TrainingCXL says that accuracy stays within so many percentage points though the MLP log is hundreds of batches old.
PAPER_POINTS = 0.01
PAPER_BATCHES = range(100, 1000)
PAPER = "Kwon et al., IEEE Micro 43(2), 2023"


@dataclass(frozen=True)
class Finding:
    """The difference of one variant from its pair, in one measure at one moment.

    variant: the variant's age or name.
    moment: one of MOMENTS.
    measure: one of MEASURES.
    difference: the variant's value less the value of its paired run, in the measure's unit.
    spread: the standard deviation of the paired runs' values over seeds, in the same unit.
    """

    variant: Any
    moment: str
    measure: str
    difference: PairedDifference
    spread: float


def findings(study: Study) -> tuple[Finding, ...]:
    """Return all paired differences, by moment, measure and variant; needs two seeds."""
    paired_findings, reference = [], KINDS[study.kind_name].reference
    for moment, (measure, (_, factor, _)) in product(MOMENTS, MEASURES.items()):
        scores = [getattr(study.seeds[number], moment) for number in sorted(study.seeds)]
        reference_values = [factor * getattr(score[reference], measure) for score in scores]
        for variant in study.plan.compared_variants:
            variant_values = [factor * getattr(score[variant], measure) for score in scores]
            difference = paired_difference([x - y for x, y in zip(variant_values, reference_values, strict=True)])
            paired_findings.append(Finding(variant, moment, measure, difference, stdev(reference_values)))
    return tuple(paired_findings)


def variant_label(variant: str) -> str:
    """Return a clause that describes a variant of the studies of recoveries.

    These are the studies of lossy protections and of many faults.
    """
    if variant.partition("-")[0] in rollbacks.KINDS:
        return rollbacks.variant_label(variant)
    kind, amount = parse_variant(variant)
    return WORDS[kind].format(figures.count(amount, *NOUNS[kind]))


def accuracy_sentence(study: Study) -> str:
    """Return sentences on whether the paper's bound holds, and for which ages of the log.

    The second sentence has the differences at the oldest log in the paper's range.
    """
    differences = {(finding.moment, finding.measure, finding.variant): finding.difference for finding in findings(study)}
    ages = study.plan.compared_variants
    reported_age = max(set(ages) & set(PAPER_BATCHES), default=ages[-1])
    accuracy_at_recovery, accuracy_at_end, auc_at_recovery, auc_at_end = (
        _points(differences[moment, name, reported_age]) for name in ("accuracy", "auc") for moment in MOMENTS
    )
    judged = _bound_verdict({g: differences["at_end", "accuracy", g] for g in ages})
    later = study.plan.batches - study.plan.crash_at
    return (
        f"{figures.count(later, 'batch', 'batches')} after recovery, the paper's bound of {figures.exact(PAPER_POINTS)} "
        f"percentage points of accuracy {judged}. An MLP log {figures.count(reported_age, 'batch', 'batches')} old changes "
        f"accuracy by {accuracy_at_recovery} points right after recovery and by {accuracy_at_end} at the end, "
        f"AUC by {auc_at_recovery} and {auc_at_end}."
    )


def many_faults_sentence(study: Study) -> str:
    """Return a sentence on how AUC changes with many recoveries.

    The variant with the most recoveries comes first.
    """
    plan, differences = (
        study.plan,
        {(finding.moment, finding.measure, finding.variant): finding.difference for finding in findings(study)},
    )
    by_count = sorted((len(rollbacks.fault_batches(plan, name)), name) for name in plan.variants if name.startswith("spread"))
    parts = [f"{figures.count(count)} by {_points(differences['at_end', 'auc', name])}" for count, name in reversed(by_count)]
    early_parts = [
        f"one in batch {figures.count(rollbacks.parse_variant(name)[1])} by {_points(differences['at_end', 'auc', name])}"
        for name in plan.variants
        if name.startswith("early")
    ]
    return (
        f"Recoveries that each restore MLPs {figures.count(plan.age, 'batch', 'batches')} old, spread over "
        f"{figures.count(plan.crash_at, 'batch', 'batches')}, change the final AUC by these percentage points: "
        f"{_enumeration([*parts, *early_parts], 'and')}."
    )


def _bound_verdict(differences: Mapping[int, PairedDifference]) -> str:
    """Return a clause on the ages for which the bound holds or is exceeded.

    The bound holds if the whole interval loses no more, and is exceeded if the whole interval loses more.
    """
    holds = [g for g, difference in differences.items() if difference.low >= -PAPER_POINTS]
    exceeded = [g for g, difference in differences.items() if difference.high < -PAPER_POINTS]
    open_still = sorted(differences.keys() - {*holds, *exceeded})
    parts = [
        f"holds for MLP logs {_ages_text(holds)} batches old" if holds else "",
        f"is neither confirmed nor refuted for {_ages_text(open_still)}" if open_still else "",
        f"is exceeded for {_ages_text(exceeded)}, by {figures.figure(-PAPER_POINTS - min(differences[g].mean for g in exceeded))}"
        if exceeded
        else "",
    ]
    return _enumeration([part for part in parts if part], "and")


def _ages_text(ages: Sequence[int]) -> str:
    return _enumeration([figures.count(age) for age in ages], "or")


def _enumeration(words: Sequence[str], conjunction: str) -> str:
    return f" {conjunction} ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _points(difference: PairedDifference) -> str:
    return f"{figures.signed(difference.mean)} ± {figures.figure(difference.half_width)}"


def findings_table(study: Study) -> str:
    """Return a text table of differences: mean, 95 % interval, spread between seeds."""
    plan, aged = study.plan, study.kind_name == "accuracy"
    struck, head = ("power lost", f"{'MLP log [batches]':>18}") if aged else ("struck", f"{'recovery':48}")
    lines = [
        f"{plan.preset}: {struck} in batch {figures.count(plan.crash_at)} of {figures.count(plan.batches)}, "
        f"{figures.count(plan.held_out_samples)} held-out samples, {figures.count(len(study.seeds), 'seed')}, "
        f"model version {study.model}, {study.date}",
        f"{'moment':22}{'measure':30}{head}{'difference':>12}{'95 % interval':>24}{'seed spread':>13}",
    ]
    for finding in findings(study):
        title, _, unit = MEASURES[finding.measure]
        interval = f"{finding.difference.low:+.5f} to {finding.difference.high:+.5f}"
        variant = f"{finding.variant:18,}" if aged else f"{variant_label(finding.variant):48}"
        words = f"{MOMENTS[finding.moment]:22}{f'{title} [{unit}]':30}{variant}"
        lines.append(f"{words}{finding.difference.mean:+12.5f}{interval:>24}{finding.spread:13.5f}")
    lines += sorted({seed.twin for seed in study.seeds.values()} - {""})
    return "\n".join([*lines, accuracy_sentence(study)] if aged else lines) + "\n"
