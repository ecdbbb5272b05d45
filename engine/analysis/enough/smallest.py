"""The smallest machines that meet a target: by capacity, by link, and by price.

Prices and energies are those of the estimates. A link costs as much as its card at any speed. So several machines can be equally
cheap. Of these the answer is the machine that keeps most of the scenario's choices, then the slowest link, then the least energy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from ...estimates import estimates, step_seconds
from ...insight.decomposition import BOUND, NEAR_DATA, RELAXED
from ...insight.knobs.stops import resolved_value
from ...insight.relaxation import LINK
from ...registry import load_variant
from ...scenario.scenario import with_checked_values, with_values
from .ladder import Trace, links_of, module_knobs, modules_of, search_ladder, spread_rungs
from .question import Candidate, TargetQuestion

COARSE, SIZES = 32, 20  # rungs tried first, of one ladder alone and of modules over several links
LINK_DIVISORS = 1.25 ** np.arange(10)  # links tried beside each capacity: the fastest divided by these
FINE_PART = 20  # down to this part of the fastest every link is tried: a slower one can be better, where it paces the log
LONGER = 1.01  # times a step: from here on another step counts as longer
BOUNDS = (0, 1, 10, 100, 1000)
Choice = tuple[tuple[str, Any], ...]
MachineSpec = tuple[int | None, float | None, Choice]


@dataclass
class Explorer:
    """The machines of a question that were estimated so far.

    A machine's spec is its modules, its link [GB/s] and its choice of switches. Machines that were not estimated yet are
    estimated in one call. The search only needs `steps`; full results are computed for the machines at its end.
    """

    question: TargetQuestion
    candidates: dict[MachineSpec, Candidate] = field(default_factory=dict)
    seconds: dict[MachineSpec, float] = field(default_factory=dict)

    def steps(self, specs: Sequence[MachineSpec]) -> list[float]:
        """Return the step's seconds of machines, NaN where a machine cannot run.

        None as modules or link leaves the scenario's knob unchanged.
        """
        new_specs = [spec for spec in dict.fromkeys(specs) if spec not in self.seconds]
        scenarios = [with_checked_values(self.question.scenario, changes_of(self.question, *spec)) for spec in new_specs]
        self.seconds.update(zip(new_specs, step_seconds(scenarios), strict=True))
        return [self.seconds[spec] for spec in specs]

    def candidates_of(self, specs: Sequence[MachineSpec]) -> list[Candidate]:
        """Return the machines of these specs with their full results."""
        new_specs = [spec for spec in dict.fromkeys(specs) if spec not in self.candidates]
        changes = [changes_of(self.question, *spec) for spec in new_specs]
        results = estimates([with_values(self.question.scenario, spec_changes) for spec_changes in changes])
        for spec, spec_changes, result in zip(new_specs, changes, results, strict=True):
            self.candidates[spec] = Candidate(spec_changes, spec[0], spec[1], result)
        return [self.candidates[spec] for spec in specs]


@dataclass(frozen=True)
class SmallestMachine:
    """The smallest machine that meets the target, or the machine nearest to the target.

    machine: the machine.
    meets: whether it meets the target.
    next_smaller: the next smaller machine, if any.
    larger_but_slower: two machines of which the second is larger but takes at least 1 % longer, if any.
    """

    machine: Candidate
    meets: bool
    next_smaller: Candidate | None = None
    larger_but_slower: tuple[Candidate, Candidate] | None = None


@dataclass(frozen=True)
class SmallestMachines:
    """The answer to a sizing question.

    question: the question.
    capacity: smallest machine if only the capacity changes, None without PMEM.
    bandwidth: smallest machine if only the link changes, None without CXL.
    cheapest: cheapest machine over all choices.
    choices: cheapest machine of each choice of switches.
    switched: cheapest machine with one switch changed, by the switch's knob.
    slower_from: number of modules from which a switch makes the step longer, by knob; None where it never does.
    staleness: cheapest machine with each tried bound of the MLP log's staleness [batches].
    """

    question: TargetQuestion
    capacity: SmallestMachine | None
    bandwidth: SmallestMachine | None
    cheapest: SmallestMachine
    choices: Mapping[Choice, SmallestMachine]
    switched: Mapping[str, Candidate]
    slower_from: Mapping[str, int | None]
    staleness: Mapping[int, Candidate]


def find_smallest(question: TargetQuestion) -> SmallestMachines:
    """Return the answer to a sizing question; machines that cannot run never meet the target."""
    explorer = Explorer(question)
    smallest_by_choice = cheapest_by_choice(explorer)
    choice = min(smallest_by_choice, key=lambda option: _order_key(question, option, smallest_by_choice[option]))
    smallest = smallest_by_choice[choice]
    links, modules = links_of(question.scenario), modules_of(question.scenario)
    flips = {path: tuple((name, is_on != (name == path)) for name, is_on in choice) for path, _ in choice}
    flipped = explorer.candidates_of([(smallest.machine.modules, smallest.machine.gbps, flip) for flip in flips.values()])
    return SmallestMachines(
        question=question,
        capacity=first_on_ladder(explorer, [(count, None, ()) for count in range(1, modules + 1)]) if modules else None,
        bandwidth=first_on_ladder(explorer, [(None, gbps, ()) for gbps in links]) if links else None,
        cheapest=smallest,
        choices=smallest_by_choice,
        switched=dict(zip(flips, flipped, strict=True)),
        slower_from={path: _slower_from(explorer, smallest.machine.gbps, choice, flip, path) for path, flip in flips.items()},
        staleness=_staleness(explorer, smallest.machine, choice),
    )


def changes_of(question: TargetQuestion, modules: int | None, gbps: float | None, choice: Choice) -> dict[str, Any]:
    """Return the knobs that give a question's scenario these modules, link and switches."""
    return {
        **({} if modules is None else module_knobs(question.scenario, modules)),
        **({} if gbps is None else {LINK: gbps}),
        **dict(choice),
    }


def choices_of(question: TargetQuestion) -> list[Choice]:
    """Return every combination of the switches that the system has.

    The switches are near-data compute and relaxed lookup.
    """
    system = load_variant("systems", question.scenario.system)
    paths = [NEAR_DATA] * ("near-data" in system.devices) + [RELAXED] * system.can_relax
    return [tuple(zip(paths, values, strict=True)) for values in product((True, False), repeat=len(paths))]


def cheapest_by_choice(explorer: Explorer) -> dict[Choice, SmallestMachine]:
    """Return, for each choice of switches, the fewest modules that meet the target.

    With these modules the machine has the slowest link that still meets the target.
    """
    q, choices = explorer.question, choices_of(explorer.question)
    links: tuple[float | None, ...] = links_of(q.scenario) or (None,)
    tried_links = [None] if links[-1] is None else (links[-1] / LINK_DIVISORS).tolist()
    counts: Sequence[int | None] = range(1, modules_of(q.scenario) + 1) or (None,)

    def fastest(pairs: Sequence[tuple[int, int]]) -> list[float]:
        step_times = explorer.steps(
            [(counts[rung], gbps, choices[choice_index]) for choice_index, rung in pairs for gbps in tried_links]
        )
        seconds = np.array(step_times).reshape(len(pairs), -1)
        min_seconds: list[float] = np.where(np.isnan(seconds), np.inf, seconds).min(axis=1).tolist()
        return [step if np.isfinite(step) else np.nan for step in min_seconds]

    traces = search_ladder(spread_rungs(0, len(counts) - 1, SIZES), fastest, [q.goal] * len(choices))
    fine_rungs = [rung for rung, gbps in enumerate(links) if gbps is None or gbps >= (links[-1] or 0.0) / FINE_PART]
    count_rungs = _lower_rungs(
        explorer,
        [(_chosen_rung(trace), trace.first_rung is not None) for trace in traces],
        counts,
        [links[rung] for rung in fine_rungs],
    )

    def linked(pairs: Sequence[tuple[int, int]]) -> list[float]:
        return explorer.steps([(counts[count_rungs[c]], links[rung], choices[c]) for c, rung in pairs])

    goals = [q.goal if trace.first_rung is not None else _nearest_goal(trace) for trace in traces]
    narrowed = search_ladder(sorted({*spread_rungs(0, len(links) - 1, COARSE), *fine_rungs}), linked, goals)
    smallest_by_choice = {}
    for c, (choice, rung) in enumerate(zip(choices, map(_chosen_rung, narrowed), strict=True)):
        (machine,) = explorer.candidates_of([(counts[count_rungs[c]], links[rung], choice)])
        machine_below = explorer.candidates_of([(counts[count_rungs[c] - 1], links[rung], choice)])[0] if count_rungs[c] else None
        smallest_by_choice[choice] = SmallestMachine(machine, machine.seconds <= q.goal, machine_below)
    return smallest_by_choice


def _lower_rungs(
    explorer: Explorer, sized: Sequence[tuple[int, bool]], counts: Sequence[int | None], links: Sequence[float | None]
) -> list[int]:
    """Lower each choice's rung while one rung less meets the target over any of the links."""
    choices, goal = choices_of(explorer.question), explorer.question.goal
    rungs = [rung for rung, _ in sized]
    open_choices = [c for c, (rung, meets) in enumerate(sized) if meets and rung]
    while open_choices:
        step_times = explorer.steps([(counts[rungs[c] - 1], gbps, choices[c]) for c in open_choices for gbps in links])
        rows = [step_times[start : start + len(links)] for start in range(0, len(step_times), len(links))]
        open_choices = [c for c, row in zip(open_choices, rows, strict=True) if any(seconds <= goal for seconds in row)]
        for c in open_choices:
            rungs[c] -= 1
        open_choices = [c for c in open_choices if rungs[c]]
    return rungs


def _order_key(question: TargetQuestion, choice: Choice, smallest: SmallestMachine) -> tuple[float, ...]:
    machine = smallest.machine
    if not smallest.meets:
        return (1.0, machine.seconds if machine.result.ran else float("inf"))
    num_changed = sum(is_on != resolved_value(question.scenario, path) for path, is_on in choice)
    return (0.0, machine.dollars, num_changed, machine.gbps or 0.0, machine.joules)


def first_on_ladder(explorer: Explorer, ladder: Sequence[MachineSpec]) -> SmallestMachine:
    """Return a ladder's first machine that meets the target, or the machine nearest to it.

    On a ladder of links, all links are tried.
    """
    goal = explorer.question.goal

    def steps(pairs: Sequence[tuple[int, int]]) -> list[float]:
        return explorer.steps([ladder[rung] for _, rung in pairs])

    coarse = spread_rungs(0, len(ladder) - 1, COARSE) if ladder[0][1] is None else range(len(ladder))
    (trace,) = search_ladder(coarse, steps, [goal])
    rung = _chosen_rung(trace)
    specs = [ladder[rung], ladder[max(trace.rung_below, 0)]]
    machine, machine_below = explorer.candidates_of(specs)
    return SmallestMachine(
        machine,
        machine.seconds <= goal,
        machine_below if trace.rung_below >= 0 else None,
        _larger_but_slower(explorer, ladder, trace),
    )


def _larger_but_slower(explorer: Explorer, ladder: Sequence[MachineSpec], trace: Trace) -> tuple[Candidate, Candidate] | None:
    """Return the fastest machine, and the slowest larger machine if it takes at least 1 % longer."""
    seconds_by_rung = {rung: seconds for rung, seconds in sorted(trace.seconds.items()) if seconds == seconds}
    small = min(seconds_by_rung, key=lambda rung: seconds_by_rung[rung], default=0)
    large = max((rung for rung in seconds_by_rung if rung > small), key=lambda rung: seconds_by_rung[rung], default=small)
    if not seconds_by_rung or seconds_by_rung[large] < LONGER * seconds_by_rung[small]:
        return None
    fastest, slowest = explorer.candidates_of([ladder[small], ladder[large]])
    return fastest, slowest


def _chosen_rung(trace: Trace) -> int:
    """Return the first rung that meets the goal, else the lowest near the best, else the highest."""
    rung = trace.best_rung if trace.first_rung is None else trace.first_rung
    return max(trace.seconds) if rung is None else rung


def _nearest_goal(trace: Trace) -> float:
    return LONGER * trace.seconds[_chosen_rung(trace)]


def _slower_from(explorer: Explorer, gbps: float | None, choice: Choice, flip: Choice, path: str) -> int | None:
    """Return the modules from which on a switch makes each step at least 1 % longer."""
    counts = range(1, modules_of(explorer.question.scenario) + 1)
    choice_on, choice_off = (choice, flip) if dict(choice)[path] else (flip, choice)
    if not counts:
        return None

    def speedups(pairs: Sequence[tuple[int, int]]) -> list[float]:
        step_times = explorer.steps(
            [(counts[rung], gbps, switch_choice) for _, rung in pairs for switch_choice in (choice_on, choice_off)]
        )
        return [seconds_off / seconds_on for seconds_on, seconds_off in zip(step_times[::2], step_times[1::2], strict=True)]

    (trace,) = search_ladder(spread_rungs(0, len(counts) - 1, COARSE), speedups, [1 / LONGER])
    first_rung = trace.first_rung
    if first_rung is None or any(ratio > trace.goal for rung, ratio in trace.seconds.items() if rung > first_rung):
        return None
    return counts[first_rung]


def _staleness(explorer: Explorer, machine: Candidate, choice: Choice) -> dict[int, Candidate]:
    scenario = explorer.question.scenario
    if not load_variant("systems", scenario.system).can_relax:
        return {}
    bounds = sorted({*BOUNDS, resolved_value(scenario, BOUND)} - {None})
    candidates = explorer.candidates_of([(machine.modules, machine.gbps, (*choice, (BOUND, bound))) for bound in bounds])
    return dict(zip(bounds, candidates, strict=True))
