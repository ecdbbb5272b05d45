"""Is the crash checker awake? Each protocol broken on purpose must be caught."""

from contextlib import nullcontext

import pytest

from engine.crashcheck import budget
from engine.crashcheck import exploration as search
from engine.crashcheck.bugs import broken, hunt, seeded
from engine.crashcheck.exploration import explore
from engine.crashcheck.replay_line import read, replay
from engine.crashcheck.visit import Effort
from tests.cases import each
from tests.crashcheck.equivalent_bugs import PATCHES, WRAPS
from tests.crashcheck.ladder import RUNGS, ladder, table
from tests.seeded_bugs.broken_media import Through

BUGS = tuple(seeded())


@each("name", BUGS, few=5)
def test_a_protocol_broken_on_purpose_is_caught_and_its_line_replays_at_the_first_try(name):
    bug = broken(name)
    report = hunt(bug)
    assert report.inconsistent
    failure = report.failures[0]
    assert read(failure.line).bug == name
    with bug.install():
        assert replay(failure.line, bug.wrap).problem == failure.problem


@each("changed", [*WRAPS, *PATCHES], few=2)
def test_a_change_that_is_no_bug_is_not_called_one_in_any_state(changed):
    wrap, install = (changed, nullcontext) if changed in WRAPS else (None, changed)
    with install():
        for of in ("undo-tiny", "redo-late-tiny"):
            report = explore(of, wrap, ("adr",), Effort(10_000, None, 2, 5, 1))
            assert report.inconsistent == 0 and "adr" not in report.cut_short and report.unique_states > 200
        assert explore("undo-relaxed", wrap, effort=Effort(60, 2, 1, 4, 0)).inconsistent == 0


def test_a_medium_that_spins_without_end_is_stopped_and_caught(monkeypatch):
    class Spins(Through):
        def fence(self):
            while True:
                self.count += 1

    monkeypatch.setattr(search, "PATIENCE", 0.2)
    report = explore("undo", Spins, effort=Effort(2))
    assert "does not end" in report.failures[0].problem and report.seconds < 5


def exits_when_made(media):
    raise SystemExit(0)


def test_a_medium_that_wants_to_leave_is_caught_and_does_not_end_the_check():
    report = explore("undo", exits_when_made, ("adr",), Effort(2))
    assert "SystemExit" in report.failures[0].problem


def test_patience_leaves_the_alarm_clock_as_it_was():
    import signal

    before = signal.getsignal(signal.SIGALRM)
    with budget.time_limit(5):
        pass
    assert signal.getsignal(signal.SIGALRM) is before and signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.slow
def test_the_ladder_says_which_depth_catches_which_bug():
    kill, one_line, again, damage = (RUNGS[at] for at in (0, 2, 5, 7))
    names = ("rows_are_never_flushed", "replay_is_not_fenced", "lost_rows_are_read_as_zeros")
    rows = ladder([broken(name) for name in names], rungs=(kill, one_line, again, damage))
    assert [row.missed for row in rows] == [names, names[1:], names[2:], ()]
    assert [row.caught for row in rows] == [3 - len(row.missed) for row in rows]
    assert "and damaged lines                3 of  3" in table([row.as_json() for row in rows])
