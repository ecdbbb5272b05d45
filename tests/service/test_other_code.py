"""Is a number of other code never served nor kept in the place of this code's, whoever still runs beside the store?"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from engine import version
from engine.__main__ import main
from engine.commands import sweep, sweep_arguments
from engine.estimate import estimate
from engine.scenario.keys import key
from engine.scenario.scenario import Scenario, with_values
from engine.service import history, service
from engine.service.queue import live_requests, open_points
from engine.service.worker import Chunk, compute_chunk
from engine.simulate import simulate
from engine.store import metric_columns, quota, requests, result_rows, status, trainings
from engine.store import owner as ownership
from engine.store.database import open_store
from engine.store.trainings import StoreShelf, Training
from engine.workload.readers.formats import digest_of
from tests import HANG_SECONDS, ROOT
from tests.machines import TINY
from tests.service_fakes import (
    COMPUTE,
    OWNER,
    ask,
    chunk,
    computing_here,
    kept_result,
    num_finished,
    scenario,
    scenarios,
    wait_until,
)
from tests.workload.readers import made_up_criteo

HANDOVER_SECONDS = 5.0
TICK_SECONDS = 0.02  # file systems tell no shorter times apart
SEEDS = [1, 2, 3]
ASKER = """
import sys; from pathlib import Path; from engine.store import requests; from tests.service_fakes import scenarios
print(requests.submit(Path(sys.argv[1]), scenarios([71, 72], 60.0), "full"), flush=True)
"""


@pytest.fixture(scope="module")
def other_engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an engine for which a gigabyte is twice as many bytes, and with our presets and fakes."""
    folder = tmp_path_factory.mktemp("other")
    shutil.copytree(ROOT / "engine", folder / "engine")
    for beside in ("presets", "tests"):
        (folder / beside).symlink_to(ROOT / beside)
    units = folder / "engine" / "units.py"
    assert "\nGB = 1e9" in units.read_text()
    units.write_text(units.read_text().replace("\nGB = 1e9", "\nGB = 2e9"))
    return folder


@contextmanager
def started(folder: Path, *words: str) -> Iterator[subprocess.Popen[str]]:
    """A Python process of the engine in `folder`; killed at the end if it still lives."""
    process = subprocess.Popen([sys.executable, *words], cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_a_service_of_other_code_hands_over_at_once_and_leaves_no_wrong_number(store: Path, other_engine: Path) -> None:
    points = [with_values(TINY, {"machine.cxl_bandwidth_GBps": value}) for value in (8.0, 16.0, 24.0, 32.0, 48.0, 64.0)]
    with started(other_engine, "-m", "engine", "serve", "--store", str(store), "--jobs", "1") as theirs:
        wait_until(lambda: store.exists() and ownership.is_owned(store))
        wait_until(lambda: ask(store, "SELECT 1 FROM sqlite_master WHERE name = 'results'"))
        request = requests.submit(store, points, "estimate")
        wait_until(lambda: service.ensure_service(store, 1, 1.0) or status.status(store, request).is_ended)  # as a page waits
        right = [estimate(point).results for point in points]
        assert [result and result.results for _, result in result_rows.stored_results(store, points, "estimate")] == right
        theirs.wait(HANDOVER_SECONDS)
    assert set(ask(store, "SELECT code FROM results")) == {(version.CODE,)}


@pytest.mark.slow
def test_a_service_of_other_code_abandons_its_own_long_points_at_once_and_they_can_go_on_later(
    store: Path, other_engine: Path
) -> None:
    with started(other_engine, "-c", OWNER, str(store), "2", "60", COMPUTE) as theirs:
        wait_until(lambda: ownership.named_owner(store)[1])
        assert ownership.named_owner(store)[1] != version.CODE
        with started(other_engine, "-c", ASKER, str(store)) as asker:
            request = int(asker.communicate(timeout=HANG_SECONDS)[0])
        wait_until(lambda: len(ask(store, "SELECT 1 FROM claims WHERE ending IS NULL")) == 2)
        mine = requests.submit(store, scenarios(SEEDS), "full")
        assert theirs.wait(HANDOVER_SECONDS) == 0
    service.serve(store, 1, 0.0, COMPUTE)
    assert status.status(store, mine).state == "done"
    assert status.status(store, request).state == "queued"
    assert set(ask(store, "SELECT key, ending FROM claims WHERE key IN (SELECT key FROM points WHERE request = ?)", request)) == {
        (key(one, "full"), "abandoned") for one in scenarios([71, 72], 60.0)
    }


@pytest.fixture
def ours_after(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From now on this process, which is its own worker, is of other code; what it returns makes it of its own again."""
    computing_here(monkeypatch)
    code = version.CODE
    monkeypatch.setattr(version, "CODE", "other")
    return lambda: monkeypatch.setattr(version, "CODE", code)


def ran(store: Path, points: Sequence[Scenario], **more: str) -> int:
    request = requests.submit(store, points, "estimate", **more)  # type: ignore[arg-type]
    service.serve(store, 1, 0.0, COMPUTE)
    return request


def test_rows_of_other_code_are_absent_everywhere_count_as_used_space_and_are_replaced(
    store: Path, ours_after: Callable[[], None]
) -> None:
    points, link = scenarios(SEEDS), "/sweep?v=1"
    theirs = ran(store, points, link=link)
    names = [key(point, "estimate") for point in points]
    ask(store, "UPDATE results SET created = 1.0")
    ours_after()
    (entry,) = history.past_requests(store)
    assert (entry.request, entry.state, entry.num_points, entry.num_results, entry.num_failures) == (theirs, "done", 3, 0, 0)
    assert kept_result(store, points[0], "estimate") is None
    assert [*history.table_rows(store, [theirs]), *history.result_lines(store, theirs)] == []
    assert (
        num_finished(metric_columns.columns_of_request(store, theirs))
        == num_finished(metric_columns.columns_of_keys(store, names))
        == 0
    )
    assert requests.newest_request(store, names) is requests.newest_by_link(store, link, "estimate") is None
    assert quota.usage(store).results == history.freed_results(store, [theirs]) == 3
    more = ran(store, (*points[:1], scenario(9)))
    assert (
        num_finished(metric_columns.columns_of_request(store, theirs)) == 0
        and num_finished(metric_columns.columns_of_request(store, more)) == 2
    )
    assert (
        ran(store, points, link=link)
        == theirs
        == requests.newest_request(store, names)
        == requests.newest_by_link(store, link, "estimate")
    )
    assert (
        num_finished(metric_columns.columns_of_request(store, theirs))
        == num_finished(metric_columns.columns_of_keys(store, names))
        == history.past_requests(store)[0].num_results
        == 3
    )
    assert len(list(history.result_lines(store, theirs))) == 3
    assert set(ask(store, "SELECT code, created > 1.0 FROM results")) == {(version.CODE, 1)}
    assert ask(store, "SELECT count(*) FROM results") == [(4,)]


def test_a_training_of_other_code_is_trained_again_and_replaced(store: Path, ours_after: Callable[[], None]) -> None:
    with open_store(store) as connection:
        shelf = StoreShelf(connection)
        shelf["one"] = Training((1.0,))
        ours_after()
        assert shelf.get("one") is None
        shelf["one"] = Training((2.0,))
        shelf["one"] = Training((3.0,))
        assert trainings.load_training(connection, "one") == Training((2.0,))


@pytest.mark.parametrize("held, adopted", [("keeps_on = 1", True), ("lease_until = 0", True), ("keeps_on = 0", False)])
def test_a_request_of_other_code_is_adopted_where_nobody_of_that_code_waits(
    store: Path, ours_after: Callable[[], None], held: str, adopted: bool
) -> None:
    request = requests.submit(store, scenarios(SEEDS), "full")
    ask(store, f"UPDATE requests SET {held}")
    ours_after()
    service.serve(store, 1, 0.0, COMPUTE)
    requests.renew_lease(store, request, requests.COMMAND)
    service.serve(store, 1, 0.0, COMPUTE)
    assert (status.status(store, request).state == "done") == adopted
    assert ask(store, "SELECT count(*) FROM claims") == [(3 * adopted,)]


def test_a_worker_keeps_nothing_for_an_owner_of_other_code(store: Path, ours_after: Callable[[], None]) -> None:
    one = chunk(store, *SEEDS)
    ours_after()
    assert "files have changed" in compute_chunk(one).trouble
    assert ask(store, "SELECT count(*) FROM claims") == ask(store, "SELECT count(*) FROM results") == [(0,)]


def test_a_worker_whose_files_changed_while_it_computed_keeps_nothing(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = chunk(store, *SEEDS)
    monkeypatch.setattr(version, "code_has_changed", lambda: True)
    assert "files have changed" in compute_chunk(one).trouble
    assert ask(store, "SELECT count(*) FROM results") == [(0,)]
    assert "files have changed" in service.ensure_service(store) and not ownership.is_owned(store)


def test_a_process_knows_the_code_it_began_with_whatever_happens_to_its_files(other_engine: Path) -> None:
    script = """if True:
        import sys; from pathlib import Path; from engine import version
        def told():
            version._files_have_changed.cache_clear()
            print(version.CODE, version.digest_of_code(), version.code_has_changed())
        file = next(Path("engine").rglob("rsc1.toml")); text = file.read_text()
        for content in (text, text + "# one line more", text): file.write_text(content); told()
        """
    with started(other_engine, "-c", script) as process:
        lines = [line.split() for line in process.communicate(timeout=HANG_SECONDS)[0].splitlines()]
    assert [line[2] for line in lines] == ["False", "True", "False"] and len({line[0] for line in lines}) == 1
    assert lines[0][1] == lines[2][1] == lines[0][0] != lines[1][1] and lines[0][0] != version.CODE


def test_a_point_of_generated_data_is_not_computed_from_the_file_of_its_neighbours(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "clicks.csv"
    file.write_bytes(made_up_criteo.csv(made_up_criteo.rows(400)))
    shape = {"model.num_tables": 26, "model.bottom_mlp": (13, 8, 4), "model.num_embeddings": (50,), "model.pooling": (1,)}
    plain = with_values(TINY, {**shape, "run.batches": 4, "data.batch_size": 32})
    asked = [plain, with_values(plain, {"data.digest": digest_of(file)})]
    request = requests.submit(store, asked, "full", file, sharing=False)
    with open_store(store) as connection:
        (turn,) = live_requests(connection, {})
        points = tuple(open_points(connection, request, -1, 99))
    assert [compute_chunk(Chunk(str(store), turn, (point,))).trouble for point in points] == ["", ""]
    generated, recorded = [result for _, result in result_rows.stored_results(store, asked, "full")]
    assert generated.results == simulate(plain).results != recorded.results
    assert recorded.results == simulate(asked[1], file).results


def test_a_file_of_the_same_size_and_time_is_seen_to_be_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "law.py").write_text("SHARE = 20\n")
    monkeypatch.setattr(version, "_ROOT", str(tmp_path))
    monkeypatch.setattr(version, "_STAMPS", version._stamps())
    monkeypatch.setattr(version, "CODE", version.digest_of_code())
    before = (tmp_path / "law.py").stat()
    time.sleep(TICK_SECONDS)
    for place in (tmp_path / "law.py", tmp_path / "law.new"):  # as rsync --inplace -t writes it, and as rsync -t does
        place.write_text("SHARE = 30\n")
        os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))
        place.replace(tmp_path / "law.py")
        version._files_have_changed.cache_clear()
        seen = version.code_has_changed()
        version._files_have_changed.cache_clear()
        assert seen


def test_every_file_that_results_can_depend_on_is_in_the_digest() -> None:
    files = {path for path in (ROOT / "engine").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert {path.name for path in files - set(map(Path, version._files()))} == {
        "accuracy_dlrm_kaggle.jsonl",
        "protections_dlrm_kaggle.jsonl",
        "rollbacks_dlrm_kaggle.jsonl",
    }, "studies' results, on which no other depends"


def test_who_waits_behind_other_code_is_told_and_the_second_owner_as_well(store: Path, ours_after: Callable[[], None]) -> None:
    requests.submit(store, scenarios(SEEDS), "full", session="theirs")
    with ownership.own_store(store):
        ours_after()
        assert "of another version of Emberpool, is computing requests that were made later" in service.ensure_service(store)
        requests.submit(store, scenarios(SEEDS), "full", session="ours")
        assert service.ensure_service(store) == ""
        with pytest.raises(ownership.AlreadyOwned, match="which is of another version of Emberpool"):
            service.serve(store, 1, 0.0, COMPUTE)


TWO_POINTS = ("sweep", "--preset", "tiny", "--estimate", "--axis", "data.seed=1,2", "--jobs", "1", "--csv", "-")


def test_a_table_is_whole_though_other_code_replaces_its_rows_while_it_is_written(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    computing_here(monkeypatch)
    assert main([*TWO_POINTS, "--store", str(store.with_name("alone.sqlite"))]) == 0
    alone, order = capsys.readouterr().out, sweep_arguments.selected_rows

    def selected_rows(*words):  # type: ignore[no-untyped-def]
        with monkeypatch.context() as patched:
            patched.setattr(version, "CODE", "other")
            with open_store(store) as connection:
                rows = connection.execute("SELECT key, result FROM results").fetchall()
                result_rows.store_results(connection, rows)
        return order(*words)

    monkeypatch.setattr(sweep_arguments, "selected_rows", selected_rows)
    assert main([*TWO_POINTS, "--store", str(store)]) == 0
    assert ask(store, "SELECT code, count(*) FROM results GROUP BY code") == [("other", 2)]
    assert capsys.readouterr().out == alone


def test_a_command_that_waits_for_another_owner_says_for_whom_and_once(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    computing_here(monkeypatch)
    monkeypatch.setattr(sweep, "TICK_SECONDS", 0.01)
    serve, owners = service.serve, [version.CODE, "other", "other"]

    def serve_later(*words: object, **options: object) -> None:
        with ExitStack() as owned:
            if owners:
                with monkeypatch.context() as patched:
                    patched.setattr(version, "CODE", owners.pop())
                    owned.enter_context(ownership.own_store(store))
                    later = requests.submit(store, scenarios([9]), "full") if version.CODE == "other" else 0
                if later and len(owners) == 1:  # the second time
                    owned.callback(requests.cancel, store, later, requests.COMMAND)
            serve(*words, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(service, "serve", serve_later)
    monkeypatch.setattr(ownership, "PATIENCE_SECONDS", 0.0)
    assert main([*TWO_POINTS, "--store", str(store)]) == 0
    notes = capsys.readouterr().err.splitlines()
    assert len(notes) == 2 and f"Process {os.getpid()}, of another version of Emberpool, is computing" in notes[0]
    assert f"--jobs 1 is not used, since process {os.getpid()} owns {store}" in notes[1]
