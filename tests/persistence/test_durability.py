"""Does the protocol keep its state through random power losses, damage and misuse? The crash explorer has every state. (I1-I8)"""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.crashcheck.judge import judge, judge_damaged
from engine.errors import CannotRun
from engine.persistence.crash_media import CrashMedia, Power
from engine.persistence.layout import TABLE_START, MediumLayout
from engine.persistence.logs import LOGS
from engine.persistence.media import LINE, PowerLost
from engine.persistence.protocol import Position, format_media, log_mlp
from engine.persistence.records import Stamp
from engine.persistence.recovery import recover
from tests.cases import each, examples
from tests.persistence.training_story import SEED, Journal, formatted, story, train


def test_a_crash_while_formatting_again_never_mixes_the_old_state_with_the_new():
    tale, batches, cut = story(), set(), 0
    other = Position(2, 2, 2 * 128, SEED)
    while 2 not in batches:
        media = CrashMedia(formatted(tale).durable, Power(cut_after=cut))
        with suppress(PowerLost):
            format_media(media, tale.layout, tale.tables[2], tale.mlps[2], other)
        for words in (0, 5):
            verdict = judge(tale, media.survivor(lambda _, pending, n=words: min(n, pending)).durable.tobytes(), 0, lossy=True)
            assert verdict.problem == ""
            batches.add(verdict.batch)
        cut += 1
    assert batches == {0, None, 2}


@examples(25)
@given(
    data=st.data(), seed=st.integers(0, 2**31), log=st.sampled_from(["undo", "redo"]), relaxed=st.booleans(), mixed=st.booleans()
)
def test_random_runs_survive_three_random_power_losses(data, seed, log, relaxed, mixed):
    size = data.draw(st.integers(1, 12), "rows")
    touched = data.draw(st.integers(1, size), "touched")
    dim, mlp_bytes = data.draw(st.integers(1, 40), "dim"), data.draw(st.integers(1, 300), "mlp")
    tale = story(log, relaxed, data.draw(st.booleans(), "near data"), False, size, dim, mlp_bytes, 5, touched, seed, mixed)
    rng, journal, batch = np.random.default_rng(seed), Journal(), 0
    media = formatted(tale)
    for _ in range(3):
        media = CrashMedia(media.durable, Power(cut_after=data.draw(st.integers(0, 120), "cut"), controllers=2), rng)
        with suppress(PowerLost):
            train(tale, media, batch, journal)
        media = media.survivor()
        assert judge(tale, media.durable.tobytes(), journal.acknowledged).problem == ""
        batch = recover(media, tale.layout, log, tale.bound).embedding_batch


@each("log", ["undo", "redo"])
def test_rows_of_unlike_sizes_are_recovered_from_a_power_loss_at_every_line_with_torn_words(log):
    tale, rng, at = story(log, mixed=True), np.random.default_rng(3), set()
    for cut in range(10_000):
        media = CrashMedia(formatted(tale).durable, Power(cut_after=cut), rng)
        journal = Journal()
        try:
            train(tale, media, 0, journal)
        except PowerLost:
            verdict = judge(tale, media.survivor().durable.tobytes(), journal.acknowledged)
            assert verdict.problem == ""
            at.add(verdict.batch)
            continue
        break
    assert cut == media.line_writes and at == set(range(tale.batches + (log == "redo"))) and tale.layout.has_mixed_sizes


def test_no_other_kind_of_log_and_no_other_layout_is_ever_taken_for_a_checkpoint():
    tale = story("undo")
    media = formatted(tale)
    train(tale, media)
    with pytest.raises(CannotRun, match="no complete checkpoint"):
        recover(media.survivor(), tale.layout, "redo")
    with pytest.raises(CannotRun, match="laid out for"):
        recover(media.survivor(), MediumLayout(8, 32, 88, 4), "undo")


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
    train(tale, media)
    repaired = judge_damaged(tale, media.survivor().durable.tobytes(), 0, (tale.layout.row(int(tale.rows[0][1])),))
    assert not repaired.problem and not repaired.refused
    free = next(row for row in range(8) if row not in tale.rows[0])
    lost = media.survivor()
    lost.poison(TABLE_START + free * LINE)
    with pytest.raises(CannotRun, match=f"1 of 8 embedding rows are lost .* row {free},"):
        recover(lost, tale.layout, "undo")


def test_more_rows_than_the_log_holds_are_refused_with_the_number_needed():
    tale = story()
    with pytest.raises(CannotRun, match="max_log_rows=4 cannot hold the 5 rows"):
        LOGS["undo"].log_rows(formatted(tale), tale.layout, 0, np.arange(5), tale.tables[0][:5])


def test_a_log_that_finds_no_free_slot_is_refused_and_never_overwrites_a_live_one():
    tale = story("redo")
    media, kept = formatted(tale), []
    for batch in range(2):
        rows = LOGS["redo"].log_rows(media, tale.layout, batch, tale.rows[batch], tale.change(batch).values_after)
        mlp = log_mlp(media, tale.layout, batch + 1, tale.mlps[batch + 1])
        LOGS["redo"].commit(media, tale.layout, rows, mlp, Stamp((batch + 1) * 128, SEED, 0))
        kept.append(media.survivor().durable)
        if batch == 0:
            LOGS["redo"].rewrite(media, tale.layout, rows, mlp, tale.rows[batch], tale.change(batch).values_after)
    with pytest.raises(CannotRun, match="batch 3 has no free log slot: all 2 are in use"):
        LOGS["redo"].log_rows(media, tale.layout, 2, tale.rows[2], tale.change(2).values_after)
    assert np.array_equal(media.survivor().durable, kept[-1])


def test_an_unfinished_mlp_log_cannot_be_committed():
    tale = story()
    media = formatted(tale)
    rows = LOGS["undo"].log_rows(media, tale.layout, 0, tale.rows[0], tale.change(0).values_before)
    with pytest.raises(CannotRun, match="holds 40 of 88 bytes"):
        LOGS["undo"].commit(media, tale.layout, rows, log_mlp(media, tale.layout, 0, tale.mlps[0], 40), Stamp(0, SEED, 0))
