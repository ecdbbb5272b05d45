"""Questions of Decide that worker processes answer; each answer is cached by its question."""

from engine.analysis.verdict.decide import Verdict, decide, verdicts
from engine.analysis.verdict.outlook.outlook import bands_of, cases_of, gpus_of, map_of, popularity_cases_of, tipping_of
from engine.analysis.verdict.question import VerdictQuestion

__all__ = ["bands_of", "cases_of", "first_verdict", "gpus_of", "map_of", "popularity_cases_of", "tipping_of", "whole_verdict"]


def first_verdict(question: VerdictQuestion) -> Verdict:
    """Return the verdict of a quick search."""
    return next(verdicts(question))


def whole_verdict(question: VerdictQuestion) -> Verdict:
    """Return the verdict of the whole search."""
    return decide(question)
