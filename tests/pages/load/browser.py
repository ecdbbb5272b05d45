"""A visitor with a headless Chromium, who opens pages and moves a knob of Design."""

import os
import shutil
import time
from random import Random

from playwright.sync_api import sync_playwright

from pages.shell.places import PLACES

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ("--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync", "--disable-gpu")
READY = "[data-testid=stApp][data-test-connection-state=CONNECTED][data-test-script-state=notRunning]"
FIELD = ".st-key-knob-machine-cxl_bandwidth_GBps input"
# Notes when the page begins and ends to run.
WATCH = """() => {
  const app = document.querySelector('[data-testid=stApp]')
  window.runs = []
  new MutationObserver(() => window.runs.push(app.dataset.testScriptState))
    .observe(app, {attributes: true, attributeFilter: ['data-test-script-state']})
}"""
DRAWN = "() => window.runs.includes('running') && window.runs.at(-1) === 'notRunning'"


class BrowserVisitor:
    """Opens pages by the navigation, and moves a knob, in a real browser."""

    def __init__(self, port, report, patience):
        self._port, self._report, self._random, self._patience_ms = port, report, Random(port), patience * 1000

    def live(self, end, think):
        """Make a move each `think` seconds until the time is over."""
        flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=next(filter(None, map(shutil.which, NAMES))), args=flags)
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            page.on("pageerror", lambda error: self._report.errors.append(f"browser: {error}"))
            page.goto(f"http://127.0.0.1:{self._port}/design")
            page.wait_for_selector(READY, timeout=self._patience_ms)
            page.evaluate(WATCH)
            while time.monotonic() < end:
                try:
                    self._report.moves.setdefault("browser", []).append(self._move(page))
                    page.wait_for_timeout(think * 1000)
                except Exception as error:  # what the driver says of a page that never comes
                    self._report.errors.append(f"browser: {str(error).splitlines()[0]}")
                self._report.errors += [f"browser: {one}" for one in page.locator("[data-testid=stException]").all_inner_texts()]
            browser.close()

    def _move(self, page):
        """Open another page, or move the knob where there is one; returns the seconds."""
        page.evaluate("window.runs = []")
        start = time.monotonic()
        field = page.locator(FIELD)  # on other pages than Design it lies in the closed drawer
        if field.count() and field.is_visible() and self._random.random() < 0.5:
            field.fill(f"{self._random.uniform(4, 64):.1f}")
            field.press("Enter")
        else:
            here = page.url.rpartition("/")[2].partition("?")[0]
            other = self._random.choice([name for name in PLACES if name != here])
            page.get_by_role("link", name=other.capitalize(), exact=True).first.click()
        page.wait_for_function(DRAWN, timeout=self._patience_ms)
        return time.monotonic() - start
