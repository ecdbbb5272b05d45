"""Do small rules hold that a paper, a definition or a sum by hand states, whatever the golden files say?"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.core.graph import TaskGraph
from engine.core.work import BottomMLP, HomeWrites, RowLog, RowReads, TopPart
from engine.faults.fault import Strike
from engine.hardware.device import Device, seconds
from engine.hardware.devices import host
from engine.persistence.replay import PersistEvent, StartState
from engine.registry import load_variant
from engine.run.crash_recovery import damage_of, recovered_batches
from engine.run.learner import crash_and_recover
from engine.run.outage import Outage
from engine.run.progress import Meter
from engine.run.run import Resumption, follow_run
from engine.run.segment import Segment, cut
from engine.run.shared_training import untrained_resolve
from engine.run.training_curve import initial_state
from engine.scenario.keys import key
from engine.scenario.machine import MachineKnobs
from engine.scenario.scenario import Scenario, with_values
from engine.schedule.machine import Machine
from engine.schedule.timeline import timeline
from engine.service import computations
from engine.service.dispatch import Dispatcher
from engine.store.database import open_store
from engine.store.requests import end_requests, submit
from engine.store.status import status
from engine.systems.steps import shared
from engine.systems.system import RecoveryWork, log_policy
from engine.systems.traffic import Traffic, mlp_bytes, num_rows, top_widths
from engine.training.shape import cross_size, full_shape, mlp_size, scale_note, scaled_shape, step_flop
from engine.training.weights import first_mlp
from engine.workload.source import source
from tests.machines import SYSTEMS, flow, line, ready, scenario, uneven

REDO = [name for name in SYSTEMS if load_variant("systems", name).log_policy.log == "redo"]
LOGGING = [name for name in SYSTEMS if load_variant("systems", name).log_policy.log]


def test_the_hosts_mlp_costs_two_operations_a_weight_forward_and_four_backward() -> None:
    """A million samples through 4-3-2 and memory that costs nothing: 4 × 3 + 3 × 2 = 18 weights.

    Backward, weights get a gradient each, and inputs where a layer before wants one.
    """
    free = (("dram.channel-peak", 1e9), ("host.DRAM-lines-in-flight-a-thread", 1e9), ("host.layer-launch", 0.0))
    device = host.DEVICE.build(MachineKnobs(host="trainingcxl", assume=(*free, ("host.GEMM-extra-samples", 0.0))))
    share, peak = (
        next(one.value for one in device.constants if one.name == name) for name in ("GEMM share of peak", "fp32 peak a core")
    )
    rate = share * 6 * peak * 1e9
    forward, backward = (seconds(device, BottomMLP(1e6, (4, 3, 2), way)) for way in ("forward", "backward"))
    assert forward == pytest.approx(2 * 1e6 * 18 / rate, rel=1e-6)
    assert backward == pytest.approx((4 * 18 - 2 * 12) * 1e6 / rate, rel=1e-6)
    assert seconds(device, TopPart(1e6, (4, 3, 2), 0)) == pytest.approx(6 * 1e6 * 18 / rate, rel=1e-6)


def kaggle(**model: object) -> Scenario:
    """Return facebookresearch/dlrm's bench/dlrm_s_criteo_kaggle.sh: 26 tables of dim 16, 13-512-256-64-16 and 512-256-1."""
    published = {"num_tables": 26, "embedding_dim": 16, "bottom_mlp": (13, 512, 256, 64, 16), "top_mlp": (512, 256, 1)}
    return with_values(Scenario(), {f"model.{name}": value for name, value in (published | model).items()})


@pytest.mark.parametrize(
    ("model", "inputs"),
    [
        ({}, 16 + 27 * 26 // 2),  # 367, as in that program's printed model
        ({"interaction": "concat"}, 16 + 26 * 16),
        ({"num_tables": 1}, 16 + 1),
    ],
)
def test_the_top_mlp_takes_the_dense_vector_and_what_the_interaction_makes(model: dict[str, object], inputs: int) -> None:
    asked = kaggle(**model)
    assert top_widths(asked) == scaled_shape(asked, np.arange(1)).widths("top") == (inputs, 512, 256, 1)
    work = shared.top(asked, ()).demands[0].work
    vectors, pairs = asked.model.num_tables + 1, asked.model.interaction == "dot"  # the dense one too
    assert work == TopPart(asked.data.batch_size, (inputs, 512, 256, 1), vectors * 16, pairs=pairs, vectors=vectors * pairs)


@pytest.mark.parametrize(("rank", "each"), [(512, 2 * 512 * 432 + 432), (None, 432 * 432 + 432)])
def test_a_cross_network_takes_all_features_and_its_parameters_are_logged_timed_and_trained(rank: int | None, each: int) -> None:
    asked = kaggle(interaction="cross", cross_rank=rank, cross_layers=3)
    features = 16 + 26 * 16
    shape = full_shape(asked)
    assert top_widths(asked) == shape.widths("top") == (features, 512, 256, 1)
    assert mlp_bytes(asked) == mlp_bytes(kaggle(interaction="concat")) + 4 * 3 * each
    assert mlp_bytes(asked) == 4 * (mlp_size(shape) + cross_size(shape)) == 4 * first_mlp(shape, 1).size
    assert step_flop(shape, 1) == step_flop(full_shape(kaggle(interaction="concat")), 1) + 6 * 3 * each
    work = shared.top(asked, ()).demands[0].work
    assert isinstance(work, TopPart) and work.ranks == (rank or 0,) * 3
    twin = scaled_shape(with_values(asked, {"run.step_budget_GFLOP": 0.6}), np.arange(1))
    assert twin.width_divisor > 1 and twin.ranks == ((rank or 0) // twin.width_divisor,) * 3
    assert ("and cross ranks" in scale_note(twin)) == bool(rank)


@pytest.mark.parametrize(("optimizer", "words"), [("sgd", 1), ("rowwise-adagrad", 2), ("adagrad", 2), ("adam", 3)])
def test_the_mlp_log_holds_a_word_for_each_weight_and_those_that_its_optimizer_keeps(optimizer: str, words: int) -> None:
    bottom = 14 * 512 + 513 * 256 + 257 * 64 + 65 * 16
    top = 368 * 512 + 513 * 256 + 257 * 1
    assert mlp_bytes(kaggle(optimizer=optimizer)) == 4 * words * (bottom + top)


def test_trainingcxl_lets_the_mlp_log_be_100_batches_old_and_looks_up_early() -> None:
    asked = Scenario(system="cxl")
    assert (
        log_policy(asked, load_variant("systems", "cxl")).mlp_staleness_bound,
        log_policy(asked, load_variant("systems", "cxl")).relaxed_lookup,
    ) == (
        100,
        True,
    )
    for strict in ("cxl-b", "cxl-d", "pcie"):
        assert log_policy(replace(asked, system=strict), load_variant("systems", strict)).strict


@pytest.mark.parametrize("system", REDO)
def test_a_redo_log_is_written_over_only_once_the_rows_of_the_batch_before_are_home(system: str) -> None:
    """Until then it is the only copy of them; here each piece of work takes a second, and going home a hundred."""
    m = ready(scenario("tiny", system))
    graph = TaskGraph(m.system.plan(m.settled, flow(m.scenario, 4)))
    works = {type(demand.work) for task in graph.tasks for demand in task.demands}
    takes = {work: lambda *_: 1.0 for work in works} | {HomeWrites: lambda *_: 100.0}
    slow = timeline(graph, {name: Device(name, name, takes) for name in m.devices}, 4)
    (log,) = [k for k, task in enumerate(graph.tasks) if any(isinstance(d.work, RowLog) for d in task.demands)]
    (home,) = [k for k, task in enumerate(graph.tasks) if any(isinstance(d.work, HomeWrites) for d in task.demands)]
    assert np.all(slow.start[1:, log] >= slow.end[:-1, home])


def relaxed() -> tuple[dict[str, object], Traffic]:
    """Return the work of a relaxed lookup by task, and its batches, no two alike."""
    m = ready(scenario("tiny", "cxl"))
    amounts = replace(uneven(flow(m.scenario, 6)), raw_share=np.linspace(0.1, 0.6, 6))
    plan = m.system.plan(m.settled, amounts)
    return {task.name: task.demands[0].work for task in plan}, amounts


def test_a_relaxed_lookup_reads_every_batch_once_the_first_in_time_and_each_other_a_batch_early() -> None:
    work, amounts = relaxed()
    now, early = work["Embedding lookup"], work["Early lookup"]
    assert isinstance(now, RowReads) and isinstance(early, RowReads)
    assert np.array_equal(now.rows, [amounts.rows[0], 0, 0, 0, 0, 0])
    assert np.array_equal(early.rows, [*amounts.rows[1:], 0])


def test_a_batch_corrects_the_early_lookups_of_the_next_that_meet_rows_it_has_written() -> None:
    work, amounts = relaxed()
    meeting = amounts.raw_share[1:] * amounts.lookups  # share of the next batch's lookups whose row this one writes
    assert work["Correct pooled"].nbytes == pytest.approx([*meeting * amounts.vector_bytes, 0])  # type: ignore[attr-defined]


@pytest.mark.parametrize("system", LOGGING)
def test_a_commit_that_ends_in_the_instant_of_the_fault_is_durable_and_one_an_instant_later_is_not(system: str) -> None:
    whole = line(scenario("tiny", system), 6)
    (commit,) = [k for k, task in enumerate(whole.graph.tasks) if task.persists == "commit"]
    at = float(whole.end[3, commit])
    on_time, too_late = cut(whole, at), cut(whole, float(np.nextafter(at, 0)))
    assert (on_time.committed_batch, too_late.committed_batch) == (3, 2)
    flags = [
        [event.done_share for event in found.events if (event.op, event.batch) == ("commit", 3)] for found in (on_time, too_late)
    ]
    assert flags[0] == [1.0] and flags[1][0] < 1.0


def struck(name: str, **knobs: object) -> tuple[Machine, Segment, Outage]:
    """Return a run of 8 batches that loses power as the fifth ends: its machine, the stretch that was cut, the outage."""
    asked = scenario(name, "cxl-b", **{"run.batches": 8, **knobs})
    m = ready(with_values(asked, {"faults.power_loss_at_seconds": (float(line(asked, 8).batch_ends[4]),)}))
    done, _ = follow_run(m, flow(m.scenario, 8), None, untrained_resolve(m))
    return m, done.segments[0], done.crashes[0].outage


def test_a_batch_of_which_anything_was_persisted_is_trained_before_the_fault_strikes() -> None:
    """Its log holds what it changes, though nothing of it that counts as begun had taken time."""
    m, segment, down = struck("tiny")
    pupil = initial_state(m, source(m.scenario, None), 8, Meter(None, 8)).learner
    assert segment.cut
    ahead = segment.first_batch + segment.cut.batches_begun  # the first batch that had not begun
    events = (*segment.cut.events, PersistEvent("embedding log", segment.cut.batches_begun, 0.5))
    _, found, trained = crash_and_recover(
        pupil, m, replace(segment, cut=replace(segment.cut, events=events)), down, lambda *_: None
    )
    assert len(trained.losses) == ahead + 1 and found.fatal == ""


@pytest.mark.parametrize("name", ["tiny", "trainingcxl-rm1"])
@pytest.mark.parametrize(("model", "buffer"), [("adr", 0), ("gpf_fail", 16 * 1024)])
def test_a_recovery_in_miniature_writes_as_much_as_a_failing_flush_can_lose(
    monkeypatch: pytest.MonkeyPatch, name: str, model: str, buffer: int
) -> None:
    """With less written than the 16 KiB that can be lost, the loss would reach back to what was written before, which is safe."""
    m, segment, down = struck(name, **{"machine.persistence_model": model})
    seen: list[StartState] = []

    def survived(m: object, segment: object, down: object, before: StartState, *more: object) -> Resumption:
        seen.append(before)
        return Resumption(0, 0)

    monkeypatch.setattr(sys.modules[recovered_batches.__module__], "recovered_state", survived)
    recovered_batches(m, segment, down)
    rows, mlp = int(down.recovery.rows) * down.recovery.row_bytes, down.recovery.mlp_bytes
    assert rows > 2 * down.recovery.row_bytes and mlp > 8
    assert seen[0].mlp.nbytes == (min(buffer, mlp) if buffer else 8)
    written = seen[0].table.nbytes - down.recovery.row_bytes  # one more row is there, which the batch does not change
    assert min(buffer, rows) <= written <= buffer + down.recovery.row_bytes


@pytest.mark.parametrize(("endings", "state"), [(("failed", "failed"), "failed"), (("failed", "kept"), "done")])
def test_a_request_is_done_if_it_has_a_result_and_failed_if_every_point_failed(
    tmp_path: Path, endings: tuple[str, str], state: str
) -> None:
    path = tmp_path / "store.sqlite"
    asked = [with_values(Scenario(), {"data.seed": seed}) for seed in (1, 2)]
    request = submit(path, asked, "estimate")
    names = [key(one, "estimate") for one in asked]
    with open_store(path) as store:
        assert computations.claim_points(store, request, names) == names
        computations.close_claims(store, [(name, how, "{}") for name, how in zip(names, endings, strict=True)])
        end_requests(store)
    assert status(path, request).state == state


def test_estimates_during_which_a_worker_died_go_on_64_together_and_after_a_second_death_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    asked = [with_values(Scenario(), {"data.seed": seed}) for seed in range(100)]
    request = submit(path, asked, "estimate")
    with open_store(path) as store:
        feed, names = Dispatcher(store, path, ""), [key(one, "estimate") for one in asked]
        for together in (64, 1):
            assert computations.claim_points(store, request, names) == names
            computations.close_open_claims(store, "died")
            chunk = feed.next_chunk()
            assert chunk and len(chunk.keys) == together


def test_a_media_error_anywhere_strikes_tables_row_log_and_mlp_log_by_their_bytes() -> None:
    """Two slots of rows with 8 bytes of number each, three of MLPs: of 16, 2 × 24 and 16 bytes a row of the tables."""
    asked = scenario("tiny", "cxl-b", **{"faults.media_error_where": "anywhere"})
    rows = num_rows(asked)
    down = Outage((), (), RecoveryWork(rows, 16, 0.0, 16 * rows / 3), line(asked, 2), 0.0)
    strikes = (Strike(float(second), "media-error", 0, 0.0, 0.0) for second in range(1000))
    where = [damage_of(asked, strike, down).place for strike in strikes]
    assert where.count("row log") == pytest.approx(600, abs=60)
    assert where.count("mlp log") == pytest.approx(200, abs=50)
    assert where.count("logged row") == pytest.approx(200, abs=50)  # a batch that touches every row
