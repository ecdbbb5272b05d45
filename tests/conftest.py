"""What all tests share: golden files, which cases and examples run, and where their examples come from."""

import difflib
import gc
import inspect
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import SystemRandom
from typing import Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from tests.cases import SELECTION, mentions
from tests.stamps import JOBS, Costs

FOLDER = Path(__file__).parent / "golden"
settings.register_profile("test", max_examples=30, deadline=None, derandomize=True, print_blob=True)
settings.register_profile("slow", deadline=None, max_examples=1000, print_blob=True, suppress_health_check=[HealthCheck.too_slow])


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the switches of `make golden`, `make slow`, `make test` and `make test-one`."""
    parser.addoption("--golden", action="store_true", help="rewrite the golden files instead of comparing with them")
    parser.addoption("--all", action="store_true", help="all cases of each test, and new examples, whose seed is printed")
    parser.addoption(
        "--job", choices=JOBS, help="only the test files of one job of `make slow`; a run of them all writes its stamp"
    )
    parser.addoption("--record", action="store_true", help="stamp a whole run of the tests of every day, with what is dear")
    parser.addoption("--about", metavar="NAME", help="only what concerns one system, device, fault, metric, knob, ...")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Read the switches before the first test module is imported."""
    SELECTION.all = config.getoption("--all")
    if SELECTION.all and config.getoption("hypothesis_seed") is None:
        inherited = getattr(config, "workerinput", {}).get("seed")
        config.option.hypothesis_seed = inherited or str(SystemRandom().randrange(10**9))
    SELECTION.seed = config.getoption("hypothesis_seed") or ""
    settings.load_profile("slow" if SELECTION.all else "test")
    if name := config.getoption("--about"):
        SELECTION.words, SELECTION.device = words_of_name(name)
    config.pluginmanager.register(Costs(config), "costs")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Hand a worker of xdist the seed, so that all draw the same."""
    node.workerinput["seed"] = SELECTION.seed


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Spare the collector what all modules hold: looking at it again and again takes a tenth of the time of the tests."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def words_of_name(name: str) -> tuple[frozenset[str], bool]:
    """Return the words that mean a name in tests, and whether it is a device's."""
    from engine.caches.policy import POLICIES
    from engine.core.catalog import summaries
    from engine.registry import CONSTANT_BY_KIND, TABLES, all_variants
    from engine.scenario.presets import preset_names
    from engine.scenario.scenario import KNOBS

    words_by_kind = {
        kind: {key: {key, getattr(variant, "name", key)} for key, variant in all_variants(kind).items()}
        for kind in (*CONSTANT_BY_KIND, *TABLES)
    }
    words_by_kind |= {
        "caches": {policy: {policy} for policy in POLICIES},
        "knobs": {path: {path} for path in KNOBS},
        "presets": {key: {key} for key in preset_names()},
        "parts": {name: {name, f"{kind}/{name}"} for kind, name, _, _ in summaries()},
    }
    for key, words in (member for members in words_by_kind.values() for member in members.items()):
        if name in words or name.replace("_", "-") == key:
            word = key.replace("-", "_")
            return frozenset({*words, word, f"{word}_at_seconds", f"faults.{word}_at_seconds"}), name in words_by_kind["devices"]
    names = sorted(word for members in words_by_kind.values() for words in members.values() for word in words)
    suggestion = difflib.get_close_matches(name, names, 1, 0.0)[0]
    raise pytest.UsageError(
        f"NAME={name} is no system, device, part, fault, metric, cache, knob or preset; did you mean {suggestion}?"
    )


def seed(config: pytest.Config) -> str:
    """Return the sentence that says how to draw the same examples again."""
    command = f"make {config.getoption('job') or 'slow'} SEED={config.getoption('hypothesis_seed')}"
    return f"Examples are new ones; to draw the same again: {command}"


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Say the seed before the first test."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")  # a worker has none
    if SELECTION.all and reporter:
        reporter.write_line(seed(session.config))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say the seed once more after the last."""
    if SELECTION.all:
        terminalreporter.write_line(seed(config))


def concerns(function: pytest.Function) -> bool:
    """Return whether a test concerns the name asked about: by its cases, or because its text names it."""
    test = getattr(function.obj, "test", function.obj)
    cases = [*getattr(function.obj, "cases", []), *([function.callspec.params] if hasattr(function, "callspec") else [])]
    if any(map(mentions, cases)):
        return True
    words = "|".join(map(re.escape, SELECTION.words))
    return re.search(rf'"({words})"', inspect.getsource(inspect.unwrap(test))) is not None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Function]) -> None:
    """Browser tests first: they wait more than they compute, and the longest must not be the last to begin."""
    items.sort(key=lambda function: "browser" not in function.path.parts)
    for function in items:
        if is_hypothesis_test(function.obj):
            function.add_marker("more")
    if SELECTION.words:
        deselected = [function for function in items if not concerns(function)]
        config.hook.pytest_deselected(items=deselected)
        items[:] = [function for function in items if function not in set(deselected)]


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return `compare(name, text)`, which fails unless the golden file `name` holds `text`."""

    def compare(name: str, text: str) -> None:
        path = FOLDER / name
        if request.config.getoption("--golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{path} is missing; write it with `make golden`"
        assert path.read_text(encoding="utf-8") == text, f"{path} differs; if that is intended, run `make golden`"

    return compare


@pytest.fixture(scope="session", autouse=True)
def unsynced() -> Iterator[str]:
    """Leave out the syncs of stores to the disk, two thirds of their time: only a power cut can tell. Return what is left out."""
    from engine.store import database

    with pytest.MonkeyPatch.context() as patch:
        usual = database.SYNCHRONOUS
        patch.setattr(database, "SYNCHRONOUS", "OFF")
        yield usual


@pytest.fixture(scope="module")
def synced(unsynced: str) -> Iterator[None]:
    """Sync stores to the disk as the engine does, for tests of what is durable."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("engine.store.database.SYNCHRONOUS", unsynced)
        yield


@pytest.fixture
def computed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let services compute in this process: a worker takes half a second to start."""
    from tests.service_fakes import computing_here

    computing_here(monkeypatch)


@pytest.fixture
def one_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Begin each search for a popularity law at one place: that the best of several is found has tests of its own."""
    from engine.insight.fitting import law

    monkeypatch.setattr(law, "STARTS", law.STARTS[:1])


@pytest.fixture
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the ranges of `enough` come from a few draws, where nothing but that they come is asked."""
    from engine.analysis.enough.bands import bands

    monkeypatch.setattr("engine.commands.enough.bands", partial(bands, samples=8))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Return where a store of its own is to be."""
    return tmp_path / "store.sqlite"


@pytest.fixture
def path(store: Path) -> Path:
    """Return the same, as tests of the store itself call it."""
    return store
