"""The count of published statements: how many are met, how many are missed, and which are missed by most."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log

from engine.core.figures import count, factor
from engine.scenario.presets import preset
from engine.validation.claims import OUT_OF_SAMPLE
from engine.validation.scoreboard import PublishedNumber
from engine.validation.validate import ClaimVerdict
from pages.evidence_page import paper_rows

NAMED = 3  # misses that the answer names


@dataclass(frozen=True)
class Miss:
    """A published number that ours is outside of: its name, and ours as a multiple of it."""

    name: str
    ratio: float

    @property
    def size(self) -> float:
        """How far off ours is, as the logarithm's absolute value; infinite for a ratio of 0 or less."""
        return abs(log(self.ratio)) if self.ratio > 0 else inf


@dataclass(frozen=True)
class Tally:
    """Statements by verdict.

    met: published numbers that ours is within tolerance of.
    misses: published numbers that ours is outside of, the largest miss first.
    fitted: published numbers that a constant, a shape or a set-up was fitted to.
    predictions: claims with nothing published to compare.
    limits_held, limits: our own limits on counterfactual runs that hold, and all of them.
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


def tally(verdicts: Sequence[ClaimVerdict], numbers: Sequence[PublishedNumber]) -> Tally:
    """Return the count over the verdicts of all claims and over the published numbers that no preset claims."""
    published = [verdict for verdict in verdicts if verdict.claim.ends is not None]
    limits = [verdict for verdict in verdicts if verdict.claim.kind == "counterfactual"]
    missed = [_claim_miss(verdict) for verdict in published if not verdict.passed]
    missed += [Miss(number.name, number.ours / number.nearest) for number in numbers if number.cause]
    return Tally(
        met=len(published) + len(numbers) - len(missed),
        misses=tuple(sorted(missed, key=lambda miss: -miss.size)),
        fitted=sum(verdict.claim.sample != OUT_OF_SAMPLE for verdict in published)
        + sum(number.sample != OUT_OF_SAMPLE for number in numbers),
        predictions=len(verdicts) - len(published) - len(limits),
        limits_held=sum(bool(verdict.passed) for verdict in limits),
        limits=len(limits),
    )


def finding(found: Tally) -> str:
    """Return the sentence that counts the statements met and those that are not."""
    if not found.published:
        return "No published statement is held to this simulator."
    missed = len(found.misses)
    others = f"{count(missed)} {'is' if missed == 1 else 'are'} not" if missed else "none is missed"
    verb = "is" if found.met == 1 else "are"
    return f"{count(found.met)} of {count(found.published, 'published statement')} {verb} met, {others}."


def reasons(found: Tally) -> list[str]:
    """Return the sentences that name the worst misses."""
    worst = found.misses[:NAMED]
    if not worst:
        return []
    named = "; ".join(f"{factor(miss.ratio)} in {miss.name}" for miss in worst)
    return [f"{'The worst, ours over published' if len(worst) > 1 else 'The miss, ours over published'}: {named}."]


def notes(found: Tally) -> list[str]:
    """Return the sentences on numbers that were fitted to, and on claims that no published number can be compared with."""
    return [
        *([f"{found.fitted} of the {found.published} were used for fitting."] if found.fitted else []),
        f"{count(found.predictions, 'prediction')} cannot be compared: nothing is published.",
        *([f"{found.limits_held} of {count(found.limits, 'limit')} of our own on what-if runs hold."] if found.limits else []),
    ]


def _claim_miss(verdict: ClaimVerdict) -> Miss:
    """Return a missed claim under its title and the short name of its paper."""
    error, own = verdict.error_percent, preset(verdict.preset)
    name = f"{paper_rows.label(verdict, several=False)} ({paper_rows.short_name(own.paper, [own.name])})"
    return Miss(name, inf if error is None else 1 + error / 100)
