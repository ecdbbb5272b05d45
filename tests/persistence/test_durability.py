"""Does a power loss at every line write recover, to exactly a state that was? (I1, I2, I4-I8)"""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadInput, CannotRun
from engine.persistence import CrashMedia, Position, Power, PowerLost, format_media, recover, redo, undo
from engine.persistence.layout import DATA, layout
from engine.persistence.media import LINE
from engine.persistence.models import at_random
from engine.persistence.records import Stamp
from tests.cases import examples
from tests.persistence.crash_states import (
    crashes,
    failures,
    reaches,
    recovery_failure,
    silently_wrong,
    two_live_logs,
    wrong,
)
from tests.persistence.metered_media import CountingMedia
from tests.persistence.training_story import SEED, formatted, story, train

RUNS = {
    "undo": {},
    "undo by near-data logic": {"near_data": True},
    "undo, relaxed": {"relaxed": True, "batches": 5},
    "redo": {"log": "redo"},
    "redo by near-data logic": {"log": "redo", "near_data": True},
    "redo, home writes late": {"log": "redo", "late_home": True},
}


OFTEN = {"undo"}  # the crash explorer visits all of them, each time


@pytest.mark.parametrize("run", [run if run in OFTEN else pytest.param(run, marks=pytest.mark.slow) for run in RUNS])
def test_every_crash_second_crash_and_damage_recovers_exactly_or_is_reported(run):
    assert list(failures(story(**RUNS[run]))) == []


@pytest.mark.parametrize("log", ["undo", "redo"])
def test_a_crash_before_the_first_commit_recovers_to_the_start(log):
    tale = story(log)
    _, media, acknowledged = next(crashes(tale, formatted(tale), 0))
    assert acknowledged == 0
    assert recover(media.survivor(), tale.layout, log).embedding_batch == 0


def test_recovery_returns_the_acknowledged_batch_or_the_one_whose_flags_had_just_become_durable():
    tale, found = story(), set()
    for _, media, acknowledged in crashes(tale, formatted(tale), 0):
        for _, reach in reaches():
            found.add((acknowledged, recover(media.survivor(reach), tale.layout, "undo").embedding_batch))
    assert {(1, 1), (1, 2), (2, 2)} <= found
    assert all(batch in (acknowledged, acknowledged + 1) for acknowledged, batch in found)


def test_a_relaxed_recovery_reports_how_old_its_mlp_is():
    tale, ages = story(relaxed=True), set()
    for _, media, acknowledged in crashes(tale, formatted(tale), 0):
        recovered = recover(media.survivor(), tale.layout, "undo", tale.bound)
        assert wrong(tale, recovered, acknowledged) is None
        ages.add(recovered.embedding_batch - recovered.mlp_batch)
    assert ages == {0, 1, 2}


@pytest.mark.parametrize("log", ["undo", "redo"])
def test_recovering_twice_changes_nothing(log):
    tale = story(log)
    for _, media, _ in crashes(tale, formatted(tale), 0):
        once = media.survivor()
        recover(once, tale.layout, log)
        twice = once.survivor()
        recover(twice, tale.layout, log)
        assert np.array_equal(once.durable, twice.durable)


def test_a_crash_while_formatting_again_never_mixes_the_old_state_with_the_new():
    tale, batches, cut = story(), set(), 0
    other = Position(2, 2, 2 * 128, SEED)
    while 2 not in batches:
        media = CrashMedia(formatted(tale).durable, Power(cut_after=cut))
        with suppress(PowerLost):
            format_media(media, tale.layout, tale.tables[2], tale.mlps[2], other)
        for _, reach in reaches((0, 5)):
            state = media.survivor(reach)
            assert silently_wrong(tale, state.survivor()) is None
            try:
                batches.add(recover(state, tale.layout, "undo").embedding_batch)
            except CannotRun as refusal:
                batches.add(str(refusal)[:5])
        cut += 1
    assert {0, 2} < batches


@examples(25)
@given(data=st.data(), seed=st.integers(0, 2**31), log=st.sampled_from(["undo", "redo"]), relaxed=st.booleans())
def test_random_runs_survive_three_random_power_losses(data, seed, log, relaxed):
    size = data.draw(st.integers(1, 12), "rows")
    touched = data.draw(st.integers(1, size), "touched")
    dim, mlp_bytes = data.draw(st.integers(1, 40), "dim"), data.draw(st.integers(1, 300), "mlp")
    tale = story(log, relaxed, data.draw(st.booleans(), "near data"), False, size, dim, mlp_bytes, 5, touched, seed)
    rng, acknowledged, batch = np.random.default_rng(seed), [0], 0
    media = formatted(tale)
    for _ in range(3):
        media = CrashMedia(media.durable, Power(cut_after=data.draw(st.integers(0, 120), "cut"), controllers=2), rng)
        with suppress(PowerLost):
            train(tale, media, batch, acknowledged)
        media = media.survivor()
        assert two_live_logs(tale, media) is None
        recovered = recover(media, tale.layout, log, tale.bound)
        assert wrong(tale, recovered, acknowledged[-1]) is None
        batch = recovered.embedding_batch


@pytest.mark.parametrize("log", ["undo", "redo"])
@pytest.mark.parametrize("near_data", [False, True])
def test_a_batch_writes_exactly_the_bytes_that_the_timing_charges_behind_three_fences(log, near_data):
    tale = story(log, near_data=near_data, batches=5)
    media = CountingMedia(formatted(tale), tale.layout)
    train(tale, media, 0, [])
    assert dict(media.written) == {
        "row log": 5 * 4 * (8 + 36),
        "mlp log": 5 * 88,
        "flags": 5 * 4 * 64,
        "data": 5 * 4 * 36,
    }
    assert media.fences == 5 * 3 + 1
    lines = {region: nbytes for region, nbytes in media.written.items() if region != "data"}
    assert {region: media.flushed[region] for region in lines} == ({} if near_data else lines) or near_data
    assert near_data == (not media.flushed)


def test_no_other_kind_of_log_and_no_other_layout_is_ever_taken_for_a_checkpoint():
    tale = story("undo")
    media = formatted(tale)
    train(tale, media, 0, [])
    with pytest.raises(CannotRun, match="no complete checkpoint"):
        recover(media.survivor(), tale.layout, "redo")
    with pytest.raises(CannotRun, match="laid out for"):
        recover(media.survivor(), layout(8, 32, 88, 4), "undo")


def test_a_region_of_zeros_is_not_a_checkpoint():
    tale = story()
    with pytest.raises(CannotRun, match="superblock"):
        recover(CrashMedia(tale.layout.nbytes), tale.layout, "undo")
    media = formatted(tale)
    media.durable[tale.layout.row_slots[0].header :] = 0
    with pytest.raises(CannotRun, match="batches none"):
        recover(media.survivor(), tale.layout, "undo")


def test_poison_in_a_row_that_the_log_holds_is_repaired_and_elsewhere_reported():
    tale = story(dim=16, batches=1)
    media = formatted(tale)
    train(tale, media, 0, [])
    held = media.survivor()
    held.poison(tale.layout.row(int(tale.rows[0][1])))
    assert recovery_failure(tale, held, 0) is None
    free = next(row for row in range(8) if row not in tale.rows[0])
    lost = media.survivor()
    lost.poison(DATA + free * LINE)
    with pytest.raises(CannotRun, match=f"1 of 8 embedding rows are lost .* row {free},"):
        recover(lost, tale.layout, "undo")


def test_more_rows_than_the_log_holds_are_refused_with_the_number_needed():
    tale = story()
    with pytest.raises(CannotRun, match="max_log_rows=4 cannot hold the 5 rows"):
        undo.log_rows(formatted(tale), tale.layout, 0, np.arange(5), tale.tables[0][:5])


def test_a_log_that_finds_no_free_slot_is_refused_and_never_overwrites_a_live_one():
    tale = story("redo")
    media, kept = formatted(tale), []
    for batch in range(2):
        rows = redo.log_rows(media, tale.layout, batch, tale.rows[batch], tale.change(batch).after)
        mlp = redo.log_mlp(media, tale.layout, batch, tale.mlps[batch + 1])
        redo.commit(media, tale.layout, rows, mlp, Stamp((batch + 1) * 128, SEED, 0))
        kept.append(media.survivor().durable)
        if batch == 0:
            redo.rewrite(media, tale.layout, rows, mlp, tale.rows[batch], tale.change(batch).after)
    with pytest.raises(CannotRun, match="batch 3 finds all 2 log slots in use"):
        redo.log_rows(media, tale.layout, 2, tale.rows[2], tale.change(2).after)
    assert np.array_equal(media.survivor().durable, kept[-1])


def test_an_unfinished_mlp_log_cannot_be_committed():
    tale = story()
    media = formatted(tale)
    rows = undo.log_rows(media, tale.layout, 0, tale.rows[0], tale.change(0).before)
    with pytest.raises(CannotRun, match="holds 40 of 88 bytes"):
        undo.commit(media, tale.layout, rows, undo.log_mlp(media, tale.layout, 0, tale.mlps[0], 40), Stamp(0, SEED, 0))


def test_a_position_beyond_63_bits_and_an_empty_layout_are_refused():
    with pytest.raises(BadInput, match="63 bits"):
        Position(-1, 0)
    with pytest.raises(CannotRun, match="num_rows=0"):
        layout(0, 64, 8, 1)


def test_a_random_tear_is_drawn_from_the_given_generator():
    tale = story()
    states = []
    for seed in (1, 1, 2):
        media = CrashMedia(formatted(tale).durable, Power(cut_after=5), np.random.default_rng(seed))
        with pytest.raises(PowerLost):
            train(tale, media, 0, [])
        states.append(media.survivor().durable.tobytes())
    assert states[0] == states[1]
    assert at_random(np.random.default_rng(1))(0, 0) == 0
