"""A shortlist: the systems that lead their families, each with its best candidate of every count of GPUs.

A question that differs a little, in its model, a price or its faults, is answered over these machines alone: sizes follow the
model, knobs stay at the stops that were best.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from ....hardware.device import nodes
from ..aim import CANNOT_RUN, MEETS, Rank
from ..candidates import Setting
from ..decide import SAME, Row, SystemSearch, VerdictQuestion, plainness
from ..families import family_of
from ..protected import Protected
from ..protection_search import FEW, best_protected
from ..space import GPU, GPUS, HOT, SERVERS, SHARE

NEAR = 1.25  # times the least: systems that are as dear are on the shortlist even if others lead their family
MOST = 8  # systems
RESIZED = 2  # best settings whose caches are tried in every size
Settings = Mapping[str, tuple[Setting, ...]]  # by system


@dataclass(frozen=True)
class Winner:
    """The best machine of a shortlist for one question.

    value: what is to be least. capital: USD. throughput: samples/s. cost: USD a billion samples, None without a price.
    """

    system: str
    family: str
    rank: Rank
    value: float = inf
    capital: float | None = None
    throughput: float = 0.0
    nodes: int = 0
    cost: float | None = None

    @property
    def meets(self) -> bool:
        """Whether it meets the requirement."""
        return bool(self.rank) and self.rank[0] == MEETS


NOBODY = Winner("", "", ())


def shortlist(question: VerdictQuestion, rows: Sequence[Row] = ()) -> Settings:
    """Return the settings of a question's shortlist by system, near those of rows that are known."""
    search = SystemSearch(question)
    for row in rows:
        if row.setting:
            search.found[row.system] = row.setting
    found = [search.row(system, quickly=True) for system in search.space]
    least = min((row.value for row in found if row.meets), default=inf)
    near = [row for row in sorted(found, key=lambda row: row.rank) if row.meets and row.value <= NEAR * least]
    leading = list({row.system: row for row in (*leaders(found), *near)}.values())[:MOST]
    gpus = {row.scenario.machine.gpu for row in leading if row.scenario}
    return {row.system: _settings(search, row.system, gpus) for row in leading}


def leaders(rows: Sequence[Row]) -> list[Row]:
    """Return the best row of each family, of those within 2 % the plainest; the best family first."""
    families: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row.rank, row.system)):
        families.setdefault(row.family, []).append(row)
    return [
        min(
            (row for row in some if row.rank[0] == some[0].rank[0] and row.value <= SAME * some[0].value),
            key=lambda row: plainness(row.system, row.nodes, row.value),
            default=some[0],
        )
        for some in families.values()
    ]


def _settings(search: SystemSearch, system: str, gpus: Collection[str]) -> tuple[Setting, ...]:
    """Return the best setting of each count of some GPUs or servers that was tried; of what cannot run, the first."""
    best: dict[tuple[Any, ...], tuple[Rank, Setting]] = {}
    for (name, setting), one in search.candidates.seen.items():
        if name == system and dict(setting).get(GPU) in (None, *gpus):
            knobs, rank = dict(setting), search.aim.rank(one)
            key = tuple(knobs.get(knob) for knob in (GPU, GPUS, SERVERS))
            if key not in best or rank < best[key][0]:
                best[key] = rank, setting
    return tuple(setting for _, setting in best.values())


def winner(question: VerdictQuestion, settings: Settings, scaled: Sequence[tuple[str, float]] = ()) -> Winner:
    """Return the best machine of a shortlist for a question, where some constants are so many times as large."""
    search = SystemSearch(question, settings)
    search.candidates.scaled = tuple(scaled)
    found = [_best(search, system, settings[system]) for system in settings]
    meeting = [one for one in found if one.meets]
    least = min((one.value for one in meeting), default=0.0)
    named = [one for one in meeting if one.value <= SAME * least]
    return min(named, key=lambda one: plainness(one.system, one.nodes, one.value), default=NOBODY)


def _best(search: SystemSearch, system: str, settings: Sequence[Setting]) -> Winner:
    candidates, aim = search.candidates, search.aim
    setting = _resized(search, system, settings)
    (one,) = candidates.estimated(system, [setting])
    if one.settled is None:
        return replace(NOBODY, system=system)
    guard = Protected()
    if search.struck:
        setting, guard = best_protected(candidates, aim, system, FEW)
        (one,) = candidates.estimated(system, [setting])
    whole, settled = guard.added_to(one), one.settled
    if settled is None:
        return replace(NOBODY, system=system)
    throughput, cost = aim.batch_size / one.step, aim.cost(one, guard)
    return Winner(
        system,
        family_of(settled),
        aim.rank(one, guard),
        aim.value(one, guard),
        whole.capital,
        throughput,
        nodes(settled.scenario.machine),
        cost.total if cost else None,
    )


def _resized(search: SystemSearch, system: str, settings: Sequence[Setting]) -> Setting:
    """Return the best of some settings, their caches made smaller until they fit, and that of the best few resized."""
    candidates, aim = search.candidates, search.aim

    def ranked(some: Sequence[Setting]) -> list[tuple[Rank, Setting]]:
        found = candidates.estimated(system, some)
        return sorted(((aim.rank(one), setting) for one, setting in zip(found, some, strict=True)), key=lambda each: each[0])

    knob = next((one for one in (SHARE, HOT) if one in search.space[system]), None)
    known = ranked(settings)
    if knob is None:
        return known[0][1]
    sizes = sorted(search.space[system][knob])
    failing = [setting for rank, setting in known if rank[0] == CANNOT_RUN]
    for size in reversed(sizes):
        smaller = [_with(setting, knob, size) for setting in failing if size < dict(setting)[knob]]
        tried = ranked(smaller)
        known += [each for each in tried if each[0][0] != CANNOT_RUN]
        fitting = {_with(setting, knob, sizes[0]) for rank, setting in tried if rank[0] != CANNOT_RUN}
        failing = [setting for setting in failing if _with(setting, knob, sizes[0]) not in fitting]
    known.sort(key=lambda each: each[0])
    known += ranked([_with(setting, knob, size) for _, setting in known[:RESIZED] for size in sizes])
    return min(known, key=lambda each: each[0])[1]


def _with(setting: Setting, knob: str, stop: Any) -> Setting:
    return tuple((name, stop if name == knob else value) for name, value in setting)
