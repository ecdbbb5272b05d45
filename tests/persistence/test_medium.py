"""Does the functional medium lose exactly what a persistence domain may lose?"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.persistence.crash_media import INTERLEAVE, CrashMedia, Power
from engine.persistence.layout import MediumLayout
from engine.persistence.media import LINE, NearData, PowerLost
from tests.cases import examples
from tests.persistence.metered_media import region


def filled(nbytes, value):
    return np.full(nbytes, value, np.uint8)


def everything(stream, words):
    return words


def test_a_store_is_seen_at_once_and_durable_only_after_flush_and_fence():
    media = CrashMedia(256)
    media.store(10, filled(20, 7))
    assert media.load(10, 20) == bytes([7]) * 20
    media.fence()
    assert not media.survivor().durable.any()
    media.flush(10, 20)
    assert not media.survivor().durable.any()
    media.fence()
    assert media.survivor().load(10, 20) == bytes([7]) * 20


def test_a_flush_covers_only_the_lines_it_names():
    media = CrashMedia(256)
    media.store(32, filled(128, 9))
    media.flush(64, 1)
    media.fence()
    assert np.flatnonzero(media.survivor().durable).tolist() == list(range(64, 128))


def test_a_store_after_the_flush_is_not_covered_by_it():
    media = CrashMedia(64)
    media.store(0, filled(8, 1))
    media.flush(0, 8)
    media.store(0, filled(8, 2))
    media.fence()
    assert media.survivor().load(0, 8) == bytes([1]) * 8
    assert media.survivor(everything).load(0, 8) == bytes([2]) * 8


def test_each_line_keeps_a_prefix_of_its_own_pending_words_in_program_order():
    media = CrashMedia(128)
    for word in (3, 1, 0):
        media.store(word * 8, filled(8, word + 1))
        media.store(LINE + word * 8, filled(8, word + 1))
    state = media.survivor(lambda line, words: 2 - line).durable
    assert state[:LINE:8].tolist() == [0, 2, 0, 4, 0, 0, 0, 0]
    assert state[LINE::8].tolist() == [0, 0, 0, 4, 0, 0, 0, 0]


def test_device_writes_are_first_in_first_out_per_controller():
    media = CrashMedia(2 * INTERLEAVE, Power(controllers=2))
    for address in (0, INTERLEAVE, LINE):
        media.device_write(address, filled(16, 5))
    pending = {}
    media.survivor(lambda stream, words: pending.setdefault(stream, words) * 0)
    assert pending == {-1: 4, -2: 2}
    state = media.survivor(lambda stream, words: 3 if stream == -1 else 0).durable
    assert np.flatnonzero(state).tolist() == [*range(16), *range(LINE, LINE + 8)]


@examples(60)
@given(st.integers(0, 200), st.integers(1, 400), st.integers(0, 12), st.integers(0, 8))
def test_power_is_lost_after_exactly_the_asked_number_of_line_writes(address, nbytes, cut, words):
    media = CrashMedia(1024, Power(cut_after=cut))
    media.store(address, filled(nbytes, 1))
    media.flush(address, nbytes)
    lines = (address + nbytes - 1) // LINE - address // LINE + 1
    if lines <= cut:
        media.fence()
        expected = range(address, address + nbytes)
    else:
        with pytest.raises(PowerLost):
            media.fence()
        torn = (address // LINE + cut) * LINE
        first_word = max(torn, address // 8 * 8)
        kept = min(first_word + 8 * words, torn + LINE, address + nbytes)
        expected = range(address, max(kept, address))
    reach = iter([words])
    state = media.survivor(lambda line, pending: min(next(reach, 0), pending)).durable
    assert np.flatnonzero(state).tolist() == list(expected)


def test_a_medium_without_power_refuses_every_operation():
    media = CrashMedia(64, Power(cut_after=0))
    media.store(0, filled(8, 1))
    media.flush(0, 8)
    for operation in (media.fence, media.fence, lambda: media.load(0, 1), lambda: media.store(0, filled(1, 1))):
        with pytest.raises(PowerLost):
            operation()


def test_poison_goes_when_the_whole_line_is_durably_written_and_not_before():
    media = CrashMedia(128)
    media.poison(70)
    assert not media.poisoned(0, 64)
    assert media.poisoned(0, 65)
    near = NearData(media)
    near.store(64, filled(32, 1))
    near.store(96, filled(32, 1))
    near.fence()
    assert media.survivor().poisoned(64, 1)
    near.store(60, filled(68, 1))
    assert near.poisoned(64, 1)
    near.fence()
    assert not media.survivor().poisoned(64, 1)


@pytest.mark.parametrize(("share", "lines"), [(0.0, 0), (0.5, 2), (0.999, 4)])
def test_an_operation_under_way_keeps_its_share_of_lines_and_tears_one(share, lines):
    seen = set()
    for seed in range(40):
        media = CrashMedia(1024)
        media.store(0, filled(5 * LINE, 1))
        media.flush(0, 5 * LINE)
        media.tear(share, np.random.default_rng(seed))
        seen.add(int(media.survivor(everything).durable.sum()))
    assert seen <= set(range(lines * LINE, (lines + 1) * LINE + 1, 8))
    assert len(seen) > 4


@pytest.mark.parametrize(("address", "nbytes"), [(-1, 4), (60, 8), (64, 1)])
def test_an_access_outside_the_medium_is_an_error_not_a_shorter_write(address, nbytes):
    with pytest.raises(IndexError, match="outside the medium"):
        CrashMedia(64).store(address, filled(nbytes, 1))


@examples(60)
@given(st.integers(1, 500), st.integers(1, 300), st.integers(1, 5000), st.integers(1, 600))
def test_regions_of_a_layout_never_overlap(num_rows, row_bytes, mlp_bytes, max_rows):
    place = MediumLayout(num_rows, row_bytes, mlp_bytes, max_rows)
    ends = [place.row(num_rows - 1) + row_bytes]
    for slot in place.slots:
        assert slot.header % LINE == 0
        assert slot.header >= ends[-1]
        ends.append(slot.payload + slot.capacity)
    assert place.row_slots[0].capacity == max_rows * (8 + row_bytes)
    assert place.nbytes >= ends[-1]
    assert region(place, place.row(0)) == "data"
    assert region(place, place.mlp_slots[0].payload) == "mlp log"
