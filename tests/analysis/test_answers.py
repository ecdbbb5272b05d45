"""Do fronts, bounds, the cheapest point and variance shares agree with their definitions, and what cannot be asked be refused?"""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from engine.analysis.choice import cheapest, keeps_bounds
from engine.analysis.importance import variance_shares
from engine.analysis.objective import read_constraint, read_objective, read_objectives
from engine.analysis.pareto import BLOCK, front_sentence, fronts, knee, ranks
from engine.errors import BadInput
from engine.scenario.scenario import Scenario
from engine.sweep.axes import parse
from engine.sweep.sweep import Sampling, Sweep
from tests.cases import each

TIME, COST, AUC = "Step time [ms]", "Capital cost [USD]", "AUC"
numbers = some.one_of(some.none(), some.integers(0, 6).map(float))


def peeled(rows: list[tuple[float | None, ...]]) -> list[int]:
    """Ranks by definition: take off the points that nobody beats, again and again; 0 for a row that lacks a number."""
    left = {place: row for place, row in enumerate(rows) if None not in row}
    rank = [0] * len(rows)
    front = 0
    while left:
        front += 1
        free = [
            place for place, row in left.items()
            if not any(all(a <= b for a, b in zip(other, row, strict=True)) and other != row for other in left.values())
        ]  # fmt: skip
        for place in free:
            rank[place] = front
            del left[place]
    return rank


@given(some.integers(1, 5).flatmap(lambda width: some.lists(some.tuples(*[numbers] * width), min_size=1, max_size=40)))
def test_ranks_are_what_is_left_when_fronts_are_taken_off_one_by_one(rows: list[tuple[float | None, ...]]) -> None:
    names = [TIME, COST, "Energy [J]", "Lost batches", "Recovery time [s]"][: len(rows[0])]
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    assert ranks(columns, read_objectives(",".join(names))).tolist() == peeled(rows)


@pytest.mark.parametrize("width", [2, 3, 5])
def test_ranks_of_thousands_of_points_hold_across_the_blocks_of_the_kernel(width: int) -> None:
    points = np.unique(np.random.default_rng(3).random((3 * BLOCK, width)), axis=0)
    rank = fronts(points)
    beats = (points[:, None] <= points[None]).all(axis=2) & ~np.eye(len(points), dtype=bool)
    for point in range(len(points)):  # by definition: one more than the deepest front of those that beat it
        assert rank[point] == 1 + rank[beats[:, point]].max(initial=0)


def test_a_long_chain_has_a_front_for_each_point() -> None:
    chain = np.repeat(np.arange(5000.0)[:, None], 3, axis=1)
    assert fronts(chain).tolist() == list(range(1, 5001))


def test_the_direction_is_the_metrics_own_unless_it_is_said() -> None:
    columns = {TIME: [1.0, 2.0], AUC: [0.7, 0.8]}
    assert ranks(columns, read_objectives(f"{TIME},{AUC}")).tolist() == [1, 1]
    assert ranks(columns, read_objectives(f"{TIME},{AUC}:min")).tolist() == [1, 2]
    assert [str(one) for one in read_objectives("auc, step time:max,machine.num_gpus")] == [
        AUC,
        f"{TIME}:max",
        "machine.num_gpus",
    ]


def test_the_knee_is_nearest_to_the_best_of_all_whatever_the_units() -> None:
    columns = {TIME: [1.0, 2.0, 9.0, 10.0], COST: [9e6, 2e6, 1e6, 8e6]}
    wanted = read_objectives(f"{TIME},{COST}")
    rank = ranks(columns, wanted)
    assert rank.tolist() == [1, 1, 1, 2] and knee(columns, wanted, rank) == 1
    assert front_sentence(columns, wanted, rank) == (
        "3 of 4 points are on the Pareto front of Step time and Capital cost: Step time from 1.00 ms, "
        "Capital cost from 1,000,000 USD; nearest to the best value of all objectives together: 2.00 ms and 2,000,000 USD."
    )
    assert "no Pareto front" in front_sentence({TIME: [None]}, wanted, np.zeros(1, int))


def test_bounds_are_kept_as_written_and_a_point_without_a_number_keeps_none() -> None:
    columns = {TIME: [1.0, 5.0, 6.0, None], "machine.num_gpus": [1, 2, 3, 4]}
    for text, expected in (
        ("Step time [ms]<=5", [1, 1, 0, 0]),
        ("step time < 5", [1, 0, 0, 0]),
        ("Step time [ms] ≥ 5", [0, 1, 1, 0]),
        ("Step time>5e0", [0, 0, 1, 0]),
        ("machine.num_gpus=2", [0, 1, 0, 0]),
        ("AUC>=0", [0, 0, 0, 0]),
    ):
        bound = read_constraint(text)
        assert bound.holds(columns).tolist() == [bool(one) for one in expected], text
        assert read_constraint(str(bound)) == bound
        assert (bound.excess(columns) == 0).tolist() == bound.holds(columns).tolist()
    assert keeps_bounds(columns, [read_constraint("step time<=5"), read_constraint("machine.num_gpus>1")]).tolist() == [
        False,
        True,
        False,
        False,
    ]
    assert keeps_bounds(columns, []).all()


@each(
    ("text", "sentence"),
    [
        ("Step time [ms]", "cannot be read"),
        ("Step time [ms]<=", "bound ''"),
        ("Step time [ms]<=nan", "bound 'nan'"),
        ("Step time [ms]<=5 ms", "bound '5 ms'"),
        ("1<=Step time [ms]<=5", "cannot be read"),
        ("Stp time [ms]<=5", r"did you mean Step time \[ms\]"),
        ("machine.gpu<=5", "neither a result nor a numeric knob"),
        ("<=5", "neither a result"),
        ("x" * 9000 + "<1", "neither a result"),
    ],
)
def test_a_bad_constraint_is_refused_with_one_sentence(text: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence) as refusal:
        read_constraint(text)
    assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 300


@given(some.text(max_size=30))
def test_whatever_is_written_is_an_objective_a_bound_or_a_sentence(text: str) -> None:
    for read, written in (
        (read_objective, text),
        (read_constraint, f"AUC<{text}"),
        (read_constraint, text),
        (read_objectives, f"AUC,{text}"),
    ):
        try:
            read(written)
        except BadInput as error:
            assert len(str(error)) < 400


def test_the_same_objective_twice_and_too_many_are_refused() -> None:
    with pytest.raises(BadInput, match="name at most 5, all different"):
        read_objectives("AUC,AUC:min")
    with pytest.raises(BadInput, match="at most 5"):
        read_objectives("AUC,Loss,Step time,Energy,Elapsed,Nodes")


def test_the_cheapest_point_keeps_the_bounds_and_of_equally_cheap_ones_is_the_best() -> None:
    columns = {TIME: [1.0, 4.0, 3.0, 9.0, None], COST: [900.0, 500.0, 500.0, 100.0, 1.0]}
    found = cheapest(columns, [read_constraint("step time<=5")])
    assert found.index == 2
    assert found.sentence == "3 of 5 points have Step time <= 5 ms; the cheapest costs 500 USD."
    assert cheapest(columns, []).index == 4
    turned = {name: found[::-1] for name, found in columns.items()}
    assert cheapest(turned, [read_constraint("step time<=5")]).index == 2
    assert cheapest({TIME: [4.0, 3.0], COST: [5.0, 5.0]}, [read_constraint("step time<=5")]).index == 1


def test_a_target_that_no_machine_meets_says_how_near_the_nearest_comes() -> None:
    columns = {TIME: [1.0, 4.0], AUC: [0.5, 0.8], COST: [1.0, 2.0]}
    for texts, sentence in (
        (["step time<=0.5"], "None of 2 points has Step time <= 0.5 ms: the nearest has 1.00 ms."),
        (
            ["step time<=1", "auc>=0.8"],
            "None of 2 points has Step time <= 1 ms, AUC >= 0.8 together; each of these bounds alone can be met.",
        ),
        (["loss<=1"], "None of 2 points has a value of loss, so none can meet the bound Loss<=1."),
    ):
        found = cheapest(columns, [read_constraint(text) for text in texts])
        assert (found.index, found.sentence) == (None, sentence)


BOX = tuple(map(parse, ("machine.cxl_latency_ns=0:3:4", "machine.host_dram_channels=1:4:4", "machine.num_ssds=1,2")))


def test_of_a_grid_variance_shares_are_exact() -> None:
    """y = a + 2 b + a c with a in 0..3, b in 1..4, c in 0, 1: variances of the parts by hand, over equally likely levels."""
    sweep = Sweep(Scenario(), BOX)
    found = [a + 2 * b + a * c for a, b, c in product(range(4), range(1, 5), (0, 1))]
    spread = 1.25  # variance of 0, 1, 2, 3
    a, b, c, both = 1.5**2 * spread, 4 * spread, 1.5**2 / 4, spread / 4
    whole = a + b + c + both
    by_path = {share.path: share for share in variance_shares(sweep, found)}
    expected = (("cxl_latency_ns", a, a + both), ("host_dram_channels", b, b), ("num_ssds", c, c + both))
    for name, alone, total in expected:
        share = by_path[f"machine.{name}"]
        assert (share.alone_share, share.low, share.high) == pytest.approx((alone / whole,) * 3)
        assert share.total == pytest.approx(total / whole)
    assert variance_shares(sweep, found)[0].path == "machine.host_dram_channels"


def test_points_without_a_number_are_left_out_and_a_flat_metric_hangs_on_nothing() -> None:
    sweep = Sweep(Scenario(), BOX[:1])
    assert variance_shares(sweep, [None, 1.0, 1.0, 2.0])[0].alone_share == 1
    assert variance_shares(sweep, [3.0] * 4)[0].alone_share == variance_shares(sweep, [None] * 4)[0].alone_share == 0


@pytest.mark.parametrize("kind", ["random", "sobol"])
def test_of_a_sampling_the_interval_holds_the_true_share_and_a_knob_without_effect_has_none(kind: str) -> None:
    """y = x + 2 y over even ranges of equal width: a fifth and four fifths, the third knob nothing."""
    axes = tuple(map(parse, ("machine.cxl_latency_ns=0:1", "machine.pcie_bandwidth_GBps=1:2", "system=cxl,pmem,ssd")))
    sweep = Sweep(Scenario(), axes, sampling=Sampling(kind, 2000))  # type: ignore[arg-type]
    found = [one.machine.cxl_latency_ns + 2 * one.machine.pcie_bandwidth_GBps for one in sweep]
    by_path = {share.path: share for share in variance_shares(sweep, found)}
    for path, true in (("machine.cxl_latency_ns", 0.2), ("machine.pcie_bandwidth_GBps", 0.8), ("system", 0.0)):
        share = by_path[path]
        assert share.low - 0.01 <= true <= share.high + 0.01 and share.high - share.low < 0.12, share
        assert share.alone_share == pytest.approx(true, abs=0.03)
    assert by_path["system"].sentence(TIME) == "Training system explains less than 1 % of the variance of step time."


def test_few_points_do_not_make_a_knob_without_effect_explain_what_chance_does() -> None:
    axes = tuple(map(parse, ("machine.cxl_latency_ns=0:1", "machine.pcie_bandwidth_GBps=1:2")))
    sweep = Sweep(Scenario(), axes, sampling=Sampling("random", 150))
    by_path = {share.path: share for share in variance_shares(sweep, [one.machine.cxl_latency_ns for one in sweep])}
    assert by_path["machine.pcie_bandwidth_GBps"].alone_share < 0.05  # 15 degrees of freedom among 149 would be 0.1
    assert by_path["machine.cxl_latency_ns"].alone_share > 0.95
