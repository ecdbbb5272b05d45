"""Does the search find what an enumeration of all machines finds? Over drawn models, requirements and small spaces.

The enumeration (tests/oracles/every_machine.py) shares nothing with the search but the stops. The search moves knobs one and
two at once: a machine that only three changes together reach can be missed, and no cheaper search was found that misses none.
So the long test holds a level: how many of all models may have a row that is not exact, and the largest gap of any row.
"""

from dataclasses import replace
from itertools import product
from math import inf, log
from random import Random
from typing import NamedTuple

import pytest

from engine.analysis.verdict import decide as deciding
from engine.analysis.verdict.allowed import AllowedParts
from engine.analysis.verdict.candidates import Setting
from engine.analysis.verdict.decide import TIE_FACTOR, SystemRow, SystemSearch, decide
from engine.analysis.verdict.question import VerdictQuestion
from engine.analysis.verdict.requirement import OBJECTIVES
from engine.analysis.verdict.search import search
from engine.analysis.verdict.space import CACHE_SHARE, GPUS, GPUS_PER_NODE, SHARDING, Stops, space_of
from engine.analysis.verdict.stacks import SoftwareChoice, Stack, fixed_knobs
from engine.scenario.scenario import Scenario, with_values
from engine.schedule.machine import settle
from tests.analysis.verdict import drawn
from tests.cases import draw, each
from tests.oracles.every_machine import BUYABLE, Machine, cheapest_machine, machines, shortfall

MODELS, DRAWN, INEXACT, WORST, INNER = 240, 40, 2, 0.1, 4
FEW = (0, 1, 5, 20)  # at the last two, moving one knob at a time misses machines
SAME = 1e-9
STATES = {"on-sale": BUYABLE, "all": (*BUYABLE, "announced", "discontinued")}
LARGE, SMALL = (1300, 1000), (300, 200)  # machines of the first system's space, and of those of all others together


class Compared(NamedTuple):
    """A stack's row beside its enumeration: the gap, and whether the winner lies off the ends of all its ladders."""

    seed: int
    stack: Stack
    gap: float
    inner: bool


@pytest.mark.slow
@pytest.mark.parametrize("seed", FEW)
def test_rows_are_those_of_an_enumeration(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for one in compared(seed, SMALL, monkeypatch):
        assert one.gap <= SAME, one


@pytest.mark.slow
def test_rows_of_many_models_are_those_of_an_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    told = [one for seed in draw(range(MODELS), DRAWN) for one in compared(seed, LARGE, monkeypatch)]
    missed = [one for one in told if not one.gap <= SAME]
    assert len({one.seed for one in told}) == DRAWN
    assert len({one.seed for one in missed}) <= INEXACT and all(one.gap <= WORST for one in missed), missed
    assert len({one.seed for one in told if one.inner}) >= INNER


@each(("count", "inside", "share"), list(product((24, 96), (4, 2), (0.03, 0.7))))
def test_search_finds_machines_that_no_ladder_leads_to(count: int, inside: int, share: float) -> None:
    stack = Stack("torchrec-uvm", "", "lean")
    space = space_of(drawn.model(Random(1)), AllowedParts(), [stack])[stack]
    stops = {knob: space[knob] for knob in (GPUS, GPUS_PER_NODE, CACHE_SHARE, SHARDING)}
    planted = {GPUS: count, GPUS_PER_NODE: inside, CACHE_SHARE: share}

    def rank(setting: Setting) -> tuple[float, ...]:
        one = dict(setting)
        fitting = sum(one[knob] == stop for knob, stop in planted.items())
        return (0.0, {3: 1.0, 2: 1.5}.get(fitting, 2.0 + 0.1 * log(one[GPUS])) + (one[SHARDING] is not None))

    every = [tuple(zip(stops, values, strict=True)) for values in product(*stops.values())]
    assert (
        dict(search(stops, lambda settings: list(map(rank, settings))))
        == dict(min(every, key=rank))
        == {**planted, SHARDING: None}
    )


def compared(seed: int, sizes: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> list[Compared]:
    """Return how the rows of one drawn question compare with the enumeration."""
    random = Random(seed)
    scenario, word, objective = drawn.model(random), random.choice(("on-sale", "all", "all")), random.choice(OBJECTIVES)
    choice, layers = SoftwareChoice(Random(f"software {seed}").choice(("any", "lean"))), scenario.machine.matrix_precision
    plain = VerdictQuestion(scenario, parts=AllowedParts(word), software=choice, layers=layers)
    space = drawn_space(random, plain, sizes)
    found = {
        stack: machines(with_values(scenario, fixed_knobs(stack, scenario, choice)), stack.system, stops, STATES[word])
        for stack, stops in space.items()
    }
    asked = drawn.requirement(random, scenario, [one for some in found.values() for one in some])
    monkeypatch.setattr(deciding, "space_of", lambda base, parts, chosen: space)
    question = replace(plain, requirement=asked, objective=objective)
    verdict, objective = decide(question), question.objective_in_force
    monkeypatch.undo()
    throughput, told = asked.min_throughput(scenario.data.batch_size), []
    for row in verdict.rows:
        some = found[row.stack]
        best = cheapest_machine(some, objective, throughput, asked.budget)
        nearest = min((shortfall(one, throughput, asked.budget) for one in some), default=inf)
        inner = best is not None and _off_ends(with_values(scenario, best.settings), space[row.stack])
        told.append(Compared(seed, row.stack, _gap(row, best, nearest, objective), inner))
    return told


def drawn_space(random: Random, question: VerdictQuestion, sizes: tuple[int, int]) -> dict[Stack, Stops]:
    """Return small spaces of one to three stacks; of the first, five knobs or more have four stops or more where it is large."""
    every = SystemSearch(question).space  # without GPUs that have no price
    wide = [stack for stack, stops in every.items() if sum(len(values) >= 4 for values in stops.values()) >= 5]
    count, first = random.choice((0, 1, 2)), random.choice(wide)
    others = random.sample([stack for stack in every if stack != first], count)
    for _ in range(50):  # a drawn space may have fewer stops
        space = {first: drawn.space(random, every[first], sizes[0])}
        if sizes != LARGE or sum(len(values) >= 4 for values in space[first].values()) >= 5:
            break
    else:
        raise AssertionError(f"{first} has no space with five knobs of four stops")
    return space | {stack: drawn.space(random, every[stack], sizes[1] // count) for stack in others}


def _gap(row: SystemRow, best: Machine | None, nearest: float, objective: str) -> float:
    """Return by which share a row is worse than the least, or than the nearest miss; infinity where they differ in kind."""
    if best is not None:
        gap = abs(row.objective_value / getattr(best, objective) - 1) if row.meets else inf
        # A month may be a little dearer than the least: of the same parts the fastest setting is named. A row may be better than
        # all stops: where a chassis has fewer places than a stop of a node, the node has as many GPUs as places.
        is_limited = dict(row.setting).get(GPUS_PER_NODE, 0) > row.scenario.machine.gpus_per_node if row.meets else False
        is_better = row.meets and is_limited and row.objective_value < getattr(best, objective)
        return 0.0 if is_better or (objective == "month" and gap <= TIE_FACTOR - 1) else gap
    if row.meets or (row.result is None) != (nearest == inf):
        return inf
    return 0.0 if row.result is None else abs(row.rank[1] / nearest - 1)


def _off_ends(scenario: Scenario, stops: Stops) -> bool:
    """Return whether a machine lies between the least and the most of each ladder of amounts, of one at least."""
    machine, told = settle(scenario).scenario, []
    for knob, values in stops.items():
        amounts = [one for one in values if one is not None]
        if knob in drawn.LADDERS and len(values) >= 3:
            group, name = knob.split(".")
            told.append(min(amounts) < getattr(getattr(machine, group), name) < max(amounts))
    return bool(told) and all(told)
