"""Does a cluster's sweep lose or repeat anything when workers and schedulers die, and is its table the local one?"""

import asyncio
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace

import pytest

from engine.errors import BadFile, BadInput, CannotRun
from engine.run import shared_training
from engine.service import dask_pool
from engine.service.dispatch import Dispatcher
from engine.service.worker import ChunkEnd
from engine.store import requests, status, trainings
from engine.store.database import opened
from tests.service_fakes import COMPUTE, ask, chunk

SECONDS = 0.1


def owner(**client: object) -> dask_pool.Cluster:
    """The owner's end without a network."""
    there = object.__new__(dask_pool.Cluster)
    there.__dict__.update(address="tcp://x:1", told={}, sent={}, flying={}, answers=SimpleQueue(), numbers=iter(range(99)))
    there.__dict__.update(client=SimpleNamespace(**{"status": "running"} | client), cores=2, heard=time.monotonic())
    return there


def submit(function: Callable[..., ChunkEnd], *words: object, **_: object) -> Future[ChunkEnd]:
    """Compute at once, as a client that has never heard of other computers."""
    done: Future[ChunkEnd] = Future()
    done.set_result(function(*words))
    return done


def test_a_chunk_is_claimed_by_the_owner_computed_without_the_store_and_kept_by_the_owner(store: Path) -> None:
    one, there = chunk(store, 1, 2, 3), owner(submit=submit)
    with opened(store) as connection:
        connection.execute("DELETE FROM points WHERE position = 2")  # nobody waits for it any more
        there.send(connection, one, False)
        assert ask(store, "SELECT pid, ending FROM claims") == [(os.getpid(), None)] * 2
        assert ask(store, "SELECT count(*) FROM results") == [(0,)]
        away = there.answer(connection, 0.0)
        assert away and there.answer(connection, 0.0) is None
        there.keep(connection, away)  # an answer that comes twice
    assert (away.keys, away.computed) == (one.keys, 2)
    assert ask(store, "SELECT ending FROM claims") == [("kept",)] * 2
    assert ask(store, "SELECT count(*) FROM results") == [(2,)] and not there.sent


def test_a_worker_with_other_code_is_refused_with_a_sentence(store: Path) -> None:
    one = chunk(store, 1)
    ended = dask_pool.compute_afar(one, one.keys, "", "x", "0.0, engine 00")
    assert "install the same everywhere" in ended.trouble and not ended.endings


def test_a_training_travels_to_the_worker_and_a_new_one_back(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[object] = []

    def computing(chunk, wanted, watcher, shelf):  # type: ignore[no-untyped-def]
        given.append(shelf.get("class"))
        shelf["class"] = shared_training.Training(losses=(0.5,))
        return tuple((name, "kept", "{}") for name in wanted)

    monkeypatch.setattr(dask_pool, "endings", computing)
    there = owner(submit=submit)
    for seed, known in ((1, None), (2, shared_training.Training(losses=(0.5,)))):
        one = chunk(store, seed)
        one = replace(one, points=tuple(point._replace(functional_class="class") for point in one.points))
        with opened(store) as connection:
            there.send(connection, one, False)
            away = there.answer(connection, 0.0)
            assert away and given[-1] == known and bool(away.training[1]) == (known is None)
            assert trainings.load(connection, "class") == shared_training.Training(losses=(0.5,))
            connection.execute("DELETE FROM points")


def test_what_dask_gives_up_becomes_a_death_a_failure_a_stop_or_a_sentence(store: Path) -> None:
    killed, cancelled = type("KilledWorker", (Exception,), {}), type("FutureCancelledError", (Exception,), {})
    both = chunk(store, 1, 2)
    alone = replace(both, points=both.points[:1])
    assert {ending for _, ending, _ in dask_pool.lost(both, killed("x")).endings} == {"died"}
    assert [ending for _, ending, _ in dask_pool.lost(alone, killed("x")).endings] == ["bug"]
    assert [ending for _, ending, _ in dask_pool.lost(alone, cancelled()).endings] == ["stopped"]
    assert "PYTHONPATH" in dask_pool.lost(alone, ModuleNotFoundError("engine")).trouble


def test_workers_are_told_what_nobody_waits_for_and_viewers_how_far_it_is(store: Path) -> None:
    runs: list[object] = []
    one = chunk(store, 1, 2)
    client = {"ncores": lambda: {"w": 2, "v": 2}, "run": lambda *words, **_: runs.append(words)}
    there = owner(submit=lambda *_, **__: Future(), **client)
    with opened(store) as connection:
        there.send(connection, one, False)
        there.told[one.keys[0]] = {"done": 1, "total": 4, "training": (), "elapsed_simulated": 0.0, "note": ""}
        there.tend(connection)
        assert runs == [] and there.slots == 8
        (first, _) = status.status(store, one.turn.request).running
        assert first.progress and first.progress.share == 0.25
        requests.cancel(store, one.turn.request)
        there.tend(connection)
    (name,) = set(there.sent.values())
    assert runs == [(dask_pool.forget, {(name, key) for key in one.keys})]
    watch = dask_pool._watcher("other", one.keys[0])
    with ThreadPoolExecutor(1) as elsewhere:  # this thread may have a loop of its own
        elsewhere.submit(asyncio.run, dask_pool.forget({(name, one.keys[0])})).result()
    assert (name, one.keys[0]) in dask_pool.UNWANTED and ("other", one.keys[0]) not in dask_pool.UNWANTED and watch


def test_a_scheduler_that_stays_away_ends_the_service_with_a_sentence(store: Path) -> None:
    there = owner(status="connecting")
    with opened(store) as connection:
        there.tend(connection)
        there.heard = time.monotonic() - dask_pool.GONE_SECONDS - 1
        with pytest.raises(CannotRun, match="finished points are kept"):
            there.tend(connection)


def test_trouble_that_a_worker_brings_ends_the_service_with_its_sentence(store: Path) -> None:
    with opened(store) as connection, pytest.raises(BadFile, match="install the same"):
        Dispatcher(connection, store, COMPUTE).note(ChunkEnd(trouble="install the same"))


def test_without_dask_the_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(BadInput, match=r"requirements-dask\.txt"):
        dask_pool.Cluster("tcp://127.0.0.1:1")
