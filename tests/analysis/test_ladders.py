"""Is the first value of a ladder found, a front ranked, a share told and a target refused just where it should be?"""

from itertools import product
from math import inf, nan
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from engine.analysis import in_force, objective, pareto, part_loads, search
from engine.analysis.enough import ladder, smallest
from engine.analysis.enough.cache import cache_for, cache_lines, cache_of_size
from engine.analysis.enough.ladder import Trace, search_ladder, search_near, spread_rungs
from engine.analysis.enough.question import Target
from engine.analysis.importance import VarianceShare, _share_between_levels
from engine.analysis.objective import Constraint, Objective, read_constraint, read_objectives
from engine.analysis.part_loads import PartLoad, PartLoads, ShardingWay, balance_sentence
from engine.analysis.uncertainty import drawn_constant
from engine.core.constants import Constant
from engine.errors import BadInput
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.systems.traffic import table_bytes
from tests.cases import each


@each(
    ("seconds", "first", "below", "best"),
    [
        ({0: 3.0, 1: 2.0, 2: 1.0}, 1, 0, 2),
        ({0: 2.0, 1: 1.0}, 0, -1, 1),
        ({0: 3.0, 4: 2.5}, None, -1, 4),
        ({0: nan, 4: 2.0}, 4, 0, 4),
        ({0: nan}, None, -1, None),
        ({}, None, -1, None),
        ({0: 1.01, 4: 1.0}, 0, -1, 0),  # within 1 % of the shortest
        ({0: 1.011, 4: 1.0}, 0, -1, 4),
        ({3: 2.0, 1: 2.5, 5: 1.0}, 3, 1, 5),
    ],
)
def test_a_trace_has_its_first_rung_and_the_one_below(
    seconds: dict[int, float], first: int | None, below: int, best: int | None
) -> None:
    trace = Trace(2.0, seconds)
    assert (trace.first_rung, trace.rung_below, trace.best_rung) == (first, below, best)


@each(
    ("low", "high", "number", "rungs"),
    [
        (0, 0, 6, [0]),
        (0, 1, 6, [0, 1]),
        (1, 0, 6, []),
        (0, 8, 2, [0, 8]),
        (0, 8, 3, [0, 2, 8]),
        (3, 5, 6, [3, 4, 5]),
        (0, 7, 4, [0, 1, 3, 7]),
    ],
)
def test_rungs_are_spread_with_both_ends(low: int, high: int, number: int, rungs: list[int]) -> None:
    assert spread_rungs(low, high, number) == rungs


@each("rungs", [1, 2, 3, 10, 33])
def test_a_falling_ladder_is_searched_exactly(rungs: int) -> None:
    sizes = [float(rung + 1) for rung in range(rungs)]
    goals = [rungs * 2.0, *(1 + 1 / size for size in sizes), 1.0]

    def steps(pairs: Any) -> list[float]:
        return [1 + 1 / sizes[rung] for _, rung in pairs]

    wanted = [next((rung for rung, size in enumerate(sizes) if 1 + 1 / size <= goal), None) for goal in goals]
    assert [trace.first_rung for trace in search_ladder(spread_rungs(0, rungs - 1, 4), steps, goals)] == wanted
    for start in {0, rungs // 2, rungs - 1}:
        assert [trace.first_rung for trace in search_near(start, sizes, steps, goals)] == wanted


@each("seed", range(12))
def test_a_ladder_of_steps_is_searched_exactly_near_any_start(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = np.cumsum(rng.uniform(0.1, 3.0, 20)).tolist()
    seconds = np.sort(rng.choice([1.0, 1.5, 2.0, 4.0, 9.0], 20))[::-1].tolist()  # with rungs of equal seconds

    def steps(pairs: Any) -> list[float]:
        return [seconds[rung] for _, rung in pairs]

    goals = [0.5, 1.0, 1.7, 2.0, 9.0]
    wanted = [next((rung for rung, step in enumerate(seconds) if step <= goal), None) for goal in goals]
    for start in range(20):
        assert [trace.first_rung for trace in search_near(start, sizes, steps, goals)] == wanted


def test_a_card_carries_a_link_up_to_a_thousandth_more() -> None:
    s = preset("tiny").scenario
    payloads = sorted(payload / 1e9 for _, _, payload in ladder.products(s.machine))
    for gbps in (payloads[0], payloads[0] * 1.0009):
        assert (ladder.card_link(s, gbps) or ("", 0))[1] == payloads[0]
    slower = ladder.card_link(s, payloads[0] * 1.002)
    assert slower and slower[1] == payloads[1] and ladder.card_link(s, payloads[-1] * 1.01) is None


@each(
    ("target", "is_possible"),
    [({"tolerance": -0.99}, True), ({"tolerance": -0.991}, False), ({"tolerance": 1e3}, True), ({"tolerance": 1001.0}, False),
     ({"tolerance": nan}, False), ({"tolerance": inf}, False), ({"milliseconds": 1e-300}, True), ({"milliseconds": 0.0}, False),
     ({"milliseconds": -1.0}, False), ({"milliseconds": inf}, False), ({"milliseconds": nan}, False)],
)  # fmt: skip
def test_a_target_is_one_that_a_step_can_meet(target: dict[str, float], is_possible: bool) -> None:
    if is_possible:
        assert Target(**target)
    else:
        with pytest.raises(BadInput, match="is not possible"):
            Target(**target)


@each(
    ("target", "words"),
    [
        (Target(0.1), "within 10 % of"),
        (Target(0.0), "as fast as"),
        (Target(-0.1), "at 90 % of"),
        (Target(milliseconds=5), "at 5 ms a batch"),
    ],
)
def test_a_target_is_said_by_its_side_of_the_baseline(target: Target, words: str) -> None:
    assert target.target_text("dram").startswith(words)


S = with_values(preset("tiny").scenario, {"model.num_tables": 2, "model.num_embeddings": (200,), "model.pooling": (4,)})


@each(("share", "cached"), [(-0.5, 0.0), (0.0, 0.0), (0.5, 0.5), (1.0, 1.0), (1.5, 1.0)])
def test_a_cache_is_no_larger_than_the_tables(share: float, cached: float) -> None:
    found = cache_of_size(S, share * table_bytes(S))
    assert found.nbytes == pytest.approx(cached * table_bytes(S), rel=1e-6) and found.recent_nbytes == cached * table_bytes(S)
    assert 0 <= found.hit_rate <= 1 and (found.hit_rate == 1) == (cached == 1) and (found.recent_rate > 0) == (cached > 0)


def test_a_cache_has_a_row_or_more_and_all_rows_for_all_hits() -> None:
    none, all_hits = cache_for(S, 0.0), cache_for(S, 1.0)
    assert none.nbytes == pytest.approx(table_bytes(S) / 400) and all_hits.nbytes == pytest.approx(table_bytes(S), rel=1e-6)
    for hit_rate in (0.3, 0.6, 0.9):
        found = cache_for(S, hit_rate)
        assert found.hit_rate == pytest.approx(hit_rate, abs=1e-6)
        assert found.recent_nbytes is None or found.recent_rate == pytest.approx(hit_rate, abs=1e-3)


@each(("tables", "lines"), [(12, 13), (13, 14), (14, 14)])
def test_twelve_tables_are_told_and_the_others_together(tables: int, lines: int) -> None:
    s = with_values(S, {"model.num_tables": tables})
    found = list(cache_lines(s, cache_for(s, 0.5)))
    assert len(found) == lines and (f"{tables - 12} other table" in found[-1]) == (tables > 12)


def brute_fronts(losses: np.ndarray) -> list[int]:
    """Return each point's front by comparing all points."""
    rank, left, front = [0] * len(losses), set(range(len(losses))), 0
    while left:
        front += 1
        members = {
            one
            for one in left
            if not any((losses[other] <= losses[one]).all() and (losses[other] < losses[one]).any() for other in left)
        }
        for one in members:
            rank[one] = front
        left -= members
    return rank


A, B, C = "Step time [ms]", "Energy per batch [J]", "model.embedding_dim"


@each(("columns", "seed"), product([1, 2, 3], range(8)))
def test_fronts_are_those_of_all_comparisons(columns: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    losses = rng.integers(0, 4, (70, columns)).astype(float)  # with equal points, and equal numbers
    table = {name: losses[:, column].tolist() for column, name in zip(range(columns), (A, B, C), strict=False)}
    objectives = [Objective(name) for name in table]
    rank = pareto.ranks(table, objectives)
    assert rank.tolist() == brute_fronts(losses)
    highest = pareto.ranks({name: (-losses[:, n]).tolist() for n, name in enumerate(table)}, [Objective(n, True) for n in table])
    assert highest.tolist() == rank.tolist()
    assert len(pareto.distinct_front(table, objectives, rank)) == len(np.unique(losses[rank == 1], axis=0))


def test_points_without_a_number_or_beyond_a_bound_have_no_front() -> None:
    table = {A: [1.0, nan, 3.0, 2.0], B: [4.0, 1.0, 1.0, nan]}
    both = [Objective(A), Objective(B)]
    assert pareto.ranks(table, both).tolist() == [1, 0, 1, 0]
    assert pareto.ranks(table, both, [Constraint(B, "<=", 1.0)]).tolist() == [0, 0, 1, 0]
    assert pareto.ranks(table, both, [Constraint(A, "<", 1.0)]).tolist() == [0, 0, 0, 0]
    assert pareto.knee(table, both, np.zeros(4)) is None
    assert "No point has" in pareto.front_sentence(table, both, np.zeros(4, np.int64))


def test_equal_digits_are_equal_at_any_size() -> None:
    for size in (1e-9, 1.0, 1e9):
        table = {A: [size, 2 * size, size * (1 + 1e-13)], B: [size, size, size]}
        assert pareto.ranks(table, [Objective(A), Objective(B)]).tolist() == [1, 2, 1]
        halves = {A: [0.0, 0.1 * size, size], B: [size, 0.1 * size, 0.0]}
        assert pareto.knee(halves, [Objective(A), Objective(B)], np.ones(3)) == 1


def test_points_without_a_price_are_told_where_they_lack_nothing_else() -> None:
    table = {pareto.COST: [1.0, nan, nan], A: [2.0, 3.0, nan]}
    both = [Objective(pareto.COST), Objective(A)]
    found = pareto.front_sentence(table, both, pareto.ranks(table, both))
    assert found.startswith("1 of 1 point is on") and found.endswith(" 1 more have no price and are left out.")
    assert pareto._unpriced_note(table, both[:1]) == "" == pareto._unpriced_note({**table, pareto.COST: [1.0] * 3}, both)


@each(("words", "text"), [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")])
def test_words_are_joined(words: list[str], text: str) -> None:
    assert pareto._join_words(words) == text


@each(("points", "subject"), [([(1.0, 2.0)], "1 of 1 point is on"), ([(1.0, 2.0), (2.0, 1.0)], "2 of 2 points are on"),
                              ([(1.0, 2.0), (1.0, 2.0)], "2 of 2 points, 1 of them different, are on"),
                              ([(1.0, 2.0), (3.0, 3.0)], "1 of 2 points is on")])  # fmt: skip
def test_a_front_is_told_by_its_points(points: list[tuple[float, float]], subject: str) -> None:
    table = {A: [a for a, _ in points], B: [b for _, b in points]}
    both = [Objective(A), Objective(B)]
    assert pareto.front_sentence(table, both, pareto.ranks(table, both)).startswith(subject)


def test_the_knee_is_nearest_to_the_best_of_all() -> None:
    table, both = {A: [0.0, 1.0, 10.0], B: [10.0, 1.0, 0.0]}, [Objective(A), Objective(B)]
    assert pareto.knee(table, both, np.ones(3)) == 1
    assert pareto.knee({A: [0.0, 0.0], B: [2.0, 1.0]}, both, np.ones(2)) == 1, "one objective is the same everywhere"


@each(
    ("sign", "holds", "excess"),
    [
        ("<=", [True, True, False, False], [0, 0, 1, nan]),
        ("<", [True, False, False, False], [0, 1e-12, 1, nan]),
        (">=", [False, True, True, False], [1, 0, 0, nan]),
        (">", [False, False, True, False], [1, 1e-12, 0, nan]),
        ("=", [False, True, False, False], [1, 0, 1, nan]),
    ],
)
def test_a_bound_holds_on_its_own_side(sign: str, holds: list[bool], excess: list[float]) -> None:
    columns, bound = {A: [4.0, 5.0, 6.0, nan]}, read_constraint(f"Step time{sign}5")
    assert bound.holds(columns).tolist() == holds and str(bound) == f"{A}{sign}5"
    np.testing.assert_array_equal(bound.excess(columns), excess)


@each("text", ["Step time<=inf", "Step time<=nan", "Step time<=x", "Step time", "Step time<=5<=6", "nothing<=5"])
def test_what_is_no_bound_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        read_constraint(text)


FIVE = "Step time,Energy per batch,model.embedding_dim,data.batch_size,model.num_tables"


@each(
    ("text", "is_read"),
    [
        (FIVE, True),
        (f"{FIVE},machine.num_gpus", False),
        ("Step time,Step time:max", False),
        ("", False),
        ("Step time:least", False),
    ],
)
def test_objectives_are_up_to_five_different_ones(text: str, is_read: bool) -> None:
    if is_read:
        assert len(read_objectives(text)) == 5
    else:
        with pytest.raises(BadInput):
            read_objectives(text)


@each(
    ("text", "highest"), [("Step time", False), ("Step time:max", True), ("Step time:min", False), ("model.embedding_dim", False)]
)
def test_an_objective_has_its_own_direction_or_a_given_one(text: str, highest: bool) -> None:
    (found,) = read_objectives(text)
    assert found.highest == highest and read_objectives(str(found)) == (found,)


@each(
    ("name", "number", "text"),
    [("run.batches", 5.0, "5 batches"), ("run.batches", 5.5, "5.5 batches"), ("model.embedding_dim", 64.5, "64.5"),
     (A, 5.0, "5.00 ms"), ("Use [%]", 50.0, "50 %"), ("machine.pmem_capacity_GB", 1234567.0, "1,234,567 GB"),
     ("AUC", 0.75, "0.750"), ("Batches [batches]", 12345.0, "12,345 batches")],
)  # fmt: skip
def test_a_number_has_its_unit_and_the_digits_of_its_kind(name: str, number: float, text: str) -> None:
    assert objective.number_text(name, number) == text


@each(
    ("share", "total", "words"),
    [
        (0.5, None, "explains 50"),
        (0.5, 0.549, "explains 50"),
        (0.5, 0.55, "and with other knobs together 55"),
        (0.009, 0.009, "explains less than 1 %"),
        (0.01, 0.01, "explains 1"),
    ],
)
def test_a_share_of_variance_is_told_with_others_from_a_twentieth_on(share: float, total: float | None, words: str) -> None:
    sentence = VarianceShare("model.embedding_dim", share, share, share, total).sentence(A)
    assert words in sentence and ("together" in sentence) == ("together" in words)


@each(
    ("levels", "numbers", "noisy", "share"),
    [
        ([0, 0, 1, 1], [1.0, 1.0, 2.0, 2.0], False, 1.0),
        ([0, 1, 0, 1], [1.0, 1.0, 2.0, 2.0], False, 0.0),
        ([0, 1, 0, 1], [1.0, 1.0, 2.0, 2.0], True, 0.0),
        ([0, 0, 2, 2], [1.0, 3.0, 3.0, 5.0], False, 0.5),
        ([0, 0, 2, 2], [1.0, 3.0, 3.0, 5.0], True, 0.25),
        ([0, 1, 2, 3], [1.0, 3.0, 3.0, 5.0], True, 1.0),
        ([0, 0, 1], [1.0, 3.0, 5.0], True, 0.5),
        ([0, 0, 0, 0], [2.0, 2.0, 2.0, 2.0], False, 0.0),
    ],
)
def test_the_variance_between_levels_is_a_share(levels: list[int], numbers: list[float], noisy: bool, share: float) -> None:
    assert _share_between_levels(np.array(levels), np.array(numbers), noisy) == pytest.approx(share)


@each(("direction", "drawn"), [(-1.0, 2.0), (-0.5, 3.0), (0.0, 4.0), (0.5, 7.0), (1.0, 10.0)])
def test_a_constant_is_drawn_from_its_range_on_both_sides(direction: float, drawn: float) -> None:
    assert drawn_constant(Constant("rate", 4.0, "W", 2.0, 10.0, "measured", "a test"), direction) == drawn


def loads(even_step: float | None, step: float | None = 2.0) -> PartLoads:
    parts = (PartLoad(0, 1.0, 1.0, 1.0, 0.0, (1.0, 0.0, 0.0)), PartLoad(1, 1.0, 1.0, 1.0, 0.0, (1.0, 2.0, 0.0)))
    even, table = ShardingWay("even", even_step, ""), ShardingWay("table", step, "too slow" * (step is None))
    return PartLoads("GPU", 2, parts, 2.0, (even, table), "table")


@each(
    ("even_step", "words"),
    [(1.0, "1.00 ms instead of 2.00 ms, 50 % less"), (1.999, "would bring nothing here"), (1.9989, "instead of"),
     (2.0, "nothing here"), (None, "an even share.")],
)  # fmt: skip
def test_balance_brings_what_it_saves(even_step: float | None, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_loads, "EVEN_SHARES", "even")
    found = balance_sentence(loads(even_step))
    assert words in found and found.startswith("GPU 1 is the slowest") and "1.50 times" in found
    assert balance_sentence(loads(even_step, None)) == "too slow"


@each(
    ("seconds", "rung"),
    [
        ({0: 3.0, 1: 2.0, 2: 1.0}, 1),  # the first that meets
        ({0: 3.0, 1: 2.5, 2: 2.49}, 1),  # the lowest near the best
        ({0: 3.0, 1: 2.6, 2: 2.5}, 2),
        ({0: nan, 3: nan}, 3),
    ],
)
def test_a_ladder_has_an_answer_in_any_case(seconds: dict[int, float], rung: int) -> None:
    assert smallest._chosen_rung(Trace(2.0, seconds)) == rung


@each(
    ("seconds", "pair"),
    [
        ({0: 2.0, 1: 1.0, 2: 1.01}, (1, 2)),
        ({0: 2.0, 1: 1.0, 2: 1.009}, None),
        ({0: 2.0, 1: 1.0}, None),
        ({0: 1.0, 1: 1.5, 2: 1.2}, (0, 1)),
        ({0: nan, 1: 1.0, 2: 2.0}, (1, 2)),
        ({0: 4.0, 1: 2.0, 2: 2.01}, None),
        ({0: nan}, None),
        ({}, None),
    ],
)
def test_a_larger_machine_that_is_slower_takes_a_hundredth_longer(seconds: dict[int, float], pair: Any) -> None:
    explorer: Any = SimpleNamespace(candidates_of=tuple)
    assert smallest._larger_but_slower(explorer, ["a", "b", "c"], Trace(9.0, seconds)) == (  # type: ignore[list-item]
        None if pair is None else tuple("abc"[rung] for rung in pair)
    )


@each(("nbytes", "text"), [(1e9, "1 GB"), (999e6, "999 MB"), (1e6, "1 MB"), (999e3, "999 kB"), (5, "0.005 kB")])
def test_bytes_have_their_largest_unit(nbytes: float, text: str) -> None:
    assert in_force._bytes(nbytes) == text


@each(("numbers", "loss"), [([5.0], 5.0), ([nan], 1e30), ([inf], 1e30), ([], 1e30)])
def test_a_point_that_cannot_run_has_the_worst_loss(numbers: list[float], loss: float) -> None:
    assert search._finite_or_worst(np.array(numbers)) == loss
