"""The search of one system's best candidate over its space: every combination of its shape, then its knobs, one and two at once.

From the best few shapes each knob is moved to its best stop, all others kept, until no knob moves. From the best end two knobs
are moved together, as a part that needs another beside it has to be. So no searched setting of the answer has a value that
beats it, nor have two settings together, of those that alone are not far worse.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, product
from typing import Any

from .aim import CANNOT_RUN, Aim, Rank
from .candidates import Candidates, Estimated, Setting
from .space import GPUS, INSIDE, SHAPE, Stops

STARTS = 3  # shapes from which knobs are moved
PROMISING = 3.0  # times the best: a stop that alone is worse by more is not tried together with another
NODES = {GPUS, INSIDE}  # one node more needs a network, so no stop of one alone tells of both
Ranks = Callable[[Sequence[Setting]], list[Rank]]


def best_of(
    candidates: Candidates, aim: Aim, system: str, stops: Stops, starts: int = STARTS, near: Sequence[Setting] = ()
) -> tuple[Setting, Estimated]:
    """Return the best candidate of a system, searched `near` some settings too; where none can run, one that cannot."""

    def ranks(settings: Sequence[Setting]) -> list[Rank]:
        return [aim.rank(one) for one in candidates.estimated(system, settings)]

    setting = search(stops, ranks, starts, near)
    (found,) = candidates.estimated(system, [setting])
    return setting, found._replace(problem=candidates.refusal(system, setting)) if found.problem else found


def search(stops: Stops, ranks: Ranks, starts: int = STARTS, near: Sequence[Setting] = ()) -> Setting:
    """Return the setting of the least rank that moving knobs finds, from the best few shapes and settings `near` it.

    Where none of them runs, shapes with smaller nodes are tried too. From a single start knobs are moved one by one alone.
    """
    shapes = _ordered([*near, *_shapes(stops)], ranks)
    if ranks(shapes[:1])[0][0] == CANNOT_RUN:
        shapes = _ordered([*shapes, *_shapes(stops, (*SHAPE, INSIDE))], ranks)
    firsts: dict[Setting, Setting] = {}  # the best shape of each choice of parts
    for shape in shapes:
        firsts.setdefault(_parts(shape), shape)
    ends = [_descended(stops, ranks, shape) for shape in list(dict.fromkeys([*firsts.values(), *shapes]))[:starts]]
    (end, *_) = _ordered(ends, ranks)
    return end if starts == 1 else _paired(stops, ranks, end)


def _shapes(stops: Stops, knobs: Sequence[str] = SHAPE) -> list[Setting]:
    """Return every combination of the knobs of shape, nodes as large as can be, all others at their first stop."""
    first = {knob: max(values) if knob == INSIDE else values[0] for knob, values in stops.items()}
    shape = [knob for knob in knobs if knob in stops]
    return [_setting(stops, {**first, **dict(zip(shape, one, strict=True))}) for one in product(*(stops[knob] for knob in shape))]


def _setting(stops: Stops, values: dict[str, Any]) -> Setting:
    return tuple((knob, values[knob]) for knob in stops)


def _parts(setting: Setting) -> Setting:
    """Return the knobs of a shape that choose parts: all but the number of GPUs."""
    return tuple((knob, value) for knob, value in setting if knob in SHAPE and knob != GPUS)


def _ordered(settings: Iterable[Setting], ranks: Ranks) -> list[Setting]:
    """Return settings without repeats, those of the least rank first; alike ones keep their order."""
    tried = list(dict.fromkeys(settings))
    found = dict(zip(tried, ranks(tried), strict=True))
    return sorted(tried, key=lambda setting: found[setting])


def _moving(stops: Stops) -> list[str]:
    return [knob for knob, values in stops.items() if len(values) > 1]


def _moved(setting: Setting, **changes: Any) -> Setting:
    return tuple((knob, changes.get(knob, value)) for knob, value in setting)


def _descended(stops: Stops, ranks: Ranks, setting: Setting) -> Setting:
    """Return where moving one knob after the other ends."""
    knobs, still, at = _moving(stops), 0, 0
    while still < len(knobs):
        knob = knobs[at % len(knobs)]
        (moved, *_) = _ordered([setting, *(_moved(setting, **{knob: stop}) for stop in stops[knob])], ranks)
        setting, still, at = moved, 0 if moved != setting else still + 1, at + 1
    return setting


def _paired(stops: Stops, ranks: Ranks, setting: Setting) -> Setting:
    """Return where moving two knobs together ends, from where no knob alone moves."""
    while True:
        (best, *_) = _ordered([setting, *_pairs(stops, ranks, setting)], ranks)
        if best == setting:
            return setting
        setting = _descended(stops, ranks, best)


def _pairs(stops: Stops, ranks: Ranks, setting: Setting) -> Iterator[Setting]:
    """Yield settings that differ in two knobs, each at a stop that is promising alone; of nodes' sizes and numbers all."""
    (own,), values = ranks([setting]), dict(setting)
    others: dict[str, Sequence[Any]] = {}
    for knob in _moving(stops):
        moved = [stop for stop in stops[knob] if stop != values[knob]]
        found = ranks([_moved(setting, **{knob: stop}) for stop in moved])
        others[knob] = [stop for stop, rank in zip(moved, found, strict=True) if _promising(rank, own)]
    for one, two in combinations(others, 2):
        every = stops if {one, two} == NODES else others
        yield from (_moved(setting, **{one: a, two: b}) for a, b in product(every[one], every[two]))


def _promising(rank: Rank, own: Rank) -> bool:
    """Return whether a setting is not much worse than one that meets, misses or cannot run as it does."""
    return rank[0] != own[0] or len(own) == 1 or rank[1] <= PROMISING * own[1]
