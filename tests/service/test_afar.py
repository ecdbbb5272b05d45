"""Does a cluster's sweep lose or repeat anything when workers and schedulers die, and is its table the local one?"""

import asyncio
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace

import pytest

from engine import version
from engine.__main__ import main
from engine.core.arithmetic import NUMPY, PYTHON
from engine.errors import BadFile, BadInput, CannotRun
from engine.run import progress, shared_training
from engine.scenario.scenario import with_values
from engine.service import dask_pool, service
from engine.service.dispatch import Dispatcher
from engine.service.queue import live_requests, open_points
from engine.service.worker import Chunk, ChunkAnswer
from engine.store import requests, status, trainings
from engine.store.database import open_store
from engine.store.owner import AlreadyOwned, named_owner, own_store
from tests.service_fakes import COMPUTE, ask, chunk, scenario

SECONDS = 0.1
ADDRESS = "tcp://10.0.0.1:8786"
SWEEP = ("sweep", "--preset", "tiny", "--estimate", "--axis", "data.seed=1,2", "--csv", "-", "--cluster")


def owner(**client: object) -> dask_pool.Cluster:
    """The owner's end without a network."""
    there = object.__new__(dask_pool.Cluster)
    there.__dict__.update(address="tcp://x:1", told={}, flying={}, answers=SimpleQueue())
    there.__dict__.update(client=SimpleNamespace(**{"status": "running"} | client), cores=2, heard=time.monotonic())
    return there


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process pass for a worker of a cluster that computes the task "one"."""
    worker = SimpleNamespace(get_current_task=lambda: "one", log_event=lambda *_: None)
    monkeypatch.setitem(sys.modules, "distributed", SimpleNamespace(get_worker=lambda: worker))


def submit(function: Callable[..., ChunkAnswer], *words: object, **_: object) -> Future[ChunkAnswer]:
    """Compute at once, as a client that has never heard of other computers."""
    done: Future[ChunkAnswer] = Future()
    done.set_result(function(*words))
    return done


@pytest.mark.usefixtures("alone")
def test_a_chunk_is_claimed_by_the_owner_computed_without_the_store_and_kept_by_the_owner(store: Path) -> None:
    one, there = chunk(store, 1, 2, 3), owner(submit=submit)
    with open_store(store) as connection:
        connection.execute("DELETE FROM points WHERE position = 2")  # nobody waits for it any more
        there.send(connection, one, False)
        assert ask(store, "SELECT pid, ending FROM claims") == [(os.getpid(), None)] * 2
        assert ask(store, "SELECT count(*) FROM results") == [(0,)]
        away = there.answer(connection, 0.0)
        assert away and there.answer(connection, 0.0) is None
        dask_pool.keep_chunk_end(connection, away)  # an answer that comes twice
    assert away.keys == one.keys and len(away.endings) == 2
    assert ask(store, "SELECT ending FROM claims") == [("kept",)] * 2
    assert ask(store, "SELECT count(*) FROM results") == [(2,)] and not there.flying


def test_a_worker_with_other_code_is_refused_with_a_sentence(store: Path) -> None:
    one = replace(chunk(store, 1), code="00")
    ended = dask_pool.compute_on_cluster(one, one.keys, "")
    assert "install the same version on both" in ended.trouble and not ended.endings


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("others", "words"), [({"numpy": "1.9"}, "NumPy 1.9"), ({"python": "3.9"}, "Python 3.9")])
@pytest.mark.usefixtures("alone")
def test_a_worker_with_another_numpy_is_refused_and_with_another_python_where_it_would_train(
    store: Path, others: dict[str, str], words: str, training: bool
) -> None:
    requests.submit(store, [with_values(scenario(1), {"run.training": training})], "full")
    with open_store(store) as connection:
        (turn,) = live_requests(connection, {})
        one = Chunk(str(store), turn, tuple(open_points(connection, turn.request, -1, 9)), COMPUTE, **others)
    ended = dask_pool.compute_on_cluster(one, one.keys, "")
    if "numpy" in others or training:
        own = words.replace("1.9", NUMPY).replace("3.9", PYTHON)
        assert words in ended.trouble and own in ended.trouble and "install the same version on both" in ended.trouble
        assert not ended.endings
    else:
        assert not ended.trouble and [ending for _, ending, _ in ended.endings] == ["kept"]
    estimates = replace(one, turn=replace(turn, fidelity="estimate"))
    assert bool(dask_pool.compute_on_cluster(estimates, one.keys, "").trouble) == ("numpy" in others)


@pytest.mark.usefixtures("alone")
def test_a_training_travels_to_the_worker_and_a_new_one_back(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[object] = []

    def computing(chunk, wanted, watcher, shelf):  # type: ignore[no-untyped-def]
        given.append(shelf.get("class"))
        shelf["class"] = shared_training.Training(losses=(0.5,))
        return tuple((name, "kept", "{}") for name in wanted)

    monkeypatch.setattr(dask_pool, "point_endings", computing)
    there = owner(submit=submit)
    for seed, known in ((1, None), (2, shared_training.Training(losses=(0.5,)))):
        one = chunk(store, seed)
        one = replace(one, points=tuple(point._replace(functional_class="class") for point in one.points))
        with open_store(store) as connection:
            there.send(connection, one, False)
            away = there.answer(connection, 0.0)
            assert away and given[-1] == known and bool(away.training[1]) == (known is None)
            assert trainings.load_training(connection, "class") == shared_training.Training(losses=(0.5,))
            connection.execute("DELETE FROM points")


def test_what_dask_gives_up_becomes_a_death_a_failure_a_stop_or_a_sentence(store: Path) -> None:
    killed, cancelled = type("KilledWorker", (Exception,), {}), type("FutureCancelledError", (Exception,), {})
    both = chunk(store, 1, 2)
    alone = replace(both, points=both.points[:1])
    assert {ending for _, ending, _ in dask_pool.lost_chunk_end(both, killed("x")).endings} == {"died"}
    assert [ending for _, ending, _ in dask_pool.lost_chunk_end(alone, killed("x")).endings] == ["bug"]
    assert [ending for _, ending, _ in dask_pool.lost_chunk_end(alone, cancelled()).endings] == ["stopped"]
    assert "PYTHONPATH" in dask_pool.lost_chunk_end(alone, ModuleNotFoundError("engine")).trouble


def test_workers_are_told_what_nobody_waits_for_and_viewers_how_far_it_is(store: Path) -> None:
    runs: list[object] = []
    one = chunk(store, 1, 2)
    client = {"ncores": lambda: {"w": 2, "v": 2}, "run": lambda *words, **_: runs.append(words)}
    sent = Future()
    sent.key = "one"  # as Dask's futures have
    there = owner(submit=lambda *_, **__: sent, **client)
    with open_store(store) as connection:
        there.send(connection, one, False)
        there.told[one.keys[0]] = {"done": 1, "total": 4, "training": (), "elapsed_simulated": 0.0, "note": ""}
        there.supervise(connection)
        assert runs == [] and there.slots == 8
        (first, _) = status.status(store, one.turn.request).running
        assert first.progress and first.progress.share == 0.25
        requests.cancel(store, one.turn.request, requests.COMMAND)
        there.supervise(connection)
    assert runs == [(dask_pool.stop_points, {("one", key) for key in one.keys})]
    now = progress.Progress(1, 4)
    watchers = [
        dask_pool._watcher(SimpleNamespace(get_current_task=lambda task=task: task), one.keys[0]) for task in ("one", "other")
    ]
    with ThreadPoolExecutor(1) as elsewhere:  # this thread may have a loop of its own
        elsewhere.submit(asyncio.run, dask_pool.stop_points({("one", one.keys[0])})).result()
    assert [watch(now) for watch in watchers] == [True, False]


def test_a_scheduler_that_stays_away_ends_the_service_with_a_sentence(store: Path) -> None:
    there = owner(status="connecting")
    with open_store(store) as connection:
        there.supervise(connection)
        there.heard = time.monotonic() - dask_pool.GONE_SECONDS - 1
        with pytest.raises(CannotRun, match="finished points are kept"):
            there.supervise(connection)


def test_trouble_that_a_worker_brings_ends_the_service_with_its_sentence(store: Path) -> None:
    with open_store(store) as connection, pytest.raises(BadFile, match="install the same"):
        Dispatcher(connection, store, COMPUTE).note_answer(ChunkAnswer(trouble="install the same"))


def test_without_dask_the_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(BadInput, match=r"requirements-dask\.txt"):
        dask_pool.Cluster("tcp://127.0.0.1:1")


@pytest.mark.parametrize(("owners", "words"), [("", "on workers of this computer"), ("tcp://x:1", "on workers of tcp://x:1")])
def test_a_cluster_that_the_owner_of_the_store_does_not_use_is_refused_not_ignored(
    store: Path, owners: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_store(store), own_store(store, owners):
        assert main([*SWEEP, ADDRESS, "--store", str(store)]) == 2
        (complaint,) = capsys.readouterr().err.splitlines()
        assert complaint.startswith(f"--cluster {ADDRESS} would not be used, since process {os.getpid()} owns")
        assert words in complaint and "leave --cluster out" in complaint and "--store FILE" in complaint
        assert main(["search", *SWEEP[1:3], *SWEEP[4:], ADDRESS, "--confirm", "1", "--store", str(store)]) == 2
    assert ask(store, "SELECT count(*) FROM requests") == [(0,)]


def test_a_cluster_that_the_owner_uses_too_or_that_nobody_keeps_is_no_trouble(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.check_cluster(store, ADDRESS)
    with own_store(store, ADDRESS):
        assert named_owner(store) == (str(os.getpid()), version.CODE, ADDRESS)
        for address in (ADDRESS, ADDRESS.removeprefix("tcp://"), None):
            service.check_cluster(store, address)
        monkeypatch.setattr(version, "CODE", "other")  # to which the owner gives way
        service.check_cluster(store, "tcp://x:1")


def test_a_sweep_on_a_cluster_whose_store_another_takes_is_cancelled_with_the_sentence(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ExitStack() as another:

        def serve(*_: object, **__: object) -> None:
            another.enter_context(own_store(store))
            raise AlreadyOwned

        monkeypatch.setattr(service, "serve", serve)
        assert main([*SWEEP, ADDRESS, "--store", str(store)]) == 2
    assert "would not be used" in capsys.readouterr().err
    assert ask(store, "SELECT state FROM requests") == [("cancelled",)]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([*SWEEP, ADDRESS, "--jobs", "2"], "--jobs: not allowed with argument --cluster"),
        (["search", *SWEEP[1:3], *SWEEP[4:], ADDRESS], "add --confirm K"),
    ],
)
def test_a_cluster_that_would_compute_nothing_is_refused(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert sentence in capsys.readouterr().err
