"""Whole boards: does no candidate, row or GPU of Decide leave a GPU of a board without work?"""

from typing import Any

import pytest

from engine.analysis.enough.memory_cost import fastest_by_way
from engine.analysis.verdict.allowed import AllowedParts
from engine.analysis.verdict.candidates import Candidates, Setting
from engine.analysis.verdict.decide import SystemSearch, decide
from engine.analysis.verdict.outlook.by_gpu import gpu_rows
from engine.analysis.verdict.question import VerdictQuestion
from engine.analysis.verdict.report.rent import rent_comparison
from engine.analysis.verdict.requirement import Objective, read_requirement
from engine.analysis.verdict.space import GPU, GPUS, GPUS_PER_NODE, on_whole_boards, space_of
from engine.analysis.verdict.stacks import SoftwareChoice, Stack
from engine.core.catalog import form, part_content
from engine.errors import BadKnob, CannotRun
from engine.scenario.machine import RECORDED
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from tests.cases import each

SYSTEMS = ("all-hbm", "torchrec-uvm", "cxl")
HBM_STACK = Stack("all-hbm", "", "lean")
CARDS = "gpu=h200,gpu=b200,gpu=h100-pcie,gpu=mi350x,host=amx-2023"


def asked(*require: str, parts: str = CARDS, objective: Objective = "cost", **machine: Any) -> VerdictQuestion:
    """Return a question about a small model."""
    shape = {"model.num_tables": 20, "model.num_embeddings": (1_000_000,), "model.pooling": (4,), "data.batch_size": 1024}
    knobs = {**shape, **{f"machine.{name}": value for name, value in machine.items()}}
    scenario = with_values(preset("dlrm-kaggle").scenario, knobs)
    return VerdictQuestion(scenario, read_requirement(require), objective, AllowedParts(parts), SoftwareChoice("lean"))


def is_whole(sized: Scenario) -> bool:
    """Return whether a machine's nodes are full of GPUs, where they are sold on boards; told by the parts' files."""
    machine = sized.machine
    if form("gpu", machine.gpu) not in ("SXM", "OAM"):
        return True
    places = part_content("chassis", machine.chassis or "")["GPU-places"]["value"]
    return machine.num_gpus % places == 0 and min(machine.num_gpus, machine.gpus_per_node) == places


@pytest.mark.parametrize("prices", ["2026", RECORDED])
@pytest.mark.parametrize("objective", ["cost", "capital"])
def test_no_candidate_leaves_a_gpu_of_a_board_without_work(prices: str, objective: Objective) -> None:
    search = SystemSearch(asked(objective=objective, prices=prices), SYSTEMS)
    rows = [search.row(stack) for stack in search.space]
    built = [one.settled for one in search.candidates.estimates.values() if one.settled]
    boards = {(s.scenario.machine.gpu, s.scenario.machine.chassis) for s in built if "gpu" in s.system.devices}
    assert {("h200", "gpu-4-sxm"), ("h200", "gpu-8-sxm"), ("b200", "gpu-8-sxm"), ("mi350x", "gpu-8-sxm")} <= boards
    assert all(is_whole(one.scenario) for one in built if "gpu" in one.system.devices)
    assert {one.scenario.machine.num_gpus for one in built if one.scenario.machine.gpu == "h100-pcie"} >= {1, 2, 4}
    assert all(item.spare == 0 for row in rows for item in row.bill) and any(row.scenario for row in rows)


@each("system", ["dram", "cached-embedding"])
def test_systems_of_one_node_stand_on_whole_boards_too(system: str) -> None:
    """So that memory behind CXL meets its rivals on the machines that people buy; never on more than one of them."""
    row = SystemSearch(asked(parts="gpu=h200,host=amx-2023,chassis=gpu-8-sxm"), (system,)).row(Stack(system, "", "lean"))
    assert row.scenario is not None and row.scenario.machine.num_gpus == 8, row.reason
    counts = SystemSearch(asked(), (system,)).space[Stack(system, "", "lean")]["machine.num_gpus"]
    assert {*counts} == {1, 2, 4, 8}


def test_gpus_whose_boards_fit_no_allowed_chassis_are_told() -> None:
    (none,) = decide(asked(parts="gpu=h200,host=amx-2023,chassis=two-socket"), ("dram",)).rows
    assert none.reason == "No allowed chassis has a board with h200, sold on whole boards; allow another chassis."


@each(
    ("parts", "gpus", "in_node"),
    [
        ("gpu=b200", {8, 16, 24, 32, 48, 64, 96, 128}, {8}),
        ("gpu=h200", {4, 8, 16, 24, 32, 48, 64, 96, 128}, {4, 8}),
        ("gpu=h200,chassis=gpu-8-sxm", {8, 16, 24, 32, 48, 64, 96, 128}, {8}),
        ("gpu=h100-pcie,gpu=b200", {1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128}, {1, 2, 4, 8}),
    ],
)
def test_a_space_has_the_numbers_that_fill_boards(parts: str, gpus: set[int], in_node: set[int]) -> None:
    question = asked(parts=parts)
    stops = space_of(question.base, question.allowed, [HBM_STACK])[HBM_STACK]
    assert {*stops[GPUS]} == gpus and {*stops[GPUS_PER_NODE]} == in_node and stops[GPUS][0] == 8
    assert on_whole_boards(stops, question.allowed) == stops


def test_a_candidate_with_a_part_of_a_board_is_refused() -> None:
    question = asked(parts="on-sale")
    candidates = Candidates(question.base, question.allowed, question.software)

    def refusal(gpu: str, gpus: int, in_node: int = 8) -> str:
        setting: Setting = ((GPU, gpu), (GPUS, gpus), (GPUS_PER_NODE, in_node))
        (estimated,) = candidates.estimate(HBM_STACK, [setting])
        assert bool(estimated.problem) == (estimated.settled is None)
        return candidates.refusal(HBM_STACK, setting)

    assert refusal("h200", 2) == "Only 2 of 8 h200 would train; they are sold on whole boards."
    assert refusal("b200", 4) == "Only 4 of 8 b200 would train; they are sold on whole boards."
    assert refusal("h200", 12) == "Only 12 of 16 h200 would train; they are sold on whole boards."
    assert [refusal(*one) for one in (("h200", 4), ("h200", 8, 4), ("h200", 8), ("b200", 16), ("h100-pcie", 1))] == [""] * 5
    with pytest.raises(BadKnob, match="enough places"):
        candidates.scenario(HBM_STACK, ((GPU, "b200"), (GPUS, 1), (GPUS_PER_NODE, 8)))


def test_an_assumed_number_of_places_makes_no_part_of_a_board() -> None:
    question = asked(parts="gpu=b200,host=amx-2023", assume=(("chassis.GPU-places", 6.0),))
    candidates = Candidates(question.base, question.allowed, question.software)
    for gpus in (1, 2, 4, 8):
        (estimated,) = candidates.estimate(HBM_STACK, [((GPU, "b200"), (GPUS, gpus), (GPUS_PER_NODE, gpus))])
        assert estimated.problem


def test_owning_one_of_a_board_buys_the_rest_of_it() -> None:
    (row,) = decide(asked(parts="gpu=h200,host=amx-2023", owned_parts="gpu/h200:1"), ("all-hbm",)).rows
    (gpus,) = (item for item in row.bill if item.part == "h200")
    assert (gpus.owned, gpus.bought, gpus.spare) == (1, 3, 0) and row.parts["h200"] == 4


def test_each_gpus_best_machine_has_whole_boards_and_is_rented_as_whole_boards_of_eight() -> None:
    verdict = decide(asked(), ("all-hbm",))
    search_aim = SystemSearch(verdict.question, ("all-hbm",)).aim
    rows = {one.gpu: one.row for one in gpu_rows(verdict, search_aim)}
    assert {*rows} == {"h200", "b200", "h100-pcie", "mi350x"}
    for row in rows.values():
        assert row is not None and row.sized_scenario is not None and is_whole(row.sized_scenario)
        rented = rent_comparison(row)
        assert rented is None or rented.gpus_rented % rented.board_gpus == 0


@each(("gpu", "smallest"), [("h100-sxm", 4), ("b200", 8), ("h100-pcie", 1)])
def test_a_budget_buys_whole_boards(gpu: str, smallest: int) -> None:
    scenario = with_values(preset("dlrm-kaggle").scenario, {"machine.gpu": gpu})
    for budget in (3e4, 1.5e5, 4e5, 1e6):
        try:
            machines = fastest_by_way(scenario, budget)
        except CannotRun as refusal:
            assert budget < 4e5 and "No way" in str(refusal)
            continue
        assert all(one.gpus % smallest == 0 for one in machines)


def test_a_verdict_has_cards_in_nodes_of_as_many_as_a_chassis_has_places_for() -> None:
    """Eight cards are two nodes of four: the search, the scenario of its row and its link say the same."""
    scenario = with_values(preset("dlrm-kaggle").scenario, {"model.num_embeddings": (240_000_000,), "model.optimizer": "sgd"})
    parts = AllowedParts("gpu=h100-pcie,gpu-4-pcie,epyc-2024")
    question = VerdictQuestion(scenario, read_requirement([]), "cost", parts, SoftwareChoice("lean"))
    search = SystemSearch(question, ["all-hbm"])
    (stack,) = search.space
    row = search.row(stack)
    machine = row.scenario.machine
    assert machine.num_gpus > machine.gpus_per_node == 4 and row.result.ran
