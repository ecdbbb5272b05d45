"""The count of published statements that the simulation meets or misses."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log

from engine.core.figures import count, factor
from engine.scenario.presets import preset
from engine.validation.claims import OUT_OF_SAMPLE
from engine.validation.scoreboard import PublishedNumber
from engine.validation.validate import ClaimVerdict
from pages.evidence_page import paper_rows

MAX_NAMED_MISSES = 3  # misses that the answer names


@dataclass(frozen=True)
class Miss:
    """A published number that the simulated one misses.

    name: its name. ratio: the simulated number divided by the published one.
    """

    name: str
    ratio: float

    @property
    def size(self) -> float:
        """The absolute logarithm of the ratio; infinite for a ratio of 0 or less."""
        return abs(log(self.ratio)) if self.ratio > 0 else inf


@dataclass(frozen=True)
class Tally:
    """The number of statements by verdict.

    met: published numbers within whose tolerance the simulated number is.
    misses: all other published numbers, the largest miss first.
    fitted: published numbers that a constant, a shape or a set-up was fitted to.
    predictions: claims with nothing published to compare.
    limits_held: limits of this model on counterfactual runs that hold.
    limits: all of these limits.
    """

    met: int
    misses: tuple[Miss, ...]
    fitted: int
    predictions: int
    limits_held: int
    limits: int

    @property
    def published(self) -> int:
        """The number of published statements."""
        return self.met + len(self.misses)


def count_statements(verdicts: Sequence[ClaimVerdict], numbers: Sequence[PublishedNumber]) -> Tally:
    """Return the count over the verdicts of all claims and the numbers that no preset claims."""
    published = [verdict for verdict in verdicts if verdict.claim.published_range is not None]
    limits = [verdict for verdict in verdicts if verdict.claim.kind == "counterfactual"]
    missed = [_claim_miss(verdict) for verdict in published if not verdict.passed]
    missed += [Miss(number.name, number.simulated_value / number.nearest) for number in numbers if number.cause]
    return Tally(
        met=len(published) + len(numbers) - len(missed),
        misses=tuple(sorted(missed, key=lambda miss: -miss.size)),
        fitted=sum(verdict.claim.sample != OUT_OF_SAMPLE for verdict in published)
        + sum(number.sample != OUT_OF_SAMPLE for number in numbers),
        predictions=len(verdicts) - len(published) - len(limits),
        limits_held=sum(bool(verdict.passed) for verdict in limits),
        limits=len(limits),
    )


def finding(counts: Tally) -> str:
    """Return the sentence that counts the statements met and not met."""
    if not counts.published:
        return "No published statement is compared with this simulator."
    num_missed = len(counts.misses)
    missed_text = f"{count(num_missed)} {'is' if num_missed == 1 else 'are'} not" if num_missed else "none is missed"
    verb = "is" if counts.met == 1 else "are"
    return f"{count(counts.met)} of {count(counts.published, 'published statement')} {verb} met, {missed_text}."


def reasons(counts: Tally) -> list[str]:
    """Return the sentences that name the worst misses."""
    worst_misses = counts.misses[:MAX_NAMED_MISSES]
    if not worst_misses:
        return []
    miss_texts = "; ".join(f"{factor(miss.ratio)} in {miss.name}" for miss in worst_misses)
    return [f"{'The largest misses' if len(worst_misses) > 1 else 'The miss'}, Emberpool over published: {miss_texts}."]


def notes(counts: Tally) -> list[str]:
    """Return the sentences on fitted numbers, on predictions, and on this model's limits."""
    return [
        *(
            [f"{counts.fitted} of the {count(counts.published, 'statement was', 'statements were')} used for fitting."]
            if counts.fitted
            else []
        ),
        f"{count(counts.predictions, 'prediction')} cannot be compared, as no number is published.",
        *(
            [f"{counts.limits_held} of {count(counts.limits, 'limit')} that Emberpool sets for its what-if runs hold."]
            if counts.limits
            else []
        ),
    ]


def _claim_miss(verdict: ClaimVerdict) -> Miss:
    """Return a missed claim under its title and the short name of its paper."""
    error, claim_preset = verdict.error_percent, preset(verdict.preset)
    name = f"{paper_rows.label(verdict, with_preset=False)} ({paper_rows.short_name(claim_preset.paper, [claim_preset.name])})"
    return Miss(name, inf if error is None else 1 + error / 100)
