"""A real server and a real browser, each started once for all browser tests, and ended before the other tests."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from engine.service import kernels
from engine.store.owner import is_owned, named_owner
from pages.gate import access
from tests import HANG_SECONDS, ROOT

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = (
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-gpu",
)
WINDOWS = [("dark", 420), ("dark", 1400), ("light", 420)]  # the narrow dark one breaks first
WAIT_MS = 1000 * HANG_SECONDS
expect.set_options(timeout=WAIT_MS)
TOKEN = "the-token-of-browser-tests"
READY = "[data-testid=stApp][data-test-connection-state=CONNECTED][data-test-script-state=notRunning]"


def pytest_collection_modifyitems(items):
    """Mark all tests of this folder as browser tests."""
    for test in items:
        if Path(__file__).parent in test.path.parents:
            test.add_marker("browser")


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _answers(url):
    try:
        return urlopen(f"{url}/_stcore/health", timeout=HANG_SECONDS).read() == b"ok"
    except OSError:
        return False


def _stop_owner(folder):
    """End the background service of this folder's store: it would wait for work beside all later tests."""
    store = folder / ".emberpool" / "store.sqlite"
    if store.exists() and is_owned(store):
        os.kill(int(named_owner(store)[0]), signal.SIGTERM)


@pytest.fixture(scope="package")
def start_server(tmp_path_factory):
    """Return a function that starts a fresh server, once all kernels are there, and returns its address."""
    started = []
    if not kernels.all_compiled():
        subprocess.run([sys.executable, str(ROOT / "scripts" / "compile.py")], stdout=subprocess.DEVNULL, check=True)

    def start(*options):
        folder, port = tmp_path_factory.mktemp("server"), _free_port()
        command = [sys.executable, str(ROOT / "explorer.py"), "--port", str(port), *options]
        environment = {**os.environ, access.VARIABLE: TOKEN, "STREAMLIT_SERVER_HEADLESS": "true"}
        with open(folder / "server.log", "wb") as log:
            server = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env=environment)
        started.append((server, folder))
        url, deadline = f"http://127.0.0.1:{port}", time.monotonic() + HANG_SECONDS
        while not _answers(url):
            assert server.poll() is None and time.monotonic() < deadline, (folder / "server.log").read_text()
            time.sleep(0.1)
        return url

    yield start
    for server, folder in started:
        server.terminate()
        server.wait(HANG_SECONDS)
        _stop_owner(folder)


@pytest.fixture(scope="package")
def server(start_server):
    """Return the address of the server that most tests share."""
    return start_server()


@pytest.fixture(scope="package")
def chromium():
    """Return the system's Chromium; a machine without one fails, it never skips."""
    executable = next(filter(None, map(shutil.which, NAMES)), None)
    if executable is None:
        pytest.fail("There is no Chromium for the browser tests; run scripts/chromium.sh, or make test.")
    flags = [*QUIET, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=flags)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium):
    """Return `visit(url, **context)`, which opens a page as a new visitor and waits until it has been drawn."""
    contexts = []

    def go(url, **options) -> Page:
        context = chromium.new_context(**{"viewport": {"width": 1400, "height": 1000}, "reduced_motion": "reduce", **options})
        context.set_default_timeout(WAIT_MS)
        contexts.append(context)
        page = context.new_page()
        page.outside = []
        page.on("request", lambda request: page.outside.append(request.url) if _is_outside(request.url) else None)
        page.goto(url)
        page.wait_for_selector(READY)
        return page

    yield go
    for context in contexts:
        context.close()


def _is_outside(url):
    return not url.startswith(("http://127.0.0.1", "ws://127.0.0.1", "data:", "blob:"))


def assert_fits(page, scheme):
    """Check that a page has the background of its colour scheme and needs no scrolling sideways."""
    background = page.evaluate("getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor")
    assert (max(map(int, re.findall(r"\d+", background)[:3])) < 64) == (scheme == "dark")
    main = "document.querySelector('[data-testid=stMain]')"
    assert page.evaluate(f"{main}.scrollWidth - {main}.clientWidth") <= 1
