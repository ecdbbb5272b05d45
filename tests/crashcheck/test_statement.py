"""Does the statement agree with the protocol, and is the content of the runs such that nothing wrong can look right?"""

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from engine.crashcheck import exploration
from engine.crashcheck.bugs import broken_protocol
from engine.crashcheck.exploration import SCALED_CONFIGURATIONS, explore, safe_models
from engine.crashcheck.judge import unlike_statement, wrong_refusal
from engine.crashcheck.probes import formatting
from engine.crashcheck.reference_run import SINGLE_RUNS, configuration, configurations, reference_run, write_start
from engine.crashcheck.replay_line import replay
from engine.crashcheck.report import CrashReport, Inconsistency
from engine.crashcheck.second_crash import flag_states, spread
from engine.crashcheck.statement.stated_recovery import StatedOutcome, statement
from engine.crashcheck.visit import Effort, crash_points
from engine.persistence import protocol, records
from engine.persistence.media import HEALTH, FunctionalMedia
from engine.persistence.models import MODELS
from engine.persistence.recovery import recover
from tests.cases import each

PROBES = [one.name for one in SCALED_CONFIGURATIONS if one.size in SINGLE_RUNS and one.size != "far"]
UNEVEN = [one.name for one in SCALED_CONFIGURATIONS if one.size == "uneven"]


def formatted(name):
    """Return a reference run, and the bytes of its formatted medium."""
    tale = reference_run(configuration(name))
    media = FunctionalMedia(tale.layout.nbytes)
    write_start(tale, media)
    return tale, media.durable


@each("name", [*(one.name for one in configurations()), *UNEVEN, "undo-checked-mixed-many", "redo-checked-past53"], few=6)
def test_format_and_training_leave_the_stated_bytes(name):
    tale, image = formatted(name)
    first = tale.configuration.first_batch
    assert statement(tale).wrong_rest(image.tobytes(), first, first, True) == ""
    assert crash_points(tale, "adr", 8, None)[1] == ""


@each("name", ["undo", "redo-relaxed-late-checked-mixed", "undo-adam"], few=2)
def test_each_flipped_byte_of_page_rows_and_live_records_is_seen_by_the_statement(name):
    tale, image = formatted(name)
    first, stated = tale.configuration.first_batch, statement(tale).medium
    rows = [range(start, start + n) for start, n in zip(stated.row_starts.tolist(), stated.stored_bytes.tolist(), strict=True)]
    records, _ = stated.records(image.tobytes())
    lines = [range(record.slot.header, record.slot.header + 64 + len(record.payload)) for record in records]
    assert len(records) == 2
    for place in (address for part in (range(56), range(HEALTH, HEALTH + 8), *rows, *lines) for address in part):
        image[place] ^= 4
        assert statement(tale).wrong_rest(image.tobytes(), first, first, True, padding=False), place
        image[place] ^= 4


@each("changes", [{"reader": 7}, {"seed": (7, 2**33 + 11)}, {"seed": (2**61 + 7, 7)}, {"digest": 7}])
def test_each_field_of_a_flag_is_compared_though_its_checksum_is_right(changes):
    tale, image = formatted("undo")
    first, media = tale.configuration.first_batch, FunctionalMedia(image)
    live = [record for slot in tale.layout.slots if (record := records.read_record(media, slot))]
    assert len(live) == 2
    for record in live:
        changed_media, digest = FunctionalMedia(image), records.new_digest()
        digest.update(record.payload)
        pending = records.PendingRecord(record.slot, record.kind, record.batch, len(record.payload), digest)
        for stamp, is_right in ((record.stamp, True), (replace(record.stamp, **changes), False)):
            records.seal(changed_media, pending, stamp)
            assert records.read_record(changed_media, record.slot)
            wrong = statement(tale).wrong_rest(changed_media.durable.tobytes(), first, first, True)
            assert (wrong == "") == is_right, record.kind


@each("name", ["undo", "redo-adagrad", "undo-mixed", "redo-adam-large", "undo-uneven"], few=3)
def test_no_half_of_a_word_comes_twice_and_every_byte_of_a_changed_row_changes(name):
    tale = reference_run(configuration(name))
    if not tale.configuration.mixed:
        fresh = [tale.tables[0], *(tale.tables[batch + 1][rows] for batch, rows in enumerate(tale.rows))]
        halves = np.concatenate([part.reshape(-1).view(np.uint32) for part in fresh] + [mlp.view(np.uint32) for mlp in tale.mlps])
        assert len(np.unique(halves)) == halves.size and halves.all()
    for batch in range(tale.batches):
        change = tale.change(batch)
        for before, after in ((change.values_before, change.values_after), (change.mlp_before, change.mlp_after)):
            assert (np.ascontiguousarray(before).view(np.uint8) != np.ascontiguousarray(after).view(np.uint8)).all()
    assert any((np.diff(rows) < 0).any() for rows in tale.rows)


def test_uneven_runs_have_empty_and_full_batches_and_use_each_slot_again_and_again():
    tale = reference_run(configuration("undo-uneven"))
    assert {0, tale.layout.num_rows} < {rows.size for rows in tale.rows}
    assert tale.batches > 2 * len(tale.layout.mlp_slots)


@each("name", UNEVEN, few=1)
def test_uneven_runs_are_consistent(name):
    report = explore(name, models=("adr", "gpf_fail"), effort=Effort(40, 1, 1, 2, 1))
    assert report.inconsistent == 0 and report.no_verdict == 0, report.failures


@each("name", PROBES, few=2)
def test_each_probe_finds_nothing_in_the_protocol_as_it_is(name):
    verdict = replay(f"v1:{name}~adr:0:0:run")
    assert verdict.problem == verdict.no_verdict == ""


@each("name", ["undo", "redo-relaxed-late-checked-mixed", "undo-relaxed-near", "redo-past8"], few=1)
def test_a_format_that_is_cut_leaves_the_new_state_the_former_one_or_a_refusal(name):
    report = explore(name, models=("adr", "gpf_fail"), effort=Effort(4, 0, 0, 0, 0, formats=40))
    assert report.inconsistent == 0 and report.formatted > 8 * 30, report.failures


def test_an_interrupted_format_is_judged_by_the_old_and_the_new_run():
    tale = reference_run(configuration("undo"))
    batches = set()
    points, problem = formatting.format_points(tale, "adr", 8, None, 1)
    for point in points:
        verdict = formatting.judge_format(tale, point.image((0,) * len(point.sizes)), 1, False)
        assert verdict.problem == problem == ""
        batches.add(verdict.batch)
    assert batches == {tale.batches - 1, None, formatting.START_BATCH}
    assert replay(f"v1:undo~adr:0:{points[-1].operation}:all,format1").batch == formatting.START_BATCH


def test_a_run_that_a_dirty_shutdown_has_damaged_is_never_recovered_while_it_is_formatted():
    tale = reference_run(configuration("undo"))
    points, _ = formatting.format_points(tale, "adr", 8, None, formatting.AFTER_LOSS)
    verdicts = [
        formatting.judge_format(tale, point.image(counts), formatting.AFTER_LOSS, False)
        for point in points
        for counts in ((0,) * len(point.sizes), point.sizes)
    ]
    assert {(verdict.batch, verdict.problem) for verdict in verdicts} == {(None, ""), (formatting.START_BATCH, "")}


@each(
    ("bug", "name", "evidence"),
    [
        ("an_operation_that_is_cut_keeps_nothing", "undo-writer", "I10"),
        ("an_operation_that_is_cut_is_done_all_the_same", "undo-writer", "I10"),
        ("a_format_accepts_dirty_shutdowns_before_it_clears_flags", "undo-tiny", "I2"),
    ],
)
def test_what_a_trial_found_missing_is_explored(bug, name, evidence):
    with broken_protocol(bug).install():
        report = explore(name, models=("adr",), effort=Effort(2, 0, 0, 0, 0, formats=20), bug=bug, evidence=evidence)
    assert report.caught_by(evidence) == evidence


@each("model", ["adr", "volatile"])
def test_a_model_that_promises_too_much_or_too_little_is_found(model, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setitem(MODELS, model, replace(MODELS[model], safe=not MODELS[model].safe))
        assert f"I10: {model} promises" in explore("undo-media").failures[0].problem


def test_an_exception_is_no_refusal_of_misuse(monkeypatch):
    def accepts(media, layout):
        return None

    def breaks(media, layout):
        raise KeyError("broken")

    for check, evidence in ((accepts, "I11"), (breaks, "exception")):
        monkeypatch.setattr(protocol, "check_superblock", check)
        assert explore("undo-misuse").caught_by() == evidence


def test_recoveries_that_are_interrupted_differ_in_their_flags():
    tale = reference_run(configuration("undo"))
    states = list(exploration.choices(crash_points(tale, "adr", 8, None)[0], 1, Random(0), 400))
    kinds = {flag_states(tale, point.image(counts)) for point, counts in states}
    chosen = spread(states, len(kinds), Random(0), tale)
    assert len(kinds) == 8 and {flag_states(tale, point.image(counts)) for point, counts in chosen} == kinds
    assert (("free", "whole"), ("free", "whole", "whole")) in kinds


def test_power_is_lost_three_times_under_unlike_models_and_a_line_names_all_of_them(monkeypatch):
    lines = []
    monkeypatch.setattr("engine.crashcheck.second_crash.visit", lambda *state: lines.append(state[-2:]) or True)
    report = explore("undo-tiny", models=("gpf_fail",), effort=Effort(40, 1, 3, 0, 0))
    location, models = next(line for line in lines if line[0].count("/") == 4 and line[1].count(".") == 2)
    assert report.depth == 3 and replay(f"v1:undo-tiny~{models}:0:{location}").problem == ""


@pytest.mark.slow
def test_every_ordered_pair_of_safe_models_is_explored():
    pairs = set()
    for name in ("undo", "redo", "undo-relaxed"):
        pairs |= explore(name, effort=Effort(60, 1, 6, 0, 0)).pairs
    assert pairs == {(one, other) for one in safe_models() for other in safe_models()}


def test_a_recovery_that_differs_from_the_stated_one_is_named_by_what_differs():
    tale, image = formatted("undo")
    media, outcome = FunctionalMedia(image), statement(tale).outcome(image.tobytes())
    state = recover(media, tale.layout, "undo")

    def said(outcome=outcome, image=image, **changes):
        return unlike_statement(tale, outcome, replace(state, **changes), image.tobytes())

    assert said() == "" and wrong_refusal(outcome)[:2] == "I5" and wrong_refusal(StatedOutcome("no")) == ""
    assert said(outcome=StatedOutcome("lost"))[:2] == "I5" and said(outcome=StatedOutcome("blank", False))[:2] == "I9"
    assert said(embedding_batch=1)[:2] == "I2" and said(mlp_batch=1)[:2] == "I4"
    assert said(damaged=1)[:2] == said(dirty=True)[:2] == "I5"
    image[tale.layout.row(3)] ^= 1
    assert said()[:2] == "I9"


def test_a_hunt_without_evidence_goes_on_after_an_exception_and_names_first_what_is_lost(monkeypatch):
    problems = [
        "I1: training ended in KeyError: 0",
        "I9: after recovery, no",
        "I2: embeddings are not those of batch 1",
        "I4: no",
    ]
    reports = iter([CrashReport(failures=[Inconsistency("", problem)]) for problem in problems])
    monkeypatch.setattr(exploration, "explore", lambda *_: next(reports))
    report = exploration.explore_all([(configuration("undo"), Effort(5), None)] * 4, 0, lambda *_: None, bug="b")
    assert [failure.evidence for failure in report.failures] == ["exception", "I9", "I2"] and report.caught_by() == "I2"
    reports = iter([CrashReport(failures=[Inconsistency("", problems[0])]) for _ in range(99)])
    report = exploration.explore_all([(configuration("undo"), Effort(5), None)] * 99, 0, lambda *_: None, bug="b")
    assert len(report.failures) == exploration.MORE_TRIES + 1 and report.caught_by() == "exception"


@each("seam", ["persistence.protocol.format_media", "crashcheck.reference_run.layout_for"])
@each("bug", ["a_bug", ""])
def test_a_bug_that_breaks_the_check_itself_is_an_exception_and_no_traceback(seam, bug):
    def breaks(*_):
        raise KeyError("broken")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(f"engine.{seam}", breaks)
        report = explore("undo", models=("adr",), effort=Effort(5), bug=bug)
    assert report.caught_by() == "exception" and report.inconsistent == 1
