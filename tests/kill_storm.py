"""Kills workers, services and apps at random while they compute a long sweep, then compares with an undisturbed run.

    python -m tests.kill_storm --kills 1000 [--seed 0] [--made-up]

Three kinds of victims run on one store: services, apps that ask, wait and renew as pages do, and sweeps of the command
line, which compute themselves when no one else does. Any of their children can be hit as well. What must hold: no
finished point is lost, changed or kept twice, the final table has the same bytes, and no process is left over.
A kill counts only if points were finished since the last kill: these are at stake. The storm goes on until it has hit every
kind of victim so. It waits by its own looks, so that a computer that is busy or stopped does not fail it.
Points are full runs of the smallest preset that train, in classes of four, or made-up ones that only take their time.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from engine.results.csv_table import csv_text
from engine.scenario.keys import Fidelity
from engine.scenario.scenario import Scenario, with_values
from engine.service import service, worker
from engine.store import owner, requests, result_rows
from tests import ROOT
from tests.machines import TINY
from tests.service_fakes import COMPUTE, ask, finished, lives, scenarios

MARK = "EMBERPOOL_STORM"
FULL_SECONDS, CLASS_SIZE = 0.02, 4
SLICES: dict[Fidelity, int] = {"full": 200, "estimate": 400}
FIRST_SEED = 10_000
VICTIMS = ("worker", "service", "app", "command")
GAP_SECONDS, LOOK_SECONDS = 0.2, 0.05
STUCK_LOOKS, ORPHAN_LOOKS = 6_000, 1_200  # in a row without a finished point, or with an orphan alive
EARLY_SHARE = 0.2  # of the kills that do not wait for a finished point
OWNER = """
import sys, time; from pathlib import Path; from engine.service import service; from engine.store import owner
while True:
    try: service.serve(Path(sys.argv[1]), 2, 60.0, sys.argv[2])
    except owner.AlreadyOwned: time.sleep(0.1)
"""
APP = """
import sys, time; from pathlib import Path; from engine.store import requests, status; from tests.kill_storm import slice_points
store, fidelity, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
request = requests.submit(store, slice_points(fidelity, number, sys.argv[4]), fidelity, session=f"app {fidelity}")
while not status.status(store, request).is_ended:
    requests.renew_lease(store, request, requests.COMMAND); time.sleep(0.3)
"""
COMMAND = """
import sys; from pathlib import Path; from engine.service import service; from engine.commands import sweep
from engine.store import requests; from tests.kill_storm import slice_points
store, fidelity, number = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
import functools; service.serve = functools.partial(service.serve, compute=sys.argv[4])
request = requests.submit(store, slice_points(fidelity, number, sys.argv[4]), fidelity, session="command")
sweep._until_ended(store, request, 2)
"""
ASKING: tuple[tuple[str, str, Fidelity], ...] = (("app", APP, "full"), ("command", COMMAND, "estimate"))


def slice_points(fidelity: Fidelity, number: int, compute: str) -> Sequence[Scenario]:
    """The points of one slice of the sweep."""
    start = FIRST_SEED + number * SLICES[fidelity]
    seeds = range(start, start + SLICES[fidelity])
    if compute == COMPUTE:
        return scenarios(seeds, FULL_SECONDS if fidelity == "full" else 0.0)
    links = {seed: 4.0 * 2 ** (seed % CLASS_SIZE) for seed in seeds}
    return [
        with_values(TINY, {"data.seed": seed // CLASS_SIZE, "machine.cxl_bandwidth_GBps": link}) for seed, link in links.items()
    ]


class Storm:
    """The processes, how many of each kind were killed with points at stake, and what had been finished when."""

    def __init__(self, store: Path, seed: int, compute: str) -> None:
        self.store, self.random, self.compute = store, random.Random(seed), compute
        self.living: dict[str, subprocess.Popen[bytes]] = {}
        self.killed: Counter[str] = Counter()  # with points at stake
        self.early = self.points_at_stake = self.safe = 0  # kills without any; points; those finished at the last kill
        self.slice: dict[Fidelity, int] = dict.fromkeys(SLICES, 0)
        self.finished: dict[object, object] = {}
        self.orphans: dict[int, int] = {}  # looks since their owner was killed
        self.longest = 0

    def start(self, kind: str, code: str, *words: str) -> None:
        """Start a process of this kind unless one lives."""
        if kind not in self.living or self.living[kind].poll() is not None:
            environment = {**os.environ, MARK: str(self.store)}
            command = [sys.executable, "-c", code, str(self.store), *words]
            self.living[kind] = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)

    def tend(self) -> None:
        """Have every kind running, on the first slice that is not finished."""
        self.start("service", OWNER, self.compute)
        for kind, code, fidelity in ASKING:
            if kind in self.living and self.living[kind].poll() == 0:
                self.slice[fidelity] += 1
            self.start(kind, code, fidelity, str(self.slice[fidelity]), self.compute)

    def kill(self) -> None:
        """Kill a random process, half of the time a worker; those that a killed one leaves must go by themselves."""
        pids = {kind: process.pid for kind, process in self.living.items() if process.poll() is None}
        workers = [child for pid in pids.values() for child in offspring(pid)]
        if workers and self.random.random() < 0.6:
            name, victim = "worker", self.random.choice(workers)
        else:
            name, victim = self.random.choice(list(pids.items()))
            self.orphans |= dict.fromkeys(offspring(victim), 0)
        stake = finished(self.store) - self.safe
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            return
        self.killed[name] += stake > 0
        self.early += stake == 0
        self.points_at_stake += stake
        self.safe += stake
        if name != "worker":
            self.living[name].wait()

    def look(self) -> None:
        """Compare what was finished before, and note what is now."""
        rows = {key: row for key, row in ask(self.store, "SELECT key, checksum || created FROM results")}
        differences = [key for key, row in self.finished.items() if rows.get(key) != row]
        assert not differences, f"{len(differences)} finished points are lost or changed"
        self.finished = rows

    def bury(self) -> None:
        """See that orphans are gone in time; one that was still starting learns of its owner's death when it has started."""
        for child, looks in list(self.orphans.items()):
            assert looks < ORPHAN_LOOKS, f"process {child} outlived its owner by {looks} looks"
            self.longest = max(self.longest, looks)
            self.orphans[child] += 1
            if not lives(child):
                del self.orphans[child]

    def wait(self) -> None:
        """Wait for a finished point, which the next kill puts at stake."""
        for _ in range(STUCK_LOOKS):
            if finished(self.store) > self.safe:
                return
            self.tend()
            self.bury()
            time.sleep(LOOK_SECONDS)
        raise AssertionError(f"no point was finished in {STUCK_LOOKS} looks, so a kill has nothing at stake")

    def blow(self, kills: int) -> None:
        """Kill so many times with points at stake, each kind of victim at least once."""
        while self.killed.total() < kills or not all(self.killed[kind] for kind in VICTIMS):
            self.tend()
            if self.random.random() >= EARLY_SHARE:
                self.wait()
            time.sleep(self.random.expovariate(1 / GAP_SECONDS))
            self.bury()
            self.kill()
            if (self.killed.total() + self.early) % 10 == 0:
                self.look()
                print(f"{self.killed.total()} killed, {self.points_at_stake} points at stake", file=sys.stderr, flush=True)
        for process in self.living.values():
            process.kill()
            process.wait()


def offspring(parent: int) -> list[int]:
    """The children of a process, and theirs."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            parents[int(path.parent.name)] = int(fields[1])
    children = [pid for pid, parent_pid in parents.items() if parent_pid == parent]
    return children + [grandchild for child in children for grandchild in offspring(child)]


def left_over(store: Path) -> list[int]:
    """The living processes that descend from this storm."""
    pids = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"{MARK}={store}".encode() in path.read_bytes() and lives(int(path.parent.name)):
                pids.append(int(path.parent.name))
        except OSError:
            continue
    return pids


def tables(store: Path, slices: dict[Fidelity, int], compute: str) -> list[str]:
    """Ask for every slice once more, compute what is missing, and return the tables."""
    texts = []
    for fidelity, number in slices.items():
        for slice_number in range(number + 1):
            points = slice_points(fidelity, slice_number, compute)
            requests.submit(store, points, fidelity, keeps_on=True)
            service.serve(store, 2, 0.0, compute)
            texts.append(
                csv_text([result for _, result in result_rows.stored_results(store, points, fidelity) if result], fidelity)
            )
    return texts


def storm(folder: Path, kills: int, seed: int = 0, compute: str = COMPUTE) -> dict[str, object]:
    """Blow, check and return the figures."""
    store, start = folder / "store.sqlite", time.monotonic()
    blown = Storm(store, seed, compute)
    blown.blow(kills)
    for _ in range(ORPHAN_LOOKS):
        if left_over(store):
            time.sleep(LOOK_SECONDS)
    assert not left_over(store)
    blown.look()
    blamed = len(ask(store, "SELECT 1 FROM failures"))
    disturbed = tables(store, blown.slice, compute)
    blown.look()
    twice = ask(store, "SELECT key FROM claims WHERE ending = 'kept' GROUP BY key HAVING count(*) > 1")
    repeats = ask(store, "SELECT 1 FROM claims c JOIN results r USING (key) WHERE c.started > r.created")
    assert not twice and not repeats
    assert ask(store, "PRAGMA integrity_check") == [("ok",)]
    assert disturbed == tables(folder / "calm.sqlite", blown.slice, compute), "the tables differ"
    claim_counts = ask(store, "SELECT count(*), count(DISTINCT key) FROM claims")[0]
    assert not owner.is_owned(store)
    return {**blown.killed, "killed early": blown.early, "points at stake": blown.points_at_stake,
            "finished": finished(store), "begun": claim_counts[0], "blamed in the storm": blamed,
            "longest orphan [looks]": blown.longest,
            "seconds": round(time.monotonic() - start)}  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--made-up", action="store_true")
    arguments = parser.parse_args()
    computation = COMPUTE if arguments.made_up else worker.COMPUTE
    with tempfile.TemporaryDirectory() as folder:
        print(storm(Path(folder), arguments.kills, arguments.seed, computation))
