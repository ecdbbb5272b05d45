"""Does the crash judge go by what is counted, and never by how busy the computer is?"""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest

from engine.__main__ import main
from engine.commands import crashcheck
from engine.crashcheck import budget, exploration
from engine.crashcheck.exploration import explore
from engine.crashcheck.judge import CrashVerdict, judge, judge_damaged, judge_resumed
from engine.crashcheck.reference_run import configuration, reference_run
from engine.crashcheck.replay_line import replay
from engine.crashcheck.report import NO_END, CrashReport
from engine.crashcheck.second_crash import crash_in_recovery, judge_resume, lose_flag
from engine.crashcheck.view import CrashView, recovery_sentence
from engine.crashcheck.visit import Effort, Search, crash_points, visit
from engine.persistence import records, recovery
from engine.persistence.media import FunctionalMedia
from tests import HANG_SECONDS, ROOT
from tests.cases import each
from tests.crashcheck.equivalent_bugs import StoresAreIssuedLastWordFirst
from tests.seeded_bugs.broken_media import MediumWrapper

STOPPED_SECONDS = 1.2
CHILD = """
from engine.crashcheck import budget
from engine.crashcheck.exploration import explore
from engine.crashcheck.visit import Effort
from tests.seeded_bugs.broken_media import MediumWrapper
budget.PROCESSOR_SECONDS, budget.TICK_SECONDS, budget.WAITING_TICKS = 0.5, 0.01, 100
class Waits(MediumWrapper):
    def fence(self):
        self.media.fence()
        if self.turn(7) and not told:
            told.append(print("begun", flush=True))
            input()
told = []
found = explore("undo", Waits, ("adr",), Effort(30, 1, 1, 2, 0))
print(found.inconsistent, found.no_verdict, found.unique_states > 20)
"""


class Spins(MediumWrapper):
    """Never ends, and asks the medium for nothing."""

    def fence(self):
        while True:
            self.count += 1


def spin(*_):
    """Never ends, without a medium."""
    while True:
        pass


class Sleeps(MediumWrapper):
    """Never ends, and takes no time of the processor."""

    def fence(self):
        time.sleep(3600)


class LoadsForEver:
    """Never ends, with operations that it took from the medium at once, as a class of one's own may."""

    def __init__(self, media):
        self.load, self.store, self.flush = media.load, media.store, media.flush
        self.device_write, self.poisoned = media.device_write, media.poisoned

    def fence(self):
        for _ in count():
            self.load(0, 8)


class Swallows(MediumWrapper):
    """Does nothing of what it is asked for."""

    def load(self, address, nbytes):
        return bytes(nbytes)


def impatient(monkeypatch, processor_seconds=budget.PROCESSOR_SECONDS, waiting_ticks=budget.WAITING_TICKS):
    monkeypatch.setattr(budget, "PROCESSOR_SECONDS", processor_seconds)
    monkeypatch.setattr(budget, "WAITING_TICKS", waiting_ticks)
    monkeypatch.setattr(budget, "TICK_SECONDS", 0.01)


def test_a_process_that_is_stopped_while_it_explores_finds_the_protocol_as_sound_as_ever():
    command = [sys.executable, "-c", CHILD]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "begun\n"
        os.kill(child.pid, signal.SIGSTOP)  # in the middle of a run of the protocol
        time.sleep(STOPPED_SECONDS)
        os.kill(child.pid, signal.SIGCONT)
        said, _ = child.communicate("go on\n", timeout=HANG_SECONDS)
    assert said == "0 0 True\n"


def test_a_state_whose_time_is_up_has_no_verdict_and_is_reported_apart(monkeypatch, capsys):
    impatient(monkeypatch, 1e-9)
    monkeypatch.setattr(budget, "TICK_SECONDS", 1e-4)
    configurations = exploration.configurations()
    monkeypatch.setattr(exploration, "configurations", lambda: configurations[:1])
    monkeypatch.setattr(exploration, "SCALED_CONFIGURATIONS", (configuration("undo-large"), configuration("undo-far")))
    assert main(["crashcheck", "--states", "10", "--model", "adr", "--json", "-"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert (
        report["inconsistent"] == 0 and report["failures"] == [] and report["no_verdict"] == len(report["no_verdict_states"]) > 1
    )
    assert "what comes after a state without a verdict" in report["not_explored"]
    assert main(["crashcheck", "--states", "10", "--model", "adr"]) == 1
    text = capsys.readouterr().out
    assert "0 inconsistent" in text and "states have no verdict" in text and "it is not known whether it ends" in text
    for size in ("-large", "-far"):
        line = next(line for line in report["no_verdict_states"] if size in line)
        assert main(["crashcheck", "--replay", line]) == 1
        assert capsys.readouterr().out == "no verdict: after 1e-09 s of processor time it is not known whether it ends\n"


@each("name", ["undo", "undo-far"])
def test_a_run_whose_time_is_up_has_no_verdict_in_a_thread_that_no_timer_interrupts_too(name, monkeypatch):
    impatient(monkeypatch, 1e-9)
    with ThreadPoolExecutor(1) as other_thread:
        report = other_thread.submit(explore, name, None, ("adr",), Effort(2)).result()
    assert (report.inconsistent, report.no_verdict) == (0, 1)


def test_an_inconsistent_state_outweighs_those_without_a_verdict(monkeypatch, capsys):
    report = CrashReport(inconsistent=1, no_verdict=1)
    monkeypatch.setattr(crashcheck, "check", lambda *_: report)
    assert main(["crashcheck"]) == 3
    report.inconsistent = 0
    assert main(["crashcheck"]) == 1
    report.no_verdict = 0
    assert main(["crashcheck"]) == 0


def test_a_view_of_a_state_without_a_verdict_claims_no_refusal():
    sentence = recovery_sentence(CrashView("", 0, (), CrashVerdict(None, no_verdict="it waits")))
    assert sentence.endswith("No verdict: it waits") and "refuses" not in sentence


def test_a_bug_is_not_caught_by_what_has_no_verdict(monkeypatch, capsys, tmp_path):
    impatient(monkeypatch, waiting_ticks=5)
    (tmp_path / "mine.py").write_text("from tests.crashcheck.test_budget import Sleeps\n")
    assert main(["crashcheck", "--broken", f"{tmp_path}/mine.py:Sleeps", "--model", "adr", "--json", "-"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["caught"] is False and report["caught_by"] is None and report["no_verdict"] == 1
    line = report["no_verdict_states"][0].replace("~Sleeps", "")
    assert replay(line, Sleeps).no_verdict == "it waits for something, and takes no processor time"


@each("name", ["undo", "undo-near", "undo-near-far"], few=1)
def test_a_wrapper_that_asks_for_ever_does_not_end_and_one_that_asks_nothing_has_no_verdict(name, monkeypatch):
    impatient(monkeypatch)
    report = explore(name, LoadsForEver, ("adr",), Effort(2))
    assert {failure.evidence for failure in report.failures} == {NO_END} and report.no_verdict == 0
    impatient(monkeypatch, 0.02)
    report = explore(name, Spins, ("adr", "eadr"), Effort(2))
    assert (report.inconsistent, report.no_verdict) == (0, 1), "nothing is tried after it"


@each("judge", [judge, judge_resumed, judge_damaged])
@each(("name", "problem"), [("read_record", "it does not end"), ("choose_checkpoint", "")])
def test_a_recovery_that_never_ends_is_told_by_its_operations_alone(judge, name, problem, monkeypatch):
    """The first asks the medium again and again, the other turns in a circle."""
    impatient(monkeypatch, *([0.02] if name == "choose_checkpoint" else []))
    reference = reference_run(configuration("undo"))
    last = crash_points(reference, "adr", 8, None)[0][-1]
    image = last.image(last.sizes)

    def read(media, slot):
        while records.is_free(media, slot) or True:
            pass

    with monkeypatch.context() as patched:
        reads = name == "read_record"
        patched.setattr(records if reads else recovery, name, read if reads else spin)
        verdict = judge(reference, image, last.acknowledged)
    assert problem in verdict.problem and bool(verdict.problem) == bool(problem) != bool(verdict.no_verdict)


def test_a_resumed_run_whose_last_recovery_has_no_verdict_has_none(monkeypatch):
    impatient(monkeypatch, 0.02)
    reference, choose, calls = reference_run(configuration("undo")), recovery.choose_checkpoint, count(1)
    last = crash_points(reference, "adr", 8, None)[0][-1]
    monkeypatch.setattr(recovery, "choose_checkpoint", lambda *arguments: choose(*arguments) if next(calls) == 1 else spin())
    verdict = judge_resumed(reference, last.image(last.sizes), last.acknowledged)
    assert next(calls) == 3 and verdict.no_verdict and not verdict.problem


def visit_alone(search, model, point, counts):
    assert not visit(search, model, point, counts, f"{point.operation}:{point.name(counts)}"), "nothing can follow it"


@each("further", [visit_alone, crash_in_recovery, judge_resume, lose_flag])
def test_a_further_step_from_a_state_that_has_no_verdict_is_noted_with_its_line(further, monkeypatch):
    impatient(monkeypatch, 0.02)
    search = Search(reference_run(configuration("undo")), 0, None, Effort(5), "")
    last = crash_points(search.reference, "adr", 8, None)[0][-1]
    with monkeypatch.context() as patched:
        patched.setattr(recovery, "choose_checkpoint", spin)
        further(search, "adr", last, last.sizes)
        report = search.report
        assert search.failed and report.inconsistent == 0 and report.no_verdict == len(report.no_verdict_states) > 0
        assert replay(report.no_verdict_states[0].line).no_verdict == report.no_verdict_states[0].problem


def test_a_wrapper_that_swallows_operations_cannot_hide_a_protocol_that_has_no_end(monkeypatch):
    monkeypatch.setattr(recovery, "repair_state", lambda media, *_: all(media.load(0, 8) for _ in count()))
    reference = reference_run(configuration("undo"))
    assert "does not end" in judge(reference, bytes(reference.layout.nbytes), 0, Swallows, lossy=True).problem


def test_a_loop_over_an_attribute_of_the_medium_does_not_end():
    media = budget.with_counted_operations(FunctionalMedia(64), None, 10)
    with pytest.raises(budget.NoEnd):
        while media.durable.size:
            pass


@each("name", ["undo", "redo-late", "undo-relaxed-near", "redo-near-many", "undo-far", "undo-large"], few=1)
def test_ten_times_the_operations_of_a_sound_wrapper_that_works_word_by_word_are_allowed(name, monkeypatch):
    budgets = []

    class Kept(budget.OperationBudget):
        def __init__(self, most):
            super().__init__(most)
            self.most = most
            budgets.append(self)

    monkeypatch.setattr(budget, "OperationBudget", Kept)
    report = explore(name, StoresAreIssuedLastWordFirst, ("adr",), Effort(1, 1, 0, 1, 0))
    assert (report.inconsistent, report.no_verdict) == (0, 0)
    assert all(10 * (one.most - one.remaining) < one.most for one in budgets) and budgets


@each(("handler", "timer"), [(signal.SIG_DFL, (0.0, 0.0)), (signal.SIG_IGN, (1000.0, 7.0))])
def test_processor_limits_leave_the_alarm_clock_as_it_was(handler, timer):
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, *timer)
    try:
        assert budget.processor_limited(lambda: 7)() == 7
        with pytest.raises(ZeroDivisionError):
            budget.processor_limited(lambda: 1 / 0)()
        assert signal.getsignal(signal.SIGALRM) is handler
        assert signal.getitimer(signal.ITIMER_REAL) == pytest.approx(timer, abs=1.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
