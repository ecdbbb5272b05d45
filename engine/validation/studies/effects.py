"""What the study of lossy protections has found: paired differences to the run without a fault, by variant."""

from dataclasses import dataclass
from functools import cache
from statistics import stdev

from . import kept
from .findings import MEASURES, MOMENTS
from .kept import Study
from .paired import Paired, paired
from .protections import NOTHING, SHARDS, parsed

WORDS = {
    "cpr": "rows of one shard in {shards} go back {amount:,} batches",
    "bits": "all rows rounded to {amount} bits a weight",
    "mlp": "the MLPs go back {amount:,} batches",
}


@dataclass(frozen=True)
class Effect:
    """One variant, moment and measure: the variant's score less that of its pair, and the spread between seeds unpaired."""

    variant: str
    moment: str
    measure: str
    difference: Paired
    spread: float

    @property
    def words(self) -> str:
        """What the variant does, as a clause."""
        return told(self.variant)


def told(variant: str) -> str:
    """Return what a variant does, as a clause."""
    kind, amount = parsed(variant)
    return WORDS[kind].format(amount=amount, shards=SHARDS)


def effects(study: Study) -> tuple[Effect, ...]:
    """Return every difference of at least two seeds, by moment, measure and variant."""
    variants = getattr(study.plan, kept.KINDS[study.which].varied)
    return tuple(_effect(study, name, moment, measure) for moment in MOMENTS for measure in MEASURES for name in variants)


@cache
def stored() -> tuple[Effect, ...]:
    """Return the effects of the stored study; raises BadFile where it cannot be read."""
    return effects(kept.read(kept.STORED_PROTECTIONS))


def _effect(study: Study, variant: str, moment: str, measure: str) -> Effect:
    _, factor, _ = MEASURES[measure]
    scores = [getattr(study.seeds[number], moment) for number in sorted(study.seeds)]
    without = [factor * getattr(score[NOTHING], measure) for score in scores]
    changed = [factor * getattr(score[variant], measure) for score in scores]
    return Effect(variant, moment, measure, paired([x - y for x, y in zip(changed, without, strict=True)]), stdev(without))


def table(study: Study) -> str:
    """Write the differences for people: mean, 95 % interval, and the spread that unpaired runs would have."""
    plan = study.plan
    lines = [
        f"{plan.preset}: struck in batch {plan.crash_at:,} of {plan.batches:,}, {plan.held_out_samples:,} held-out samples, "
        f"{len(study.seeds)} seeds, model version {study.model}, {study.date}",
        f"{'moment':22}{'measure':30}{'recovery':48}{'difference':>12}{'95 % interval':>24}{'seed spread':>13}",
    ]
    for one in effects(study):
        title, _, unit = MEASURES[one.measure]
        interval = f"{one.difference.low:+.5f} to {one.difference.high:+.5f}"
        words = f"{MOMENTS[one.moment]:22}{f'{title} [{unit}]':30}{one.words:48}"
        lines.append(f"{words}{one.difference.mean:+12.5f}{interval:>24}{one.spread:13.5f}")
    twins = sorted({seed.twin for seed in study.seeds.values()} - {""})
    return "\n".join([*lines, *twins]) + "\n"
