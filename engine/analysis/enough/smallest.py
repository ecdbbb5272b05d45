"""The smallest machines that meet a target: by capacity, by link, and by both at the least price, over all choices of policy.

Prices and energies are the estimates' own. A link costs what its card does, however fast it is, so of equally cheap machines
the one counts that keeps most of the scenario's choices, then the one with the slowest link, then that of least energy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from ...estimates import estimates, step_seconds
from ...insight.decomposition import BOUND, NEAR, RELAXED
from ...insight.knob_stops import in_force
from ...insight.relaxation import LINK
from ...registry import load
from ...scenario.scenario import with_checked, with_values
from .ladder import Trace, links_of, module_knobs, modules_of, search, spread
from .question import Candidate, Question

COARSE, SIZES = 32, 20  # rungs tried first, of one ladder alone and of modules over several links
TRIED = 1.25 ** np.arange(10)  # links tried beside each capacity: the fastest divided by these
FINE = 20  # down to this part of the fastest every link is tried: a slower one can be better, where it paces the log
LONGER = 1.01  # of a step: what counts as longer
BOUNDS = (0, 1, 10, 100, 1000)
Choice = tuple[tuple[str, Any], ...]
Asked = tuple[int | None, float | None, Choice]


@dataclass
class Explorer:
    """Machines of a question that were estimated so far; those that are missing are estimated in one call.

    A search asks for `steps` alone; results are made only of the machines that it ends at.
    """

    question: Question
    seen: dict[Asked, Candidate] = field(default_factory=dict)
    seconds: dict[Asked, float] = field(default_factory=dict)

    def steps(self, asked: Sequence[Asked]) -> list[float]:
        """Return the seconds of machines, NaN where one cannot run; None leaves a knob as it is."""
        new = [one for one in dict.fromkeys(asked) if one not in self.seconds]
        made = [with_checked(self.question.scenario, changes_of(self.question, *one)) for one in new]
        self.seconds.update(zip(new, step_seconds(made), strict=True))
        return [self.seconds[one] for one in asked]

    def at(self, asked: Sequence[Asked]) -> list[Candidate]:
        """Return machines with so many modules, such a link and such choices, with their results."""
        new = [one for one in dict.fromkeys(asked) if one not in self.seen]
        changes = [changes_of(self.question, *one) for one in new]
        found = estimates([with_values(self.question.scenario, some) for some in changes])
        for one, some, result in zip(new, changes, found, strict=True):
            self.seen[one] = Candidate(some, one[0], one[1], result)
        return [self.seen[one] for one in asked]


@dataclass(frozen=True)
class Found:
    """The smallest machine that meets the target, or the smallest of those that come nearest.

    `below` is the next smaller one, if there is one. `worse` are two machines of which the larger takes at least 1 % longer.
    """

    machine: Candidate
    meets: bool
    below: Candidate | None = None
    worse: tuple[Candidate, Candidate] | None = None


@dataclass(frozen=True)
class Enough:
    """The answer: by capacity and by link alone, None where that knob does not apply, and by both over all choices.

    `choices` is the cheapest of each choice, `toggled` what the cheapest becomes with one choice the other way, `slower_from`
    the modules from which on a choice costs time there. `staleness` are the MLP log's bounds tried on the cheapest.
    """

    question: Question
    capacity: Found | None
    bandwidth: Found | None
    both: Found
    choices: Mapping[Choice, Found]
    toggled: Mapping[str, Candidate]
    slower_from: Mapping[str, int | None]
    staleness: Mapping[int, Candidate]


def enough(question: Question) -> Enough:
    """Search the question's answer; machines that cannot run never meet it."""
    explorer = Explorer(question)
    every = cheapest(explorer)
    choice = min(every, key=lambda one: _order(question, one, every[one]))
    best = every[choice]
    links, modules = links_of(question.scenario), modules_of(question.scenario)
    flips = {path: tuple((name, value != (name == path)) for name, value in choice) for path, _ in choice}
    flipped = explorer.at([(best.machine.modules, best.machine.gbps, flip) for flip in flips.values()])
    return Enough(
        question=question,
        capacity=along(explorer, [(count, None, ()) for count in range(1, modules + 1)]) if modules else None,
        bandwidth=along(explorer, [(None, gbps, ()) for gbps in links]) if links else None,
        both=best,
        choices=every,
        toggled=dict(zip(flips, flipped, strict=True)),
        slower_from={path: _slower_from(explorer, best.machine.gbps, choice, flip, path) for path, flip in flips.items()},
        staleness=_staleness(explorer, best.machine, choice),
    )


def changes_of(question: Question, modules: int | None, gbps: float | None, choice: Choice) -> dict[str, Any]:
    """Return the knobs that make the question's scenario such a machine."""
    return {
        **({} if modules is None else module_knobs(question.scenario, modules)),
        **({} if gbps is None else {LINK: gbps}),
        **dict(choice),
    }


def choices_of(question: Question) -> list[Choice]:
    """Return every choice of the switches that the system has."""
    system = load("systems", question.scenario.system)
    paths = [NEAR] * ("near-data" in system.devices) + [RELAXED] * system.relaxes
    return [tuple(zip(paths, values, strict=True)) for values in product((True, False), repeat=len(paths))]


def cheapest(explorer: Explorer) -> dict[Choice, Found]:
    """Return for each choice the fewest modules with which some link meets the target, and then the slowest link that does."""
    q, choices = explorer.question, choices_of(explorer.question)
    links: tuple[float | None, ...] = links_of(q.scenario) or (None,)
    tried = [None] if links[-1] is None else (links[-1] / TRIED).tolist()
    counts: Sequence[int | None] = range(1, modules_of(q.scenario) + 1) or (None,)

    def fastest(pairs: Sequence[tuple[int, int]]) -> list[float]:
        found = explorer.steps([(counts[rung], gbps, choices[one]) for one, rung in pairs for gbps in tried])
        seconds = np.array(found).reshape(len(pairs), -1)
        least: list[float] = np.where(np.isnan(seconds), np.inf, seconds).min(axis=1).tolist()
        return [one if np.isfinite(one) else np.nan for one in least]

    sized = search(spread(0, len(counts) - 1, SIZES), fastest, [q.goal] * len(choices))
    fine = [rung for rung, gbps in enumerate(links) if gbps is None or gbps >= (links[-1] or 0.0) / FINE]
    kept = _fewer(explorer, [(_chosen(one), one.first is not None) for one in sized], counts, [links[rung] for rung in fine])

    def linked(pairs: Sequence[tuple[int, int]]) -> list[float]:
        return explorer.steps([(counts[kept[c]], links[rung], choices[c]) for c, rung in pairs])

    goals = [q.goal if one.first is not None else _nearly(one) for one in sized]
    narrowed = search(sorted({*spread(0, len(links) - 1, COARSE), *fine}), linked, goals)
    found = {}
    for c, (choice, rung) in enumerate(zip(choices, map(_chosen, narrowed), strict=True)):
        (machine,) = explorer.at([(counts[kept[c]], links[rung], choice)])
        below = explorer.at([(counts[kept[c] - 1], links[rung], choice)])[0] if kept[c] else None
        found[choice] = Found(machine, machine.seconds <= q.goal, below)
    return found


def _fewer(
    explorer: Explorer, sized: Sequence[tuple[int, bool]], counts: Sequence[int | None], links: Sequence[float | None]
) -> list[int]:
    """Return each choice's rung, lowered for as long as one less meets the target over any of the links."""
    choices, goal = choices_of(explorer.question), explorer.question.goal
    kept = [rung for rung, _ in sized]
    left = [c for c, (rung, meets) in enumerate(sized) if meets and rung]
    while left:
        found = explorer.steps([(counts[kept[c] - 1], gbps, choices[c]) for c in left for gbps in links])
        rows = [found[first : first + len(links)] for first in range(0, len(found), len(links))]
        left = [c for c, row in zip(left, rows, strict=True) if any(seconds <= goal for seconds in row)]
        for c in left:
            kept[c] -= 1
        left = [c for c in left if kept[c]]
    return kept


def _order(question: Question, choice: Choice, one: Found) -> tuple[float, ...]:
    machine = one.machine
    if not one.meets:
        return (1.0, machine.seconds if machine.result.ran else float("inf"))
    moved = sum(value != in_force(question.scenario, path) for path, value in choice)
    return (0.0, machine.dollars, moved, machine.gbps or 0.0, machine.joules)


def along(explorer: Explorer, ladder: Sequence[Asked]) -> Found:
    """Return the first machine of a ladder that meets the target, or of those that come nearest; every link is tried."""
    goal = explorer.question.goal

    def steps(pairs: Sequence[tuple[int, int]]) -> list[float]:
        return explorer.steps([ladder[rung] for _, rung in pairs])

    coarse = spread(0, len(ladder) - 1, COARSE) if ladder[0][1] is None else range(len(ladder))
    (trace,) = search(coarse, steps, [goal])
    at = _chosen(trace)
    asked = [ladder[at], ladder[max(trace.below, 0)]]
    machine, below = explorer.at(asked)
    return Found(machine, machine.seconds <= goal, below if trace.below >= 0 else None, _worse(explorer, ladder, trace))


def _worse(explorer: Explorer, ladder: Sequence[Asked], trace: Trace) -> tuple[Candidate, Candidate] | None:
    """Return the rung with the shortest step, and the slowest of those above it where it takes at least 1 % longer."""
    ran = {rung: seconds for rung, seconds in sorted(trace.seconds.items()) if seconds == seconds}
    small = min(ran, key=lambda rung: ran[rung], default=0)
    large = max((rung for rung in ran if rung > small), key=lambda rung: ran[rung], default=small)
    if not ran or ran[large] < LONGER * ran[small]:
        return None
    one, other = explorer.at([ladder[small], ladder[large]])
    return one, other


def _chosen(trace: Trace) -> int:
    """Return the first rung that meets the goal, else the lowest near the best, else the highest."""
    found = trace.best if trace.first is None else trace.first
    return max(trace.seconds) if found is None else found


def _nearly(trace: Trace) -> float:
    return LONGER * trace.seconds[_chosen(trace)]


def _slower_from(explorer: Explorer, gbps: float | None, choice: Choice, flip: Choice, path: str) -> int | None:
    """Return the modules from which on a switch that is on makes the step at least 1 % longer, whatever is added."""
    counts = range(1, modules_of(explorer.question.scenario) + 1)
    on, off = (choice, flip) if dict(choice)[path] else (flip, choice)
    if not counts:
        return None

    def quicker(pairs: Sequence[tuple[int, int]]) -> list[float]:
        found = explorer.steps([(counts[rung], gbps, one) for _, rung in pairs for one in (on, off)])
        return [without / with_it for with_it, without in zip(found[::2], found[1::2], strict=True)]

    (trace,) = search(spread(0, len(counts) - 1, COARSE), quicker, [1 / LONGER])
    first = trace.first
    if first is None or any(ratio > trace.goal for rung, ratio in trace.seconds.items() if rung > first):
        return None
    return counts[first]


def _staleness(explorer: Explorer, machine: Candidate, choice: Choice) -> dict[int, Candidate]:
    scenario = explorer.question.scenario
    if not load("systems", scenario.system).relaxes:
        return {}
    bounds = sorted({*BOUNDS, in_force(scenario, BOUND)} - {None})
    found = explorer.at([(machine.modules, machine.gbps, (*choice, (BOUND, bound))) for bound in bounds])
    return dict(zip(bounds, found, strict=True))
