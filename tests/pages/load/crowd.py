"""A crowd on one real server while a sweep runs on its store: seconds of a move, errors, and the server's memory.

`python -m tests.pages.load.crowd --visitors 6 --seconds 60` prints them; the last visitor is a headless Chromium.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from argparse import ArgumentParser
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import quantiles
from tempfile import TemporaryDirectory
from urllib.request import urlopen

from engine.service.kernels import all_compiled
from engine.store.owner import is_owned, named_owner
from pages.shell.places import PLACES
from tests import ROOT
from tests.pages.load.browser import BrowserVisitor
from tests.pages.load.client import Client

MiB = 1 << 20
LINKS = ({"preset": "tiny"}, {"preset": "dlrm-kaggle", "system": "cxl"}, {"preset": "dlrm-terabyte"}, {"within": "50"})
SWEEP = ("sweep", "--axis", "machine.cxl_bandwidth_GBps=4:64:8", "--axis", "data.batch_size=128,256", "--csv", os.devnull)
BANDWIDTH, RUN = "knob machine.cxl_bandwidth_GBps", "run"
WARM_SECONDS = 1800.0  # of the first visitor's longest page, with kernels to compile on a busy computer
ANSWER_SECONDS = 180.0  # after which a page's longest answers are not waited for
SESSION_SECONDS = 120.0  # for which Streamlit keeps the session of a closed tab
FAULT = re.compile(r"^(Traceback .*|.*Uncaught app exec.*|.*\bERROR\b.*)$", re.MULTILINE)


@dataclass
class Report:
    """What a crowd has met.

    moves: seconds of each move by its kind and page. errors: what was shown, logged, closed or never drawn. opened: MiB of the
        server a session, once all have opened a page. kept: MiB that the server has more than before, once all sessions are gone:
        answers to the crowd's questions, of which its caches keep a number, and so more after more moves.
    """

    moves: dict[str, list[float]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    opened: float = 0.0
    kept: float = 0.0

    @property
    def p95(self):
        """Return the 95th percentile of all moves' seconds."""
        return quantiles([one for seconds in self.moves.values() for one in seconds], n=20)[-1]

    def __str__(self):
        """Return a line a kind of move, and one of all."""
        rows = [f"{kind:18} {len(own):5} moves, {sorted(own)[len(own) // 2]:6.2f} s in the middle, {max(own):6.2f} s at most"
                for kind, own in sorted(self.moves.items())]  # fmt: skip
        memory = f"{self.opened:.1f} MiB a session, {self.kept:.0f} MiB kept after all have left"
        return "\n".join(
            [*rows, f"95 % of moves within {self.p95:.2f} s; {memory}; {len(self.errors)} errors", *self.errors[:20]]
        )


@contextmanager
def serving():
    """Serve the explorer from a folder of its own; yields process, port and folder."""
    with TemporaryDirectory() as name, socket.socket() as probe:
        folder = Path(name)
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        command = [sys.executable, str(ROOT / "explorer.py"), "--port", str(port)]
        with open(folder / "server.log", "wb") as log:
            more = {"STREAMLIT_SERVER_HEADLESS": "true"}
            server = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env={**os.environ, **more})
        try:
            while not _answers(port):
                assert server.poll() is None, (folder / "server.log").read_text()
                time.sleep(0.1)
            yield server, port, folder
        finally:
            server.terminate()
            server.wait(20)
            store = folder / ".emberpool" / "store.sqlite"
            if store.exists() and is_owned(store):
                with suppress(ProcessLookupError):
                    os.kill(int(named_owner(store)[0]), signal.SIGTERM)


def _answers(port):
    with suppress(OSError):
        return urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=5).read() == b"ok"
    return False


def resident(server):
    """Return the MiB that a process keeps in memory."""
    return int(Path(f"/proc/{server.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MiB


@contextmanager
def sweeping(folder):
    """Sweep another seed's points into the store of a folder again and again."""
    script = 'for seed in $(seq 1 100000); do "$@" --set data.seed=$seed || exit 1; done'
    command = ["sh", "-c", script, "sh", sys.executable, "-m", "engine", *SWEEP]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with open(folder / "sweep.log", "wb") as log:
        sweep = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env=environment, start_new_session=True)
    try:
        yield
        assert sweep.poll() is None, (folder / "sweep.log").read_text()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(sweep.pid, signal.SIGTERM)
        sweep.wait(20)


class Visitor:
    """Moves about the pages at random, without a browser, and notes seconds and errors in the report."""

    def __init__(self, port, seed, report, patience):
        self._port, self._random, self._report, self._patience = port, Random(seed), report, patience
        self._client = Client(port, "design", patience, **LINKS[seed % len(LINKS)])

    def live(self, end, think):
        """Make a move each `think` seconds until the time is over."""
        kinds = {"page": self._page, "knob": self._knob, "switch": self._switch, "link": self._link, "leave": self._leave,
                 "sweep": self._sweep}  # fmt: skip
        self._client.think(self._random.uniform(0, think))
        while time.monotonic() < end:
            kind = self._random.choice([*kinds])
            try:
                seconds = kinds[kind]()
                self._report.moves.setdefault(f"{kind} {self._client.page}", []).append(seconds)
                self._client.think(think)
            except Exception as error:  # a closed socket, or a page that never comes
                self._report.errors.append(f"{kind}: {type(error).__name__} {error}")
                self._reopen()

    def _reopen(self, page="design", **query):
        self.close()
        self._client = Client(self._port, page, self._patience, **query)

    def _page(self):
        return self._client.move(page=self._random.choice([*PLACES]))

    def _knob(self):
        if BANDWIDTH not in self._client.widgets:
            self._client.move(page="design")
        return self._client.move(BANDWIDTH, ("string_value", f"{self._random.uniform(4, 64):.1f}"))

    def _switch(self):
        pages = self._random.sample([*PLACES], 3)
        for page in pages[:2]:
            self._client.send(page=page)
            self._client.think(self._random.uniform(0, 0.3))
        return self._client.move(page=pages[2])

    def _link(self):
        page = self._random.choice([*PLACES])
        self._reopen(page, **self._random.choice(LINKS))
        return self._client.first_seconds

    def _leave(self):
        self._client.send(page=self._random.choice(("evidence", "failures", "decide")))
        self._client.think(self._random.uniform(0, 2))
        return self._client.move(page="start")

    def _sweep(self):
        if RUN not in self._client.widgets:
            self._client.move(page="search")
        if RUN not in self._client.widgets:  # all points are done
            return self._client.move(page="runs")
        return self._client.move(RUN, ("trigger_value", True))

    def close(self):
        """Leave."""
        self._report.errors += self._client.errors
        self._client.errors = []
        self._client.close()


def crowd(visitors=20, seconds=600.0, think=5.0, patience=90.0):
    """Return the report of so many visitors, of whom one is a browser; after `patience` seconds a move never comes."""
    report = Report()
    with serving() as (server, port, folder), ThreadPoolExecutor(visitors) as threads:
        open_every_page(port, report)
        before = resident(server)
        guests = [*threads.map(lambda seed: Visitor(port, seed, report, patience), range(visitors - 1))]
        report.opened = (resident(server) - before) / len(guests)
        end = time.monotonic() + seconds
        with sweeping(folder):
            lives = [threads.submit(guest.live, end, think) for guest in guests]
            lives.append(threads.submit(BrowserVisitor(port, report, patience).live, end, think))
            for life in lives:
                life.result()
        for guest in guests:
            guest.close()
        time.sleep(SESSION_SECONDS + 5)
        Client(port, "runs").close()  # Streamlit lets go of old sessions when another one comes or goes
        time.sleep(1)
        report.kept = resident(server) - before
        report.errors += FAULT.findall((folder / "server.log").read_text(errors="replace"))
    return report


def open_every_page(port, report):
    """Draw every page of each link, with kernels compiled and the answers that it waits for: what all visitors share is there."""
    end = time.monotonic() + WARM_SECONDS
    for query in LINKS:
        guest = Client(port, "design", WARM_SECONDS, **query)
        while not all_compiled() and time.monotonic() < end:
            guest.think(1)
        for page in PLACES:
            guest.move(page=page)
            guest.think(1)
            answered = time.monotonic() + ANSWER_SECONDS
            while guest.timers and time.monotonic() < answered:
                guest.think(1)
        report.errors += guest.errors
        guest.close()


def main():
    """Print the report of a crowd."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--visitors", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--think", type=float, default=5)
    parser.add_argument("--patience", type=float, default=90)
    print(crowd(**vars(parser.parse_args())))


if __name__ == "__main__":
    main()
