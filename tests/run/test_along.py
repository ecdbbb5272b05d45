"""Do full runs that a worker computes together end, each, as it would alone? And which of them go together?"""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.core import memo
from engine.errors import EmberpoolError
from engine.scenario.keys import key
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from engine.service import computations, dispatch, worker
from engine.service.dispatch import MOST, SharedChunks, kind
from engine.service.queue import OpenPoint, Turn, open_points, turns
from engine.simulate import simulate
from engine.store import kept, requests
from engine.store.database import opened
from engine.store.kept import result_text
from tests.cases import each

CALM = with_values(preset("tiny").scenario, {"run.training": False, "run.batches": 6})
POINTS = [
    with_values(CALM, {"system": system, "machine.cxl_bandwidth_GBps": 1.0 + n})
    for system in ("cxl", "ssd", "dram")
    for n in range(4)
]
STRUCK = with_values(CALM, {"faults.power_loss_at_seconds": (1e-4,)})
REFUSED = with_values(CALM, {"model.optimizer": "adagrad"})
FULL = with_values(CALM, {"system": "pmem", "machine.pmem_capacity_GB": 1.0, "model.num_embeddings": (4 * 10**9,)})


def chunk_of(path: Path, asked: Sequence[Scenario]) -> worker.Chunk:
    """Ask for some full runs and return them all as one chunk."""
    number = requests.submit(path, asked, "full")
    with opened(path) as store:
        (asking,) = turns(store, {})
        return worker.Chunk(str(path), asking, tuple(open_points(store, number, -1, 99)))


def alone(scenario: Scenario) -> str:
    """Return what a run says when nothing is remembered, or the sentence that refuses it."""
    memo.forget()
    try:
        return result_text(simulate(scenario))
    except EmberpoolError as error:
        return str(error)


def test_a_worker_runs_its_chunk_together_and_keeps_to_the_byte_what_each_point_says_alone(tmp_path, monkeypatch):
    path, asked, by_themselves = tmp_path / "store.sqlite", [*POINTS, STRUCK, REFUSED, FULL], []
    ending = worker._ending
    monkeypatch.setattr(worker, "_ending", lambda *given: by_themselves.append(given[1]) or ending(*given))
    chunk = chunk_of(path, asked)
    assert worker.compute_chunk(chunk).computed == len(asked)
    assert by_themselves == [point.changes for point in chunk.points if point.key == key(REFUSED, "full")]
    found = [result for _, result in kept.outcomes(path, asked, "full")]
    for one, scenario in zip(found, asked, strict=True):
        assert one.outcome == alone(scenario) if scenario == REFUSED else result_text(one) == alone(scenario)
    assert found[0].breakdown and found[0].devices and found[0].timeline and found[0].ledger


def test_who_is_still_waited_for_goes_on_when_the_others_of_its_chunk_are_cancelled(tmp_path):
    chunk, wanted = chunk_of(tmp_path / "store.sqlite", POINTS), {key(POINTS[3], "full")}
    told = []

    def watcher(name):
        return lambda progress: told.append(progress.note) or name not in wanted

    memo.forget()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.run.progress.INTERVAL", 0.0)
        ended = worker.endings(chunk, chunk.keys, watcher)
    assert told[0].startswith("counted rows of batch 0")
    assert {name: how for name, how, _ in ended} == {name: "kept" if name in wanted else "cancelled" for name in chunk.keys}
    assert [kept.complete_text(text) for name, _, text in ended if name in wanted] == [alone(POINTS[3])]


BASE = {"run.training": "off", "system": "ssd", "run.batches": "200"}


def turn(how="full", data=None, **base):
    return Turn(1, "me", how, data, json.dumps(BASE | base))


def point(number=0, **changes):
    return OpenPoint(str(number), json.dumps(changes), None, number)


@each(
    ("asked", "changes"),
    [
        (turn(data="ids.tsv"), {}),
        (turn(**{"run.training": "on"}), {}),
        (turn(), {"run.training": "on"}),
        (turn(), {"faults.power_loss_at_seconds": "1.0"}),
        (turn(**{"faults.rates": "llama3"}), {"machine.cxl_bandwidth_GBps": "3.0"}),
    ],
)
def test_what_may_train_be_struck_or_read_a_file_goes_by_itself(asked, changes):
    assert not kind(asked, point(**changes)) and kind(turn(), point())
    assert len(SharedChunks().choose(asked, [point(n, **changes) for n in range(9)])) == 1


def test_as_many_points_with_like_batches_go_together_as_take_a_moment(tmp_path):
    links = [point(n, **{"machine.pcie_bandwidth_GBps": str(n), "policy.cache_load_factor": "0.1"}) for n in range(100)]
    longer = [point(n, **{"run.batches": "100000"}) for n in range(100)]
    sizes, asked = SharedChunks(), turn()
    for pace, size in ((0.01, 1), (0.01, 4), (0.01, 16), (0.01, 25), (0.001, 25), (0.001, MOST), (1.0, MOST), (1.0, 1)):
        assert len(sizes.choose(asked, links + longer)) == size
        assert len(sizes.choose(asked, longer + links)) == 1
        chunk = worker.Chunk("", asked, (links[0],))
        sizes.begin(chunk)
        sizes.note(worker.ChunkEnd(chunk.keys, 8, 8 * pace))
    assert not sizes.flying
    assert len(SharedChunks().choose(asked, links)) == 1, "how long one takes is not known yet"


def test_the_feed_sends_calm_runs_together_and_leaves_none_out(tmp_path, monkeypatch):
    path = tmp_path / "store.sqlite"
    asked = [with_values(CALM, {"machine.cxl_bandwidth_GBps": 1.0 + n, "data.batch_size": 64 + n // 30}) for n in range(60)]
    requests.submit(path, asked, "full")
    chunks = []
    with opened(path) as store:
        feeding = dispatch.Dispatcher(store, path, worker.COMPUTE)
        while chunk := feeding.next():
            feeding.in_flight[chunk.keys] = chunk.turn.how
            feeding.taken.update(chunk.keys)
            chunks.append(chunk)
            mine = computations.claim(store, chunk.turn.request, chunk.keys)
            computations.close(store, [(name, "kept", "{}") for name in mine])
            feeding.note(worker.ChunkEnd(chunk.keys, len(chunk.keys), 1e-3 * len(chunk.keys)))
    assert [len(chunk.keys) for chunk in chunks] == [1, 4, 16, 9, 1, 4, 16, 9]
    assert sorted(name for chunk in chunks for name in chunk.keys) == sorted(key(one, "full") for one in asked)
