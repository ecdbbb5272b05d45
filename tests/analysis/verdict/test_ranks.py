"""Is a machine that just meets a limit, a tie or a share judged as one that does, and one just beyond it as one that does not?"""

from dataclasses import replace
from math import inf
from types import SimpleNamespace
from typing import Any

import pytest

from engine.analysis.verdict import candidates, families, protection_search, search
from engine.analysis.verdict.aim import CANNOT_RUN, MEETS, MISSES, NO_PRICE, Aim
from engine.analysis.verdict.allowed import AllowedParts, narrow_parts
from engine.analysis.verdict.candidates import CandidateEstimate, Candidates
from engine.analysis.verdict.decide import SystemRow, Verdict
from engine.analysis.verdict.outlook import territory
from engine.analysis.verdict.outlook.bands import _winner
from engine.analysis.verdict.outlook.shortlist import NO_WINNER, leaders
from engine.analysis.verdict.protected import CandidateProtection
from engine.analysis.verdict.question import VerdictQuestion
from engine.analysis.verdict.requirement import Requirement, read_requirement
from engine.analysis.verdict.space import GPU, GPUS, GPUS_PER_NODE
from engine.analysis.verdict.stacks import Stack
from engine.errors import BadInput
from engine.hardware.devices.chassis import sold_on_boards, takes_gpu
from engine.hardware.devices.gpu import ACCELERATORS
from engine.scenario.presets import preset
from tests.cases import each

MACHINE = preset("tiny").scenario.machine
RUNS = CandidateEstimate(step=2.0, joules=10.0, watts=5.0, capital=1000.0)  # of batches of 8 samples: 4 samples/s


def aim(throughput: float = 0.0, objective: Any = "cost", **limits: Any) -> Aim:
    return Aim(Requirement(**limits), objective, MACHINE, 8, throughput)


RANKS: list[tuple[Aim, CandidateEstimate, CandidateProtection, float]] = [
    (aim(), RUNS, CandidateProtection(), MEETS),
    (aim(), RUNS._replace(problem="too large"), CandidateProtection(), CANNOT_RUN),
    (aim(4.0), RUNS, CandidateProtection(), MEETS),
    (aim(4.0 * (1 + 1e-9)), RUNS, CandidateProtection(), MEETS),
    (aim(4.0 * (1 + 3e-9)), RUNS, CandidateProtection(), MISSES),
    (aim(days=1.0, samples=4.0 * 86400), RUNS, CandidateProtection(), MEETS),
    (aim(days=1.0, samples=4.1 * 86400), RUNS, CandidateProtection(), MISSES),
    (aim(days=1.0, samples=2.0 * 86400), RUNS, CandidateProtection(share=0.5), MEETS),
    (aim(days=1.0, samples=2.0 * 86400), RUNS, CandidateProtection(share=0.49), MISSES),
    (aim(days=1.0, samples=1.0), RUNS, CandidateProtection(share=0.0), MISSES),
    (aim(budget=1000.0), RUNS, CandidateProtection(), MEETS),
    (aim(budget=999.0), RUNS, CandidateProtection(), MISSES),
    (aim(budget=1010.0), RUNS, CandidateProtection(price=10.0), MEETS),
    (aim(budget=1010.0), RUNS, CandidateProtection(price=11.0), MISSES),
    (aim(lost_batches=3.0), RUNS, CandidateProtection(lost_batches=3.0), MEETS),
    (aim(lost_batches=3.0), RUNS, CandidateProtection(lost_batches=3.1), MISSES),
    (aim(lost_minutes=3.0), RUNS, CandidateProtection(lost_batches=9.0, lost_minutes=3.0), MEETS),
    (aim(lost_minutes=3.0), RUNS, CandidateProtection(lost_minutes=3.1), MISSES),
    (aim(lost_batches=3.0, lost_minutes=3.0), RUNS, CandidateProtection(lost_batches=3.1, lost_minutes=3.0), MISSES),
    (aim(lost_batches=0.0), RUNS, CandidateProtection(), MEETS),
    (aim(lost_batches=0.0), RUNS, CandidateProtection(lost_batches=1e-9), MISSES),
    (aim(), RUNS._replace(capital=None), CandidateProtection(), NO_PRICE),
    (aim(), RUNS, CandidateProtection(price=None), NO_PRICE),
    (aim(objective="capital"), RUNS._replace(capital=None), CandidateProtection(), NO_PRICE),
    (aim(objective="time"), RUNS._replace(capital=None), CandidateProtection(), MEETS),
    (aim(objective="time", budget=1e6), RUNS._replace(capital=None), CandidateProtection(), NO_PRICE),
]


@each(("asked", "candidate", "guard", "outcome"), RANKS)
def test_a_candidate_meets_its_limits_up_to_each_of_them(
    asked: Aim, candidate: CandidateEstimate, guard: CandidateProtection, outcome: float
) -> None:
    assert asked.rank(candidate, guard)[0] == outcome


@each(("share", "cost", "seconds"), [(1.0, 0.0, 0.25), (0.5, 1.0, 0.5), (1e-12, 1e12 - 1, 2.5e11), (0.0, 1e12 - 1, 2.5e11)])
def test_samples_that_do_not_count_cost_and_take_time(share: float, cost: float, seconds: float) -> None:
    found, guard = aim().cost(RUNS, CandidateProtection(share=share)), CandidateProtection(share=share)
    assert found and found.failures == pytest.approx((found.capital + found.electricity) * cost)
    assert aim(objective="time").objective_value(RUNS, guard) == pytest.approx(seconds)
    assert aim(objective="energy").objective_value(RUNS, guard) == pytest.approx(5.0 * seconds)
    assert aim(objective="capital").objective_value(RUNS, guard) == 1000.0


AMOUNTS: dict[str, tuple[str, float | None]] = {
    "1e18": ("", 1e18),
    "1.1e18": ("", None),
    "1e-12": ("", 1e-12),
    "9e-13": ("", None),
    "0": ("", None),
    "-1": ("", None),
    "inf": ("", None),
    "nan": ("", None),
    "1_0": ("", None),
    "\u0661": ("", None),
    "x": ("", None),
    "": ("", None),
}


@each("text", AMOUNTS)
def test_an_amount_is_a_number_within_its_limits(text: str) -> None:
    amount = AMOUNTS[text][1]
    if amount is None:
        for texts, lose in ((["budget=" + text], ""), (["days=7:" + text], ""), (["days=" + text + ":7"], "")):
            with pytest.raises(BadInput):
                read_requirement(texts, lose)
    else:
        assert read_requirement(["budget=" + text]).budget == amount
        assert read_requirement([f"days={text}:{text}"]).samples == amount


@each(
    ("lose", "told"),
    [("nothing", "nothing"), ("batches=0", "nothing"), ("batches=0.5", "batches=0.5"), ("minutes=0", "minutes=0"),
     ("minutes=1e18", "minutes=1e+18"), ("batches=-1", None), ("batches=", None), ("hours=1", None), ("batches", None)],
)  # fmt: skip
def test_a_loss_is_nothing_or_a_number_from_0(lose: str, told: str | None) -> None:
    if told is None:
        with pytest.raises(BadInput):
            read_requirement([], lose)
    else:
        assert read_requirement([], lose).loss_text == told


@each(
    ("texts", "throughput"),
    [([], 0.0), (["throughput=5"], 5.0), (["step-ms=2"], 4000.0), (["throughput=5000", "step-ms=2"], 5000.0),
     (["throughput=3000", "step-ms=2"], 4000.0)],
)  # fmt: skip
def test_the_stricter_of_two_speeds_counts(texts: list[str], throughput: float) -> None:
    assert read_requirement(texts).min_throughput(8) == throughput


@each("texts", [["throughput"], ["speed=5"], ["budget=5", "budget=6"], ["as=none"], ["days=7"]])
def test_what_is_no_requirement_is_refused(texts: list[str]) -> None:
    with pytest.raises(BadInput):
        read_requirement(texts)


def row(system: str, objective_value: float, **fields: Any) -> SystemRow:
    return SystemRow(
        Stack(system, "", "lean"),
        fields.pop("family", system),
        fields.pop("rank", (MEETS, objective_value)),
        objective_value,
        **fields,
    )


PLAIN, FANCY = "all-hbm", "cxl"  # of the plainest devices, and of more


@each(
    ("plain", "fancy", "best"),
    [(102.0, 100.0, PLAIN), (102.1, 100.0, FANCY), (100.0, 100.0, PLAIN), (inf, 100.0, FANCY), (100.0, 102.0, PLAIN)],
)
def test_the_plainest_of_machines_that_cost_about_as_much_is_the_verdict(plain: float, fancy: float, best: str) -> None:
    rows = (row(PLAIN, plain), row(FANCY, fancy))
    question = VerdictQuestion(preset("tiny").scenario, Requirement(), "cost", AllowedParts())
    verdict = Verdict(question, {}, rows, 0, frozenset())
    assert verdict.best_row and verdict.best_row.system == best == _winner(rows, [plain, fancy]).system
    assert verdict.families[0].system == best
    missing = tuple(replace(one, rank=(MISSES, 2.0)) for one in rows)
    assert replace(verdict, rows=missing).best_row is None and replace(verdict, rows=(missing[0], rows[1])).best_row is rows[1]


@each(
    ("rank", "lost", "other_rank", "other_lost", "beats"),
    [
        ((MEETS, 100.1), 1.0, (MEETS, 100.0), 2.0, True),
        ((MEETS, 100.2), 1.0, (MEETS, 100.0), 2.0, False),
        ((MEETS, 99.9), 2.0, (MEETS, 100.0), 1.0, False),
        ((MEETS, 99.8), 2.0, (MEETS, 100.0), 1.0, True),
        ((MEETS, 100.0), 1.0, (MEETS, 100.0), 1.0, False),
        ((MEETS, 99.95), 1.0, (MEETS, 100.0), 1.0, True),
        ((MISSES, 100.0), 1.0, (MISSES, 100.0), 2.0, False),
        ((MISSES, 1.0), 1.0, (MEETS, 100.0), 2.0, False),
        ((MEETS, 100.0), 9.0, (MISSES, 1.0), 0.0, True),
    ],
)
def test_of_protections_of_about_one_cost_the_one_that_loses_less_is_taken(
    rank: Any, lost: float, other_rank: Any, other_lost: float, beats: bool
) -> None:
    guards = CandidateProtection(lost_batches=lost), CandidateProtection(lost_batches=other_lost)
    assert protection_search._beats(rank, guards[0], other_rank, guards[1]) == beats


@each(("objective", "bound"), [("cost", None), ("month", None), ("capital", 1000.0), ("time", 0.25), ("energy", 0.0)])
def test_no_protection_makes_a_candidate_better_than_its_bound(objective: str, bound: float | None) -> None:
    asked = aim(objective=objective)
    found = protection_search._min_objective(asked, RUNS)
    cost = asked.money(RUNS)
    assert found == (cost.capital if bound is None and cost else bound)
    for guard in (CandidateProtection(), CandidateProtection(share=0.9, price=1.0, watts=1.0)):
        assert found <= asked.objective_value(RUNS, guard)
    assert objective not in ("cost", "month") or protection_search._min_objective(asked, RUNS._replace(capital=None)) == inf


@each(
    ("rank", "best", "is_promising"),
    [
        ((MEETS, 3.0), (MEETS, 1.0), True),
        ((MEETS, 3.1), (MEETS, 1.0), False),
        ((MISSES, 9.0), (MEETS, 1.0), True),
        ((CANNOT_RUN,), (CANNOT_RUN,), True),
    ],
)
def test_a_stop_up_to_three_times_the_best_is_tried_with_others(rank: Any, best: Any, is_promising: bool) -> None:
    assert search._is_promising(rank, best) == is_promising


def surface(values: dict[tuple[int, int], float]) -> Any:
    return lambda settings: [(MEETS, values.get(tuple(stop for _, stop in setting), 50.0)) for setting in settings]


def test_a_search_moves_one_knob_and_then_two_together() -> None:
    stops = {"a": (0, 1, 2), "b": (0, 1, 2), "c": (5,)}
    alone = surface({(0, 0, 5): 10.0, (1, 0, 5): 9.0, (2, 0, 5): 8.0})
    assert search.search(stops, alone) == (("a", 2), ("b", 0), ("c", 5))
    together = {(0, 0, 5): 10.0, (1, 0, 5): 30.0, (0, 1, 5): 30.0, (1, 1, 5): 5.0}
    assert search.search(stops, surface(together)) == (("a", 1), ("b", 1), ("c", 5))
    assert search.search(stops, surface(together), starts=1) == (("a", 0), ("b", 0), ("c", 5)), "one start tries no pairs"
    far = together | {(1, 0, 5): 30.1, (0, 1, 5): 30.1}
    assert search.search(stops, surface(far)) == (("a", 0), ("b", 0), ("c", 5)), "neither stop is promising alone"
    assert search._movable_knobs({**stops, "d": (0, 1)}) == ["a", "b", "d"]


def test_shapes_have_the_largest_nodes_and_the_first_stop_of_other_knobs() -> None:
    stops = {GPU: ("h100-sxm", "h200"), GPUS: (1, 2), GPUS_PER_NODE: (2, 8, 4), "policy.prefetch": (True, False)}
    shapes = search._shapes(stops)
    assert [dict(shape)[GPU] for shape in shapes] == ["h100-sxm", "h100-sxm", "h200", "h200"]
    assert {(dict(shape)[GPUS_PER_NODE], dict(shape)["policy.prefetch"]) for shape in shapes} == {(8, True)}
    assert search._parts(shapes[0]) == ((GPU, "h100-sxm"),)


def settled(memory: str = "dram", cache: Any = None, **nbytes: float) -> Any:
    system = SimpleNamespace(memory=memory, cache=cache, nbytes_by_memory=lambda scenario: nbytes)
    return SimpleNamespace(system=system, scenario=SimpleNamespace(machine=MACHINE))


@each(
    ("machine", "place"),
    [
        (settled(hbm=999.0, pmem=1.0), "hbm"),  # a thousandth names no family
        (settled(hbm=998.0, pmem=2.0), "pmem"),
        (settled(hbm=50.0, dram=50.0), "dram"),
        (settled(memory="hbm"), "hbm"),
    ],
)
def test_the_lowest_memory_with_more_than_a_thousandth_of_rows_names_the_family(machine: Any, place: str) -> None:
    assert families.lowest_memory(machine) == place


@each(
    ("machine", "family"),
    [
        (settled(dram=1.0), families.HOST),
        (settled(dram=1.0, hbm=1e-6), families.CACHED_DRAM),
        (settled(dram=1.0, cache="lru"), families.CACHED_DRAM),
        (settled(hbm=1.0), families.HBM),
        (settled(pmem=1.0, cache="lru"), families.PERSISTENT),
    ],
)
def test_host_memory_with_rows_in_hbm_is_a_family_of_its_own(machine: Any, family: str) -> None:
    assert families.family_of(machine) == family


@each(
    ("gpus", "in_node"),
    [(4, 4), (8, 8), (16, 8), (None, 8)],
)
def test_a_node_has_no_more_gpus_than_there_are(gpus: int | None, in_node: int) -> None:
    number = ((GPUS, gpus),) if gpus else ()
    limit = candidates.Candidates(preset("tiny").scenario, AllowedParts())._limit_node_gpus
    assert limit((*number, (GPUS_PER_NODE, 8))) == (*number, (GPUS_PER_NODE, in_node))


@each(("gpu", "in_node"), [("h100-pcie", 4), ("h100-sxm", 8), ("gb200", 8)])
def test_a_node_has_no_more_gpus_than_the_largest_chassis_has_places_for(gpu: str, in_node: int) -> None:
    """Else no shape of cards in nodes of eight could be built, and none would be a start of the search."""
    setting = ((GPU, gpu), (GPUS, 16), (GPUS_PER_NODE, 8))
    limited = candidates.Candidates(preset("tiny").scenario, AllowedParts())._limit_node_gpus(setting)
    assert limited == (*setting[:2], (GPUS_PER_NODE, in_node))


def test_a_chassis_has_places_for_gpus_of_their_form_and_sockets() -> None:
    for name, chassis in candidates.EVERY_CHASSIS.items():
        gpus, sockets = chassis.gpus.value, chassis.sockets.value
        assert candidates._chassis_fits(name, gpus, sockets, "")
        assert not candidates._chassis_fits(name, gpus + 1, sockets, "")
        assert not candidates._chassis_fits(name, gpus, sockets + 1, "")
        assert not candidates._chassis_fits(name, gpus, sockets, "no GPU")
        taken = [gpu for gpu in ACCELERATORS if takes_gpu(name, gpu)]
        assert taken and all(candidates._chassis_fits(name, gpus, sockets, gpu) for gpu in taken)
        assert not any(candidates._chassis_fits(name, gpus, sockets, gpu) for gpu in ACCELERATORS if gpu not in taken)
        for gpu in taken:
            assert candidates._chassis_fits(name, gpus - 1, sockets, gpu) != sold_on_boards(gpu)


def test_a_chassis_without_places_is_the_largest_where_one_is_wanted() -> None:
    base = preset("tiny").scenario
    found = Candidates(base, AllowedParts())
    assert found._chassis(replace(base, system="cpu-only"), largest=False)
    crowded = SimpleNamespace(system="all-hbm", machine=replace(base.machine, num_gpus=64, gpus_per_node=64))
    assert found._chassis(crowded, largest=False) == []  # type: ignore[arg-type]
    (most,) = found._chassis(crowded, largest=True)  # type: ignore[arg-type]
    assert candidates.EVERY_CHASSIS[most].gpus.value == max(
        candidates.EVERY_CHASSIS[name].gpus.value for name in AllowedParts().parts_of_knob("chassis")
    )


PARTS: dict[str, tuple[str, bool, bool]] = {  # text, and whether it allows an H100 SXM and an H200
    "": ("", True, True),
    "on sale": ("on-sale", True, True),
    "one named": ("h200", False, True),
    "one named beside a state": ("on-sale,h200", True, True),
    "one of its kind": ("gpu=h200", False, True),
    "one of its kind beside a state": ("on-sale; gpu=h200", False, True),
    "a host named": ("host=amx-2023", True, True),
    "announced": ("announced", False, False),
}


@each("what", PARTS)
def test_parts_are_allowed_by_state_by_name_or_as_the_only_one(what: str) -> None:
    text, h100, h200 = PARTS[what]
    allowed = AllowedParts(text).parts_of_knob("gpu")
    assert ("h100-sxm" in allowed, "h200" in allowed) == (h100, h200)


@each("text", ["none", "gpu=none", "colour=h200", "gpu=amx-2023", "trainingcxl"])
def test_a_word_that_is_no_part_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        AllowedParts(text)


@each(
    ("text", "state", "is_allowed"),
    [("on-sale", "on sale", True), ("on-sale", "research", False), ("announced", "on sale", False),
     ("announced", "announced", True), ("h200", "on sale", True), ("h200", "research", False)],
)  # fmt: skip
def test_a_part_that_no_knob_chooses_is_allowed_by_its_state(text: str, state: str, is_allowed: bool) -> None:
    assert AllowedParts(text).allows("some card", state) == is_allowed
    assert AllowedParts("h200").allows("h200", "research")


def test_a_part_set_by_hand_is_the_only_one_of_its_kind() -> None:
    assert narrow_parts("", {"machine.gpu": "h200", "machine.host": None}) == "on-sale,gpu=h200"
    assert narrow_parts("announced", {}) == "announced"


@each(
    ("fancy", "plain", "leader"),
    [(100.0, 102.0, PLAIN), (100.0, 102.1, FANCY), (100.0, 99.0, PLAIN), (100.0, inf, FANCY)],
)
def test_the_plainest_of_a_familys_best_leads_it(fancy: float, plain: float, leader: str) -> None:
    rows = [replace(row(FANCY, fancy), family="one"), replace(row(PLAIN, plain), family="one"), row("pmem", 500.0)]
    assert [one.system for one in leaders(rows)] == [leader, "pmem"]
    missed = replace(rows[1], rank=(MISSES, 2.0))
    assert [one.system for one in leaders([rows[0], missed])] == [FANCY]


@each(
    ("place", "stride", "around"),
    [((0, 0), 1, 3), ((1, 1), 1, 8), ((2, 2), 1, 3), ((0, 0), 2, 3), ((1, 1), 2, 0), ((0, 1), 1, 5), ((2, 0), 2, 3)],
)
def test_a_cell_has_its_known_neighbours(place: tuple[int, int], stride: int, around: int) -> None:
    cells = {(column, line): territory.Cell(NO_WINNER, True) for column in range(3) for line in range(3)}
    assert len(territory._neighbours(cells, place, stride)) == around


def test_a_grid_of_a_stride_has_the_last_column_and_row() -> None:
    assert territory._places(3, 2, 2) == [(0, 0), (0, 1), (2, 0), (2, 1)]
    assert territory._places(4, 1, 2) == [(0, 0), (2, 0), (3, 0)]


def test_a_map_is_known_by_its_rounds_of_cells() -> None:
    axes = "year", "failures"
    columns, lines = territory.Territory(*axes, {}).size
    every = [(column, line) for column in range(columns) for line in range(lines)]
    rounds = [territory._places(columns, lines, stride) for stride in territory.STRIDES]
    order = sorted(every, key=lambda place: next(number for number, places in enumerate(rounds) if place in places))
    shares = []
    for count in range(len(every) + 1):
        found = territory.Territory(*axes, dict.fromkeys(order[:count], territory.Cell(NO_WINNER, True)))
        shares.append(found.share)
        assert found.is_complete == (count == len(every)) == (found.share == 1)
    assert shares[0] == 0 and shares == sorted(shares) and len({*shares}) == len(shares)
