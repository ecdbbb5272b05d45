"""The jobs of `make slow` and their stamps: on which commit each ran last, with which seed, and what came of it.

A run of a whole job writes its stamp. `make check` names the jobs whose stamp is missing, red or old, and never fails by one.
`make test RECORD=yes` stamps the tests of every day: it notes what each dear test has cost, for which dear.toml has a reason.
"""

import json
import os
import subprocess
import sys
import time
import tomllib
from collections import defaultdict
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import pytest

from tests import ROOT

STAMPS = "tests/stamps.json"  # in the checkout, committed
MARKS = "slow or more"
DAILY, DAILY_MARKS = "daily", "not slow"  # the stamp of the tests of every day
DEAR_SECONDS = 2.0  # of the processor: a daily test that takes more has a reason in dear.toml
MOST_COMMITS = 300  # between a stamp and the latest change of what its job covers
MOST_FILES = 10  # named as the dearest
NARROWING = ("keyword", "deselect", "ignore", "ignore_glob", "lf", "stepwise", "about")  # switches that leave tests out
Stamp = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """A job of `make slow`: the files and folders of tests that it runs, and the sources that it covers."""

    tests: tuple[str, ...]
    covers: tuple[str, ...]


JOBS: Mapping[str, Job] = {
    name: Job(tuple(row["tests"]), tuple(row["covers"]))
    for name, row in tomllib.loads((ROOT / "tests" / "slow_jobs.toml").read_text(encoding="utf-8")).items()
}
JOB_BY_PLACE = {place: name for name, job in JOBS.items() for place in job.tests}


def job_of(path: str) -> str:
    """Return the job of a test file: the one that names it, or else its nearest folder."""
    return next(JOB_BY_PLACE[str(place)] for place in (PurePath(path), *PurePath(path).parents) if str(place) in JOB_BY_PLACE)


def git(root: Path, *arguments: str) -> str | None:
    """Return what git prints in a folder; None where git refuses, or is not installed."""
    try:
        run = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True)
    except OSError:
        return None
    return run.stdout.strip() if run.returncode == 0 else None


def has_history(root: Path) -> bool:
    """Return whether a folder is the top of a checkout whose history is whole."""
    return (
        git(root, "rev-parse", "--is-shallow-repository", "--show-prefix") == "false"
        and git(root, "rev-parse", "HEAD") is not None
    )


def stamped_commit(root: Path) -> str | None:
    """Return the commit that a run of tests proves; None with changes that are not committed, or without git."""
    changes = git(root, "status", "--porcelain", "--untracked-files=no", "--", ".", f":!{STAMPS}")
    return git(root, "rev-parse", "HEAD") if changes == "" else None


def stamps(root: Path) -> dict[str, Stamp]:
    """Return the stamps of a checkout by job."""
    path = root / STAMPS
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def write_stamp(root: Path, name: str, stamp: Stamp) -> None:
    """Put a job's stamp in place of its last one; the other stamps stay."""
    text = json.dumps(stamps(root) | {name: stamp}, indent=2, sort_keys=True)
    (root / STAMPS).write_text(text + "\n", encoding="utf-8")


def open_jobs(root: Path = ROOT, jobs: Mapping[str, Job] = JOBS) -> list[str]:
    """Return a sentence for each job whose stamp is missing, red or old; none without a whole history."""
    if not has_history(root):
        return []
    stamp_by_job = stamps(root)
    remarks = {name: remark(root, job, stamp_by_job.get(name)) for name, job in jobs.items()}
    return [f"{name} {text}; run `make {name}` and commit {STAMPS}." for name, text in remarks.items() if text]


def remark(root: Path, job: Job, stamp: Stamp | None) -> str:
    """Return what is wrong with a job's stamp; "" if nothing is."""
    if stamp is None:
        return "has no stamp"
    if stamp["failed"]:
        return f"failed {stamp['failed']} of {stamp['failed'] + stamp['passed']} tests at commit {stamp['commit'][:8]}"
    latest = git(root, "log", "-1", "--format=%H", "--", *job.covers, *job.tests)
    commits = git(root, "rev-list", "--count", f"{stamp['commit']}..{latest}") if latest else "0"
    if commits is None:
        return f"passed at commit {stamp['commit'][:8]}, which this history does not have"
    return f"passed {commits} commits before the latest change of what it covers" if int(commits) > MOST_COMMITS else ""


def processor_seconds() -> float:
    """Return the processor seconds of this process and of its ended children."""
    return sum(os.times()[:4])


class Costs:
    """A plugin that adds up what test files cost, names the dearest, and runs and stamps a job of `make slow`."""

    def __init__(self, config: pytest.Config, root: Path = ROOT) -> None:
        self.config, self.root = config, root
        self.job = config.getoption("job") or (DAILY if config.getoption("record", False) else None)
        self.is_worker = hasattr(config, "workerinput")
        self.passed: set[str] = set()
        self.failed: set[str] = set()
        self.seconds_by_file: dict[str, float] = defaultdict(float)
        self.seconds_by_test: dict[str, float] = defaultdict(float)
        self.obstacle = ""  # why no stamp is written
        self.commit: str | None = None
        self.start = self.mark = 0.0

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Leave out the test files of other jobs."""
        is_test = collection_path.suffix == ".py" and collection_path.name.startswith("test_")
        if not (self.job in JOBS and is_test and collection_path.is_relative_to(self.root)):
            return None
        return job_of(collection_path.relative_to(self.root).as_posix()) != self.job or None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Note the time and the commit: other commits may follow before the last test ends."""
        self.start = time.monotonic()
        if self.job and not self.is_worker:
            option, whole = self.config.option, self.config.args_source is pytest.Config.ArgsSource.TESTPATHS
            self.commit = stamped_commit(self.root)
            marks = (False, DAILY_MARKS) if self.job == DAILY else (True, MARKS)
            if not whole or (option.all, option.markexpr) != marks or any(getattr(option, name, None) for name in NARROWING):
                self.obstacle = "this run leaves out tests of the job"
            elif not self.commit:
                self.obstacle = "the checkout is no commit of git, or has changes that are not committed"

    def pytest_runtest_logstart(self) -> None:
        """Begin to count a test's processor seconds."""
        self.mark = processor_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, Any, Any]:
        """Add the processor seconds of a test's phase to its report, with which they reach the process that reports."""
        report = yield
        before, self.mark = self.mark, processor_seconds()
        report.processor_seconds = self.mark - before
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count a test's outcome, and its seconds as its file's."""
        seconds = getattr(report, "processor_seconds", 0.0)
        self.seconds_by_file[report.nodeid.split("::")[0]] += seconds
        self.seconds_by_test[report.nodeid] += seconds
        if report.failed:
            self.failed.add(report.nodeid)
        elif report.passed and report.when == "call":
            self.passed.add(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Count a file that cannot be imported as failed."""
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name the dearest files of many, and say why a job gets no stamp."""
        if len(self.seconds_by_file) > MOST_FILES:
            terminalreporter.write_line("Processor seconds of the dearest test files:")
            for path in sorted(self.seconds_by_file, key=self.seconds_by_file.__getitem__, reverse=True)[:MOST_FILES]:
                terminalreporter.write_line(f"{self.seconds_by_file[path]:8.1f} {path}")
        if self.obstacle:
            terminalreporter.write_line(f"No stamp for {self.job}: {self.obstacle}.")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, exitstatus: int) -> Generator[None, None, None]:
        """Write the stamp, once the workers have ended; a run that was broken off proves nothing but a failure."""
        yield
        ended = self.failed or (self.passed and exitstatus == pytest.ExitCode.OK)
        if self.job and not self.is_worker and not self.obstacle and ended:
            stamp = {
                "commit": self.commit,
                "failed": len(self.failed),
                "passed": len(self.passed - self.failed),
                "processor_seconds": round(processor_seconds()),
                "seed": self.config.getoption("hypothesis_seed"),
                "wall_seconds": round(time.monotonic() - self.start),
            }
            dear = {name: round(seconds, 1) for name, seconds in self.seconds_by_test.items() if seconds > DEAR_SECONDS}
            write_stamp(self.root, self.job, stamp | ({"dear": dear} if self.job == DAILY else {}))


if __name__ == "__main__":
    for sentence in open_jobs():
        print(f"Warning: {sentence}", file=sys.stderr)
