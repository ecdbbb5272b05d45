"""Do rows of unlike sizes stand, and are logged, byte by byte where plain sums say, without padding, and alike rows as ever?"""

from hashlib import blake2b

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadInput, CannotRun
from engine.persistence import protocol, records
from engine.persistence.checksums import KEY, MODULUS, digest_after_change, row_digests, table_digest
from engine.persistence.crash_media import CrashMedia
from engine.persistence.layout import TABLE_START, MediumLayout, layout_for
from engine.persistence.logs import LOGS
from engine.persistence.media import LINE, FunctionalMedia
from engine.persistence.protocol import Position, format_media, log_mlp
from engine.persistence.records import Stamp
from engine.persistence.recovery import logged_rows, recover
from tests.cases import each, examples
from tests.oracles.splitmix import mixed
from tests.persistence.metered_media import region

SPANS = ((2, 20), (1, 13), (3, 128), (1, 8), (2, 192))  # of eight whole words, of none, of a row beside itself
SPANS_DRAWN = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 90)), min_size=1, max_size=7).map(tuple)
MLP = np.arange(24, dtype=np.uint8)


def plain_places(spans, checked=False):
    """Yield of each row its address, where its values begin among all, their bytes, and the number of its first word."""
    address, offset, word = 4096, 0, 0
    for rows, nbytes in spans:
        for _ in range(rows):
            yield address, offset, nbytes, word
            address += -(-(nbytes + 8 * checked) // 8) * 8
            offset, word = offset + nbytes, word + -(-nbytes // 8)


def bytes_of(count, seed):
    """Return bytes by plain arithmetic, the same on every computer."""
    words = (np.arange(count, dtype=np.uint64) + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
    return (words >> np.uint64(56)).astype(np.uint8)


def of_rows(table, spans, rows):
    """Return the values of some rows, one after another."""
    places = [*plain_places(spans)]
    return b"".join(bytes(table[offset : offset + nbytes]) for _, offset, nbytes, _ in (places[row] for row in rows))


def laid_out(spans=SPANS, checked=False, batches=((0, 2, 3, 8), (1, 4))):
    """Return a layout, and a table's values one row after another."""
    batches = [np.array(rows) for rows in batches]
    place = layout_for(sum(rows for rows, _ in spans), spans, MLP.size, batches, checked)
    return place, bytes_of(sum(rows * nbytes for rows, nbytes in spans), 1)


@each(
    ("log", "rows", "row_bytes", "checked", "digest"),
    [
        ("undo", 6, 36, False, "c55b74cad275dcb8"),
        ("redo", 6, 36, True, "26bacc97c50bb6d8"),
        ("undo", 7, 13, True, "67fc1cacd3772033"),
        ("redo", 9, 64, False, "0f84f5d67cb8d3ed"),
        ("undo", 70, 128, False, "4863ae8e1e70340c"),
    ],
)
def test_rows_of_one_size_leave_the_very_bytes_that_they_left_before_there_were_others(log, rows, row_bytes, checked, digest):
    """Digests of all images of a run and of its recovery, taken when rows had one size."""
    place, order, total = MediumLayout(rows, row_bytes, 40, 3, checked), LOGS[log], blake2b(digest_size=8)
    media, table = CrashMedia(place.nbytes), bytes_of(rows * row_bytes, 1).reshape(rows, row_bytes)
    format_media(media, place, table, bytes_of(40, 2), Position(0, 0, 0, (5, 6)))
    total.update(media.durable.tobytes())
    for batch in range(3):
        touched = np.array([batch, batch + 2, rows - 1])
        after, mlp = bytes_of(3 * row_bytes, 10 + batch).reshape(3, row_bytes), bytes_of(40, 20 + batch)
        row_log = order.log_rows(media, place, batch, touched, after if order.batches_ahead else table[touched])
        mlp_log = log_mlp(media, place, batch + order.batches_ahead, mlp)
        order.commit(media, place, row_log, mlp_log, Stamp(batch, (5, 6), 7))
        total.update(media.durable.tobytes())
        order.rewrite(media, place, row_log, mlp_log, touched, after)
        table[touched] = after
        media.fence()
        total.update(media.durable.tobytes())
    last = media.survivor()
    found = recover(last, place, log)
    total.update(last.durable.tobytes())
    total.update(found.table.tobytes())
    assert found.table.shape == (rows, row_bytes) and total.hexdigest() == digest


@examples(80)
@given(spans=SPANS_DRAWN, checked=st.booleans(), data=st.data())
def test_every_row_stands_where_plain_sums_say_and_log_slots_hold_the_largest_batch_and_no_more(spans, checked, data):
    count = sum(rows for rows, _ in spans)
    batches = data.draw(st.lists(st.lists(st.integers(0, count - 1), unique=True), max_size=4), "batches")
    place, _ = laid_out(spans, checked, [np.array(rows, np.int64) for rows in batches])
    rows = [*plain_places(spans, checked)]
    assert [place.row(row) for row in range(count)] == [address for address, *_ in rows]
    assert [place.value_slice(row) for row in range(count)] == [slice(start, start + nbytes) for _, start, nbytes, _ in rows]
    addresses, stored = place.places(np.arange(count))
    assert addresses.tolist() == [address for address, *_ in rows]
    assert np.broadcast_to(stored, count).tolist() == [nbytes + 8 * checked for _, _, nbytes, _ in rows]
    most = max([sum(8 + rows[row][2] + 8 * checked for row in batch) for batch in batches], default=0)
    assert {slot.capacity for slot in place.row_slots} == {most} and place.max_log_rows == max([1, *map(len, batches)])
    last, end = rows[-1], place.row_slots[0].header
    assert last[0] + last[2] + 8 * checked <= end < last[0] + last[2] + 8 * checked + 7 + LINE and end % LINE == 0
    ends = [end, *(slot.stop for slot in place.slots)]
    assert [slot.header for slot in place.slots] == ends[:-1] and place.nbytes == ends[-1]


@each("checked", [False, True])
def test_a_formatted_medium_holds_each_row_at_its_address_and_zeros_up_to_the_next_word(checked):
    place, table = laid_out(checked=checked)
    media, expected = FunctionalMedia(place.nbytes), np.zeros(place.nbytes, np.uint8)
    format_media(media, place, table, MLP, Position(0, 0))
    for address, offset, nbytes, word in plain_places(SPANS, checked):
        values = table[offset : offset + nbytes]
        expected[address : address + nbytes] = values
        if checked:
            expected[address + nbytes :][:8] = np.array([digest_of(bytes(values), word)], "<u8").view(np.uint8)
    data = slice(TABLE_START, place.row_slots[0].header)
    assert np.array_equal(media.durable[data], expected[data])
    assert np.array_equal(protocol.read_table(media, place), table)
    protocol.verify(media, place, table_digest(place, table))


def digest_of(values, word):
    """Return a row's checksum by its definition, from its values and the number of its first word in the table."""
    words = [int.from_bytes(values[at : at + 8], "little") for at in range(0, len(values), 8)]
    return sum(mixed((one + mixed(word + n + KEY)) % MODULUS) for n, one in enumerate(words)) % MODULUS


@examples(40)
@given(spans=SPANS_DRAWN, data=st.data())
def test_the_digest_is_the_sum_of_each_rows_own_words_and_a_batch_moves_it_by_its_rows(spans, data):
    place, table = laid_out(spans, batches=())
    count, places = place.num_rows, [*plain_places(spans)]
    sums = [digest_of(bytes(table[start : start + nbytes]), word) for _, start, nbytes, word in places]
    assert table_digest(place, table) == sum(sums) % MODULUS
    parts = zip(place.spans, place.parts(table), strict=True)
    assert [int(one) for span, values in parts for one in row_digests(span, span.rows, values)] == sums
    rows = np.array(data.draw(st.lists(st.integers(0, count - 1), unique=True), "rows"), np.int64)
    after = table.copy()
    for row in rows:
        _, start, nbytes, _ = places[row]
        after[start : start + nbytes] += bytes_of(nbytes, int(row)) | np.uint8(1)
    change = (np.frombuffer(of_rows(one, spans, rows), np.uint8) for one in (table, after))
    assert digest_after_change(place, table_digest(place, table), rows, *change) == table_digest(place, after)


def test_a_flipped_bit_in_a_row_of_any_size_is_noticed_and_with_checksums_the_row_is_named():
    for checked in (False, True):
        place, table = laid_out(checked=checked)
        media = FunctionalMedia(place.nbytes)
        format_media(media, place, table, MLP, Position(0, 0))
        for row, (address, _, nbytes, _) in enumerate(plain_places(SPANS, checked)):
            for bit in range(row, 8 * (nbytes + 8 * checked), 13):
                flipped = FunctionalMedia(media.durable)
                flipped.durable[address + bit // 8] ^= 1 << bit % 8
                told = f"1 of 9 .* fail their checksum, the first is row {row};" if checked else "stale, torn or damaged"
                with pytest.raises(CannotRun, match=told):
                    recover(flipped, place, "undo", scan="always")


class CountedStores(FunctionalMedia):
    """Adds up the bytes of each store by region."""

    def __init__(self, place):
        super().__init__(place.nbytes)
        self.place, self.stored = place, {}

    def store(self, address, data):
        name = region(self.place, address)
        self.stored[name] = self.stored.get(name, 0) + data.size
        super().store(address, data)


@examples(30)
@given(spans=SPANS_DRAWN, checked=st.booleans(), log=st.sampled_from(["undo", "redo"]), data=st.data())
def test_no_row_is_padded_in_the_log_or_at_home_and_a_log_gives_back_its_rows_in_any_order(spans, checked, log, data):
    count = sum(rows for rows, _ in spans)
    rows = np.array(data.draw(st.lists(st.integers(0, count - 1), min_size=1, unique=True), "rows"), np.int64)
    place, table = laid_out(spans, checked, [rows])
    media, places = CountedStores(place), [*plain_places(spans)]
    values = np.frombuffer(of_rows(table * data.draw(st.integers(0, 1), "zeros"), spans, rows), np.uint8)
    nbytes = sum(places[row][2] + 8 * checked for row in rows)
    pending = LOGS[log].log_rows(media, place, 0, rows, values)
    assert media.stored == {"row log": 8 * len(rows) + nbytes} and pending.nbytes == pending.slot.capacity
    records.seal(media, pending, Stamp(0, (0, 0), 0))
    numbers, kept = logged_rows(place, records.read_record(media, pending.slot))
    assert np.array_equal(numbers, rows) and np.array_equal(kept, values)
    protocol.write_rows(media, place, rows, values)
    assert media.stored["data"] == nbytes
    home = protocol.read_table(media, place)
    assert of_rows(home, spans, rows) == values.tobytes()
    others = np.setdiff1d(np.arange(count), rows)
    assert not any(of_rows(home, spans, others)), "a row that was not written has changed"


def test_values_that_do_not_fit_the_rows_and_sizes_that_do_not_fit_the_table_are_refused():
    place, table = laid_out()
    media, rows = FunctionalMedia(place.nbytes), np.array([0, 2, 8])
    values = np.frombuffer(of_rows(table, SPANS, rows), np.uint8)
    for wrong in (values[:-1], np.append(values, values[:1]), values[:33], np.tile(values, 2)):
        with pytest.raises(ValueError, match="reshape"):
            LOGS["undo"].log_rows(media, place, 0, rows, wrong)
        with pytest.raises(ValueError, match="reshape"):
            protocol.write_rows(media, place, rows, wrong)
    with pytest.raises(ValueError, match="reshape"):
        format_media(media, place, table[:-1], MLP, Position(0, 0))
    with pytest.raises(BadInput, match="sizes for 9 rows, but the table has 8; give each one"):
        MediumLayout(8, SPANS, 24, 4)


def test_a_batch_larger_than_the_slot_is_refused_by_its_rows_or_by_its_bytes():
    place, table = laid_out(batches=((0, 1, 2),))
    media = FunctionalMedia(place.nbytes)
    with pytest.raises(CannotRun, match="max_log_rows=3 cannot hold the 4 rows"):
        LOGS["undo"].log_rows(media, place, 0, np.arange(4), np.frombuffer(of_rows(table, SPANS, range(4)), np.uint8))
    with pytest.raises(CannotRun, match="needs 200 bytes, but its log slot holds 77"):
        LOGS["undo"].log_rows(media, place, 0, np.array([8]), np.frombuffer(of_rows(table, SPANS, [8]), np.uint8))


def test_a_medium_of_other_sizes_is_never_taken_for_ones_own():
    place, table = laid_out()
    media = FunctionalMedia(place.nbytes)
    format_media(media, place, table, MLP, Position(0, 0))
    assert np.array_equal(recover(FunctionalMedia(media.durable), place, "undo").table, table)
    swapped = (SPANS[1], SPANS[0], *SPANS[2:])
    others = [
        laid_out(swapped)[0],  # as many rows and bytes
        laid_out(batches=((3, 4, 7, 8),))[0],  # as many rows in a batch, and more of their bytes
        laid_out(checked=True)[0],
        MediumLayout(9, 36, 24, 4),
    ]
    for other in others:
        with pytest.raises(CannotRun, match=r"laid out for .*not for"):
            recover(FunctionalMedia(media.durable), other, "undo")
    assert MediumLayout(9, 36, 24, 4).size_word == 36 < 2**63 <= place.size_word < 2**64


def test_a_lost_line_is_repaired_where_it_lies_in_one_logged_row_of_any_size_and_else_reported():
    spans = ((2, 128), (2, 40), (2, 200), (2, 64), (1, 13))
    place, table = laid_out(spans, batches=((0, 2, 4, 6),))
    media = FunctionalMedia(place.nbytes)
    format_media(media, place, table, MLP, Position(0, 0))
    rows = np.array([0, 2, 4, 6])
    pending = LOGS["undo"].log_rows(media, place, 0, rows, np.frombuffer(of_rows(table, spans, rows), np.uint8))
    LOGS["undo"].commit(media, place, pending, log_mlp(media, place, 0, MLP), Stamp(0, (0, 0), table_digest(place, table)))
    for row, (address, _, nbytes, _) in enumerate(plain_places(spans)):
        inside = range(-(-address // LINE) * LINE, address + nbytes - LINE + 1, LINE)
        for line in range(address // LINE * LINE, address + nbytes, LINE):
            lost = FunctionalMedia(media.durable)
            lost.poison(line)
            if row in rows and line in inside:
                assert np.array_equal(recover(lost, place, "undo", scan="always").table, table)
                continue
            with pytest.raises(CannotRun, match=r"\d of 9 embedding rows are lost") as refusal:
                recover(lost, place, "undo")
            hit = [n for n, (start, _, size, _) in enumerate(plain_places(spans)) if start < line + LINE and line < start + size]
            assert row in hit and f"{len(hit)} of 9" in str(refusal.value) and f"the first is row {hit[0]}," in str(refusal.value)
