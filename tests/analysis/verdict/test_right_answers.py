"""Is the verdict the right kind of answer? Over all systems, of 2 GB to 20 TB, with money and parts otherwise."""

from typing import Any

import pytest

from engine.analysis.verdict.allowed import ON_SALE, AllowedParts
from engine.analysis.verdict.decide import SystemRow, Verdict, decide
from engine.analysis.verdict.families import CACHED_DRAM, DRIVES, HBM, HOST, PERSISTENT
from engine.analysis.verdict.question import VerdictQuestion
from engine.analysis.verdict.report.sentences import notes, unavailable_sentence
from engine.analysis.verdict.requirement import Objective, read_requirement
from engine.analysis.verdict.stacks import SoftwareChoice
from engine.hardware.device import nodes
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values

pytestmark = pytest.mark.slow
SMALL = {"tables": 26, "rows": 300_000, "dim": 64, "pooling": 1, "batch": 4096}  # 2 GB
MEDIUM = {"tables": 40, "rows": 5_000_000, "dim": 64, "pooling": 20, "batch": 4096}  # 51 GB
LARGE = {"tables": 200, "rows": 10_000_000, "dim": 128, "pooling": 30, "batch": 8192}  # 1 TB
HUGE = {**LARGE, "rows": 200_000_000}  # 20 TB


def model(tables: int, rows: int, dim: int, pooling: int, batch: int, **machine: Any) -> Scenario:
    """Return a model of equal tables on parts of 2026."""
    base = preset("dlrm-kaggle").scenario
    shape = {"num_tables": tables, "num_embeddings": (rows,), "embedding_dim": dim, "pooling": (pooling,)}
    bottom = (*base.model.bottom_mlp[:-1], dim)
    knobs = {f"model.{name}": value for name, value in shape.items()} | {f"machine.{name}": one for name, one in machine.items()}
    return with_values(base, {**knobs, "model.bottom_mlp": bottom, "data.batch_size": batch})


def verdict(
    scenario: Scenario, *require: str, objective: Objective = "cost", parts: str = ON_SALE, software: str = "any"
) -> Verdict:
    return decide(VerdictQuestion(scenario, read_requirement(require), objective, AllowedParts(parts), SoftwareChoice(software)))


def family(found: Verdict, name: str) -> SystemRow:
    """Return the best row of a family."""
    return next(row for row in found.families if row.family == name)


@pytest.mark.parametrize("shape", [SMALL, MEDIUM])
def test_tables_that_one_gpu_holds_stay_in_hbm(shape: dict[str, int]) -> None:
    found = verdict(model(**shape))
    assert found.best_row is not None and found.best_row.family in (HBM, CACHED_DRAM)
    assert family(found, PERSISTENT).objective_value > found.best_row.objective_value


def test_the_least_price_is_a_machine_without_gpus_where_nothing_is_asked() -> None:
    best = verdict(model(**MEDIUM), objective="capital").best_row
    assert best is not None and best.family == HOST and best.system == "cpu-only"


def test_a_terabyte_is_held_in_dram_with_hot_rows_in_hbm_by_gpus_of_80_gb_and_in_hbm_by_larger_ones() -> None:
    assert (best := verdict(model(**LARGE)).best_row) is not None and best.family == HBM
    found = verdict(model(**LARGE), parts="on-sale,gpu=h100-sxm")
    assert found.best_row is not None and found.best_row.family == CACHED_DRAM
    assert family(found, PERSISTENT).objective_value > found.best_row.objective_value


def test_persistent_memory_wins_where_its_software_may_be_written_and_stands_beside_the_verdict_otherwise() -> None:
    """2 TB with announced parts, low throughput, frequent power losses, and nothing may be lost."""
    asked = with_values(model(**{**LARGE, "rows": 20_000_000, "pooling": 2}), {"faults.power_loss_mtbf_hours": 12.0})
    parts, requirement = AllowedParts("on-sale,announced"), read_requirement((), "nothing")
    written, existing = (
        decide(VerdictQuestion(asked, requirement, "capital", parts, SoftwareChoice(software))) for software in ("any", "exists")
    )
    best = written.best_row
    assert best is not None and best.family in (PERSISTENT, DRIVES) and best.protection.lost_batches == 0
    assert existing.best_row is None or existing.best_row.stack.state in ("available", "frozen")
    assert best.stack in {row.stack for row in existing.unwritten if row.meets}


def test_what_one_node_does_not_reach_takes_nodes() -> None:
    asked = verdict(model(**LARGE), "throughput=2.5e6", parts="on-sale,gpu=h100-sxm", software="hugectr")
    best = asked.best_row  # whose tables need two nodes
    assert best is not None and best.scenario is not None and nodes(best.scenario.machine) > 1


def test_dear_dram_favours_drives() -> None:
    cheap, dear = (verdict(model(**HUGE, assume=(("dram.price", usd), ("expander-dram.price", usd)))) for usd in (1.0, 100.0))
    assert dear.best_row is not None and dear.best_row.family == DRIVES

    def cost(found: Verdict, drives: bool) -> float:
        return min(row.objective_value for row in found.rows if row.meets and (row.family == DRIVES) == drives)

    assert cost(dear, True) / cost(dear, False) < 0.9 * cost(cheap, True) / cost(cheap, False)
    assert cost(dear, True) > cost(cheap, True)


def test_twenty_terabytes_are_held_on_drives_or_nodes() -> None:
    found = verdict(model(**HUGE))
    assert found.best_row is not None and found.best_row.family == DRIVES
    existing = verdict(model(**HUGE), software="exists").best_row  # whose software exists: many nodes, or nothing
    assert existing is None or (existing.scenario is not None and nodes(existing.scenario.machine) > 1)


def test_parts_that_cannot_be_bought_are_told() -> None:
    found = verdict(model(**HUGE), parts="all")
    assert found.best_row is not None and unavailable_sentence(found.best_row) in list(notes(found))
    for row in found.rows:
        told = unavailable_sentence(row)
        assert all(name in told for name, state in row.states.items() if state in ("discontinued", "announced", "research"))
    assert any("discontinued" in unavailable_sentence(row) for row in found.rows)
