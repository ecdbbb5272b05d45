"""Is an MLP log that several GPUs write, a range each, never taken for a record before every range is durable?"""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.crashcheck.judge import judge
from engine.crashcheck.reference_run import attach, configuration, reference_run, train
from engine.persistence.crash_media import CrashMedia, Power
from engine.persistence.logs import LOGS
from engine.persistence.media import LINE, FunctionalMedia, gpus_of, line_ranges, with_gpus
from engine.persistence.models import domain
from engine.persistence.protocol import Position, log_mlp
from engine.persistence.records import Stamp, is_free, read_record
from engine.persistence.recovery import recover
from engine.persistence.replay import PersistEvent, StartState, replay_events
from engine.registry import domain_names
from tests.cases import each, examples
from tests.persistence.training_story import SEED, Journal, formatted, story

MLP_BYTES = 5 * LINE + 24  # three lines of GPU 0, two whole and one torn of GPU 1
SAFE = [name for name in domain_names() if domain(name).safe]
UNBUFFERED = [name for name in SAFE if not domain(name).buffered_lines]


def filled(nbytes, value):
    return np.full(nbytes, value, np.uint8)


@examples(200)
@given(st.integers(0, 500), st.integers(0, 2000), st.integers(1, 9))
def test_ranges_cover_a_write_once_and_begin_at_lines_and_differ_by_a_line_at_most(address, nbytes, writers):
    parts = line_ranges(address, nbytes, writers)
    assert len(parts) == writers
    assert [byte for part in parts for byte in range(nbytes)[part]] == list(range(nbytes))
    assert all((address + part.start) % LINE == 0 for part in parts[1:] if part.start < part.stop)
    lines = [len({(address + byte) // LINE for byte in range(nbytes)[part]}) for part in parts]
    assert max(lines) - min(lines) <= 1


def test_a_gpu_without_a_line_of_a_short_mlp_has_an_empty_range_and_stores_nothing():
    assert line_ranges(128, 40, 3) == [slice(0, 40), slice(40, 40), slice(40, 40)]
    tale = story(mlp_bytes=40)
    media = formatted(tale)
    before = media.operations
    log_mlp(with_gpus(media, 3), tale.layout, 1, tale.mlps[1])
    assert media.operations - before == 2 + 3, "one store, one flush, and the fence of each GPU"


@each("model", SAFE)
@each("near", [False, True])
def test_a_fence_waits_for_the_stores_of_its_own_gpu_alone(model, near):
    media = CrashMedia(4096 + 4 * LINE, Power(model))
    writers = [media, media.port(0), media.port(1)]
    for number, writer in enumerate(writers):
        (writer.device_write if near else writer.store)(4096 + number * LINE, filled(LINE, 1))
        writer.flush(4096 + number * LINE, LINE)

    def durable():
        """Return whose line survives if no pending word does, and if the device's buffer had time."""
        left = CrashMedia(media.durable, media.power)
        for write in media._buffered:
            left.durable[write.address : write.stop] = write.content
        return [bool(left.durable[4096 + number * LINE]) for number in range(3)]

    at_once = domain(model).at_once
    assert durable() == [at_once, False, False], "only the program of the host is in order with what the host sees"
    writers[2].fence()
    assert durable() == [at_once, False, True]
    writers[0].fence()
    assert durable() == [True, False, True]
    writers[1].fence()
    assert durable() == [True, True, True]


@each("model", ["eadr", "gpf_ok", "device_fifo"])
def test_each_gpu_has_an_order_of_its_own_and_none_with_another(model):
    media = CrashMedia(8192, Power(model))
    for gpu in (0, 1):
        for step in (1, 0):
            media.port(gpu).store(4096 + gpu * 2 * LINE + step * LINE, filled(LINE, 1))
            media.port(gpu).flush(4096 + gpu * 2 * LINE + step * LINE, LINE)
    streams = media.streams()
    assert {len(words) for words in streams.values()} == {16} and len(streams) == 2
    first, second = streams
    left = media.survivor(lambda stream, words: {first: 3, second: 9}[stream]).durable[4096:].reshape(-1, LINE)
    assert left[:4, ::8].sum(axis=1).tolist() == [0, 3, 1, 8], "the line that was stored first, then the other"


def test_each_gpu_has_a_queue_at_each_controller():
    media, owners = CrashMedia(8192, Power("device_fifo", controllers=2, interleave=256)), defaultdict(set)
    for gpu, address in ((0, 4096), (1, 4096 + LINE), (0, 4352), (1, 4352 + LINE)):
        media.port(gpu).device_write(address, filled(LINE, 1))
    media.store(4096 + 2 * LINE, filled(LINE, 1))
    for stream, words in media.streams().items():
        owners[stream] |= {(word.writer, word.address // 256 % 2) for word in words}
    assert sorted(map(list, owners.values())) == [[(0, 0)], [(1, 0)], [(1, 1)], [(2, 0)], [(2, 1)]]


def test_a_gpu_that_trains_alone_writes_as_the_host_does():
    media = CrashMedia(256)
    assert with_gpus(media, 1) is media and gpus_of(media) == ()
    assert len(gpus_of(with_gpus(media, 2))) == 2
    functional = FunctionalMedia(256)
    assert functional.port(1) is functional


def test_a_piece_of_a_relaxed_log_ends_at_a_line_and_the_last_awaits_every_gpu():
    tale = story(relaxed=True, mlp_bytes=MLP_BYTES)
    media = formatted(tale)
    gpus = with_gpus(media, 2)
    half = log_mlp(gpus, tale.layout, 1, tale.mlps[1], MLP_BYTES // 2)
    assert half.nbytes == 3 * LINE and {write.writer for write in media.draining} == {1, 2}
    whole = log_mlp(gpus, tale.layout, 1, tale.mlps[1], None, half)
    assert whole.nbytes == MLP_BYTES and not media.draining
    assert whole.digest.digest() == log_mlp(formatted(tale), tale.layout, 1, tale.mlps[1]).digest.digest()
    rows = LOGS["undo"].log_rows(gpus, tale.layout, 1, tale.rows[1], tale.change(1).values_before)
    LOGS["undo"].commit(gpus, tale.layout, rows, whole, Stamp(0, SEED, 0))
    assert read_record(media.survivor(), whole.slot).payload == tale.mlps[1].tobytes()


def replayed(tale, events, model, seed, num_gpus=2):
    changes = {batch: tale.change(batch) for batch in range(tale.batches)}
    start = StartState(tale.values(0), tale.mlps[0], Position(0, 0, 0, SEED))
    rng = np.random.default_rng(seed)
    return replay_events(tale.layout, start, events, changes, tale.log, rng, model, num_gpus=num_gpus)


def events_of(log, batches):
    write = "embedding update" if log == "undo" else "home write"
    return [PersistEvent(op, batch, 1.0) for batch in range(batches) for op in ("embedding log", "mlp log", "commit", write)]


@each("log", ["undo", "redo"])
@each("model", SAFE)
def test_a_torn_log_of_two_ranges_is_never_taken_for_a_record(log, model):
    tale, done = story(log, mlp_bytes=MLP_BYTES), events_of(log, 1)
    ahead = int(log == "redo")
    for number, share in enumerate((0.0, 0.3, 0.5, 0.9, 0.999)):
        torn = [PersistEvent("embedding log", 1, 1.0), PersistEvent("mlp log", 1, share)]
        for seed in range(6):
            media = replayed(tale, done + torn, model, 10 * number + seed)
            kept = [record for slot in tale.layout.mlp_slots if (record := read_record(media, slot))]
            assert {record.batch for record in kept} <= {0, ahead}
            verdict = judge(tale, media.durable.tobytes(), ahead, None, domain(model).announced, domain(model).announced)
            assert verdict.problem == "" and verdict.no_verdict == ""


@each("model", UNBUFFERED)
def test_of_a_torn_log_each_range_keeps_the_same_share(model):
    tale = story(mlp_bytes=MLP_BYTES)
    slot = tale.layout.mlp_slots[1]
    for share, lines in ((0.0, 0), (0.4, 1), (0.7, 2)):
        for seed in range(8):
            media = replayed(tale, [PersistEvent("mlp log", 1, share)], model, seed)
            assert is_free(media, slot)
            content, own = tale.mlps[1], media.durable[slot.payload : slot.payload + MLP_BYTES]
            for part in (slice(0, 3 * LINE), slice(3 * LINE, MLP_BYTES)):
                kept, written = own[part], content[part]
                assert np.array_equal(kept[: lines * LINE], written[: lines * LINE])
                assert not kept[(lines + 1) * LINE :].any()
                torn = kept[lines * LINE : (lines + 1) * LINE]
                assert np.isin(torn, [0, *written[lines * LINE : (lines + 1) * LINE]]).all()


@each("log", ["undo", "redo"])
@each("model", UNBUFFERED, few=3)
def test_after_a_loss_a_strict_log_of_two_gpus_restores_what_that_of_one_does(log, model):
    tale, events = story(log, mlp_bytes=MLP_BYTES), events_of(log, 3)
    for number, event in enumerate(events):
        if event.op in ("embedding log", "mlp log"):
            cut = [*events[:number], replace(event, done_share=0.6)]
            states = [recover(replayed(tale, cut, model, number, gpus), tale.layout, log) for gpus in (1, 2, 3)]
            images = {(s.embedding_batch, s.mlp_batch, s.reader_position, s.table.tobytes(), s.mlp.tobytes()) for s in states}
            assert len(images) == 1 and states[0].mlp_batch == max(event.batch - (log == "undo"), 0)


@pytest.mark.parametrize("log", ["undo", "redo"])
def test_training_on_two_gpus_leaves_the_bytes_of_training_on_one(log):
    tale = reference_run(configuration(f"{log}-gpus"))
    images = []
    for gpus in (False, True):
        media = formatted(tale)
        train(tale, attach(replace(tale.configuration, gpus=gpus), media), 0, Journal())
        images.append(media.survivor().durable.tobytes())
    assert images[0] == images[1]
