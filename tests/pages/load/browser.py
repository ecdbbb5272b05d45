"""A visitor with a headless Chromium, who opens pages and moves a knob of Design."""

import os
import shutil
import time
from random import Random
from urllib.parse import urlsplit

from playwright.sync_api import sync_playwright
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from pages.shell.places import PLACES
from tests.pages.load.client import NeverComes, PageRuns

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ("--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync", "--disable-gpu")
READY = "[data-testid=stApp][data-test-connection-state=CONNECTED][data-test-script-state=notRunning]"
LOOK_MS = 20
FIELD = ".st-key-knob-machine-cxl_bandwidth_GBps input"


class BrowserVisitor:
    """Opens pages by the navigation, and moves a knob, in a real browser."""

    def __init__(self, port, report, patience):
        self._port, self._report, self._random, self._patience_ms = port, report, Random(port), patience * 1000
        self._runs = PageRuns()

    def live(self, end, think):
        """Make a move each `think` seconds until the time is over."""
        with sync_playwright() as driver:
            browser, page = self.open(driver)
            while time.monotonic() < end:
                try:
                    self._report.moves.setdefault("browser", []).append(self.move(page))
                    page.wait_for_timeout(think * 1000)
                except Exception as error:  # what the driver says of a page that never comes
                    self._report.errors.append(f"browser: {str(error).splitlines()[0]}")
                self._report.errors += [f"browser: {one}" for one in page.locator("[data-testid=stException]").all_inner_texts()]
            browser.close()

    def open(self, driver):
        """Return a browser and its page Design."""
        flags = [*FLAGS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        browser = driver.chromium.launch(executable_path=next(filter(None, map(shutil.which, NAMES))), args=flags)
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.on("pageerror", lambda error: self._report.errors.append(f"browser: {error}"))
        page.on("websocket", lambda socket: socket.on("framereceived", self._note))
        page.goto(f"http://127.0.0.1:{self._port}/design")
        page.wait_for_selector(READY, timeout=self._patience_ms)
        return browser, page

    def _note(self, content):
        """Note a message: a short run may not show on the page, as browsers draw several messages at once."""
        self._runs.note(ForwardMsg.FromString(content))

    def move(self, page):
        """Open another page, or move the knob where there is one; returns the seconds."""
        self._runs.forget()
        start, place = time.monotonic(), urlsplit(page.url).path.strip("/")
        field = page.locator(FIELD)  # on other pages than Design it lies in the closed drawer
        if field.count() and field.is_visible() and self._random.random() < 0.5:
            field.fill(f"{self._random.uniform(4, 64):.3f}")  # the same text again would ask for nothing
            field.press("Enter")
        else:
            place = self._random.choice([name for name in PLACES if name != place])
            page.get_by_role("link", name=place.capitalize(), exact=True).first.click()
        while not self._runs.has_drawn(place):
            if (time.monotonic() - start) * 1000 > self._patience_ms:
                raise NeverComes(f"{place} is not drawn after {self._patience_ms / 1000:.0f} s")
            page.wait_for_timeout(LOOK_MS)
        page.evaluate("() => new Promise(requestAnimationFrame)")
        page.wait_for_selector(READY, timeout=self._patience_ms)
        return time.monotonic() - start
