"""Do workers compute with the values of one's own parts, wherever they run, and is the table the same for any number of them?"""

import json
import os
import pickle
import shutil
import socket
import subprocess
import sys

import pytest

from engine import api as ep
from engine.__main__ import main
from engine.core import catalog
from engine.core.part_files import use
from engine.estimate import estimate
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.service import history, service
from engine.service.queue import live_requests, open_points
from engine.service.worker import Chunk
from engine.store import requests
from engine.store.database import open_store
from tests import HANG_SECONDS, ROOT
from tests.apps import ELSEWHERE
from tests.parts.conftest import shipped

AFAR = """
import pickle, sys
from types import SimpleNamespace
worker = SimpleNamespace(get_current_task=lambda: "one", log_event=lambda *_: None)
sys.modules["distributed"] = SimpleNamespace(get_worker=lambda: worker)
from engine.service import dask_pool
chunk = pickle.load(sys.stdin.buffer)
sys.stdout.buffer.write(pickle.dumps(dask_pool.compute_on_cluster(chunk, chunk.keys, "").endings))
"""


def points(folder, **changes):
    """Return a scenario on each of two media of one's own and on one of ours."""
    folder.put("media/glass", shipped("media/optane-100").replace("value = 0.8472972972972973\n", "value = 0.6\n"))
    use.use_folder(folder.path)
    base = with_values(preset("tiny").scenario, {"system": "pmem", "machine.gpu": "mine", "run.batches": 20, **changes})
    return [with_values(base, {"machine.pmem": name}) for name in ("optane-100", "crystal", "glass")]


def test_a_cluster_worker_that_has_no_folder_gets_the_values_with_its_points(folder, tmp_path):
    scenarios, store = points(folder), tmp_path / "store.db"
    requests.submit(store, scenarios, "estimate", keeps_on=True)
    with open_store(store) as connection:
        (turn,) = live_requests(connection, {})
        chunk = Chunk(str(store), turn, tuple(open_points(connection, turn.request, -1, 10)))
    found = subprocess.run([sys.executable, "-c", AFAR], input=pickle.dumps(chunk), cwd=ROOT, capture_output=True, check=True)
    endings = pickle.loads(found.stdout)
    assert [ending for _, ending, _ in endings] == ["kept"] * 3
    assert [json.loads(text)["results"] for _, _, text in endings] == [estimate(scenario).results for scenario in scenarios]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["estimate", "full"])
def test_a_service_finishes_what_was_asked_for_when_the_folder_is_gone(how, folder, tmp_path):
    scenarios, store = points(folder), tmp_path / "store.db"
    expected = [ep.run(one)[0].results if how == "full" else estimate(one).results for one in scenarios]
    request = requests.submit(store, scenarios, how, keeps_on=True)
    shutil.rmtree(folder.path)
    folder.elsewhere()
    service.serve(store, 2, 0.0, request=request)
    assert [json.loads(line)["results"] for line in history.result_lines(store, request)] == expected
    assert history.varied_texts(store, request)["machine.pmem"] == [one.machine.pmem for one in scenarios]
    assert "part=media:crystal" not in history.link(store, request) and "part=gpu:mine:" in history.link(store, request)


@pytest.mark.usefixtures("computed_here")
def test_a_request_has_as_many_parts_as_a_folder(folder, tmp_path):
    store, base = tmp_path / "store.db", preset("tiny").scenario
    for number in range(40):
        folder.put(f"media/m{number}", shipped("media/optane-100").replace("value = 6.6\n", f"value = {5 + number / 20}\n"))
    use.use_folder(folder.path)
    scenarios = [with_values(base, {"machine.pmem": f"m{number}"}) for number in range(40)]
    request = requests.submit(store, scenarios, "estimate", keeps_on=True)
    folder.elsewhere()
    service.serve(store, 1, 0.0, request=request)
    assert len([*history.table_rows(store, [request])]) == 40


@pytest.mark.slow
def test_a_sweep_writes_the_same_table_for_any_number_of_workers(folder, tmp_path):
    points(folder)
    words = ["sweep", "--preset", "tiny", "--set", "system=pmem", "--set", "run.batches=20", "--set", "machine.gpu=mine"]
    words += ["--axis", "machine.pmem=crystal,glass,optane-100", "--axis", "data.seed=1,2", "--parts-dir", str(folder.path)]
    tables = []
    for jobs in ("1", "2"):
        table = tmp_path / f"{jobs}.csv"
        assert main([*words, "--store", str(tmp_path / f"{jobs}.db"), "--jobs", jobs, "--csv", str(table)]) == 0
        tables.append(table.read_bytes())
    assert tables[0] == tables[1] and tables[0].count(b"crystal~") == 2


@pytest.mark.slow
def test_a_script_with_several_processes_gives_the_table_of_one(folder):
    points(folder)
    asked = {"system": "pmem", "batches": 20, "gpu": "mine", "pmem": ["crystal", "glass"], "data__seed": [1, 2]}
    one, two = (ep.run("tiny", jobs=jobs, **asked) for jobs in (1, 2))
    assert [row.results for row in one] == [row.results for row in two]


def choices():
    """In a page's worker: return the media that there are to choose from."""
    return catalog.part_names_of("media")


@pytest.mark.slow
def test_a_pages_worker_has_the_folder_as_it_is_now(folder):
    use.use_folder(folder.path)
    assert "crystal" in ELSEWHERE(choices)
    folder.put("media/glass", shipped("media/optane-200"))
    use.look_at_folder()
    assert {"crystal", "glass"} < set(ELSEWHERE(choices))
    use.use_folder(None)
    assert "crystal" not in ELSEWHERE(choices)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_a_real_cluster_gives_the_table_of_this_computer(folder, tmp_path):
    pytest.importorskip("distributed", reason="Dask is not installed; `make slow` installs it")
    scenarios, store = points(folder), tmp_path / "store.db"
    request = requests.submit(store, scenarios, "full", keeps_on=True)
    there = {"env": {**os.environ, "PYTHONPATH": str(ROOT)}, "cwd": tmp_path}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    dask = [sys.executable, "-m"]
    scheduler = [*dask, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", address.rpartition(":")[2]]
    worker = [*dask, "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny"]
    processes = [subprocess.Popen([*words, "--no-dashboard"], **there) for words in (scheduler, worker)]
    try:
        service.serve(store, 1, 0.0, request=request, cluster=address)
    finally:
        for process in processes:
            process.terminate()
            process.wait(HANG_SECONDS)
    found = [json.loads(line)["results"] for line in history.result_lines(store, request)]
    assert found == [ep.run(one)[0].results for one in scenarios]
