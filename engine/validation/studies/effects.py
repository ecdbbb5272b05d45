"""The effects that the study of lossy protections found: paired differences to the run without a fault, by variant."""

from dataclasses import dataclass
from functools import cache

from . import kept
from .findings import differences, tabled
from .kept import Study
from .paired import Paired
from .protections import NOTHING, SHARDS, parsed

WORDS = {
    "cpr": "rows of one shard in {shards} go back {amount:,} batches",
    "bits": "all rows rounded to {amount} bits a weight",
    "mlp": "the MLPs go back {amount:,} batches",
}


@dataclass(frozen=True)
class StudyEffect:
    """One variant, moment and measure: the variant's score less that of its pair, and the spread between seeds unpaired."""

    variant: str
    moment: str
    measure: str
    difference: Paired
    spread: float

    @property
    def words(self) -> str:
        """What the variant does, as a clause."""
        return label(self.variant)


def label(variant: str) -> str:
    """Return what a variant does, as a clause."""
    kind, amount = parsed(variant)
    return WORDS[kind].format(amount=amount, shards=SHARDS)


def effects(study: Study) -> tuple[StudyEffect, ...]:
    """Return every difference of at least two seeds, by moment, measure and variant."""
    variants = getattr(study.plan, kept.KINDS[study.which].varied)
    return tuple(StudyEffect(*one) for one in differences(study, variants, NOTHING))


@cache
def stored() -> tuple[StudyEffect, ...]:
    """Return the effects of the stored study; raises BadFile where it cannot be read."""
    return effects(kept.read(kept.STORED_PROTECTIONS))


def table(study: Study) -> str:
    """Write the differences for people: mean, 95 % interval, and the spread that unpaired runs would have."""
    return tabled(study, "struck", f"{'recovery':48}", ((one, f"{one.words:48}") for one in effects(study)))
