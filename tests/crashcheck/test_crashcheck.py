"""Does the crash explorer visit what it says, replay what it finds, and refuse what is no replay line?"""

import json
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.__main__ import main
from engine.crashcheck import exploration, states
from engine.crashcheck.exploration import check, explore, with_counter_overflow
from engine.crashcheck.reference_run import (
    COUNTER_BITS,
    SIZES,
    WORDS,
    Configuration,
    configuration,
    configurations,
    reference_run,
)
from engine.crashcheck.replay_line import read_line, replay
from engine.crashcheck.states import CrashPoint
from engine.crashcheck.view import view_state
from engine.crashcheck.visit import Effort, crash_points
from engine.errors import BadInput
from engine.persistence.layout import TABLE_START
from engine.persistence.media import LINE
from tests import ROOT
from tests.cases import each, examples

REGRESSIONS = [
    line
    for line in (ROOT / "tests/crash_regressions.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


@each("line", REGRESSIONS)
def test_a_state_that_failed_once_is_consistent_now(line):
    assert replay(line).problem == ""


def test_every_configuration_has_a_name_that_reads_back():
    assert len(configurations()) == 62
    assert all(configuration(one.name) == one for one in configurations())
    assert configuration("redo-near-late-tiny") == Configuration("redo", near_data=True, late_home=True, size="tiny")
    assert configuration("redo-relaxed-near-mixed-large") == Configuration("redo", True, True, mixed=True, size="large")
    assert configuration("redo-late-gpus-tiny") == Configuration("redo", late_home=True, gpus=True, size="tiny")
    for wrong in ("undo-relaxd", "undo-adam-mixed", "undo-late-mixed"):
        with pytest.raises(BadInput, match=f"configuration '{wrong}' is not known"):
            configuration(wrong)


@each("size", ["tiny", "small", "large", "many"])
def test_mixed_rows_have_every_size_in_the_reach_of_batches_one_no_multiple_of_words_and_are_kept_whole(size):
    tale = reference_run(configuration("undo-mixed" if size == "small" else f"undo-mixed-{size}"))
    sizes = np.repeat([nbytes for _, nbytes in tale.layout.sizes], [rows for rows, _ in tale.layout.sizes])
    touched = {int(nbytes) for rows in tale.rows for nbytes in sizes[rows]}
    assert len(touched) == (3 if size == "tiny" else 4) and any(nbytes % 8 for nbytes in touched)
    for batch, rows in enumerate(tale.rows):
        change = tale.change(batch)
        before, after = (b"".join(bytes(state[row, : sizes[row]]) for row in rows) for state in tale.tables[batch : batch + 2])
        assert (change.values_before.tobytes(), change.values_after.tobytes()) == (before, after)
        assert all(a != b for a, b in zip(before, after, strict=True))
    largest = max(sum(8 + int(nbytes) for nbytes in sizes[rows]) for rows in tale.rows)
    assert tale.layout.row_slots[0].capacity == largest and len(tale.images[0][0]) == sizes.sum()


@each("name", [one.name for one in configurations() if one.mixed], few=1)
def test_states_of_rows_of_unlike_sizes_are_consistent_and_can_be_looked_at(name):
    report = explore(name, models=("adr", "gpf_fail"), effort=Effort(40, 1, 1, 4, 1))
    assert report.inconsistent == 0 and report.no_verdict == 0, report.failures
    assert report.unique_states > 80 and report.resumed and report.damaged > 50 and report.depth == 3
    point = next(point for point in crash_points(reference_run(configuration(name)), "adr", 8, None)[0] if point.streams)
    seen = view_state(f"v1:{name}~adr:0:{point.operation}:all")
    table = [cell for cell in seen.cells if cell.lane == "Table"]
    place = reference_run(configuration(name)).layout
    assert len(table) == -(-(place.table_end - TABLE_START) // LINE) and not seen.verdict.problem


def test_new_configurations_leave_the_batch_numbers_of_the_others_as_they_are():
    older, newer = configurations()[:54], configurations()[54:]
    assert {one.gpus for one in older} == {False} and {one.gpus for one in newer} == {True}
    assert [with_counter_overflow(older[at]).name for at in (0, 1, 53)] == [
        "undo-past8",
        "redo-past8",
        "redo-relaxed-late-checked-mixed-past32",
    ]


@each("name", [one.name for one in configurations() if one.gpus], few=2)
@each("size", ["", "-tiny"])
def test_states_of_an_mlp_log_in_ranges_of_two_gpus_are_consistent(name, size):
    effort = Effort(60, 2, 1, 4, 1) if size == "" else Effort(200, None, 1, 4, 0)
    report = explore(name + size, effort=effort)
    assert report.inconsistent == 0 and report.no_verdict == 0, report.failures
    assert report.unique_states > 600 and report.resumed and report.depth == 3


@each("model", ["adr", "device_fifo", "eadr", "weak_word"])
def test_ranges_of_two_gpus_survive_in_any_combination(model):
    reference = reference_run(configuration("undo-gpus"))
    starts = [slot.payload for slot in reference.layout.mlp_slots]
    ranges = [{start + byte for start in starts for byte in part} for part in (range(2 * LINE), range(2 * LINE, 152))]
    streams = [
        tuple({number for number, words in enumerate(point.words) if words and words[0][0] in own} for own in ranges)
        for point in crash_points(reference, model, 8, None)[0]
    ]
    together = [(first, second) for first, second in streams if first and second]
    assert together and all(not first & second for first, second in together)


@each("of", configurations(), few=9)
def test_the_volatile_control_fails_in_every_configuration(of):
    assert explore(of, models=("volatile",), effort=Effort(40, 1, 0, 0, 0)).inconsistent


def brute(sizes):
    return set(product(*(range(size + 1) for size in sizes)))


@examples(30)
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple), st.integers(0, 2))
def test_the_choices_of_a_level_are_all_those_that_differ_from_none_or_all_in_so_many_streams(sizes, lines):
    found = list(states.deviating_counts(sizes, lines))
    nothing = (0,) * len(sizes)
    apart = [sum(a != b for a, b in zip(one, rest, strict=True)) for rest in (nothing, sizes) for one in brute(sizes)]
    assert len(found) == states.count_deviating(sizes, lines) == apart.count(lines)
    assert set(found) <= brute(sizes)
    assert set(states.all_prefixes(sizes)) == brute(sizes)
    assert states.random_prefixes(sizes, Random(1)) in brute(sizes)


def test_an_image_holds_the_durable_bytes_and_a_prefix_of_each_stream():
    point = CrashPoint(3, bytes(8), (5, -1), (((0, b"ab"), (2, b"c")), ((4, b"x"),)), 0)
    assert point.image((1, 1)) == b"ab\0\0x\0\0\0"
    assert point.name((1, 0)) == "5=1" and point.name((2, 1)) == "all" and point.name((0, 0)) == "none"
    assert point.counts({5: 9, 7: 1}) == (2, 0)


def test_exploring_twice_finds_the_same_and_another_seed_something_else():
    first, again, other = (explore("undo", models=("adr",), effort=Effort(60, 2, 1, 2, 0), seed=seed) for seed in (0, 0, 1))
    assert (first.raw_states, first.unique_states) == (again.raw_states, again.unique_states)
    assert first.raw_states != other.raw_states


def test_a_tiny_run_is_explored_to_the_last_combination():
    report = explore("undo-tiny", models=("adr",), effort=Effort(100_000, None, 0, 0, 0))
    points, _ = crash_points(reference_run(configuration("undo-tiny")), "adr", 8, None)
    assert not report.cut_short
    assert report.unique_states == len(
        {bytes(point.image(counts)) for point in points for counts in states.all_prefixes(point.sizes)}
    )


@each("granularity", [64, 256], few=1)
def test_larger_atomic_writes_leave_fewer_states_and_no_bad_one(granularity):
    fine = explore("undo", models=("adr",), effort=Effort(10_000, 1, 0, 0, 0))
    coarse = explore("undo", models=("adr",), effort=Effort(10_000, 1, 1, 2, 0, granularity))
    assert coarse.inconsistent == 0 and coarse.unique_states < fine.unique_states


@each(
    ("line", "sentence"),
    [
        ("", "is not a replay line"),
        ("v1:undo~adr:0:37", "is not a replay line"),
        ("v2:undo~adr:0:37:none", "is not a replay line"),
        ("v1:undo~adr:0:37:none\n<script>", "is not a replay line"),
        ("v1:undo~adr:0:37:" + "1=1," * 4000, "is not a replay line"),
        ("v1:undo~adr:0:37:x", "is not a replay line|is not a choice"),
        ("v1:undo~adr:0:37:1=", "is not a choice"),
        ("v1:undo~adr:0:37/4:none", "has 2 power losses but 1 choice"),
        ("v1:undo~adr:0:9999999:none", "At operation 9999999 no writes are pending"),
        ("v1:undo~adrr:0:37:none", "persistence model 'adrr' is not known"),
        ("v1:undo-huge~adr:0:37:none", "configuration 'undo-huge' is not known"),
        ("v1:undo-tiny~adr:0:10:all,p999999999", "damages bytes outside the medium"),
        ("v1:undo-tiny~adr:0:10:all,f999999999", "damages bytes outside the medium"),
        ("v1:../../etc~adr:0:8:all", "is not a replay line"),
    ],
)
def test_what_is_no_replay_line_is_refused_with_a_sentence(line, sentence):
    with pytest.raises(BadInput, match=sentence) as refusal:
        replay(line)
    assert len(str(refusal.value)) < 400


@examples(60)
@given(st.text(max_size=80) | st.from_regex(r"v1:(undo|redo)~adr:0:\d{1,2}:[a-z0-9=,/-]{1,20}", fullmatch=True))
def test_any_text_is_read_or_refused(text):
    try:
        read_line(text)
    except BadInput as refusal:
        assert str(refusal).endswith(".") or "?" in str(refusal)


def told(capsys, *words):
    """Run the command and return its exit status and what it wrote as JSON."""
    status = main(["crashcheck", *words, "--json", "-"])
    return status, json.loads(capsys.readouterr().out)


def test_the_command_reports_what_interface_and_exit_status_promise(capsys, monkeypatch):
    every = exploration.configurations()
    monkeypatch.setattr(exploration, "configurations", lambda: every[::24])
    monkeypatch.setattr(exploration, "SCALED_CONFIGURATIONS", exploration.SCALED_CONFIGURATIONS[:1])
    status, report = told(capsys, "--states", "10", "--model", "eadr")
    assert status == 0 and report["inconsistent"] == 0 and report["models"] == ["eadr"]
    keys = {"points", "raw_states", "unique_states", "inconsistent", "depth", "models", "seconds", "failures", "not_explored"}
    assert keys <= set(report)
    assert report["depth"] == 3 and report["unique_states"] <= report["raw_states"]


def test_the_command_fails_with_a_broken_protocol_and_its_line_replays(capsys):
    status, report = told(capsys, "--broken", "rows_are_never_flushed")
    assert status == 3 and report["caught"] is True
    status, verdict = told(capsys, "--replay", report["failures"][0])
    assert status == 3 and verdict["problem"] == report["problems"][0]
    assert main(["crashcheck", "--replay", report["failures"][0]]) == 3
    assert capsys.readouterr().out == f"{report['problems'][0]}\n"


BROKEN = """
class Forgets:
    def __init__(self, media):
        self.load, self.store, self.flush = media.load, media.store, media.flush
        self.device_write, self.poisoned = media.device_write, media.poisoned

    def fence(self):
        pass
"""


def test_a_medium_of_ones_own_is_hunted_from_its_file_and_replayed_with_it(capsys, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(BROKEN)
    status, report = told(capsys, "--broken", f"{path}:Forgets")
    assert status == 3 and report["caught"] is True and report["broken"] == "Forgets"
    status, verdict = told(capsys, "--broken", f"{path}:Forgets", "--replay", report["failures"][0])
    assert status == 3 and verdict["problem"] == report["problems"][0]
    assert main(["crashcheck", "--broken", f"{path}:Missing"]) == 2
    assert main(["crashcheck", "--broken", f"{tmp_path}/none.py:Forgets"]) == 2
    assert main(["crashcheck", "--broken", "no_such_bug"]) == 2
    path.write_text("raise OSError(1)")
    assert main(["crashcheck", "--broken", f"{path}:Forgets"]) == 2
    complaints = capsys.readouterr().err.splitlines()
    assert (
        len(complaints) == 4
        and "cannot be imported: OSError" in complaints[3]
        and "'Missing'" in complaints[0]
        and "is not a Python file with a function" in complaints[1]
    )


def test_without_a_checkout_the_seeded_bugs_are_refused_with_a_sentence(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("engine.crashcheck.bugs.TESTS", tmp_path)
    assert main(["crashcheck", "--broken", "rows_are_never_flushed"]) == 2
    assert "checkout" in capsys.readouterr().err


def test_an_interrupt_keeps_what_has_been_explored(capsys, monkeypatch):
    def interrupted(share, what):
        if share > 0.02:
            raise KeyboardInterrupt

    report = check(300, ("adr",), on_progress=interrupted)
    assert report.interrupted and 0 < len(report.configurations) < 104
    monkeypatch.setattr("engine.commands.crashcheck.progress_bar.draw", interrupted)
    assert main(["crashcheck", "--states", "300", "--model", "adr"]) == 130
    assert "Interrupted" in capsys.readouterr().out


def test_every_width_of_counters_is_passed_with_every_peculiarity():
    passed = [with_counter_overflow(one) for one in configurations()]
    assert all(configuration(one.name) == one for one in passed)
    for bits in COUNTER_BITS:
        some = [one for one in passed if one.past == bits]
        assert {one.log for one in some} == {"undo", "redo"} and all(
            any(getattr(one, word) for one in some) for word in set(WORDS) - {"adam", "mixed", "gpus"}
        )
        numbers = range(some[0].first_batch, some[0].first_batch + SIZES["small"].batches)
        assert 2**bits in numbers and 2**bits - 1 in numbers


def test_far_rows_have_no_states_to_choose_from():
    assert replay("v1:undo-near-far~adr:0:0:run").problem == ""
    assert replay("v1:redo-near-checked-mixed-far~adr:0:0:run").problem == ""
    with pytest.raises(BadInput, match="replay it as undo-near-far~adr:0:0:run"):
        replay("v1:undo-near-far~adr:0:5:none")
