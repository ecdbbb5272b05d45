"""Do full runs that a worker computes together end, each, as it would alone? And which of them go together?"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.core import memo
from engine.errors import EmberpoolError
from engine.scenario.keys import key
from engine.scenario.scenario import Scenario, with_values
from engine.service import computations, dispatch, worker
from engine.service.queue import LiveRequest, OpenPoint, live_requests, open_points
from engine.simulate import simulate
from engine.store import requests, result_rows
from engine.store.database import open_store
from engine.store.result_rows import result_text
from tests.machines import TINY

CALM = with_values(TINY, {"run.training": False, "run.batches": 6})
POINTS = [
    with_values(CALM, {"system": system, "machine.cxl_bandwidth_GBps": 1.0 + n})
    for system in ("cxl", "ssd", "dram")
    for n in range(4)
]
STRUCK = with_values(CALM, {"faults.power_loss_at_seconds": (1e-4,)})
REFUSED = with_values(CALM, {"system": "cxl-d", "policy.relaxed_lookup": True})
FULL = with_values(CALM, {"system": "pmem", "machine.pmem_capacity_GB": 1.0, "model.num_embeddings": (4 * 10**9,)})


def chunk_of(path: Path, asked: Sequence[Scenario]) -> worker.Chunk:
    """Ask for some full runs and return them all as one chunk."""
    number = requests.submit(path, asked, "full")
    with open_store(path) as store:
        (asking,) = live_requests(store, {})
        return worker.Chunk(str(path), asking, tuple(open_points(store, number, -1, 99)))


def alone(scenario: Scenario) -> str:
    """Return what a run says when nothing is remembered, or the sentence that refuses it."""
    memo.clear_memos()
    try:
        return result_text(simulate(scenario))
    except EmberpoolError as error:
        return str(error)


def test_a_worker_runs_its_chunk_together_and_keeps_to_the_byte_what_each_point_says_alone(tmp_path, monkeypatch):
    path, asked, by_themselves = tmp_path / "store.sqlite", [*POINTS, STRUCK, REFUSED, FULL], []
    ending = worker._ending
    monkeypatch.setattr(worker, "_ending", lambda *given: by_themselves.append(given[1]) or ending(*given))
    chunk = chunk_of(path, asked)
    monkeypatch.setattr(worker, "CHUNK_SECONDS", 1e9)
    assert worker.compute_chunk(chunk) == worker.ChunkAnswer(chunk.keys)
    refused = [point.changes for point in chunk.points if point.key == key(REFUSED, "full")]
    assert by_themselves == [chunk.points[0].changes, *refused], "the first is looked at to see how long one takes"
    found = [result for _, result in result_rows.stored_results(path, asked, "full")]
    for one, scenario in zip(found, asked, strict=True):
        assert one.outcome == alone(scenario) if scenario == REFUSED else result_text(one) == alone(scenario)
    assert found[0].breakdown and found[0].devices and found[0].timeline and found[0].ledger


def test_who_is_still_waited_for_goes_on_when_the_others_of_its_chunk_are_cancelled(tmp_path):
    chunk, wanted = chunk_of(tmp_path / "store.sqlite", POINTS), {key(POINTS[3], "full")}
    told = []

    def watcher(name):
        return lambda progress: told.append(progress.note) or name not in wanted

    memo.clear_memos()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.run.progress.INTERVAL", 0.0)
        ended = worker.point_endings(chunk, chunk.keys, watcher)
    assert told[0].startswith("counted rows of batch 0")
    assert {name: how for name, how, _ in ended} == {name: "kept" if name in wanted else "cancelled" for name in chunk.keys}
    assert [result_rows.complete_text(text) for name, _, text in ended if name in wanted] == [alone(POINTS[3])]


@pytest.mark.parametrize(("pace", "reached"), [(1.0, 1), (0.2, 3), (0.05, 7), (0.01, 31), (0.001, 64)])
def test_a_worker_takes_as_many_full_runs_of_its_chunk_as_take_a_moment(monkeypatch, pace, reached):
    now = [0.0]
    monkeypatch.setattr(worker.time, "monotonic", lambda: now[0])
    points = tuple(OpenPoint(str(number), "{}", None, number) for number in range(64))
    taken = []
    for part in worker.Chunk("", LiveRequest(1, "me", "full", None, "{}"), points).parts():
        taken += part
        now[0] += pace * len(part)
    assert taken == [str(number) for number in range(reached)]
    assert len(taken) * pace < 2 * worker.CHUNK_SECONDS + 2 * pace, "or one that takes long"
    whole = worker.Chunk("", LiveRequest(1, "me", "estimate", None, "{}"), points)
    assert list(whole.parts()) == [whole.keys]


def test_what_a_worker_does_not_reach_is_open_again_without_a_claim(tmp_path, monkeypatch):
    chunk = chunk_of(tmp_path / "store.sqlite", POINTS)
    monkeypatch.setattr(worker, "CHUNK_SECONDS", 0.0)
    assert worker.compute_chunk(chunk) == worker.ChunkAnswer(chunk.keys)
    with open_store(tmp_path / "store.sqlite") as store:
        assert [key for (key,) in store.execute("SELECT key FROM claims")] == [chunk.keys[0]]
        (asking,) = live_requests(store, {})
        assert tuple(point.key for point in open_points(store, asking.request, -1, 99)) == chunk.keys[1:]


def test_the_feed_sends_calm_runs_together_fewer_towards_the_end_and_leaves_none_out(tmp_path):
    path = tmp_path / "store.sqlite"
    asked = [with_values(CALM, {"machine.cxl_bandwidth_GBps": 1.0 + n, "data.batch_size": 64 + n // 30}) for n in range(200)]
    requests.submit(path, asked, "full")
    sent: list[tuple[str, ...]] = []
    with open_store(path) as store:
        feeding = dispatch.Dispatcher(store, path, worker.COMPUTE)
        while chunks := [chunk for chunk, _ in feeding.due_chunks(2)]:
            for chunk in chunks:
                sent.append(chunk.keys)
                mine = computations.claim_points(store, chunk.turn.request, chunk.keys)
                computations.close_claims(store, [(name, "kept", "{}") for name in mine])
                feeding.note_answer(worker.ChunkAnswer(chunk.keys))
    sizes = [len(keys) for keys in sent]
    assert sizes[:2] == [50, 37] and sizes[-1] == 1 and sizes == sorted(sizes, reverse=True)
    assert sorted(name for keys in sent for name in keys) == sorted(key(one, "full") for one in asked)
