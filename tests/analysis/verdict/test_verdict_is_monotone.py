"""More parts, less asked and lower prices never make the verdict dearer; a larger model or more asked never cheaper."""

from collections.abc import Iterator, Sequence
from math import inf
from random import Random
from typing import Any, NamedTuple

import pytest

from engine.analysis.verdict import decide as deciding
from engine.analysis.verdict.allowed import ON_SALE, AllowedParts
from engine.analysis.verdict.decide import decide
from engine.analysis.verdict.question import VerdictQuestion
from engine.analysis.verdict.requirement import Requirement
from engine.analysis.verdict.stacks import SoftwareChoice, stacks
from engine.scenario.scenario import Scenario, with_values
from tests.analysis.verdict import drawn
from tests.cases import draw

SYSTEMS = ("all-hbm", "cold-in-dram", "cxl", "dram", "cpu-only", "ssd")  # one of each family
QUICK = ("cxl", "cpu-only")  # that have few counts of GPUs or none
ONE_GPU, TWO_GPUS = "gpu=h100-pcie,host=server", "gpu=h100-pcie,gpu=h100-sxm,host=server"
DRAWN = 4  # of 20 models
ROUNDING = 1e-9


class Asked(NamedTuple):
    """A question: a model, its parts and the samples/s that are asked for."""

    scenario: Scenario
    parts: str = ON_SALE
    throughput: float | None = None


def only(systems: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave a verdict some systems alone."""
    monkeypatch.setattr(deciding, "stacks", lambda base, software, some=(): stacks(base, software, systems))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_less_is_never_dearer(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    only(QUICK, monkeypatch)
    assert list(dearer(seed, ONE_GPU, TWO_GPUS)) == []


@pytest.mark.slow
def test_less_is_never_dearer_for_many_models(monkeypatch: pytest.MonkeyPatch) -> None:
    only(SYSTEMS, monkeypatch)
    assert [told for seed in draw(range(20), DRAWN) for told in dearer(seed, ON_SALE, "all")] == []


def dearer(seed: int, parts: str, more: str) -> Iterator[tuple[Any, ...]]:
    """Yield the changes of a drawn question that should make its verdict cheaper, or leave it, and do not."""
    scenario = drawn.model(Random(seed))
    own, fastest = least(Asked(scenario, parts))
    reached = Asked(scenario, parts, 0.8 * fastest or None)
    half = with_values(scenario, {"machine.assume": (("dram.price", 2.0),)})
    double = with_values(scenario, {"machine.assume": (("dram.price", 20.0),)})
    easier = {
        "more parts": (Asked(scenario, more), Asked(scenario, parts)),
        "more parts, fast": (reached._replace(parts=more), reached),
        "nothing asked": (Asked(scenario, parts), reached),
        "less asked": (reached, reached._replace(throughput=1.5 * fastest or None)),
        "cheap DRAM": (Asked(half, parts), Asked(double, parts)),
        "fewer tables": (Asked(scenario, parts), Asked(more_tables(scenario), parts)),
        "fewer lookups": (Asked(scenario, parts), Asked(more_lookups(scenario), parts)),
    }
    values = {Asked(scenario, parts): own}
    for change, (one, other) in easier.items():
        less, much = (values[asked] if asked in values else values.setdefault(asked, least(asked)[0]) for asked in (one, other))
        if less > much * (1 + ROUNDING):
            yield seed, change, less, much


def least(asked: Asked) -> tuple[float, float]:
    """Return the least cost of any row that meets a question, and its samples/s; infinity and 0 where none does."""
    requirement, software = Requirement(throughput=asked.throughput), SoftwareChoice("lean")
    verdict = decide(VerdictQuestion(asked.scenario, requirement, parts=AllowedParts(asked.parts), software=software))
    meeting = [row for row in verdict.rows if row.meets]
    if not meeting:
        return inf, 0.0
    best = min(meeting, key=lambda row: row.objective_value)
    return best.objective_value, asked.scenario.data.batch_size / best.step


def more_tables(scenario: Scenario) -> Scenario:
    """Return a model with a quarter more tables like its first ones."""
    model = scenario.model
    more = -(-model.num_tables // 4)
    grown = {
        f"model.{name}": values + values[:more] * (len(values) > 1)
        for name, values in (("num_embeddings", model.num_embeddings), ("pooling", model.pooling))
    }
    if model.num_tables == 1:
        grown = {path: values * (2 if len(values) > 1 else 1) for path, values in grown.items()}
    return with_values(scenario, {"model.num_tables": model.num_tables + more, **grown})


def more_lookups(scenario: Scenario) -> Scenario:
    """Return a model with half as many lookups again in each table, one more at least."""
    return with_values(scenario, {"model.pooling": tuple(count + -(-count // 2) for count in scenario.model.pooling)})
