"""Do points that share a training get, to the byte, what each would have trained alone, and is it trained once?"""

from contextlib import suppress
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given

from engine.amounts import counted as counts
from engine.core import memo
from engine.errors import BadKnob
from engine.registry import domain_names, load_variant, variant_names
from engine.run import shared_training as sharing
from engine.run.shared_training import READ_GROUPS, Training, functional_class
from engine.scenario.scenario import KNOBS, Scenario, values, with_values
from engine.schedule.machine import schedule
from engine.simulate import simulate
from engine.store.result_rows import result_text
from engine.store.trainings import training_from_text, training_text
from engine.training import loop
from tests.cases import each, examples
from tests.machines import counted_flow, ready, scenario
from tests.strategies import scenarios

SHORT = {"run.batches": 12, "run.evaluations": 3, "faults.detect_seconds": 1e-3, "faults.restart_seconds": 1e-3}
EXACT = ("power_loss", "gpu_crash", "host_crash", "memory_reset", "link_down", "torn_write", "correlated_shock", "log_full")
HARMLESS = ("fail_slow", "false_alarm")
BY_BYTES = ("flush_failure", "media_error", "silent_corruption", "memory_loss")  # what they leave hangs on what was written
COMMITS = ((0, 0.9), (3, 0.2), (5, 0.6), (7, 0.9))  # batch, and how much of its commit is done
SYSTEMS = ("cxl-b", "ssd", "dram", "all-hbm")  # an undo log, a redo log, no log, another family


class Written(dict[str, Training]):
    """A shelf that keeps trainings as the store does: as text."""

    def __setitem__(self, name: str, training: Training) -> None:
        super().__setitem__(name, training_from_text(training_text(training)))


SHELF = Written()


def tiny(system: str, **knobs: object) -> Scenario:
    """Return a short run of preset tiny; knobs without a group are faults'."""
    given = {path if "." in path else f"faults.{path}": value for path, value in knobs.items()}
    return scenario("tiny", system, **{**SHORT, **given})


@cache
def span(system: str) -> float:
    """Return the seconds of a run without a fault."""
    return float(simulate(tiny(system, **{"run.training": False})).results["Elapsed [s]"] or 0.0)


def test_the_precision_of_products_parts_a_class_on_a_gpu_or_a_host():
    def name(system: str, **knobs: object) -> str:
        one = functional_class(tiny(system, **knobs))
        assert one is not None and one.scenario.machine.matrix_precision == one.matrix_precision
        return one.name

    names = {precision: name("dram", **{"machine.matrix_precision": precision}) for precision in ("fp32", "tf32", "bf16", "fp16")}
    assert len(set(names.values())) == 4
    assert [name("cpu-only", **{"machine.matrix_precision": one}) for one in ("fp32", "bf16")] == [names["fp32"], names["bf16"]]


def test_a_shared_training_in_bf16_is_that_of_the_point_alone():
    knobs = {"machine.matrix_precision": "bf16", "model.row_precision": "int8"}
    alone, shared = simulate(tiny("dram", **knobs)), simulate(tiny("dram", **knobs), shelf=SHELF)
    assert alone.results == shared.results and alone.results["Loss"] != simulate(tiny("dram")).results["Loss"]


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the training steps that really run."""
    done, real = [], loop.step
    monkeypatch.setattr(loop, "step", lambda *given: (done.append(1), real(*given))[1])
    return done


def same(asked: Scenario) -> bool:
    """Whether the shared result is the unshared one to the byte."""
    return result_text(simulate(asked)) == result_text(simulate(asked, shelf=SHELF))


def test_systems_machines_and_faults_of_one_class_are_trained_once_and_get_the_same_bytes(trained: list[int]) -> None:
    shelf, points = Written(), [tiny(system) for system in SYSTEMS]
    points += [tiny("cxl-b", **{"machine.cxl_bandwidth_GBps": 0.2, "power_loss_at_seconds": (span("cxl-b") / 2,)})]
    points += [tiny("cxl", **{"policy.relaxed_lookup": False}), tiny("dram", gpu_crash_at_seconds=(span("dram") / 3,))]
    shared = [simulate(point, shelf=shelf) for point in points]
    assert (len(trained), len(shelf)) == (12, 1)
    points, shared = [*points, tiny("cxl")], [*shared, simulate(tiny("cxl"), shelf=shelf)]
    assert (len(trained), len(shelf)) == (24, 2), "a relaxed lookup adds in another order"
    assert shared[-2].results["Lost batches"] and shared[0].results["AUC"] is not None
    assert [result_text(result) for result in shared] == [result_text(simulate(point)) for point in points]
    assert len(trained) > 12 * (2 + len(points))


def test_where_faults_can_change_what_is_trained_a_run_shares_as_long_as_nothing_strikes_it(
    trained: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "LONG_RUN_SECONDS", 0.0)
    at, shelf = span("cxl") / 2, Written()
    late, early = {"power_loss_at_seconds": (10 * at,)}, {"power_loss_at_seconds": (at,)}
    flipped = tiny("cxl", silent_corruption_at_seconds=(at / 5,), seed=3)  # a bit that the AUC hangs on
    struck = [tiny("cxl", **early), tiny("cxl", memory_loss_at_seconds=(at,)), flipped]
    asked = [tiny("cxl", **late), *struck, tiny("cxl", **late, rates="llama3"), tiny("cxl", **late, fail_slow_at_seconds=(at,))]
    alone = [result_text(simulate(one)) for one in asked]
    trained.clear()
    assert [result_text(simulate(one, shelf=shelf)) for one in (asked[0], asked[4])] == [alone[0], alone[4]]
    assert (len(trained), len(shelf)) == (12, 1)
    assert [result_text(simulate(one, shelf=shelf)) for one in asked] == alone and len(shelf) == 1
    assert len({alone[0], *alone[1:4]}) == 4


@each("system", SYSTEMS, few=1)
def test_whatever_strikes_whenever_the_result_is_the_unshared_one(system: str) -> None:
    random, whole = np.random.default_rng(1), span(system)
    for name in (*EXACT, *HARMLESS, *BY_BYTES):
        first = float(random.uniform(0, whole))
        again = {"fault_in_recovery_share": 0.4, "fail_slow_seconds": whole / 5}
        assert same(tiny(system, **{f"{name}_at_seconds": (first, first + whole / 3)}, **again)), (name, first)


@each("model", domain_names(), few=3)
def test_wherever_writes_wait_the_result_is_the_unshared_one(model: str) -> None:
    for at in np.random.default_rng(2).uniform(0, span("cxl-b"), 3):
        assert same(tiny("cxl-b", power_loss_at_seconds=(float(at),), **{"machine.persistence_model": model})), at


@pytest.mark.parametrize("system", ["cxl-b", "ssd"])
def test_a_commit_under_way_when_power_fails_ends_alike_with_and_without_training(system: str) -> None:
    line = schedule(ready(tiny(system)), counted_flow(tiny(system), 12))
    commit = [task.name for task in line.graph.tasks].index("Commit")
    start, end = line.start[:, commit], line.end[:, commit]
    asked = [tiny(system, power_loss_at_seconds=(float(start[n] + share * (end - start)[n]),)) for n, share in COMMITS]
    assert all(same(one) for one in asked)
    lost = {simulate(one, shelf=SHELF).results["Lost batches"] for one in asked}
    assert len(lost) > 1, "the flags of some have just become durable"


@pytest.mark.parametrize(
    ("knobs", "says"), [({"model.learning_rate": 100.0}, "diverged"), ({"run.step_budget_GFLOP": 1e-6}, "run.step_budget_GFLOP")]
)
def test_a_class_that_cannot_be_trained_refuses_each_of_its_points_in_the_same_words(
    knobs: dict[str, object], says: str, trained: list[int]
) -> None:
    asked, shelf = [tiny(system, **knobs) for system in ("cxl-b", "ssd")], Written()
    alone = [result_text(simulate(one)) for one in asked]
    each = len(trained) // 2
    assert [result_text(simulate(one, shelf=shelf)) for one in asked] == alone
    assert (len(trained), len(shelf)) == (3 * each, 1) and says in alone[0]


def test_a_run_that_comes_to_no_end_is_trained_by_itself(trained: list[int]) -> None:
    quick = {"faults.detect_seconds": 0.0, "faults.restart_seconds": 0.0}
    never, shelf = tiny("dram", **{"power_loss_mtbf_hours": span("dram") / 3600 / 12}, **quick), Written()
    found = simulate(never, shelf=shelf)
    assert "could no longer get past" in found.outcome and trained and not shelf
    assert same(never)


def test_counts_are_made_once_for_what_they_read_and_are_those_of_each_point_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    memo.clear_memos()
    tallied, followed = watched(monkeypatch, "tally_batch"), watched(monkeypatch, "cache_traffic")
    smaller = {"policy.cache_load_factor": 0.3, "policy.hot_rows_MiB": 0.02, "machine.host_dram_GiB": 8.0}
    near = [name for name in variant_names("systems") if (s := load_variant("systems", name)).cache or s.hot]
    short = {"run.training": False, "run.batches": 3}
    asked, found, calls = [], [], []
    for knobs in (
        {"policy.cache_load_factor": 0.2},
        {"policy.cache_load_factor": 0.2, "machine.cxl_bandwidth_GBps": 1.0},
        smaller,
    ):
        asked += [tiny(system, **short, **knobs) for system in ("pmem", "cxl-b", *near)]
        found += [result_text(simulate(one)) for one in asked[len(found) :]]
        calls.append(len(followed))
    assert len(tallied) == 3, "no machine, system or policy changes a batch's rows"
    assert 0 < calls[0] == calls[1] < calls[2], "a link's bandwidth moves no row"
    wide = {"model.num_embeddings": (10**8, 8 * 10**8, 2 * 10**9), "model.embedding_dim": 64, "model.bottom_mlp": (5, 8, 64)}
    mixed = [tiny("mtrains", **short, **{"machine.pmem_capacity_GB": room, **wide}) for room in (None, 1.0)]
    found += [result_text(simulate(one)) for one in mixed]
    for one, wanted in zip([*asked, *mixed], found, strict=True):
        memo.clear_memos()
        assert result_text(simulate(one)) == wanted


def watched(monkeypatch: pytest.MonkeyPatch, name: str) -> list[object]:
    """Return a list that grows by one with each call of a function that counting uses."""
    calls, real = [], getattr(counts, name)
    monkeypatch.setattr(counts, name, lambda *given: calls.append(given) or real(*given))
    return calls


@each(
    ("system", "knobs", "shares"),
    [
        ("cxl-b", {"run.training": False}, False),
        ("cxl", {}, True),
        ("cxl", {"power_loss_at_seconds": (1e9,)}, True),
        ("cxl", {"power_loss_at_seconds": (1e-3,)}, False),
        ("cxl-b", {"power_loss_mtbf_hours": 1e6}, True),
        ("cxl", {"power_loss_mtbf_hours": 1e6}, True),
        ("cxl", {"power_loss_mtbf_hours": 1e-6}, False),
        ("cxl-b", {"rates": "llama3"}, True),
        ("cxl-b", {"silent_corruption_at_seconds": (1.0,)}, False),
        ("cxl-b", {"power_loss_at_seconds": (1.0,), "machine.persistence_model": "gpf_fail"}, False),
        ("ssd", {"policy.relaxed_lookup": True}, False),
    ],
)
def test_what_faults_will_change_or_what_cannot_run_has_no_class(system: str, knobs: dict[str, object], shares: bool) -> None:
    assert bool(functional_class(tiny(system, **knobs))) == shares


@given(scenarios, scenarios)
@examples(20)
def test_a_class_hangs_on_model_data_and_run_and_on_nothing_else_but_lookups_order_and_precision(
    one: Scenario, other: Scenario
) -> None:
    first, second = functional_class(one), functional_class(replace(other, model=one.model, data=one.data, run=one.run))
    alike = (
        first and second and first.relaxed_lookup == second.relaxed_lookup and first.matrix_precision == second.matrix_precision
    )
    if first and second and alike:
        assert first.name == second.name and first.scenario == second.scenario
    for path in KNOBS:
        if first and path.partition(".")[0] in READ_GROUPS and values(one)[path] != values(other)[path] and path != "model.name":
            with suppress(BadKnob):  # a list for the tables of another model
                mine = functional_class(replace(one, **{path.partition(".")[0]: getattr(other, path.partition(".")[0])}))
                assert mine is None or mine.name != first.name


def test_a_training_is_the_same_after_it_has_been_written_and_read() -> None:
    simulate(tiny("cxl-b"), shelf=SHELF)
    assert all(training_from_text(training_text(one)) == one for one in SHELF.values())
    name = functional_class(tiny("cxl-b"))
    assert name and name.name in SHELF and len(SHELF[name.name].losses) == 12
    assert functional_class(with_values(tiny("cxl-b"), {"run.batches": 13})) != name
