"""P15: seconds from `make run` in a fresh clone to the first chart in a browser.

There are no caches; packages come from the registry.
"""

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from benchmarks.benchmark import Benchmark
from benchmarks.browser import ROOT, WINDOW, chromium, served

LIMIT_SECONDS, PORT, MOST_MS = 20.0, 8596, 600_000
CHART = "[data-testid=stVegaLiteChart] svg"


def run() -> tuple[float, float, bool]:
    """Return the seconds from `make run` to the first chart of Design, the limit, and success."""
    with TemporaryDirectory() as folder, chromium() as browser:
        clone, home = Path(folder) / "clone", Path(folder) / "home"
        home.mkdir()
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        page = browser.new_page(viewport=WINDOW)
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "UV_CACHE", "PIP_CACHE", "NUMBA"))
        }
        environment = {**kept, "HOME": str(home), "PORT": str(PORT), "PIP_NO_CACHE_DIR": "1", "UV_NO_CACHE": "1"}
        start = monotonic()
        with served(["make", "run"], clone, PORT, environment) as url:
            page.goto(f"{url}/design")
            page.locator(CHART).first.wait_for(timeout=MOST_MS)
            return monotonic() - start, LIMIT_SECONDS, True


BENCHMARK = Benchmark("P15", "fresh clone, `make run`, first chart", "its limit, 20 s", "playwright", 1, 20 / 15, run, "wall")
