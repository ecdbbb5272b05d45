"""The findings of a study: paired differences by staleness, moment and measure, and the table that shows them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import stdev
from typing import Any

from ...core import figures
from . import rollbacks
from .kept import KINDS, Study
from .paired import Paired, paired
from .protections import NOUNS, WORDS, parsed

MOMENTS = {"at_recovery": "right after recovery", "at_end": "at the end"}
# Field of a score: its title, the factor to the unit that it is shown in, and that unit.
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
    """One measure at one moment, a variant's (its age or name) less that of its pair, and the spread of seeds unpaired."""

    variant: Any
    moment: str
    measure: str
    difference: Paired
    spread: float


def findings(study: Study) -> tuple[Finding, ...]:
    """Return every difference of at least two seeds, paired by seed, ordered by moment, measure and variant."""
    found, reference = [], KINDS[study.which].reference
    for moment, (measure, (_, factor, _)) in product(MOMENTS, MEASURES.items()):
        scores = [getattr(study.seeds[number], moment) for number in sorted(study.seeds)]
        without = [factor * getattr(score[reference], measure) for score in scores]
        for variant in study.plan.changed:
            changed = [factor * getattr(score[variant], measure) for score in scores]
            difference = paired([x - y for x, y in zip(changed, without, strict=True)])
            found.append(Finding(variant, moment, measure, difference, stdev(without)))
    return tuple(found)


def label(variant: str) -> str:
    """Return what a variant of the studies of lossy protections or of many faults does, as a clause."""
    if variant.partition("-")[0] in rollbacks.KINDS:
        return rollbacks.label(variant)
    kind, amount = parsed(variant)
    return WORDS[kind].format(figures.count(amount, *NOUNS[kind]))


def sentence(study: Study) -> str:
    """Return where the paper's bound holds at the end, and how the oldest log in its range fares until then."""
    found = {(one.moment, one.measure, one.variant): one.difference for one in findings(study)}
    ages = study.plan.changed
    told = max(set(ages) & set(PAPER_BATCHES), default=ages[-1])
    first, last, first_auc, last_auc = (_points(found[moment, name, told]) for name in ("accuracy", "auc") for moment in MOMENTS)
    judged = _judged({g: found["at_end", "accuracy", g] for g in ages})
    later = study.plan.batches - study.plan.crash_at
    return (
        f"{figures.count(later, 'batch', 'batches')} after recovery, the paper's bound of {figures.exact(PAPER_POINTS)} "
        f"percentage points of accuracy {judged}. An MLP log {figures.count(told, 'batch', 'batches')} old changes accuracy "
        f"by {first} points right after recovery and by {last} at the end, AUC by {first_auc} and {last_auc}."
    )


def many_faults_sentence(study: Study) -> str:
    """Return what recoveries of the study of many faults change AUC by at the end, the most of them first."""
    plan, found = study.plan, {(one.moment, one.measure, one.variant): one.difference for one in findings(study)}
    by_count = sorted((len(rollbacks.fault_batches(plan, name)), name) for name in plan.variants if name.startswith("spread"))
    parts = [f"{figures.count(count)} by {_points(found['at_end', 'auc', name])}" for count, name in reversed(by_count)]
    early = [
        f"one in batch {figures.count(rollbacks.parsed(name)[1])} by {_points(found['at_end', 'auc', name])}"
        for name in plan.variants
        if name.startswith("early")
    ]
    return (
        f"Recoveries that each find MLPs {figures.count(plan.age, 'batch', 'batches')} old, spread over "
        f"{figures.count(plan.crash_at, 'batch', 'batches')}, change AUC at the end by percentage points: "
        f"{_listed([*parts, *early], 'and')}."
    )


def _judged(found: Mapping[int, Paired]) -> str:
    """Say for which ages the whole interval loses no more than the bound, for which all of it more, and for which neither."""
    holds = [g for g, one in found.items() if one.low >= -PAPER_POINTS]
    exceeded = [g for g, one in found.items() if one.high < -PAPER_POINTS]
    open_still = sorted(found.keys() - {*holds, *exceeded})
    parts = [
        f"holds for MLP logs {_either(holds)} batches old" if holds else "",
        f"is neither confirmed nor refuted for {_either(open_still)}" if open_still else "",
        f"is exceeded for {_either(exceeded)}, by {figures.figure(-PAPER_POINTS - min(found[g].mean for g in exceeded))}"
        if exceeded
        else "",
    ]
    return _listed([part for part in parts if part], "and")


def _either(ages: Sequence[int]) -> str:
    return _listed([figures.count(age) for age in ages], "or")


def _listed(words: Sequence[str], last: str) -> str:
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _points(found: Paired) -> str:
    return f"{figures.signed(found.mean)} ± {figures.figure(found.half)}"


def table(study: Study) -> str:
    """Write the differences for people: mean, 95 % interval, and the spread that unpaired runs would have."""
    plan, aged = study.plan, study.which == "accuracy"
    struck, head = ("power lost", f"{'MLP log [batches]':>18}") if aged else ("struck", f"{'recovery':48}")
    lines = [
        f"{plan.preset}: {struck} in batch {figures.count(plan.crash_at)} of {figures.count(plan.batches)}, "
        f"{figures.count(plan.held_out_samples)} held-out samples, {len(study.seeds)} seeds, "
        f"model version {study.model}, {study.date}",
        f"{'moment':22}{'measure':30}{head}{'difference':>12}{'95 % interval':>24}{'seed spread':>13}",
    ]
    for one in findings(study):
        title, _, unit = MEASURES[one.measure]
        interval = f"{one.difference.low:+.5f} to {one.difference.high:+.5f}"
        variant = f"{one.variant:18,}" if aged else f"{label(one.variant):48}"
        words = f"{MOMENTS[one.moment]:22}{f'{title} [{unit}]':30}{variant}"
        lines.append(f"{words}{one.difference.mean:+12.5f}{interval:>24}{one.spread:13.5f}")
    lines += sorted({seed.twin for seed in study.seeds.values()} - {""})
    return "\n".join([*lines, sentence(study)] if aged else lines) + "\n"
