"""The explorer served from a separate folder, and the system's Chromium to open it."""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import Any
from urllib.request import urlopen

ROOT = Path(__file__).parents[1]
CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync"]
WINDOW = {"width": 1400, "height": 900}


@contextmanager
def chromium() -> Iterator[Any]:
    """Yield a new browser; it is closed at the end of the block."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def served(command: Sequence[str], folder: Path, port: int, environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """Run a command that serves the explorer at `port`; yield the address once it answers.

    All processes of the command are ended with the block.
    """
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    server = subprocess.Popen(command, cwd=folder, env=environment and dict(environment), **quiet)
    url = f"http://127.0.0.1:{port}"
    try:
        while not _answers(url):
            if server.poll() is not None:
                raise RuntimeError(f"{' '.join(command)} ended with {server.returncode} before it served anything.")
            sleep(0.1)
        yield url
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()


def _answers(url: str) -> bool:
    try:
        return bool(urlopen(f"{url}/_stcore/health", timeout=1).read() == b"ok")
    except OSError:
        return False
