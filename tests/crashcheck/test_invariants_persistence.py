"""Do the invariants of the log protocol hold in every state that was explored? (I1-I8)

One exploration of all configurations under all safe models serves most of them; that it can fail, the seeded bugs show.
`make slow-store` draws its states by the seed; `python -m engine crashcheck --states 1400000` explores a million of them.
"""

import sys
from random import Random

import numpy as np
import pytest

from engine.crashcheck import exploration, judge
from engine.crashcheck.exploration import check, explore, safe_models
from engine.crashcheck.reference_run import configuration, configurations, reference_run
from engine.crashcheck.states import random_prefixes
from engine.crashcheck.visit import Effort, crash_points
from engine.persistence import protocol, records
from engine.persistence.crash_media import CrashMedia
from engine.persistence.media import HEALTH, FunctionalMedia
from engine.persistence.recovery import recover
from tests.cases import SELECTION, draw
from tests.seeded_bugs.broken_media import MediumWrapper

SHARE = 1 if SELECTION.all else 27  # of so many configurations `make test` explores one
MODELS = None if SELECTION.all else ("adr", "gpf_fail", "weak_word")
PART = SHARE if SELECTION.all else 2 * SHARE  # of the runs: half of the models
STATES = 160_000 if SELECTION.all else 600
pytestmark = pytest.mark.more


@pytest.fixture(scope="module")
def explored():
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(exploration, "configurations", lambda: configurations()[::SHARE])
        if not SELECTION.all:
            quick = [one for one in exploration.SCALED_CONFIGURATIONS if one.size not in ("large", "many", "wide")]
            patched.setattr(exploration, "SCALED_CONFIGURATIONS", tuple(quick[1::4]))
        return check(STATES, MODELS, *draw(range(10_000), 1) if SELECTION.all else ())


def holding(image):
    """Return a medium that holds an image."""
    return FunctionalMedia(np.frombuffer(image, np.uint8))


def ended(of):
    """Return a story, and the image that its whole run leaves."""
    tale = reference_run(configuration(of))
    last = crash_points(tale, "adr", 8, None)[0][-1]
    return tale, last.image(last.sizes)


def clean(report, invariant):
    """Return whether no failure names the invariant."""
    return not [failure for failure in report.failures if failure.problem.startswith(f"{invariant}:")]


@pytest.mark.slow
def test_many_states_of_all_configurations_and_models_are_consistent(explored):
    assert explored.inconsistent == 0, explored.failures
    assert explored.unique_states >= 100_000
    usual = 2 * len(range(0, len(configurations()), SHARE))
    assert len(explored.configurations) == usual + len(exploration.SCALED_CONFIGURATIONS) and explored.models == set(
        safe_models()
    )


def test_I1_recovery_ends_and_finds_a_valid_checkpoint_in_every_state(explored):
    assert clean(explored, "I1")


def test_I2_strict_recovery_is_bit_for_bit_the_fault_free_run_at_a_boundary_not_older_than_acknowledged(explored):
    assert clean(explored, "I2")


def sampled(count, seed):
    """Yield (story, image, acknowledged) of random crash states, by turns from every configuration."""
    rng, of = Random(seed), configurations()
    runs = []
    for one in of:
        tale = reference_run(one, seed)
        runs.append((tale, crash_points(tale, "adr", 8, None)[0]))
    for number in range(count):
        tale, points = runs[number % len(runs)]
        point = rng.choice(points)
        yield tale, point.image(random_prefixes(point.sizes, rng)), point.acknowledged


def resumed(count, seed):
    """Return the problems of runs resumed from sampled crashes."""
    verdicts = (judge.judge_resumed(tale, image, acknowledged) for tale, image, acknowledged in sampled(count, seed))
    return [verdict.problem for verdict in verdicts if verdict.problem]


def test_I3_runs_resumed_from_sampled_crashes_end_as_the_fault_free_run(explored):
    assert explored.resumed >= 900 / PART and clean(explored, "I3")
    assert resumed(480 // SHARE, seed=1) == []


@pytest.mark.slow
def test_I3_two_thousand_sampled_crashes_resumed_to_the_end_are_all_bit_equal():
    (seed,) = draw(range(10_000), 1)
    assert resumed(2000, seed) == []


@pytest.mark.slow
def test_I3_crashes_of_a_run_of_two_thousand_rows_resume_to_the_same_end():
    for name in ("undo-large", "redo-late-large", "undo-relaxed-near-large", "undo-mixed-large", "redo-late-checked-mixed-large"):
        tale, rng = reference_run(configuration(name), 3), Random(name)
        points, _ = crash_points(tale, "adr", 8, None)
        for point in (rng.choice(points) for _ in range(60)):
            assert judge.judge_resumed(tale, point.image(random_prefixes(point.sizes, rng)), point.acknowledged).problem == ""


def test_I4_relaxed_recovery_reports_how_old_its_mlp_is_within_the_bound(explored):
    assert clean(explored, "I4")
    ages = set()
    tale = reference_run(configuration("undo-relaxed"))
    for point in crash_points(tale, "adr", 8, None)[0]:
        found = recover(holding(point.image(point.sizes)), tale.layout, tale.log, tale.bound)
        ages.add(found.embedding_batch - found.mlp_batch)
    assert ages == {0, 1, 2}


def test_I5_every_flip_and_poison_is_repaired_exactly_or_reported(explored):
    assert explored.damaged >= 25_000 / PART and clean(explored, "I5")


def test_I5_a_lost_medium_is_never_reported_as_recovered():
    for of in ("undo", "redo"):
        tale, image = ended(of)
        assert judge.judge_damaged(tale, image, 0, tuple(judge.in_use(tale))).refused


def test_I6_recovery_gives_the_same_however_often_power_is_lost_inside_it(explored):
    assert explored.depth == 3 and explored.inconsistent == 0


def test_I7_there_are_never_two_live_logs_for_one_batch(explored):
    assert clean(explored, "I7")
    tale = reference_run(configuration("undo"))
    media = FunctionalMedia(tale.layout.nbytes)
    for slot in tale.layout.row_slots:
        records.seal(media, records.claim_slot(media, [slot], records.RecordKind.UNDO_ROWS, 1), records.Stamp(0, (0, 0), 0))
    assert "two live logs" in judge.two_live_logs(tale, media.durable.tobytes())


class Without(MediumWrapper):
    """Leaves out what one line of the protocol asks for, and keeps the lines that ask."""

    def __init__(self, media, kind, line, seen):
        super().__init__(media)
        self.kind, self.line, self.seen = kind, line, seen

    def asked(self, kind):
        frame = sys._getframe(2)
        while frame.f_code.co_name in ("put", "flush", "fence", "operation"):  # the last counts for the judge
            frame = frame.f_back
        line = (frame.f_code.co_name, frame.f_lineno)
        self.seen.add((kind, line))
        return (kind, line) == (self.kind, self.line)

    def flush(self, address, nbytes):
        if not self.asked("flush"):
            self.media.flush(address, nbytes)

    def fence(self):
        if not self.asked("fence"):
            self.media.fence()


def lines_that_ask():
    """Return every line of the protocol that asks for a flush or a fence in training, recovery or a format."""
    seen = set()
    for of in PLACES:
        explore(of, lambda media: Without(media, "", ("", 0), seen), ("adr",), Effort(20, 0, 1, 1, 1, formats=4))
    return sorted(seen)


# The last fence of a run has nothing after it; what the note on a dirty shutdown needs, the test below says.
REDUNDANT = {("fence", "train"), ("flush", "accept_dirty")}


@pytest.mark.slow
def test_I8_no_flush_and_no_fence_of_the_protocol_could_be_left_out():
    asked = [(kind, line) for kind, line in lines_that_ask() if (kind, line[0]) not in REDUNDANT]
    assert len(asked) >= 8
    useless = []
    for kind, line in asked:
        efforts = [(of, effort) for effort in EFFORTS for of in PLACES]
        for of, effort in efforts:
            if explore(of, lambda media, k=kind, at=line: Without(media, k, at, set()), ("adr",), effort).inconsistent:
                break
        else:
            useless.append((kind, line))
    assert useless == []


PLACES = ("undo", "redo-late", "undo-gpus")
EFFORTS = (Effort(150, 1, 4, 4, 2, formats=40), Effort(1500, 2, 12, 10, 4, formats=60))


def test_the_note_that_a_dirty_shutdown_was_dealt_with_needs_its_flush_and_no_fence():
    tale, image = ended("undo")
    image[HEALTH] += 1
    media = CrashMedia(np.frombuffer(image, np.uint8))
    assert recover(media, tale.layout, "undo").dirty
    media.fence()
    assert not protocol.is_dirty(media.survivor())


@pytest.mark.slow
def test_rows_of_unlike_sizes_are_consistent_to_the_last_combination_of_a_tiny_run_and_in_large_ones():
    for name in ("undo-mixed-tiny", "redo-late-checked-mixed-tiny"):
        report = explore(name, models=("adr",), effort=Effort(100_000, None, 8, 40, 4))
        assert report.inconsistent == 0 and not report.cut_short, report.failures
    for name in ("undo-relaxed-near-mixed-large", "redo-checked-mixed-large", "undo-mixed-many", "undo-mixed-far"):
        report = explore(name, effort=Effort(60, 2, 1, 2, 0))
        assert report.inconsistent == 0 and report.no_verdict == 0, report.failures
