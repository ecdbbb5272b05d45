"""P16: seconds from moving a knob in a real browser until the last visible chart has changed.

Charts that show the machine's own results count. Ranges and the smallest machine are computed in other processes and follow
later; they do not count.
"""

import sys
from math import inf
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.benchmark import Benchmark
from benchmarks.browser import ROOT, WINDOW, chromium, served

PRESETS, MOVES, STOPS_FURTHER = ("cxl-memory", "dlrm-terabyte", "dlrm-v4-cxl"), 10, 3  # both sliders act there
LIMIT_SECONDS, SETTLED_MS, START_MS, PORT = 0.25, 4_000, 180_000, 8597
SLIDERS = [f".st-key-strip-machine-{knob} [role=group] > div" for knob in ("cxl_bandwidth_GBps", "pmem_capacity_GB")]
# When the pointer went up, when visible charts had been painted anew, and when the page began and ended to run.
WATCH = """() => {
  const app = document.querySelector('[data-testid=stApp]'), seen = window.seen = {up: 0, painted: [], states: []}
  const chart = node => (node.nodeType === 1 ? node : node.parentElement)?.closest('[data-testid=stVegaLiteChart]')
  document.addEventListener('pointerup', () => Object.assign(seen, {up: performance.now(), painted: [], states: []}), true)
  new MutationObserver(() => seen.states.push([app.dataset.testScriptState, performance.now()]))
    .observe(app, {attributes: true, attributeFilter: ['data-test-script-state']})
  const visible = one => chart(one.target)?.getBoundingClientRect().top < innerHeight
  new MutationObserver(changes => changes.some(visible)
    && requestAnimationFrame(() => setTimeout(() => seen.painted.push(performance.now()))))
    .observe(app, {subtree: true, childList: true, attributes: true, characterData: true})
}"""


def run() -> tuple[float, float, bool]:
    """Return the 95th percentile of all moves, the limit, and whether all charts changed.

    Both times are in seconds.
    """
    every = [seconds for found in moves().values() for seconds in found]
    return quantiles(every, n=20)[-1], LIMIT_SECONDS, max(every) < inf


def moves() -> dict[str, list[float]]:
    """Return the seconds of each move by preset, with a single visitor of a warm server."""
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py"), "--server.port", str(PORT)]
    with TemporaryDirectory() as folder, chromium() as browser:
        (Path(folder) / ".streamlit").symlink_to(ROOT / ".streamlit")
        with served([*command, "--server.headless", "true"], Path(folder), PORT) as url:
            return {preset: _moved(browser, f"{url}/design?preset={preset}") for preset in PRESETS}


def _moved(browser: Any, url: str) -> list[float]:
    """Move two knobs in turn by the pointer, to machines not seen before; return the seconds of each move."""
    page = browser.new_page(viewport=WINDOW)
    page.goto(url)
    for slider in SLIDERS:
        page.locator(slider).wait_for(timeout=START_MS)
    page.wait_for_timeout(2 * SETTLED_MS)
    page.evaluate(WATCH)
    found = []
    for move in range(MOVES):
        slider = page.locator(SLIDERS[move % 2])
        box, at = slider.bounding_box(), slider.locator("input")
        now, last = int(at.get_attribute("value")), int(at.get_attribute("max"))
        place = (now + STOPS_FURTHER) % (last + 1) / last
        page.mouse.click(box["x"] + place * (box["width"] - 1), box["y"] + box["height"] / 2)
        page.wait_for_timeout(SETTLED_MS)
        found.append(_seconds(page.evaluate("window.seen")))
    page.close()
    return found


def _seconds(seen: dict[str, Any]) -> float:
    """Return how long after the pointer went up the last chart was painted that the page's first run drew.

    What may end before that run begins is a timer's, which was under way.
    """
    began = min((at for state, at in seen["states"] if state == "running"), default=inf)
    ended = min((at for state, at in seen["states"] if state == "notRunning" and at > began), default=inf)
    again = min((at for state, at in seen["states"] if state == "running" and at > ended), default=inf)
    return float(max((at for at in seen["painted"] if at < again), default=inf) - seen["up"]) / 1e3


BENCHMARK = Benchmark(
    "P16", "a knob to its charts, 95th percentile", "its limit, 0.25 s", "playwright", 1, 0.25 / 0.15, run, "wall"
)
