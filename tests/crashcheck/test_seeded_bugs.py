"""Is the crash checker awake? Each protocol broken on purpose must be caught."""

from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pkgutil import resolve_name
from unittest.mock import patch

import numpy as np
import pytest

from engine.__main__ import main
from engine.crashcheck import bugs, exploration, judge
from engine.crashcheck.bugs import broken_protocol, hunt, seeded
from engine.crashcheck.exploration import explore
from engine.crashcheck.judge import CrashVerdict
from engine.crashcheck.reference_run import reference_run
from engine.crashcheck.replay_line import read_line, replay
from engine.crashcheck.report import EXCEPTION, NO_END, CrashReport, Inconsistency
from engine.crashcheck.visit import Effort, Search
from engine.persistence.layout import MediumLayout
from engine.persistence.recovery import recover
from tests import seeded_bugs
from tests.cases import SELECTION, each
from tests.crashcheck.equivalent_bugs import PATCHES, WRAPS
from tests.crashcheck.ladder import RUNGS, ladder, table

BUGS = tuple(seeded())
INVARIANTS = ("I1", "I2", "I3", "I4", "I5", "I7", "I9", "I10", "I11")  # I6 and I8 are these again, in other states


@each("name", BUGS, few=3)
def test_a_protocol_broken_on_purpose_is_caught_by_its_invariant_and_its_line_replays_at_the_first_try(name):
    bug = broken_protocol(name)
    report = hunt(bug)
    failure = report.failures[0]
    assert failure.evidence == bug.evidence == report.caught_by(bug.evidence)
    assert read_line(failure.line).bug == name and report.no_verdict == 0
    with bug.install():
        assert replay(failure.line, bug.wrap).problem == failure.problem


def test_every_bug_names_the_invariant_that_catches_it_and_few_are_known_by_less():
    named = {name: bug.evidence for name, bug in seeded().items()}
    assert named == {name: bug.evidence for name, bug in seeded_bugs.BUGS.items()}
    assert set(named.values()) <= {*INVARIANTS, NO_END, EXCEPTION}
    assert [name for name, evidence in named.items() if evidence not in INVARIANTS] == [
        "TheFortiethOperationRaises",
        "AFenceNeverReturns",
        "homes_overlap_by_the_last_word_of_a_row",
        "the_last_slots_lie_beyond_the_medium",
        "rows_and_columns_change_places",
        "recovery_repairs_the_medium_and_returns_nothing",
        "rows_are_restored_again_until_their_logs_are_gone",
    ], "these do nothing else wrong"


@each("name", [name for name, bug in seeded_bugs.BUGS.items() if bug.seam in ("protocol.fence_gpus", "records.line_ranges")])
def test_a_bug_of_ranges_and_their_fences_is_none_where_one_gpu_trains(name):
    bug = broken_protocol(name)
    with bug.install():
        assert all(one.gpus and explore(one, effort=Effort(60, 1, 1, 2, 1)).inconsistent for one in bug.configurations)
        for of in ("undo", "redo-relaxed-near-late", "undo-relaxed-adagrad-tiny", "redo-mixed-writer"):
            report = explore(of, effort=Effort(60, 1, 1, 2, 1))
            assert report.inconsistent == report.no_verdict == 0, report.failures


@each(
    ("problem", "evidence"),
    [
        ("I2: embeddings are not those of batch 1", "I2"),
        ("I3: after resuming, I1: unrecoverable: no", "I3"),
        ("I5: a damage passed in silence: I2: embeddings are not those of batch 2", "I5"),
        ("I1: training ended in CannotRun: The undo_rows record of batch 4 has no free log slot: all 2 are in use", "I1"),
        ("I5: recovery of a damaged medium ended in TypeError: Recovered.__init__() takes 9", EXCEPTION),
        ("I1: recovery ended in IndexError: tuple index out of range", EXCEPTION),
        ("I3: resuming ended in NoEnd: it does not end; it was stopped after 20,000,000 steps of Python.", NO_END),
    ],
)
def test_neither_an_accident_nor_an_end_that_does_not_come_shows_an_invariant(problem, evidence):
    assert Inconsistency("", problem).evidence == evidence


def test_a_bug_that_only_raises_is_missed_where_an_invariant_should_catch_it(capsys, monkeypatch):
    bug = replace(seeded_bugs.BUGS["TheFortiethOperationRaises"], evidence="I2")
    monkeypatch.setitem(seeded_bugs.BUGS, "TheFortiethOperationRaises", bug)
    monkeypatch.setattr(bugs, "hunt", partial(hunt, steps=(Effort(20, 1, 0, 0, 0),)))
    monkeypatch.setattr(bugs, "SCALED_CONFIGURATIONS", ())
    monkeypatch.setattr(bugs, "configurations", lambda: ())
    assert main(["crashcheck", "--broken", "TheFortiethOperationRaises"]) == 3
    said = capsys.readouterr().out
    assert "TheFortiethOperationRaises: not caught by I2, where it should be, but by exception." in said
    rung = replace(RUNGS[0], effort=Effort(20, 0, 0, 0, 0))
    assert ladder([broken_protocol("TheFortiethOperationRaises")], rungs=[rung])[0].missed == ("TheFortiethOperationRaises",)


def test_a_hunt_goes_on_past_other_failures_until_its_evidence_is_there(monkeypatch):
    search = Search(reference_run(), 0, None, Effort(5), "bug", "I2")
    for number in range(9):
        search.note("adr", f"{number}:all", CrashVerdict(None, "I1: unrecoverable"))
    assert not search.failed and 0 < len(search.report.failures) < 9
    search.note("adr", "9:all", CrashVerdict(None, "I2: embeddings are not those of batch 1"))
    assert search.failed and search.report.inconsistent == 10
    reports = iter([CrashReport(failures=[Inconsistency("", problem)]) for problem in ("I1: no", "I2: no", "I2: no")])
    monkeypatch.setattr(exploration, "explore", lambda *_: next(reports))
    report = exploration.explore_all(
        [(search.reference.configuration, Effort(5), None)] * 3, 0, lambda *_: None, bug="b", evidence="I2"
    )
    assert [failure.evidence for failure in report.failures] == ["I1", "I2"]


@each("changed", [*WRAPS, *PATCHES], few=1)
def test_a_change_that_is_no_bug_is_not_called_one_in_any_state(changed):
    wrap, install = (changed, nullcontext) if changed in WRAPS else (None, changed)
    with install():
        for of in ("undo-tiny", "redo-late-tiny", "undo-gpus-tiny"):
            report = explore(of, wrap, ("adr",), Effort(10_000, None, 2, 5, 1))
            assert report.inconsistent == 0 and "adr" not in report.cut_short and report.unique_states > 200
        models = None if SELECTION.all else ("adr", "weak_word")
        assert explore("undo-relaxed", wrap, models, Effort(60, 2, 1, 4, 0)).inconsistent == 0


def exits_when_made(media):
    raise SystemExit(0)


def test_a_medium_that_wants_to_leave_is_caught_and_does_not_end_the_check():
    report = explore("undo", exits_when_made, ("adr",), Effort(2))
    assert "SystemExit" in report.failures[0].problem and report.failures[0].evidence == EXCEPTION


RUNS = ("undo-mixed", "redo", "undo-misuse", "redo-writer", "undo-far", "undo-relaxed-near-tiny")
SEAMS = (
    *("layout.MediumLayout.row", "layout.MediumLayout.places", "layout.MediumLayout.log_bytes", "layout.MediumLayout.parts"),
    *("layout._round", "layout._slots", "protocol._homes", "protocol._stored_rows", "protocol.log_mlp", "protocol.read_table"),
    *("records.append", "records.read_record", "records.superseded_slots", "recovery.logged_rows", "recovery.choose_checkpoint"),
    *("recovery.logs_to_replay", "recovery.repair_state", "checksums.table_digest", "media.FunctionalMedia.load"),
)


def edited(answer, rng):
    """Return an answer of the protocol with another shape, another place, or none."""
    if isinstance(answer, np.ndarray):
        return (answer[:-1], answer.reshape(-1), answer.T, answer[..., None], answer + answer.dtype.type(7))[rng.integers(5)]
    if isinstance(answer, int):
        return (answer - 8, answer + int(rng.integers(10**5)), -1, None, answer + 0.5)[rng.integers(5)]
    return (answer[:-1], answer[::-1], answer * 2)[rng.integers(3)] if type(answer) in (tuple, list, bytes) else None


def check_findings(report, wrap=None):
    """Hold that each failure of a report is the finding of its replay line."""
    for failure in report.failures[:1]:
        assert failure.problem.startswith("I") and replay(failure.line, wrap).problem == failure.problem


@each("seed", range(300), few=8)
def test_a_drawn_edit_of_the_protocol_never_breaks_the_check_itself(seed):
    rng = np.random.default_rng(seed)
    seam, run, turn = SEAMS[rng.integers(len(SEAMS))], RUNS[rng.integers(len(RUNS))], rng.integers(2**30)
    place, _, function = f"engine.persistence.{seam}".rpartition(".")
    answer = getattr(resolve_name(place), function)
    with patch.object(resolve_name(place), function, lambda *given: edited(answer(*given), np.random.default_rng(turn))):
        check_findings(explore(run, models=("adr",), effort=Effort(8, 1, 1, 1, 1, formats=2)))


@each("run", RUNS)
@each("name", [name for name, bug in seeded_bugs.BUGS.items() if bug.group == "misplaced"], few=8)
def test_an_exception_out_of_an_edited_protocol_is_a_finding_whose_line_replays(name, run):
    with broken_protocol(name).install():
        report = explore(run, models=("weak_word",), effort=Effort(4, 0, 0, 1, 0))
        check_findings(report)
    assert report.inconsistent == len(report.failures) or run != broken_protocol(name).configurations[0].name
    assert all(
        f"~{'adr' if run in ('undo-misuse', 'redo-writer', 'undo-far') else 'weak_word'}:" in one.line for one in report.failures
    )


@each("part", ["media.FunctionalMedia.poison", "crash_media.CrashMedia.survivor", "records.read_record"])
def test_an_exception_out_of_the_judgement_of_a_state_has_that_state_s_line(part, monkeypatch):
    def breaks(*_):
        raise IndexError("broken")

    place, _, function = f"engine.persistence.{part}".rpartition(".")
    monkeypatch.setattr(resolve_name(place), function, breaks)
    report = explore("undo", models=("adr",), effort=Effort(4, 0, 0, 2, 1))
    check_findings(report)
    assert report.caught_by() == EXCEPTION and ":0:run" not in report.failures[0].line


@each("nbytes", [None, "4096", 0, 1.5, 2**30])
def test_a_medium_of_a_senseless_size_is_a_finding(nbytes, monkeypatch):
    monkeypatch.setattr(MediumLayout, "nbytes", nbytes)
    report = explore("undo", models=("adr",), effort=Effort(4, 0, 0, 0, 0))
    check_findings(report)
    assert f"MalformedAnswer: the layout has {nbytes} bytes, and" in report.failures[0].problem


@each("field", ["embedding_batch", "mlp_batch", "reader_position", "seed", "table", "mlp", "dirty", "damaged"])
def test_a_recovered_state_of_another_type_is_a_finding(field, monkeypatch):
    monkeypatch.setattr(judge, "recover", lambda *given: replace(recover(*given), **{field: [None]}))
    report = explore("undo", models=("adr",), effort=Effort(4, 0, 0, 0, 0))
    check_findings(report)
    assert report.caught_by() == EXCEPTION and "MalformedAnswer" in report.failures[0].problem


def test_an_exception_of_the_checker_in_a_library_is_its_own(monkeypatch):
    monkeypatch.setattr("engine.crashcheck.reference_run.TURNS", 0)
    with pytest.raises(ValueError, match="number sections must be larger than 0"):
        explore("undo-mixed", models=("adr",), effort=Effort(4))


@each("bug", ["", "a_bug"])
@each("part", ["judge.mismatch", "reference_run.layout_for", "statement.stated_medium.StatedMedium.record"])
def test_an_exception_of_the_checker_s_own_code_is_no_finding(part, bug, monkeypatch):
    place, _, function = f"engine.crashcheck.{part}".rpartition(".")
    monkeypatch.setattr(resolve_name(place), function, None)
    with pytest.raises(TypeError, match="NoneType"):
        explore("undo", models=("adr",), effort=Effort(5), bug=bug)
    with pytest.raises(TypeError, match="NoneType"):
        replay("v1:undo~adr:0:26:all")


@pytest.mark.slow
def test_the_ladder_says_which_depth_catches_which_bug():
    kill, one_line, again, damage = (RUNGS[at] for at in (0, 2, 5, 7))
    names = ("rows_are_never_flushed", "replay_is_not_fenced", "lost_rows_are_read_as_zeros")
    rows = ladder([broken_protocol(name) for name in names], rungs=(kill, one_line, again, damage))
    assert [row.missed for row in rows] == [names, names[1:], names[2:], ()]
    assert [row.caught for row in rows] == [3 - len(row.missed) for row in rows]
    assert "and damaged lines                3 of  3" in table([row.as_json() for row in rows])
