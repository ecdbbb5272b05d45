"""Do the checksums on data see every stale, torn, moved or flipped row, and does a batch move the table's digest rightly?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import CannotRun
from engine.persistence.checksums import KEY, MODULUS, digest_after_change, row_digests, table_digest
from engine.persistence.crash_media import CrashMedia
from engine.persistence.layout import TABLE_START, MediumLayout
from engine.persistence.media import HEALTH, FunctionalMedia
from engine.persistence.protocol import Position, format_media
from engine.persistence.recovery import recover
from tests.cases import examples
from tests.oracles.splitmix import mixed
from tests.persistence.training_story import formatted, story


@examples(40)
@given(rows=st.integers(1, 20), row_bytes=st.integers(1, 40), seed=st.integers(0, 2**32))
def test_the_digest_is_the_sum_of_mixed_words_and_a_batch_moves_it_by_its_rows(rows, row_bytes, seed):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 256, (rows, row_bytes), np.uint8)
    words = [int.from_bytes(row[at : at + 8].tobytes(), "little") for row in table for at in range(0, row_bytes, 8)]
    layout = MediumLayout(rows, row_bytes, 8, 1)
    digest = table_digest(layout, table)
    assert digest == sum(mixed((word + mixed(place + KEY)) % MODULUS) for place, word in enumerate(words)) % MODULUS
    touched = np.sort(rng.choice(rows, rng.integers(0, rows + 1), replace=False))
    after = table.copy()
    after[touched] = rng.integers(0, 256, (touched.size, row_bytes), np.uint8)
    assert digest_after_change(layout, digest, touched, table[touched], after[touched]) == table_digest(layout, after)
    assert int(row_digests(layout.spans[0], np.arange(rows), table).sum()) == digest


def test_every_flipped_bit_and_every_swap_of_rows_moves_the_digest():
    table = np.random.default_rng(0).integers(0, 256, (6, 20), np.uint8)
    layout = MediumLayout(6, 20, 8, 1)
    seen = {table_digest(layout, table)}
    for bit in range(table.size * 8):
        flipped = table.copy()
        flipped.reshape(-1)[bit // 8] ^= 1 << bit % 8
        seen.add(table_digest(layout, flipped))
    seen |= {table_digest(layout, table[order]) for order in ([1, 0, 2, 3, 4, 5], [0, 1, 2, 5, 4, 3])}
    assert len(seen) == 1 + table.size * 8 + 2


def test_recovery_that_scans_refuses_a_flipped_stale_or_moved_row_and_one_that_does_not_reads_it():
    tale = story()
    clean = formatted(tale).survivor()
    for row in range(8):
        media = FunctionalMedia(clean.durable)
        media.durable[tale.layout.row(row) + 30] ^= 1
        assert (
            recover(FunctionalMedia(media.durable), tale.layout, "undo").table[row, 30]
            == media.durable[tale.layout.row(row) + 30]
        )
        with pytest.raises(CannotRun, match="stale, torn or damaged"):
            recover(media, tale.layout, "undo", scan="always")
    assert not recover(clean, tale.layout, "undo", scan="always").dirty


def test_a_dirty_shutdown_makes_recovery_scan_and_say_so_once():
    tale = story()
    media = formatted(tale).survivor()
    media.durable[HEALTH] += 1
    flipped = FunctionalMedia(media.durable)
    flipped.durable[TABLE_START] ^= 1
    with pytest.raises(CannotRun, match="stale, torn or damaged"):
        recover(flipped, tale.layout, "undo")
    media = CrashMedia(media.durable)
    assert recover(media, tale.layout, "undo").dirty
    assert recover(media.survivor(), tale.layout, "undo").dirty, "until a fence has made the note durable"
    media.fence()
    assert not recover(media.survivor(), tale.layout, "undo").dirty


def checked(rows=5, row_bytes=20):
    """Return a formatted medium whose rows have checksums, its layout, and its table."""
    place = MediumLayout(rows, row_bytes, 8, 2, row_checksums=True)
    table = np.random.default_rng(1).integers(0, 256, (rows, row_bytes), np.uint8)
    media = FunctionalMedia(place.nbytes)
    format_media(media, place, table, np.zeros(8, np.uint8), Position(0, 0))
    return media, place, table


def test_with_row_checksums_a_scan_notices_every_flipped_bit_and_names_the_damaged_row():
    clean, place, _ = checked()
    for bit in range(place.spans[0].stored_bytes * 8):
        media = FunctionalMedia(clean.durable.copy())
        media.durable[place.row(2) + bit // 8] ^= 1 << bit % 8
        with pytest.raises(CannotRun, match="1 of 5 embedding rows fail their checksum, the first is row 2"):
            recover(media, place, "undo", scan="always")
