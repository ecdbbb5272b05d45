"""A shortlist: each family's best systems, with a candidate for each number of GPUs.

A question that differs a little, in its model, a price or its faults, is answered with these machines only: sizes follow the
model, and other knobs keep the values that were best.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from ....hardware.device import nodes
from ..aim import CANNOT_RUN, MEETS, Rank
from ..candidates import Setting
from ..decide import TIE_FACTOR, SystemRow, SystemSearch, plainness_key
from ..families import family_of
from ..protected import CandidateProtection
from ..protection_search import MAX_PROTECTED_QUICKLY, best_protected
from ..question import VerdictQuestion
from ..space import CACHE_SHARE, GPU, GPUS, HOT_ROWS, SERVERS
from ..stacks import Stack, allowed_stacks

NEAR_FACTOR = 1.25  # times the least: systems up to there are on the shortlist even if others lead their family
MAX_SYSTEMS = 8  # systems
NUM_RESIZED = 2  # best settings whose caches are tried in every size
Settings = Mapping[Stack, tuple[Setting, ...]]


@dataclass(frozen=True)
class Winner:
    """The best machine of a shortlist for one question.

    stack: the system and its software, None without a machine.
    family: family of the machine.
    rank: rank by the aim.
    objective_value: value of the objective, which is minimised.
    capital: USD, None without a price.
    throughput: samples/s.
    nodes: number of nodes.
    cost: USD a billion samples, or a month where that is minimised; None without a price.
    """

    stack: Stack | None
    family: str
    rank: Rank
    objective_value: float = inf
    capital: float | None = None
    throughput: float = 0.0
    nodes: int = 0
    cost: float | None = None

    @property
    def system(self) -> str:
        """Name of the system, "" without a machine."""
        return self.stack.system if self.stack else ""

    @property
    def meets(self) -> bool:
        """Whether the machine meets the requirement."""
        return bool(self.rank) and self.rank[0] == MEETS


NO_WINNER = Winner(None, "", ())


def shortlist(question: VerdictQuestion, rows: Sequence[SystemRow] = ()) -> Settings:
    """Return the settings of a question's shortlist, by stack.

    The search starts from the settings of `rows`.
    """
    search = SystemSearch(question, chosen=allowed_stacks(question.base, question.software))
    for row in rows:
        if row.setting:
            search.found[row.stack] = row.setting
    quick_rows = [search.row(stack, quickly=True) for stack in search.space]
    min_value = min((row.objective_value for row in quick_rows if row.meets), default=inf)
    near_rows = [
        row
        for row in sorted(quick_rows, key=lambda row: row.rank)
        if row.meets and row.objective_value <= NEAR_FACTOR * min_value
    ]
    shortlisted_rows = list({row.stack: row for row in (*leaders(quick_rows), *near_rows)}.values())[:MAX_SYSTEMS]
    gpus = {row.scenario.machine.gpu for row in shortlisted_rows if row.scenario}
    return {row.stack: _settings(search, row.stack, gpus) for row in shortlisted_rows}


def leaders(rows: Sequence[SystemRow]) -> list[SystemRow]:
    """Return the best row of each family, the best family first.

    Of a family's rows within 2 % of its best, the plainest machine is taken.
    """
    families: dict[str, list[SystemRow]] = {}
    for row in sorted(rows, key=lambda row: (row.rank, row.system)):
        families.setdefault(row.family, []).append(row)
    return [
        min(
            (
                row
                for row in family_rows
                if row.rank[0] == family_rows[0].rank[0] and row.objective_value <= TIE_FACTOR * family_rows[0].objective_value
            ),
            key=lambda row: plainness_key(row.system, row.nodes, row.objective_value),
            default=family_rows[0],
        )
        for family_rows in families.values()
    ]


def leaders_by_software(rows: Sequence[SystemRow]) -> list[SystemRow]:
    """Return the best row of each software, the best first."""
    ordered = sorted(rows, key=lambda row: (row.rank, row.stack))
    return list({row.stack.software: row for row in reversed(ordered)}.values())[::-1]


def _settings(search: SystemSearch, stack: Stack, gpus: Collection[str]) -> tuple[Setting, ...]:
    """Return the best setting of each tried count of GPUs or servers; of several that cannot run, the first."""
    best_by_count: dict[tuple[Any, ...], tuple[Rank, Setting]] = {}
    for setting, candidate in search.candidates.known(stack):
        if dict(setting).get(GPU) in (None, *gpus):
            knobs, rank = dict(setting), search.aim.rank(candidate)
            key = tuple(knobs.get(knob) for knob in (GPU, GPUS, SERVERS))
            if key not in best_by_count or rank < best_by_count[key][0]:
                best_by_count[key] = rank, setting
    return tuple(setting for _, setting in best_by_count.values())


def winner(question: VerdictQuestion, settings: Settings, scaled: Sequence[tuple[str, float]] = ()) -> Winner:
    """Return the best machine of a shortlist for a question, or NO_WINNER.

    `scaled` has factors of constants by name.
    """
    search = SystemSearch(question, chosen=tuple(settings))
    search.candidates.constant_factors = tuple(scaled)
    contenders = [_best_machine(search, stack, stack_settings) for stack, stack_settings in settings.items()]
    meeting = [contender for contender in contenders if contender.meets]
    min_value = min((contender.objective_value for contender in meeting), default=0.0)
    tied_contenders = [contender for contender in meeting if contender.objective_value <= TIE_FACTOR * min_value]
    return min(
        tied_contenders,
        key=lambda contender: plainness_key(contender.system, contender.nodes, contender.objective_value),
        default=NO_WINNER,
    )


def _best_machine(search: SystemSearch, stack: Stack, settings: Sequence[Setting]) -> Winner:
    candidates, aim = search.candidates, search.aim
    setting = _resize_caches(search, stack, settings)
    (candidate,) = candidates.estimate(stack, [setting])
    if candidate.settled is None:
        return replace(NO_WINNER, stack=stack)
    guard = CandidateProtection()
    if search.struck:
        setting, guard = best_protected(candidates, aim, stack, MAX_PROTECTED_QUICKLY)
        (candidate,) = candidates.estimate(stack, [setting])
    protected_candidate, settled = guard.add_to(candidate), candidate.settled
    if settled is None:
        return replace(NO_WINNER, stack=stack)
    throughput, cost = aim.batch_size / candidate.step, aim.money(candidate, guard)
    return Winner(
        stack,
        family_of(settled),
        aim.rank(candidate, guard),
        aim.objective_value(candidate, guard),
        protected_candidate.capital,
        throughput,
        nodes(settled.scenario.machine),
        cost.total if cost else None,
    )


def _resize_caches(search: SystemSearch, stack: Stack, settings: Sequence[Setting]) -> Setting:
    """Return the best of some settings, with other sizes of their caches.

    A cache that does not fit is made smaller until it does; the best few settings are tried with all sizes.
    """
    candidates, aim = search.candidates, search.aim

    def rank_settings(subset: Sequence[Setting]) -> list[tuple[Rank, Setting]]:
        estimated = candidates.estimate(stack, subset)
        return sorted(
            ((aim.rank(candidate), setting) for candidate, setting in zip(estimated, subset, strict=True)),
            key=lambda ranked_setting: ranked_setting[0],
        )

    knob = next((size_knob for size_knob in (CACHE_SHARE, HOT_ROWS) if size_knob in search.space[stack]), None)
    ranked_settings = rank_settings(settings)
    if knob is None:
        return ranked_settings[0][1]
    sizes = sorted(search.space[stack][knob])
    failing = [setting for rank, setting in ranked_settings if rank[0] == CANNOT_RUN]
    for size in reversed(sizes):
        smaller = [_change_stop(setting, knob, size) for setting in failing if size < dict(setting)[knob]]
        smaller_ranked = rank_settings(smaller)
        ranked_settings += [ranked_setting for ranked_setting in smaller_ranked if ranked_setting[0][0] != CANNOT_RUN]
        fitting = {_change_stop(setting, knob, sizes[0]) for rank, setting in smaller_ranked if rank[0] != CANNOT_RUN}
        failing = [setting for setting in failing if _change_stop(setting, knob, sizes[0]) not in fitting]
    ranked_settings.sort(key=lambda ranked_setting: ranked_setting[0])
    ranked_settings += rank_settings(
        [_change_stop(setting, knob, size) for _, setting in ranked_settings[:NUM_RESIZED] for size in sizes]
    )
    return min(ranked_settings, key=lambda ranked_setting: ranked_setting[0])[1]


def _change_stop(setting: Setting, knob: str, stop: Any) -> Setting:
    return tuple((name, stop if name == knob else old_stop) for name, old_stop in setting)
