"""Are lost lines, flipped bits and recoveries where they belong, in rows of one size as ever and in rows of unlike sizes?"""

from dataclasses import replace

import numpy as np
import pytest

from engine.errors import CannotRun
from engine.persistence.crash_media import CrashMedia
from engine.persistence.layout import TABLE_START, MediumLayout, layout_for
from engine.persistence.media import LINE
from engine.persistence.protocol import Position, format_media
from engine.persistence.recovery import recover
from engine.persistence.replay import BatchChange, StartState
from engine.run import crash_recovery
from engine.run.crash_recovery import Damage, keep_flipped, poison, recovered_batches, recovered_state, with_flipped_bits
from engine.run.run import follow_run
from engine.run.shared_training import untrained_resolve
from engine.scenario.scenario import with_values
from tests.cases import each
from tests.machines import flow, line, ready, scenario

SPANS = ((3, 100), (2, 13), (4, 136), (1, 8), (2, 70))
LOGGED = np.array([1, 3, 6, 9, 11])
STARTS = (
    TABLE_START,
    TABLE_START + 104,
    TABLE_START + 208,
    TABLE_START + 312,
    TABLE_START + 328,
    TABLE_START + 344,
    TABLE_START + 480,
    TABLE_START + 616,
    TABLE_START + 752,
    TABLE_START + 888,
)
STARTS += (TABLE_START + 896, TABLE_START + 968)
SIZES = (100, 100, 100, 13, 13, 136, 136, 136, 136, 8, 70, 70)
RUN = ((3, 20), (2, 13), (2, 136), (1, 8))


def layout(checked=False):
    """Return the layout of rows of unlike sizes."""
    return layout_for(12, SPANS, 24, [LOGGED], checked)


def poisoned_lines(place, where, logged, seeds, flip=False):
    """Return the lines that get lost, or the bytes that change, over some draws."""
    lines = []
    for seed in range(seeds):
        media = CrashMedia(place.nbytes)
        poison(media, place, Damage(where, seed % 6, seed, "stream", flip), logged)
        lines += np.flatnonzero(media.durable).tolist() if flip else sorted(media._poisoned)
    return lines


@each(
    ("where", "flip", "row_bytes", "lines"),
    [
        ("logged row", False, 100, [71, 66, 71, 79, 71, 71, 66, 66, 66, 66, 79, 66]),
        ("other row", False, 100, [74, 64, 74, 82, 77, 74, 64, 69, 64, 69, 77, 69]),
        ("logged row", True, 100, [4512, 4200, 4616, 5032, 4616, 4616, 4200, 4200, 4200, 4512, 4616, 4200]),
        ("logged row", False, 40, [66, 64, 67, 69, 67, 67, 64, 64, 64, 66, 67, 64]),
        ("other row", False, 40, [67, 64, 68, 70, 68, 68, 64, 65, 64, 65, 69, 65]),
    ],
)
def test_rows_of_one_size_lose_the_lines_that_they_lost_before_there_were_others(where, flip, row_bytes, lines):
    assert poisoned_lines(MediumLayout(12, row_bytes, 24, 4), where, np.array([1, 4, 5, 9]), 12, flip) == lines


def test_a_lost_line_lies_wholly_in_a_row_where_rows_have_one_and_begins_in_the_row_where_not():
    place = layout()
    inside = {
        row: -(-STARTS[row] // LINE) for row in range(12) if -(-STARTS[row] // LINE) * LINE + LINE <= STARTS[row] + SIZES[row]
    }
    assert set(inside) == {0, 1, 5, 6, 7, 8, 10}
    others = sorted({*range(12)} - {*LOGGED.tolist()})
    for where, rows in (("logged row", LOGGED.tolist()), ("other row", others)):
        assert set(poisoned_lines(place, where, LOGGED, 60)) == {inside[row] for row in rows if row in inside}
        assert set(poisoned_lines(place, where, LOGGED, 60, flip=True)) == {STARTS[row] for row in rows}
    short = np.array([3, 4, 9, 11])
    assert not {*short.tolist()} & {*inside}
    assert set(poisoned_lines(place, "logged row", short, 60)) == {STARTS[row] // LINE for row in short}


def test_a_row_checksum_is_no_part_of_a_row_that_a_whole_lost_line_could_lie_in():
    place = layout_for(2, ((1, 56), (1, 120)), 24, [np.array([0])], row_checksums=True)
    assert place.row(1) == TABLE_START + LINE
    assert set(poisoned_lines(place, "logged row", np.array([0, 1]), 20)) == {TABLE_START // LINE + 1}


@each("checked", [False, True])
def test_flipped_bits_of_rows_of_any_size_are_turned_back_and_kept_where_nobody_has_written(checked):
    place, rng = layout(checked), np.random.default_rng(1)
    table = rng.integers(0, 256, sum(SIZES), np.uint8)
    bits = ((1, 99, 128), (3, 12, 1), (5, 0, 4), (5, 135, 64), (9, 7, 2), (11, 69, 32))
    written = with_flipped_bits(place, table, bits)
    ends = np.cumsum(SIZES)
    expected = table.copy()
    for row, byte, bit in bits:
        expected[ends[row] - SIZES[row] + byte] ^= bit
    assert np.array_equal(written, expected) and with_flipped_bits(place, table, ()) is table
    media = CrashMedia(place.nbytes)
    format_media(media, place, written, np.zeros(24, np.uint8), Position(0, 0))
    media.drain()
    before = media.durable.copy()
    media.durable[place.row(5)] ^= 8  # somebody has written row 5
    keep_flipped(media, place, written, table, bits)
    changed = np.flatnonzero(media.durable != before).tolist()
    assert changed == [place.row(row) + byte for row, byte in ((1, 99), (3, 12), (5, 0), (9, 7), (11, 69))]
    assert media.durable[place.row(3) + 12] == table[ends[3] - 1] and media.volatile[place.row(11) + 69] == table[-1]


def struck(system, share, **knobs):
    """Return a run of 8 batches that loses power after a share of it: its machine, the stretch that was cut, the outage."""
    asked = scenario("tiny", system, **{"run.batches": 8, **knobs})
    whole = float(line(asked, 8).batch_ends[-1])
    m = ready(with_values(asked, {"faults.power_loss_at_seconds": (share * whole,)}))
    done, _ = follow_run(m, flow(m.scenario, 8), None, untrained_resolve(m))
    return m, done.segments[0], done.crashes[0].outage


def trained():
    """Return tables and MLPs at the start of each batch, and each batch's change, of rows of unlike sizes."""
    rng, sizes = np.random.default_rng(2), np.repeat([nbytes for _, nbytes in RUN], [rows for rows, _ in RUN])
    starts = np.cumsum(sizes) - sizes
    tables, mlps, changes = [rng.integers(0, 256, sizes.sum(), np.uint8)], rng.integers(0, 256, (10, 16), np.uint8), {}
    for batch in range(9):
        rows = np.sort(rng.choice(7, 3, replace=False))  # of the first seven of eight
        bytes_ = np.concatenate([np.arange(starts[row], starts[row] + sizes[row]) for row in rows])
        tables.append(tables[-1].copy())
        tables[-1][bytes_] = rng.integers(0, 256, bytes_.size, np.uint8)
        changes[batch] = BatchChange(rows, tables[batch][bytes_], tables[batch + 1][bytes_], mlps[batch], mlps[batch + 1])
    return tables, mlps, changes


def recovery(system, share, flipped, **knobs):
    """Return what is recovered after a power loss, and the batch from which recovery could start, with a bit flipped or not."""
    tables, mlps, changes = trained()
    m, segment, down = struck(system, share, **knobs)
    since, flagged = segment.first_batch + segment.cut.checkpoint_batch, segment.first_batch + segment.cut.checkpoint_mlp_batch
    now = tables[since].copy()
    now[-1] ^= 16 * flipped  # in the last row, which no batch writes
    before = StartState(now, mlps[flagged], Position(since, flagged), RUN)
    return recovered_state(m, segment, down, before, changes, ((7, 7, 16),) * flipped), since


@each(("system", "checked"), [("cxl-b", False), ("cxl", True), ("ssd", False), ("pmem", True)])
def test_a_cut_run_with_rows_of_unlike_sizes_recovers_exactly_a_batch_of_it(system, checked):
    tables, mlps, _ = trained()
    batches = set()
    for share, flipped in ((0.2, False), (0.5, True), (0.83, False)):
        found, since = recovery(system, share, flipped, **{"policy.row_checksums": checked})
        expected = tables[found.embedding_batch].copy()
        expected[-1] ^= 16 * flipped
        assert np.array_equal(found.table, expected) and found.embedding_batch >= since
        assert np.array_equal(found.mlp, mlps[found.mlp_batch])
        batches.add(found.embedding_batch)
    assert len(batches) == 3


def on_gpus(m, count):
    """Return the machine with so many GPUs."""
    s = m.scenario
    return replace(m, settled=replace(m.settled, scenario=replace(s, machine=replace(s.machine, num_gpus=count))))


@each("system", ["cxl-b", "cxl", "ssd", "pmem"])
def test_an_mlp_log_of_several_gpus_that_is_cut_leaves_other_bytes_and_restores_what_one_gpu_does(system, monkeypatch):
    table, wide = np.zeros((8, 16), np.uint8), np.random.default_rng(3).integers(1, 256, (10, 500), np.uint8)
    changes = {
        batch: BatchChange(np.array([1, 5]), table[:2] + batch, table[:2] + batch + 1, wide[batch], wide[batch + 1])
        for batch in range(9)
    }
    m, segment, down = struck(system, 0.5)
    since, flagged = segment.first_batch + segment.cut.checkpoint_batch, segment.first_batch + segment.cut.checkpoint_mlp_batch
    now = table.copy()
    now[[1, 5]] += since
    at = max(number for number, event in enumerate(segment.cut.events) if event.op == "mlp log")
    torn_log = replace(segment.cut.events[at], done_share=0.5)
    torn = replace(segment, cut=replace(segment.cut, events=(*segment.cut.events[:at], torn_log)))
    images, states = [], []
    monkeypatch.setattr(
        crash_recovery, "recover", lambda media, *rest: images.append(media.durable.tobytes()) or recover(media, *rest)
    )
    for count in (1, 2, 3):
        start = StartState(now, wide[flagged], Position(since, flagged))
        found = recovered_state(on_gpus(m, count), torn, down, start, changes, ())
        assert found.mlp.tobytes() == wide[found.mlp_batch].tobytes() and found.table[1, 0] == found.embedding_batch
        states.append((found.embedding_batch, found.mlp_batch))
    assert len({*images}) == 3 and len({*states}) == 1 and since <= states[0][0] <= torn_log.batch


def test_an_mlp_log_has_a_range_of_each_gpu_of_the_machine():
    m, _, _ = struck("cxl-b", 0.5)
    assert [crash_recovery.mlp_writers(on_gpus(m, count)) for count in (1, 2, 4)] == [1, 2, 4]
    without = replace(m, settled=replace(m.settled, system=replace(m.system, devices=("host",))))
    assert crash_recovery.mlp_writers(on_gpus(without, 4)) == 1


def test_a_scan_sees_a_flipped_bit_of_rows_of_unlike_sizes():
    scan = {"policy.recovery_scan": "always"}
    assert recovery("cxl-b", 0.5, False, **scan)[0].embedding_batch
    with pytest.raises(CannotRun, match="embedding table does not match"):
        recovery("cxl-b", 0.5, True, **scan)
    with pytest.raises(CannotRun, match="1 of 8 embedding rows fail their checksum, the first is row 7"):
        recovery("cxl-b", 0.5, True, **scan, **{"policy.row_checksums": True})


def test_a_recovery_without_training_has_rows_of_the_mean_size():
    m, segment, down = struck("cxl-b", 0.5)
    whole = recovered_batches(m, segment, down)
    mean = replace(down, recovery=replace(down.recovery, row_bytes=down.recovery.row_bytes + 0.4))
    assert recovered_batches(m, segment, mean) == whole
