"""Has every test file one job of `make slow`, does a whole run stamp its job, and does `make check` name what is open?"""

import json
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests import ROOT, house, stamps
from tests.cases import SELECTION, draw, sampled_cases
from tests.stamps import DAILY, DAILY_MARKS, DEAR_SECONDS, JOBS, MOST_COMMITS, STAMPS, Job, open_jobs

COMMITS = MOST_COMMITS + 2  # of the history below: the first is stamped, each changes the engine
STORE = {"slow-store": Job(("tests/store",), ("engine",))}
GREEN = {"failed": 0, "passed": 3, "processor_seconds": 9, "seed": "1", "wall_seconds": 5}
SUITE = {
    "pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["tests"]\nmarkers = ["slow", "more"]\n',
    "tests/conftest.py": """
import pathlib
from tests.stamps import Costs

def pytest_addoption(parser):
    parser.addoption("--job")
    parser.addoption("--all", action="store_true")

def pytest_configure(config):
    config.pluginmanager.register(Costs(config, pathlib.Path(__file__).parent.parent))
""",
    "tests/pages/test_of_another_job.py": "raise ImportError\n",
    "tests/store/test_store.py": """
import pytest, time

def busy():
    end = time.process_time() + 0.6
    while time.process_time() < end:
        pass

@pytest.mark.slow
def test_slow():
    busy()

@pytest.mark.more
def test_more():
    busy()

def test_of_every_day():
    assert False
""",
}


def git(root: Path, *arguments: str, text: str = "") -> str:
    """Return what git prints in a repository of the test."""
    author = ("-c", "user.name=a", "-c", "user.email=a@b.example")
    return subprocess.run(
        ["git", "-C", str(root), *author, *arguments], input=text, capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Return a repository of COMMITS commits, and these from the first to the last."""
    root = tmp_path_factory.mktemp("history")
    git(root, "init", "-q", "-b", "main")
    lines = []
    for number in range(COMMITS):
        lines += [f"commit refs/heads/main\ncommitter a <a@b.example> {number} +0000\ndata 1\nc\nM 100644 inline engine/n"]
        lines += [f"data {len(str(number))}\n{number}\n"]
    git(root, "fast-import", "--quiet", text="\n".join(lines))
    git(root, "checkout", "-q", "main")
    (root / "tests").mkdir()
    return root, git(root, "rev-list", "--reverse", "main").split()


def stamped(root: Path, stamp: dict[str, object] | None) -> list[str]:
    """Return what is open in a repository with one stamp of slow-store."""
    (root / STAMPS).write_text(json.dumps({"slow-store": stamp} if stamp else {}), encoding="utf-8")
    return open_jobs(root, STORE)


def test_every_test_file_has_one_job_and_every_source_is_covered() -> None:
    places = [place for job in JOBS.values() for place in job.tests]
    assert len(places) == len(set(places))
    assert [path for job in JOBS.values() for path in (*job.tests, *job.covers) if not (ROOT / path).exists()] == []
    slow = [path.as_posix() for path in house.files("tests") if "mark.slow" in house.text(path) or "@each" in house.text(path)]
    assert {stamps.job_of(path) for path in slow} == set(JOBS)
    assert {"engine", "pages", "app.py", "explorer.py"} <= {path for job in JOBS.values() for path in job.covers}


def test_the_file_that_is_named_goes_before_its_folder_and_the_nearest_folder_before_the_next() -> None:
    assert stamps.job_of("tests/store/test_store.py") == "slow-store"
    assert stamps.job_of("tests/service/test_dask.py") == "slow-oracles"
    assert stamps.job_of("tests/training/histories/test_history_runs.py") == "slow-training"
    assert stamps.job_of("tests/a_new_room/test_rule.py") == "slow-engine"


def test_make_slow_runs_each_job_and_each_is_a_target() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f"\nJOBS := {' '.join(JOBS)}\n" in makefile
    assert all(f"\n{name}: # " in makefile for name in JOBS)


def test_the_stamps_are_of_jobs_and_sorted() -> None:
    text = (ROOT / STAMPS).read_text(encoding="utf-8")
    assert json.loads(text).keys() <= {*JOBS, DAILY}
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True) + "\n"


def test_each_dear_test_of_every_day_has_a_reason_and_no_other() -> None:
    reasons = tomllib.loads((ROOT / "tests" / "dear.toml").read_text(encoding="utf-8"))
    dear = stamps.stamps(ROOT).get(DAILY, {"dear": {}})["dear"]
    assert dear.keys() == reasons.keys(), (
        f"make each cheaper than {DEAR_SECONDS} s, or say in tests/dear.toml what it is dear for"
    )
    for path, name in (identity.split("[")[0].split("::") for identity in reasons):
        assert f"def {name}(" in house.text(Path(path))


def test_a_missing_a_red_and_an_old_stamp_are_named_with_what_to_run(history: tuple[Path, list[str]]) -> None:
    root, (first, second, *_, last) = history
    remedy = f"; run `make slow-store` and commit {STAMPS}."
    assert stamped(root, None) == [f"slow-store has no stamp{remedy}"]
    assert stamped(root, GREEN | {"commit": last}) == stamped(root, GREEN | {"commit": second}) == []
    assert stamped(root, GREEN | {"commit": last, "failed": 1}) == [
        f"slow-store failed 1 of 4 tests at commit {last[:8]}{remedy}"
    ]
    old = f"slow-store passed {MOST_COMMITS + 1} commits before the latest change of what it covers{remedy}"
    assert stamped(root, GREEN | {"commit": first}) == [old]
    assert stamped(root, GREEN | {"commit": "0" * 40}) == [
        f"slow-store passed at commit 00000000, which this history does not have{remedy}"
    ]


def test_changes_of_what_a_job_does_not_cover_never_make_its_stamp_old(history: tuple[Path, list[str]]) -> None:
    root, (first, *_) = history
    (root / STAMPS).write_text(json.dumps({"slow-pages": GREEN | {"commit": first}}), encoding="utf-8")
    assert open_jobs(root, {"slow-pages": Job(("tests/pages",), ("pages",))}) == []


def test_nothing_is_said_without_the_whole_history(
    history: tuple[Path, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, _ = history
    shallow = tmp_path / "shallow"
    git(root, "clone", "-q", "--depth", "1", f"file://{root}", str(shallow))
    unpacked = root / "unpacked"  # inside the checkout of something else
    unpacked.mkdir()
    assert [open_jobs(place, STORE) for place in (shallow, unpacked, tmp_path)] == [[], [], []]
    monkeypatch.setenv("PATH", str(tmp_path))
    assert open_jobs(root, STORE) == []


def test_a_stamp_takes_the_place_of_its_jobs_last_one_only(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    for name, seed in (("slow-store", "1"), ("slow-engine", "2"), ("slow-store", "3")):
        stamps.write_stamp(tmp_path, name, {"seed": seed})
    assert list(stamps.stamps(tmp_path).items()) == [("slow-engine", {"seed": "2"}), ("slow-store", {"seed": "3"})]


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Return a checkout with tests of two jobs, those of slow-store green."""
    for name, text in SUITE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    return tmp_path


def commit(root: Path) -> None:
    """Commit all that a checkout has, but for its stamps."""
    git(root, "add", "--", ".", f":!{STAMPS}")
    git(root, "commit", "-q", "-m", "c")


def configuration(args_source: str = "TESTPATHS", **switches: object) -> SimpleNamespace:
    """Return what pytest is asked for by a job, and other switches."""
    source = pytest.Config.ArgsSource[args_source]
    option = {"job": "slow-store", "all": True, "markexpr": stamps.MARKS, "keyword": "", "hypothesis_seed": "7"} | switches
    return SimpleNamespace(option=SimpleNamespace(**option), getoption=option.get, args_source=source)


def run(
    root: Path, exit_status: int, *outcomes: str, seconds: Sequence[float] = (), **switches: object
) -> dict[str, object] | None:
    """Return the stamp that a run of slow-store leaves, whose tests have these outcomes, and take so long in each phase."""
    costs = stamps.Costs(configuration(**switches), root)
    costs.pytest_sessionstart()
    for number, outcome in enumerate(outcomes):
        for when in ("setup", "call", "teardown"):
            phase, cost = outcome if when == "call" else "passed", seconds[number] if seconds else 0.0
            place = f"a.py::test_{number}", ("a.py", 1, "")
            costs.pytest_runtest_logreport(pytest.TestReport(*place, {}, phase, None, when, processor_seconds=cost))
    assert list(costs.pytest_sessionfinish(exit_status)) == [None]
    return stamps.stamps(root).get("slow-store")


def test_a_failure_makes_a_stamp_red_even_of_a_run_that_was_broken_off(suite: Path) -> None:
    assert run(suite, 2, "passed") is None
    assert run(suite, 0) is None  # tests that are only collected prove nothing
    stamp = run(suite, 1, "passed", "failed", "passed", "skipped")
    assert stamp and (stamp["passed"], stamp["failed"]) == (2, 1)
    stamp = run(suite, 2, "failed")
    assert stamp and (stamp["passed"], stamp["failed"]) == (0, 1)
    stamp = run(suite, 0, "passed")
    assert stamp and (stamp["passed"], stamp["failed"]) == (1, 0)


@pytest.mark.parametrize(
    "switches", [{"keyword": "x"}, {"markexpr": "slow"}, {"all": False}, {"lf": True}, {"args_source": "ARGS"}], ids=str
)
def test_a_run_of_some_tests_writes_no_stamp(suite: Path, switches: dict[str, object]) -> None:
    assert run(suite, 0, "passed", **switches) is None


def test_a_run_on_changes_that_are_not_committed_writes_no_stamp_but_another_stamp_is_no_change(suite: Path) -> None:
    stamps.write_stamp(suite, "slow-engine", {"seed": "1"})
    git(suite, "add", STAMPS)
    git(suite, "commit", "-q", "-m", "c")
    stamps.write_stamp(suite, "slow-engine", {"seed": "2"})
    assert run(suite, 0, "passed")
    stamps.write_stamp(suite, "slow-store", {})
    (suite / "pyproject.toml").write_text("", encoding="utf-8")
    assert run(suite, 0, "passed") == {}


def test_a_run_that_records_stamps_the_daily_tests_with_what_the_dear_ones_cost(suite: Path) -> None:
    daily = {"job": None, "record": True, "all": False, "markexpr": DAILY_MARKS}
    assert run(suite, 0, "passed", **daily, keyword="x") is run(suite, 0, "passed", **{**daily, "all": True}) is None
    assert DAILY not in stamps.stamps(suite)
    assert run(suite, 0, "passed", "passed", **daily, seconds=(0.4 * DEAR_SECONDS, 0.3 * DEAR_SECONDS)) is None
    stamp = stamps.stamps(suite)[DAILY]
    assert stamp["passed"] == 2 and stamp["dear"] == {"a.py::test_0": 1.2 * DEAR_SECONDS}


def test_a_run_of_more_than_ten_files_names_the_ten_dearest(suite: Path) -> None:
    costs = stamps.Costs(configuration(), suite)
    lines: list[str] = []
    reporter = SimpleNamespace(write_line=lines.append)
    for number in range(10):
        report = pytest.TestReport(f"{number}.py::test", ("", 1, ""), {}, "passed", None, "call", processor_seconds=1.0 + number)
        costs.pytest_runtest_logreport(report)
    costs.pytest_terminal_summary(reporter)
    assert lines == []
    costs.pytest_runtest_logreport(pytest.TestReport("10.py::test", ("", 1, ""), {}, "passed", None, "call"))
    costs.pytest_terminal_summary(reporter)
    assert len(lines) == 11 and lines[1].split() == ["10.0", "9.py"] and lines[-1].split() == ["1.0", "0.py"]


def job(root: Path, *switches: str) -> None:
    """Run the job slow-store as `make` does."""
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    command = [sys.executable, "-B", "-c", code, str(ROOT), "--job", "slow-store", "--all", "-m", stamps.MARKS]
    subprocess.run([*command, "--hypothesis-seed=7", *switches], cwd=root, capture_output=True)


@pytest.mark.slow
def test_a_file_that_cannot_be_imported_makes_the_stamp_red(suite: Path) -> None:
    (suite / "tests/store/test_store.py").write_text("raise ImportError\n", encoding="utf-8")
    commit(suite)
    job(suite, "-n", "1")
    stamp = stamps.stamps(suite)["slow-store"]
    assert (stamp["passed"], stamp["failed"]) == (0, 1)


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_whole_run_writes_its_stamp_with_the_seconds_of_its_workers(suite: Path, workers: str) -> None:
    job(suite, "-n", workers)
    stamp = stamps.stamps(suite)["slow-store"]
    assert stamp["commit"] == git(suite, "rev-parse", "HEAD").strip()
    assert (stamp["passed"], stamp["failed"], stamp["seed"]) == (2, 0, "7")
    assert stamp["processor_seconds"] >= 1 and stamp["wall_seconds"] >= 1
    assert set(stamp) == {"commit", "failed", "passed", "processor_seconds", "seed", "wall_seconds"}


def test_slow_jobs_draw_the_same_again_with_their_seed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [{"number": number} for number in range(300)]
    monkeypatch.setattr(SELECTION, "all", True)
    monkeypatch.setattr(SELECTION, "words", frozenset())
    drawn_by_seed = {}
    for seed in "121":
        monkeypatch.setattr(SELECTION, "seed", seed)
        drawn = draw(range(300), 40), draw(range(300), 40, "another test"), sampled_cases(cases, 2, 40)
        assert drawn_by_seed.setdefault(seed, drawn) == drawn
        assert [len(set(map(str, values))) for values in drawn] == [40, 40, 40] and drawn[0] == sorted(drawn[0]) != drawn[1]
    assert drawn_by_seed["1"] != drawn_by_seed["2"]
    assert draw("ab", 3) == ["a", "b"] and sampled_cases(cases, 2) == cases
