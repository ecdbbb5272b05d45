"""The search of the best protected candidate of a system among those that were estimated, the cheapest without faults first.

A protection makes no candidate cheaper than its capital alone: so the search ends where that is dearer than the best so far.
"""

from math import inf

from .aim import MEETS, Aim, Rank
from .candidates import Candidates, Estimated, Setting
from .protected import Protected, protections

LEVEL = 1e-3  # of a cost: a protection that costs no more and loses less is taken
MANY, FEW = 60, 4  # candidates that are protected at most, of a whole and of a quick search


def best_protected(candidates: Candidates, aim: Aim, system: str, most: int) -> tuple[Setting, Protected]:
    """Return the best candidate of a system with its protection; at least one candidate must run."""
    known = [
        (aim.rank(one), setting, one) for (name, setting), one in candidates.seen.items() if name == system and not one.problem
    ]
    known.sort(key=lambda each: each[0])
    best: tuple[Rank, Setting, Protected] | None = None
    for _, setting, one in known[:most]:
        if best is not None and best[0][0] == MEETS and _least(aim, one) > best[0][1]:
            break
        for guard in _protections(candidates, system, setting, one):
            rank = aim.rank(one, guard)
            if best is None or _better(rank, guard, best[0], best[2]):
                best = rank, setting, guard
    if best is None:
        return known[0][1], Protected(share=0.0)
    return best[1], best[2]


def _protections(candidates: Candidates, system: str, setting: Setting, one: Estimated) -> list[Protected]:
    return protections(candidates.scenario(system, setting), one.settled) if one.settled else []


def _least(aim: Aim, one: Estimated) -> float:
    """Return what a candidate's objective is at least, whatever protects it."""
    cost = aim.cost(one)
    if aim.objective == "cost":
        return cost.capital if cost else inf
    return aim.value(one) if aim.objective in ("capital", "time") else 0.0


def _better(rank: Rank, guard: Protected, other: Rank, than: Protected) -> bool:
    """Return whether a protection beats another: by its rank, or, where both cost the same, by what a failure loses."""
    if rank[0] == other[0] == MEETS and abs(rank[1] - other[1]) <= LEVEL * other[1]:
        return (guard.lost_batches, rank) < (than.lost_batches, other)
    return rank < other
