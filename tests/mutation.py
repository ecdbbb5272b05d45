"""Mutation score: which small wrong changes of the engine, drawn by a seed, does the first tier of tests notice?

`--measure` notes which test files call which functions, once; a mutant is then shown to the files that run its place,
quickest first, until one fails. Without a failure within the seconds that a mutant may take it has survived.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT
from tests.mutants import Place, draw, mutate, places

UNRUN = {"test_house.py", "test_typed.py", "test_acceptance.py"}  # they judge the text of files, not what it does
FIRST_TIER = "not slow and not browser"


def related(tree: Path, place: Place, measurements: dict[str, Any]) -> list[str]:
    """Return the test files that run a place, those first that are quick and do little else.

    Compiled kernels and constants are not seen to run: they count with their file, or else with the files that name them.
    """
    name = re.split(r"[./]", place.name.split("@")[0])[-1]
    function = f"{place.path}:{place.name.split('@')[0].replace('/', '.<locals>.')}"
    exact = {test for test, measurement in measurements.items() if function in measurement["calls"]}
    word = re.compile(rf"\b{re.escape(name)}\b")
    naming = {str(p.relative_to(tree)) for p in (tree / "engine").rglob("*.py") if word.search(p.read_text(encoding="utf-8"))}
    for files in ({place.path}, naming):
        calls = {
            test: sum(call.split(":")[0] in files for call in measurement["calls"]) for test, measurement in measurements.items()
        }
        if any(calls.values()):
            break
    cost = {
        test: float(measurement["seconds"]) * len(measurement["calls"]) / calls[test]
        for test, measurement in measurements.items()
        if calls[test]
    }
    return sorted((test for test in cost if test in exact or not exact), key=cost.__getitem__)


def files_of_tests(tree: Path) -> list[str]:
    """Return the test files that mutants are shown to, in whatever folder; none drives a browser."""
    paths = (path.relative_to(tree) for path in (tree / "tests").rglob("test_*.py") if path.name not in UNRUN)
    return sorted(str(path) for path in paths if "browser" not in path.parts)


def noted(tree: Path, path: Path) -> dict[str, Any]:
    """Return what was measured, by where each test file lies today: one that has moved is known by its name."""
    measurements: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    by_name = {Path(test).name: measurement for test, measurement in measurements.items()}
    current = {test: measurements.get(test) or by_name.get(Path(test).name) for test in files_of_tests(tree)}
    return {test: measurement for test, measurement in current.items() if measurement}


def measure(tree: Path, path: Path) -> None:
    """Run the first tier once, and note of each test file its seconds and the functions of the engine that it calls."""
    notes = path.with_suffix(".notes")
    shutil.rmtree(notes, ignore_errors=True)
    notes.mkdir(parents=True)
    command = [sys.executable, "-m", "pytest", "-m", FIRST_TIER, "-p", "tests.mutation", "-n", "auto", "--dist", "loadfile"]
    subprocess.run(command, cwd=tree, env=os.environ | {"MUTATION_NOTES": str(notes.resolve())})
    measurements: dict[str, Any] = {}
    for line in (line for file in sorted(notes.iterdir()) for line in file.read_text().splitlines()):
        test, seconds, *calls = json.loads(line)
        measurement = measurements.setdefault(test, {"seconds": 0.0, "calls": []})
        measurement["seconds"] = round(measurement["seconds"] + seconds, 1)
        measurement["calls"] = sorted({*measurement["calls"], *calls})
    path.write_text(json.dumps(measurements, indent=0))


class Notes:
    """A plugin of pytest that notes each function of the engine that a test file calls, without following its lines."""

    def __init__(self, path: Path) -> None:
        self.path, self.root = path, f"{Path.cwd()}{os.sep}"
        self.calls: set[Any] = set()  # of the file that runs
        self.file, self.start = "", 0.0

    def trace(self, frame: Any, event: str, arg: Any) -> None:
        """Note what is called."""
        self.calls.add(frame.f_code)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Follow this thread and those that it starts; write down a file's calls when the next one begins."""
        threading.settrace(self.trace)
        sys.settrace(self.trace)  # for each test anew: some tests, and hypothesis, set it themselves
        if (file := nodeid.split("::")[0]) != self.file:
            self.write()
            self.file, self.start = file, time.monotonic()
            self.calls.clear()

    def write(self) -> None:
        """Add a line: the file, its seconds, its calls."""
        codes = (code for code in self.calls.copy() if code.co_filename.startswith(f"{self.root}engine"))
        names = sorted({f"{code.co_filename.removeprefix(self.root)}:{code.co_qualname}" for code in codes})
        if self.file:
            with self.path.open("a") as lines:
                lines.write(json.dumps([self.file, round(time.monotonic() - self.start, 2), *names]) + "\n")

    def pytest_sessionfinish(self) -> None:
        """Write down the last file's calls."""
        sys.settrace(None)
        self.write()


def pytest_configure(config: pytest.Config) -> None:
    """Note calls where tests run: in each worker."""
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(Notes(Path(os.environ["MUTATION_NOTES"]) / str(os.getpid())))


def _pytest(tree: Path, arguments: list[str], limit: float) -> str:
    """Run pytest in a checkout; return "" if all passed, else the first failing test, or "time" past the limit."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", FIRST_TIER, *arguments]
    with subprocess.Popen(command, cwd=tree, stdout=-1, stderr=-2, text=True, start_new_session=True) as run:
        try:
            output = run.communicate(timeout=limit)[0]
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, 9)
            return "time"
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.M)
    return "" if run.returncode in (0, 5) else failed[1] if failed else "before any test"


def judge(
    tree: Path, place: Place, mutant: str, measurements: dict[str, Any], budget: float, chosen_tests: list[str] | None
) -> dict[str, Any]:
    """Show one mutant, in a copy of the checkout, to the test files that run it, and return what became of it."""
    _, operator, ordinal = mutant.rsplit(":", 2)
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        checkout = Path(folder) / "checkout"
        shutil.copytree(tree, checkout, ignore=shutil.ignore_patterns(".git", ".venv", ".emberpool", ".hypothesis"))
        change = mutate(checkout, place, operator, int(ordinal))
        tests, began, verdict = chosen_tests or related(tree, place, measurements), time.monotonic(), ""
        while tests and not verdict and time.monotonic() - began < budget:
            portion, tests = tests[:4], tests[4:]
            expected = sum(float(measurements.get(test, {"seconds": 60})["seconds"]) for test in portion)
            verdict = _pytest(checkout, portion, 3 * expected + 120)
    fate = "timed out" if verdict == "time" else "killed" if verdict else "survived"
    seconds = round(time.monotonic() - began)
    return {"mutant": mutant, "fate": fate, "by": verdict, "seconds": seconds, "unasked": len(tests), "change": change}


def report(results: list[dict[str, Any]]) -> str:
    """Return a table of what became of the mutants, survivors last, and the score."""
    rows = sorted(results, key=lambda result: (result["fate"] == "survived", result["mutant"]))
    lines = [f"{result['fate']:9}  {result['mutant']:60}  {result['by'] or result['change']}" for result in rows]
    dead = sum(result["fate"] != "survived" for result in results)
    return "\n".join([*lines, f"{dead} of {len(results)} killed, {100 * dead / max(1, len(results)):.0f} %"])


def main() -> None:
    """Draw mutants and report what becomes of them."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--list", action="store_true", help="only print the mutants' names")
    parser.add_argument("--tree", type=Path, default=ROOT, help="the checkout to mutate")
    parser.add_argument("--other", type=Path, help="a second checkout: draw only what both have")
    parser.add_argument("--mutants", type=Path, help="a file of mutants' names, one a line, in place of a draw")
    parser.add_argument("--tests", nargs="+", help="test files, in place of those that run the mutant's place")
    parser.add_argument("--budget", type=float, default=300, help="seconds after which no further test file is begun")
    parser.add_argument("--measure", action="store_true", help="first note what each test file calls")
    parser.add_argument("--calls", type=Path, default=Path("build/mutation-calls.json"), help="where that is noted")
    parser.add_argument("--out", type=Path, default=Path("build/mutation.json"), help="where results are written")
    a = parser.parse_args()
    a.calls.parent.mkdir(exist_ok=True)
    if a.measure:
        measure(a.tree, a.calls)
    place_by_name = places(a.tree)
    trees = [place_by_name, *([places(a.other)] if a.other else [])]
    names = a.mutants.read_text().splitlines() if a.mutants else draw(trees, a.seed, a.count)
    if a.list:
        print("\n".join(names))
        return
    measurements = noted(a.tree, a.calls)
    results = []
    for name in names:
        results.append(judge(a.tree, place_by_name[name.rsplit(":", 2)[0]], name, measurements, a.budget, a.tests))
        print(f"{results[-1]['fate']:9}  {name}  {results[-1]['by']}  {results[-1]['seconds']} s", flush=True)
        a.out.write_text(json.dumps({"seed": a.seed, "mutants": results}, indent=1))
    print(report(results))


if __name__ == "__main__":
    main()
