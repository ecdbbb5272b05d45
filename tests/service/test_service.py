"""Does the service lose or repeat anything when workers, owners and viewers come and go, or are killed?"""

import os
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from threading import Thread

import pytest
from loky import ProcessPoolExecutor

from engine.errors import BadFile, BadInput, CannotRun
from engine.results.csv_table import csv_text
from engine.scenario.keys import key
from engine.service import service
from engine.service.pool import WORKERS
from engine.service.worker import NICENESS, lower_priority
from engine.store import owner as ownership
from engine.store import requests, restoration, result_rows, status
from engine.store.database import open_store
from tests import HANG_SECONDS, kill_storm
from tests.kill_storm import VICTIMS, Storm, storm
from tests.service_fakes import (
    BUGGY,
    COMPUTE,
    KILLER,
    LAST_FREE,
    REFUSED,
    TOO_BIG,
    ask,
    compute,
    computing_here,
    finished,
    lives,
    open_pids,
    owner,
    scenario,
    scenarios,
    table,
    wait_until,
)

SEEDS = range(1, 9)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "store.sqlite"


def never_begun_once_finished(store: Path) -> bool:
    return not ask(store, "SELECT 1 FROM claims c JOIN results r ON r.key = c.key WHERE c.started > r.created")


def serve(store: Path, jobs: int = 2) -> None:
    service.serve(store, jobs, idle_exit_seconds=0.0, compute=COMPUTE)


def test_a_killed_worker_and_a_killed_owner_lose_and_repeat_nothing_and_the_table_is_the_same(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELD_UNTIL", str(tmp_path / "go on"))
    request = requests.submit(store, scenarios(SEEDS), "full")
    with owner(store, jobs=1) as first:
        wait_until(lambda: open_pids(store) and finished(store) == LAST_FREE)
        (killed,) = open_pids(store)
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: set(open_pids(store)) - {killed})
        (orphan,) = open_pids(store)
        os.kill(orphan, signal.SIGSTOP)  # one that cannot look whether its owner lives goes with it all the same
        os.kill(first.pid, signal.SIGKILL)
        wait_until(lambda: not lives(orphan))
    assert finished(store) == LAST_FREE
    (tmp_path / "go on").touch()
    with owner(store, jobs=1):
        wait_until(lambda: status.status(store, request).is_ended)
    assert status.status(store, request).state == "done"
    assert never_begun_once_finished(store)
    assert ask(store, "SELECT count(*) FROM claims WHERE ending = 'kept'") == [(len(SEEDS),)]
    alone = [compute(one, "full", None, lambda _: False) for one in scenarios(SEEDS)]
    assert table(store, scenarios(SEEDS)) == csv_text(alone, "full")


@pytest.mark.slow
def test_random_kills_of_workers_services_apps_and_commands_lose_change_and_repeat_nothing(tmp_path: Path) -> None:
    """`python -m tests.kill_storm --kills 1000` is the long one."""
    figures = storm(tmp_path, 40, seed=1)
    kills = [figures[kind] for kind in VICTIMS]
    assert min(kills) > 0 and sum(kills) >= 40
    assert figures["points at stake"] >= 40


def test_a_storm_counts_only_kills_that_put_points_at_stake_and_fails_where_there_are_none(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computing_here(monkeypatch)
    monkeypatch.setattr(kill_storm, "STUCK_LOOKS", 2)
    monkeypatch.setattr(Storm, "tend", lambda storm: storm.start("app", "import time; time.sleep(60)"))
    calm = Storm(store, 0, COMPUTE)
    with pytest.raises(AssertionError, match="no point was finished in 2 looks"):
        calm.blow(1)
    calm.kill()
    assert (calm.killed.total(), calm.early, calm.points_at_stake) == (0, 1, 0)
    requests.submit(store, scenarios(range(3)), "full")
    serve(store)
    calm.tend()
    calm.wait()
    calm.kill()
    assert (calm.killed, calm.early, calm.points_at_stake) == ({"app": 1}, 1, 3)
    calm.tend()
    calm.kill()
    assert (calm.killed, calm.early, calm.points_at_stake) == ({"app": 1}, 2, 3)


def test_one_worker_computes_one_point_at_a_time_outside_the_owner(store: Path) -> None:
    requests.submit(store, scenarios(range(4), 0.1), "full")
    serve(store, jobs=1)
    spans = ask(store, "SELECT c.started, r.created, c.pid FROM claims c JOIN results r USING (key) ORDER BY c.started")
    assert len(spans) == 4
    assert all(end <= start for (_, end, _), (start, _, _) in pairwise(spans))  # type: ignore[operator]
    assert os.getpid() not in {pid for *_, pid in spans}


def test_cancelling_stops_what_runs_and_keeps_the_owner(store: Path) -> None:
    request = requests.submit(store, [scenario(1, 3600.0)], "full")
    with owner(store, jobs=1) as process:
        wait_until(lambda: open_pids(store))
        wait_until(lambda: any(point.progress for point in status.status(store, request).running))
        requests.cancel(store, request, requests.COMMAND)
        wait_until(lambda: not open_pids(store))
        assert status.status(store, request).state == "cancelled"
        assert finished(store) == 0
        again = requests.submit(store, [scenario(2)], "full")
        wait_until(lambda: status.status(store, again).state == "done")
        assert process.poll() is None


@pytest.mark.slow
def test_a_point_that_kills_its_worker_three_times_fails_with_a_sentence_and_the_others_finish(store: Path) -> None:
    request = requests.submit(store, scenarios([1, KILLER, 2, 3], 0.2), "full")
    serve(store)
    found = status.status(store, request)
    assert (found.state, found.finished_points, found.failed) == ("done", 4, 1)
    (failure,) = status.failures(store, request)
    assert failure.bug and "3 times" in failure.sentence and failure.key == key(scenario(KILLER, 0.2), "full")
    assert ask(store, "SELECT count(*) FROM claims WHERE key = ? AND ending = 'died'", failure.key) == [(3,)]
    assert max(ask(store, "SELECT count(*) FROM claims WHERE key != ? GROUP BY key", failure.key)) <= (2,)


def test_refusals_and_bugs_end_as_rows_with_a_sentence_and_are_tried_again_when_asked_again(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computing_here(monkeypatch)
    asked = scenarios([1, REFUSED, BUGGY, TOO_BIG])
    request = requests.submit(store, asked, "estimate")
    serve(store)
    found = [result for _, result in result_rows.stored_results(store, asked, "estimate")]
    assert [result and result.ran for result in found] == [True, False, False, False]
    assert [failure.bug for failure in status.failures(store, request)] == [False, True]
    assert found[1] and found[1].outcome == "run.batches=1 is made up to be refused; choose 2."
    assert found[2] and found[2].outcome.startswith("ZeroDivisionError: made up.")
    assert found[3] and found[3].outcome == "It does not fit; take less."
    again = requests.submit(store, asked, "estimate")
    assert status.status(store, again).finished_points == 2
    serve(store)
    assert status.status(store, again).is_ended


@pytest.mark.slow
def test_without_a_lease_nothing_more_is_begun_until_it_is_renewed(store: Path) -> None:
    request = requests.submit(store, scenarios(range(40), 0.1), "full")
    with owner(store):
        wait_until(lambda: status.status(store, request).state == "running")
        ask(store, "UPDATE requests SET lease_until = 0")
        wait_until(lambda: not open_pids(store) and status.status(store, request).state == "queued")
        time.sleep(0.3)  # a claim may have been on its way when the lease ended
        parked = len(ask(store, "SELECT 1 FROM claims"))
        time.sleep(0.3)
        assert len(ask(store, "SELECT 1 FROM claims")) == parked < 40
        requests.renew_lease(store, request, requests.COMMAND)
        wait_until(lambda: finished(store) > parked)


def test_a_request_is_found_by_exactly_its_points(store: Path) -> None:
    def found(*seeds: int) -> int | None:
        return requests.newest_request(store, [key(one, "full") for one in scenarios(seeds)])

    first, again = (requests.submit(store, scenarios([1, 2, 3]), "full", session=who) for who in ("mine", "yours"))
    other = requests.submit(store, scenarios([1, 4, 3]), "full")
    assert (found(1, 2, 3), found(1, 4, 3)) == (again, other) and first < again
    assert found(1, 5, 3) is found(1) is found(2, 3) is found(1, 3, 2) is None


@pytest.mark.slow
def test_status_tells_progress_and_time_left_to_all_who_wait_for_the_same_point(store: Path) -> None:
    asked = [requests.submit(store, [scenario(1, 3.0)], "full", session=who) for who in ("mine", "yours")]
    assert requests.newest_request(store, [key(scenario(1, 3.0), "full")]) == asked[1]
    with owner(store):
        wait_until(lambda: any(p.progress and p.progress.share > 0.3 for p in status.status(store, asked[0]).running))
        for request in asked:
            found = status.status(store, request)
            assert (found.state, found.finished_points, found.total) == ("running", 0, 1)
            (point,) = found.running
            assert point.key == key(scenario(1, 3.0), "full") and point.progress
            pace = point.seconds / point.progress.share  # how long the whole point takes
            assert found.eta_seconds == pytest.approx(pace * (1 - point.progress.share), rel=0.2)


def test_a_second_owner_is_refused_and_the_first_ones_process_is_named(store: Path) -> None:
    with ownership.own_store(store):
        assert ownership.is_owned(store)
        with pytest.raises(ownership.AlreadyOwned, match=f"process {os.getpid()};"):
            serve(store)
    assert not ownership.is_owned(store)


def test_asking_whether_a_store_is_owned_waits_for_nobody(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ownership.own_store(store):
        monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail(f"slept for {seconds} s"))
        assert ownership.is_owned(store)


def into_another_folder(store: Path) -> Path:
    (store.parent.parent / "other").mkdir()
    return store.rename(store.parent.parent / "other" / store.name)


def linked(store: Path) -> Path:
    os.link(store, store.with_name("link.sqlite"))
    return store.with_name("link.sqlite")


OTHER_NAMES = {
    "renamed": lambda store: store.rename(store.with_name("renamed.sqlite")),
    "moved": into_another_folder,
    "hard link": linked,
}


@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize("how", OTHER_NAMES)
def test_a_store_has_one_owner_whatever_its_names(how: str, is_new: bool, store: Path) -> None:
    if not is_new:
        requests.submit(store, scenarios(range(2)), "full")
    with ownership.own_store(store):
        other_name = OTHER_NAMES[how](store)
        for _ in range(2):
            with pytest.raises(ownership.AlreadyOwned, match="another service under another name"):
                serve(other_name)
    with ownership.own_store(other_name):
        pass


@pytest.mark.parametrize("how", ["folder", "file"])
def test_a_symlink_to_a_store_is_the_store(how: str, store: Path) -> None:
    requests.submit(store, scenarios(range(2)), "full")
    link = store.parent.with_name("link") / (store.name if how == "folder" else "")
    link = link if how == "folder" else link.with_suffix(".sqlite")
    (link.parent if how == "folder" else link).symlink_to(store.parent if how == "folder" else store)
    with ownership.own_store(store), pytest.raises(ownership.AlreadyOwned, match=f"process {os.getpid()};"):
        serve(link)


def test_a_store_with_two_names_is_refused_by_both_until_one_is_deleted(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    computing_here(monkeypatch)
    requests.submit(store, scenarios(range(2)), "full")
    link = linked(store)
    for name in (store, link):
        for use in (lambda name: requests.submit(name, scenarios(range(2)), "full"), serve, restoration.restore):
            with pytest.raises(BadFile, match=r"has other names \(hard links\).*; delete these names, or replace the file"):
                use(name)
    link.unlink()
    serve(store)
    assert finished(store) == 2


def test_the_end_of_an_owner_drops_no_lock_of_this_process_on_the_database(store: Path) -> None:
    requests.submit(store, scenarios(range(2)), "full")
    with open_store(store) as connection:
        connection.execute("DELETE FROM progress")
        with ownership.own_store(store):
            pass
        # The last connection to close deletes the log; another process must see that this one is open.
        closing = (
            "import sys; from engine.store.database import connect; from pathlib import Path; connect(Path(sys.argv[1])).close()"
        )
        subprocess.run([sys.executable, "-c", closing, str(store)], check=True)
        assert Path(f"{store}-wal").exists()


def test_a_service_whose_store_is_moved_ends_and_loses_nothing(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    computing_here(monkeypatch)
    request = requests.submit(store, scenarios(range(2)), "full")
    thread = Thread(target=service.serve, args=(store, 1, 2 * HANG_SECONDS, COMPUTE), daemon=True)
    thread.start()
    wait_until(lambda: finished(store) == 2 and not open_pids(store))
    moved = into_another_folder(store)
    thread.join(HANG_SECONDS)
    assert not thread.is_alive()
    assert not Path(f"{store}.copy").exists()
    Path(f"{store}-wal").rename(f"{moved}-wal")  # SQLite leaves the log by its old name
    assert status.status(moved, request).finished_points == 2


def test_a_service_is_started_once_in_the_background_and_leaves_when_idle(store: Path) -> None:
    service.ensure_service(store, n_jobs=1, idle_exit_seconds=1.0)
    wait_until(lambda: ownership.is_owned(store))
    wait_until(lambda: Path(f"{store}.lock").read_text())
    first = Path(f"{store}.lock").read_text()
    service.ensure_service(store)
    assert Path(f"{store}.lock").read_text() == first and lives(int(first.split()[0]))
    wait_until(lambda: not ownership.is_owned(store))
    assert Path(f"{store}.log").read_text() == ""


def test_a_service_that_cannot_start_is_told_without_the_words_of_others_and_not_started_at_each_look(
    store, monkeypatch, tmp_path
):
    broken, starts = tmp_path / "broken", tmp_path / "starts"
    broken.write_text(f"#!/bin/sh\necho once >> {starts}\necho 'Click here: https://hostile.example.' >&2\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    assert service.ensure_service(store) == ""
    wait_until(lambda: Path(f"{store}.log").read_text())
    assert service.ensure_service(store) == f"The background service ended without a message; {store}.log may have the reason."
    assert starts.read_text() == "once\n"
    os.utime(f"{store}.log", (0, 0))
    assert service.ensure_service(store) == ""
    wait_until(lambda: starts.read_text() == "once\nonce\n")


def autogroup(worker: int) -> str:
    return Path(f"/proc/{worker}/autogroup").read_text(encoding="ascii")


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this system does not group processes by session")
def test_a_worker_is_nice_to_processes_of_other_sessions_too() -> None:
    own = autogroup(os.getpid())
    with ProcessPoolExecutor(1, initializer=lower_priority, initargs=(os.getpid(),), **WORKERS) as pool:
        worker = pool.submit(os.getpid).result()
        assert autogroup(worker).split()[-2:] == ["nice", str(NICENESS)]
        assert os.getpriority(os.PRIO_PROCESS, worker) == min(os.getpriority(os.PRIO_PROCESS, 0) + NICENESS, 19)  # the most
    assert autogroup(os.getpid()) == own, "its owner's session is left as it was"


def test_what_a_page_tells_of_a_service_that_ended_is_its_own_sentence_as_plain_text(store: Path, monkeypatch) -> None:
    said = "No worker\x1b[31m could be\u202e started:\n" + "x<script>" * 99

    def fail(*_: object) -> None:
        os.write(2, b"a traceback, or a worker's text\n")
        raise CannotRun(said)

    monkeypatch.setattr(service, "_serve", fail)
    requests.submit(store, [scenario(1)], "full")
    with pytest.raises(CannotRun):
        serve(store)
    Path(f"{store}.log").write_text("ValueError: what a worker wrote last\n")
    told = service.ensure_service(store)
    assert told.startswith("The background service ended: No worker [31m could be started: x<script>x")
    assert told.endswith(". It is started again every few seconds.") and len(told) <= 300 and told.isprintable()
    os.utime(f"{store}.log", (0, 0))
    monkeypatch.setattr(service, "_start_apart", lambda command, log: None)
    assert service.ensure_service(store) == service.ensure_service(store) == "", "another was started, and has not said anything"


def test_an_empty_request_and_an_unknown_number_are_refused(store: Path) -> None:
    with pytest.raises(BadInput, match="at least one"):
        requests.submit(store, [], "full")
    with pytest.raises(BadInput, match="request=7 is not in"):
        status.status(store, 7)


def test_a_request_of_another_model_version_is_refused_with_a_note(store: Path) -> None:
    request = requests.submit(store, [scenario(1)], "full")
    ask(store, "UPDATE requests SET model_version = '0.0'")
    serve(store)
    found = status.status(store, request)
    assert found.state == "failed" and "another model version" in found.note
