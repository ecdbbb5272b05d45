"""The explorer without a browser, by Streamlit's own test of apps: `opened` runs one page on a link."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import chdir
from functools import cache
from json import loads
from typing import Any

from streamlit import config
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import script_cache
from streamlit.testing.v1 import AppTest, app_test, local_script_runner

from engine.scenario import keys
from engine.scenario.scenario import Scenario
from engine.store import requests, status
from engine.store.database import DEFAULT
from engine.store.status import RequestStatus
from pages.answers import later
from pages.shell import places, warming
from pages.ui.page_link import script
from tests import ROOT

APP = ROOT / "app.py"
# Streamlit looks through every installed package for components whenever an app starts; here it does so once.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)
# Each run of an app would compile its scripts anew, a tenth of the time of a page.
app_test.ScriptCache = local_script_runner.ScriptCache = cache(script_cache.ScriptCache)  # type: ignore[attr-defined,assignment]


class WarmPages(PagesManager):
    """The pages of a server that has drawn its first page; on a cold one Streamlit runs each page twice."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        PagesManager.uses_pages_directory = False
        super().__init__(*arguments, **options)


def wait_for_page(runner: local_script_runner.LocalScriptRunner, timeout: float = 0) -> None:
    """Wait until a page is drawn; Streamlit looks a thousand times a second, until a deadline that other work can break."""
    runner.join()


app_test.MagicMock = cache(app_test.MagicMock)  # type: ignore[attr-defined,assignment]  # one server for all pages
app_test.PagesManager = WarmPages  # type: ignore[attr-defined]
local_script_runner.require_widgets_deltas = wait_for_page
with chdir(ROOT):  # tests of pages stand in folders of their own; the app is what its own configuration makes it
    config.get_config_options(force_reparse=True)
warming.all_compiled = lambda: True  # type: ignore[attr-defined]  # kernels that are missing are compiled where a test needs them


def found(find: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Return the future of an answer, which is known."""
    future: Future[Any] = Future()
    try:
        future.set_result(find(*arguments))
    except Exception as error:
        future.set_exception(error)
    return future


class AtOnce:
    """Finds what a page waits for while it asks."""

    def submit(self, find: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Return the future of an answer."""
        return found(find, *arguments)


class Unhurried:
    """Leaves what pages want found beside them until a test asks for it: most look at the page alone."""

    def __init__(self) -> None:
        self.left: list[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]] = []

    def submit(self, find: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Note one more answer to find."""
        self.left.append((Future(), find, arguments))
        return self.left[-1][0]

    def found(self) -> None:
        """Find all that is left, in order."""
        while self.left:
            future, find, arguments = self.left.pop(0)
            known = found(find, *arguments)
            if error := known.exception():
                future.set_exception(error)
            else:
                future.set_result(known.result())


# Answers are found and kept as for visitors, but in this process: workers of each process of tests would cost seconds.
ELSEWHERE, PAGE_POOL = later.run_in_worker, later._PAGE_POOL
later.run_in_worker = lambda find, *arguments: find(*arguments)
later._PAGE_POOL = AtOnce()  # type: ignore[assignment]
ANSWERS = later._SHORT_POOL = later._LONG_POOL = Unhurried()  # type: ignore[assignment]


def opened(page: str = "design", query: Mapping[str, str | list[str]] | None = None, **state: Any) -> AppTest:
    """Return a page after its first run on these parameters of a link, with some state of its session."""
    later._questions.clear()  # all sessions have one name here: what an earlier one has asked, nobody waits for any more
    app = AppTest.from_file(str(APP))
    app.query_params.update(query or {})
    for key, content in state.items():
        app.session_state[key] = content
    if page in places.OPEN_SECTIONS:  # an old page that is a section of a new one
        app.session_state[places.OPEN_SECTIONS[page]] = True
    place = places.NEW_PLACES.get(page, page)
    return (app if place == "start" else app.switch_page(script(place))).run()


def cancel_buttons(app: AppTest) -> list[Any]:
    """Return the buttons that cancel a request of a page; their keys end in its number."""
    return [button for button in app.button if str(button.key).startswith("cancel ")]


def run_status(scenario: Scenario) -> RequestStatus | None:
    """Return the status of the newest full run of a scenario, whoever owns it."""
    number = requests.newest_request(DEFAULT, [keys.key(scenario, "full")])
    return None if number is None else status.status(DEFAULT, number)


def download_keys(app: AppTest) -> list[str]:
    """Return the keys of a page's download buttons, in order; AppTest knows them by their ids alone."""
    return [button.proto.id.split("-", 2)[2] for button in app.get("download_button")]


def link(query: str) -> dict[str, list[str]]:
    """Return the parameters of a link's text; one may come several times."""
    pairs = [part.split("=", 1) for part in query.split("&")] if query else []
    return {key: [argument for name, argument in pairs if name == key] for key, _ in pairs}


def address(app: AppTest) -> list[tuple[str, str]]:
    """Return the parameters of the address bar, repeated ones apart."""
    parameters = app.query_params.items()
    return [
        (key, argument)
        for key, arguments in parameters
        for argument in (arguments if isinstance(arguments, list) else [arguments])
    ]


def text(elements: Iterable[Any]) -> str:
    """Return what elements of a page say, as one line without backslashes."""
    return " ".join(widget.value.replace("\\", "") for widget in elements)


def fields(spec: Any) -> set[str]:
    """Return every field that a chart's specification names, at any depth."""
    if isinstance(spec, list):
        return set().union(*map(fields, spec))
    if not isinstance(spec, dict):
        return set()
    names = {spec["field"]} if isinstance(spec.get("field"), str) else set()
    return names.union(*map(fields, spec.values()))


def chart_words(app: AppTest) -> dict[str, str]:
    """Return title and subtitle of each chart of a page, by its key."""
    metas = [loads(chart.proto.spec).get("usermeta", {}) for chart in app.get("vega_lite_chart")]
    return {meta["key"]: f"{meta['title']} {meta['subtitle']}" for meta in metas if meta}
