"""Is each functional class trained once, whoever works, stops, fails or dies, and does nobody wait for what never comes?"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from engine import version
from engine.results.csv_table import csv_text
from engine.run.progress import Progress
from engine.run.shared_training import Training, functional_class
from engine.scenario.keys import key
from engine.scenario.scenario import Scenario, with_values
from engine.service.dispatch import Dispatcher
from engine.service.worker import COMPUTE, Chunk, ChunkAnswer, compute_chunk
from engine.simulate import simulate
from engine.store import requests, result_rows, status
from engine.store.database import open_store
from engine.store.result_rows import row_text
from engine.store.status import seconds_left
from engine.store.trainings import StoreShelf, load_training
from tests.service_fakes import REFUSED, ask, scenario

SLOTS = 9
LEARNING = "tests.service_fakes:learning"


@pytest.fixture
def feed(store: Path) -> Iterator[Dispatcher]:
    with open_store(store) as connection:
        yield Dispatcher(connection, store, LEARNING)


def points(classes: Sequence[int], machines: int, seconds: float = 0.0) -> list[Scenario]:
    """Points of some classes, class by class; the data's seed is the class, the link's bandwidth the machine."""
    rates = [float(1 + machine) for machine in range(machines)]
    return [with_values(scenario(one, seconds), {"machine.cxl_bandwidth_GBps": rate}) for one in classes for rate in rates]


def given(feed: Dispatcher, slots: int = SLOTS) -> list[Chunk]:
    """What is due."""
    return [chunk for chunk, _ in feed.due_chunks(slots)]


def places(chunks: Sequence[Chunk]) -> list[tuple[str, str]]:
    """Class and machine of each chunk's point."""
    changes = [dict(json.loads(chunk.points[0].changes)) for chunk in chunks]
    return [(one.get("data.seed", "1"), one.get("machine.cxl_bandwidth_GBps", "1")) for one in changes]


def trainings(store: Path) -> list[str]:
    """The classes that are trained."""
    return [str(name) for (name,) in ask(store, "SELECT class FROM trainings")]


def test_the_first_point_of_a_class_goes_alone_and_other_classes_and_requests_go_on(store: Path, feed: Dispatcher) -> None:
    requests.submit(store, points([1, 2], 3), "full")
    requests.submit(store, points([1, 3], 2), "full")
    first = given(feed)
    assert sorted(places(first)) == [("1", "1"), ("2", "1"), ("3", "1")]
    assert given(feed) == []
    feed.note_answer(compute_chunk(next(chunk for chunk in first if places([chunk])[0][0] == "1")))
    assert sorted(set(places(given(feed)))) == [("1", "2.0"), ("1", "3.0")]
    assert len(trainings(store)) == 1


def test_a_class_already_trained_is_given_out_at_once_and_a_point_of_two_requests_once(store: Path, feed: Dispatcher) -> None:
    asked = points([1], 3)
    one = functional_class(asked[0])
    assert one
    StoreShelf(feed.store)[one.name] = Training((0.5,))
    for _ in range(2):
        requests.submit(store, asked, "full")
    assert len(given(feed)) == 3


def test_where_a_worker_or_the_owner_died_over_the_first_point_it_is_trained_again(store: Path, feed: Dispatcher) -> None:
    request = requests.submit(store, points([1], 3), "full")
    (first,) = given(feed)
    feed.store.execute("INSERT INTO claims (key, pid, started, ending) VALUES (?, 1, 1, 'died')", (first.points[0].key,))
    again = Dispatcher(feed.store, store, LEARNING)
    assert given(again) == [first]
    again.note_answer(compute_chunk(first))
    rest = given(again)
    assert len(rest) == 2 and len(trainings(store)) == 1
    for chunk in rest:
        again.note_answer(compute_chunk(chunk))
    assert status.status(store, request).state == "running" and given(again) == []
    assert status.status(store, request).finished_points == 3


def test_where_the_first_point_is_cancelled_the_class_s_next_one_trains(store: Path, feed: Dispatcher) -> None:
    first = requests.submit(store, points([1], 1), "full")
    other = requests.submit(store, points([1], 3)[1:], "full")
    (chunk,) = given(feed)
    requests.cancel(store, first, requests.COMMAND)
    feed.note_answer(compute_chunk(chunk))
    (chunk,) = given(feed)
    assert chunk.turn.request == other and trainings(store) == []


def test_a_class_whose_points_are_all_refused_ends(store: Path, feed: Dispatcher) -> None:
    request = requests.submit(store, points([REFUSED], 3), "full")
    for _ in range(3):
        (chunk,) = given(feed)
        feed.note_answer(compute_chunk(chunk))
    assert given(feed) == [] and status.status(store, request).failed == 3


def leave_nothing(store: Path, feed: Dispatcher, chunk: Chunk) -> None:
    with open_store(store) as connection:
        result_rows.store_results(connection, [(chunk.points[0].key, "{}")])
    feed.note_answer(ChunkAnswer(chunk.keys))


def test_after_a_first_point_that_leaves_nothing_to_share_the_next_one_trains_for_the_others(
    store: Path, feed: Dispatcher
) -> None:
    requests.submit(store, points([1], 4), "full")
    leave_nothing(store, feed, *given(feed))
    (second,) = given(feed)
    feed.note_answer(compute_chunk(second))
    assert len(given(feed)) == 2 and len(trainings(store)) == 1


def test_a_class_of_which_as_many_points_as_run_at_once_leave_nothing_is_set_free(store: Path, feed: Dispatcher) -> None:
    requests.submit(store, points([1], 4), "full")
    for _ in range(2):
        leave_nothing(store, feed, *given(feed, 2))
    assert len(given(feed, 2)) == 2


def test_estimates_and_what_asks_for_no_sharing_have_no_class(store: Path, feed: Dispatcher) -> None:
    requests.submit(store, points([1], 3), "full", sharing=False)
    requests.submit(store, points([1], 3), "estimate")
    assert ask(store, "SELECT DISTINCT class FROM points") == [(None,)]
    assert all(chunk.functional_class is None for chunk in given(feed))


def test_a_damaged_training_goes(feed: Dispatcher) -> None:
    shelf, training = StoreShelf(feed.store), Training((0.5, 0.25), {2: (0.75, 0.01)})
    shelf["a"] = training
    assert shelf.get("a") == training and shelf.get("b") is None
    feed.store.execute("UPDATE trainings SET record = 'x' || record")
    assert load_training(feed.store, "a") is None
    assert feed.store.execute("SELECT count(*) FROM trainings").fetchone() == (0,)


def test_a_store_in_trouble_costs_the_sharing_and_not_the_run(store: Path) -> None:
    with open_store(store) as connection:
        shelf = StoreShelf(connection)
    shelf["a"] = Training()
    assert shelf.get("a") is None


def test_a_sweep_with_and_without_sharing_is_the_same_table_to_the_byte(store: Path, tmp_path: Path) -> None:
    asked = [
        with_values(Scenario(), {"model.name": "tiny", "data.batch_size": 16, "run.batches": 6, "system": system} | knobs)
        for system in ("cxl", "cxl-b", "dram")
        for knobs in ({}, {"machine.cxl_bandwidth_GBps": 1.0})
    ]
    tables = []
    for path, sharing in ((store, True), (tmp_path / "alone.sqlite", False)):
        requests.submit(path, asked, "full", sharing=sharing)
        with open_store(path) as connection:
            feed = Dispatcher(connection, path, COMPUTE)
            while chunks := given(feed):
                for chunk in chunks:
                    feed.note_answer(compute_chunk(chunk))
        tables.append(csv_text([one for _, one in result_rows.stored_results(path, asked, "full") if one], "full"))
    assert tables[0] == tables[1] and tables[0].count("completed without a fault") == len(asked)
    assert len(trainings(store)) == 2 and trainings(tmp_path / "alone.sqlite") == []
    alone = [row_text(simulate(one)) for one in asked]
    found = ask(store, "SELECT result FROM results")
    assert sorted(alone) == sorted(str(text) for (text,) in found)


def seconds(store: Path, request: int, *now: tuple[float, Progress | None]) -> float | None:
    """The forecast of what is left."""
    with open_store(store) as connection:
        return seconds_left(connection, request, now)


def test_a_slow_first_point_and_quick_others_do_not_fool_the_time_left(store: Path) -> None:
    asked = points([1, 2], 6)
    request = requests.submit(store, asked, "full")
    half = Progress(50, 100)
    assert seconds(store, request) is None and seconds(store, request, (5.0, half)) is None, "how quick others are, none has told"

    def finished(number: int, took: float, trains: bool) -> None:
        name, one = key(asked[number], "full"), functional_class(asked[number])
        begun = 1000.0 + 20 * number
        ask(store, "INSERT INTO claims (key, pid, started, ending) VALUES (?, 1, ?, 'kept')", name, begun)
        kept_then = "INSERT INTO results (key, result, checksum, model_version, created, code) VALUES (?, '{}', '', '', ?, ?)"
        ask(store, kept_then, name, begun + took, version.CODE)
        if trains and one:
            ask(store, "INSERT INTO trainings VALUES (?, '', '', '', ?, ?)", one.name, begun + took - 0.5, version.CODE)

    finished(0, 10.0, trains=True)
    finished(1, 0.25, trains=False)
    # A training took 10 s, the one that is half way will take 4; a point ends every 0.25 s.
    assert seconds(store, request, (2.0, half)) == pytest.approx((10.0 + 4.0) / 2 - 2.0 + 9 * 0.25)
    finished(6, 10.0, trains=True)
    assert seconds(store, request) == pytest.approx(9 * 0.25), "between two quick points nothing runs"
    finished(2, 1.0, trains=False)
    assert seconds(store, request, (0.0, None)) == pytest.approx(8 * (21.0 / 2)), "they began 20 s apart"
