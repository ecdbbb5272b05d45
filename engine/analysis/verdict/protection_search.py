"""Search for a stack's best protected candidate.

Candidates are tried in the order of their rank without faults. A protection never makes a candidate cheaper. So the search ends
when the next candidate without its protection costs more than the best protected candidate so far.
"""

from math import inf

from ...systems.buildable import missing_words
from .aim import MEETS, Aim, Rank
from .candidates import CandidateEstimate, Candidates, Setting
from .protected import CandidateProtection, protections
from .stacks import Stack

EQUAL_COST = 1e-3  # relative: of protections whose costs differ by less, the one that loses less is taken
MAX_PROTECTED, MAX_PROTECTED_QUICKLY = 60, 4  # the most candidates that are protected in a whole, and in a quick search


def best_protected(candidates: Candidates, aim: Aim, stack: Stack, max_candidates: int) -> tuple[Setting, CandidateProtection]:
    """Return the setting and the protection of a stack's best candidate.

    At most `max_candidates` are tried. At least one candidate must be able to run.
    """
    ranked_candidates = [
        (aim.rank(candidate), setting, candidate) for setting, candidate in candidates.known(stack) if not candidate.problem
    ]
    ranked_candidates.sort(key=lambda ranked: ranked[0])
    best_protection: tuple[Rank, Setting, CandidateProtection] | None = None
    for _, setting, candidate in ranked_candidates[:max_candidates]:
        if (
            best_protection is not None
            and best_protection[0][0] == MEETS
            and _min_objective(aim, candidate) > best_protection[0][1]
        ):
            break
        for guard in _protections(candidates, stack, setting, candidate):
            rank = aim.rank(candidate, guard)
            if best_protection is None or _beats(rank, guard, best_protection[0], best_protection[2]):
                best_protection = rank, setting, guard
    if best_protection is None:
        return ranked_candidates[0][1], CandidateProtection(share=0.0)
    return best_protection[1], best_protection[2]


def _protections(
    candidates: Candidates, stack: Stack, setting: Setting, candidate: CandidateEstimate
) -> list[CandidateProtection]:
    """Return the protections of a candidate that its software has."""
    software, settled = stack.part, candidate.settled
    if settled is None:
        return []
    guards = protections(candidates.scenario(stack, setting), settled)
    return [guard for guard in guards if not (software and missing_words(software, settled, guard.name))]


def _min_objective(aim: Aim, candidate: CandidateEstimate) -> float:
    """Return a lower bound of a candidate's objective under any protection."""
    if aim.objective in ("cost", "month"):
        cost = aim.cost(candidate) if aim.objective == "cost" else aim.month(candidate)
        return cost.capital if cost else inf
    return aim.objective_value(candidate) if aim.objective in ("capital", "time") else 0.0


def _beats(rank: Rank, guard: CandidateProtection, other_rank: Rank, other_guard: CandidateProtection) -> bool:
    """Return whether a protection beats another: by rank, or at equal cost by the loss of a failure."""
    if rank[0] == other_rank[0] == MEETS and abs(rank[1] - other_rank[1]) <= EQUAL_COST * other_rank[1]:
        return (guard.lost_batches, rank) < (other_guard.lost_batches, other_rank)
    return rank < other_rank
