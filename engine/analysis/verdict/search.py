"""The search for one stack's best candidate over its space of knobs.

A shape is a combination of the knobs that size the machine. All shapes are tried first. From each of the best shapes, each knob
is set to its best value while all others stay, until no knob changes. From the best setting, two knobs at a time are changed, for
parts that need each other. So neither one knob nor two knobs of the answer have a better value, except pairs in which one change
by itself is much worse.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, product
from typing import Any

from .aim import CANNOT_RUN, Aim, Rank
from .candidates import CandidateEstimate, Candidates, Setting
from .space import GPUS, GPUS_PER_NODE, HOST, SHAPE, SHARDING, Stops
from .stacks import Stack

NUM_STARTS = 3  # shapes from which knobs are moved
PROMISING = 3.0  # times the best: a stop that alone is worse than this is not tried together with another
NODES = {GPUS, GPUS_PER_NODE}  # a second node needs a network, so a stop of one knob alone does not tell of both
Ranks = Callable[[Sequence[Setting]], list[Rank]]


def best_candidate(
    candidates: Candidates, aim: Aim, stack: Stack, stops: Stops, starts: int = NUM_STARTS, near_settings: Sequence[Setting] = ()
) -> tuple[Setting, CandidateEstimate]:
    """Return the best candidate of a stack; the search also starts at `near_settings`.

    The candidate has a problem if no candidate can run.
    """

    def ranks(settings: Sequence[Setting]) -> list[Rank]:
        return [aim.rank(candidate) for candidate in candidates.estimate(stack, settings)]

    setting = search(stops, ranks, starts, near_settings)
    (candidate,) = candidates.estimate(stack, [setting])
    if candidate.problem:
        candidate = candidate._replace(problem=_shortest_refusal(candidates, stack, stops, setting))
    return setting, candidate


def _shortest_refusal(candidates: Candidates, stack: Stack, stops: Stops, setting: Setting) -> str:
    """Return why a stack cannot run, on the host for which the fewest reasons are left."""
    on_hosts = [_change_stops(setting, **{HOST: host}) for host in stops.get(HOST, ())] or [setting]
    return min((candidates.refusal(stack, on_host) for on_host in on_hosts), key=lambda refusal: refusal.count("; "))


def search(stops: Stops, ranks: Ranks, starts: int = NUM_STARTS, near_settings: Sequence[Setting] = ()) -> Setting:
    """Return the lowest-ranked setting that the search finds.

    The search starts from the `starts` best shapes and from `near_settings`.
    Where no shape can run, shapes with smaller nodes are tried too, and with each way of sharding if software decides it. With a
    single start, no pairs of knobs are changed.
    """
    shapes = _by_rank([*near_settings, *_shapes(stops)], ranks)
    if ranks(shapes[:1])[0][0] == CANNOT_RUN:
        ways = (SHARDING,) if stops.get(SHARDING, (None,))[0] is not None else ()
        shapes = _by_rank([*shapes, *_shapes(stops, (*SHAPE, GPUS_PER_NODE, *ways))], ranks)
    best_shapes: dict[Setting, Setting] = {}  # the best shape of each choice of parts
    for shape in shapes:
        best_shapes.setdefault(_parts(shape), shape)
    ends = [_descend(stops, ranks, shape) for shape in list(dict.fromkeys([*best_shapes.values(), *shapes]))[:starts]]
    (end, *_) = _by_rank(ends, ranks)
    return end if starts == 1 else _move_pairs(stops, ranks, end)


def _shapes(stops: Stops, knobs: Sequence[str] = SHAPE) -> list[Setting]:
    """Return all combinations of the knobs of shape, with the largest nodes, other knobs at their first stop."""
    first_stops = {knob: max(values) if knob == GPUS_PER_NODE else values[0] for knob, values in stops.items()}
    shape = [knob for knob in knobs if knob in stops]
    return [
        _setting(stops, {**first_stops, **dict(zip(shape, combination, strict=True))})
        for combination in product(*(stops[knob] for knob in shape))
    ]


def _setting(stops: Stops, values: dict[str, Any]) -> Setting:
    return tuple((knob, values[knob]) for knob in stops)


def _parts(setting: Setting) -> Setting:
    """Return the knobs of a shape that choose parts: all but the number of GPUs."""
    return tuple((knob, stop) for knob, stop in setting if knob in SHAPE and knob != GPUS)


def _by_rank(settings: Iterable[Setting], ranks: Ranks) -> list[Setting]:
    """Return settings without repeats, by rank; settings of equal rank keep their order."""
    distinct_settings = list(dict.fromkeys(settings))
    rank_by_setting = dict(zip(distinct_settings, ranks(distinct_settings), strict=True))
    return sorted(distinct_settings, key=lambda setting: rank_by_setting[setting])


def _movable_knobs(stops: Stops) -> list[str]:
    return [knob for knob, values in stops.items() if len(values) > 1]


def _change_stops(setting: Setting, **changes: Any) -> Setting:
    return tuple((knob, changes.get(knob, stop)) for knob, stop in setting)


def _descend(stops: Stops, ranks: Ranks, setting: Setting) -> Setting:
    """Move one knob after the other to its best stop, until none moves; return the setting."""
    knobs, num_unmoved, position = _movable_knobs(stops), 0, 0
    while num_unmoved < len(knobs):
        knob = knobs[position % len(knobs)]
        (best_setting, *_) = _by_rank([setting, *(_change_stops(setting, **{knob: stop}) for stop in stops[knob])], ranks)
        setting, num_unmoved, position = best_setting, 0 if best_setting != setting else num_unmoved + 1, position + 1
    return setting


def _move_pairs(stops: Stops, ranks: Ranks, setting: Setting) -> Setting:
    """Move two knobs together, from a setting where no knob alone moves; return the last setting."""
    while True:
        (best_setting, *_) = _by_rank([setting, *_pairs(stops, ranks, setting)], ranks)
        if best_setting == setting:
            return setting
        setting = _descend(stops, ranks, best_setting)


def _pairs(stops: Stops, ranks: Ranks, setting: Setting) -> Iterator[Setting]:
    """Yield settings that differ in two knobs, each at a promising stop; for NODES at any stop."""
    (setting_rank,), values = ranks([setting]), dict(setting)
    promising_stops: dict[str, Sequence[Any]] = {}
    for knob in _movable_knobs(stops):
        other_stops = [stop for stop in stops[knob] if stop != values[knob]]
        stop_ranks = ranks([_change_stops(setting, **{knob: stop}) for stop in other_stops])
        promising_stops[knob] = [
            stop for stop, rank in zip(other_stops, stop_ranks, strict=True) if _is_promising(rank, setting_rank)
        ]
    for first_knob, second_knob in combinations(promising_stops, 2):
        pair_stops = stops if {first_knob, second_knob} == NODES else promising_stops
        yield from (
            _change_stops(setting, **{first_knob: first_stop, second_knob: second_stop})
            for first_stop, second_stop in product(pair_stops[first_knob], pair_stops[second_knob])
        )


def _is_promising(rank: Rank, setting_rank: Rank) -> bool:
    """Return whether a rank is not much worse than another of the same outcome; another outcome counts."""
    return rank[0] != setting_rank[0] or len(setting_rank) == 1 or rank[1] <= PROMISING * setting_rank[1]
