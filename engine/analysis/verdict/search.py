"""The search of one system's best candidate over its space: every combination of its shape, then one knob after the other.

From the best few shapes each knob is moved to its best stop, all others kept, until no knob moves: so no searched setting of
the answer has a value that beats it.
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from .aim import Aim, Rank
from .candidates import Candidates, Estimated, Setting
from .space import GPUS, INSIDE, SHAPE, SHARE, Stops

STARTS = 3  # shapes from which knobs are moved
JOINT = ((GPUS, INSIDE), (GPUS, SHARE), (INSIDE, SHARE))  # knobs that are moved together too
Ranks = Callable[[Sequence[Setting]], list[Rank]]


def best_of(
    candidates: Candidates, aim: Aim, system: str, stops: Stops, starts: int = STARTS, near: Sequence[Setting] = ()
) -> tuple[Setting, Estimated]:
    """Return the best candidate of a system, searched `near` some settings too; where none can run, one that cannot."""

    def ranks(settings: Sequence[Setting]) -> list[Rank]:
        return [aim.rank(one) for one in candidates.estimated(system, settings)]

    setting = search(stops, ranks, starts, near)
    return setting, candidates.estimated(system, [setting])[0]


def search(stops: Stops, ranks: Ranks, starts: int = STARTS, near: Sequence[Setting] = ()) -> Setting:
    """Return the setting of the least rank that moving knobs finds, from the best few shapes and settings `near` it."""
    shapes = [*near, *_shapes(stops)]
    known = ranks(shapes)
    begin = sorted(range(len(shapes)), key=lambda number: (known[number], number))[:starts]
    ends = list(dict.fromkeys(_descended(stops, ranks, shapes[number]) for number in begin))
    found = ranks(ends)
    return ends[min(range(len(ends)), key=lambda number: (found[number], number))]


def _shapes(stops: Stops) -> list[Setting]:
    """Return every combination of the knobs of shape, all others at their first stop."""
    first = {knob: values[0] for knob, values in stops.items()}
    shape = [knob for knob in SHAPE if knob in stops]
    return [_setting(stops, {**first, **dict(zip(shape, one, strict=True))}) for one in product(*(stops[knob] for knob in shape))]


def _setting(stops: Stops, values: dict[str, Any]) -> Setting:
    return tuple((knob, values[knob]) for knob in stops)


def _descended(stops: Stops, ranks: Ranks, setting: Setting) -> Setting:
    """Return where moving one knob after the other, and some two together, ends."""
    moves: list[tuple[str, ...]] = [(knob,) for knob in stops if len(stops[knob]) > 1]
    moves += [pair for pair in JOINT if all(len(stops.get(knob, ())) > 1 for knob in pair)]
    still, at = 0, 0
    while still < len(moves):
        knobs = moves[at % len(moves)]
        at += 1
        moved = (dict(zip(knobs, one, strict=True)) for one in product(*(stops[knob] for knob in knobs)))
        tried = list(dict.fromkeys([setting, *(_setting(stops, {**dict(setting), **one}) for one in moved)]))
        found = ranks(tried)
        best = min(range(len(tried)), key=lambda i: (found[i], i))
        still = still + 1 if best == 0 else 0
        setting = tried[best]
    return setting
