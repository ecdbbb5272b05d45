"""Rows in a mapped file: does the cache evict as LRU does, are hits those of the estimate, and is nothing left behind?"""

import numpy as np
import pytest

from engine.measure.here import mapped_rows
from engine.measure.here.mapped_rows import MappedTrial, RowCache, copy_rows, mapped_trials
from tests.measure.conftest import figures

DRIVE = figures({"read-latency": 100.0, "4-KiB-read-rate": 40_000.0, "4-KiB-write-rate": 30_000.0, "software-threads": 2.0})

ROWS = 2**17


def batches(count, rows=400, lookups=60):
    random = np.random.default_rng(3)
    return [np.unique(np.minimum(random.zipf(1.3, lookups), rows) - 1) for _ in range(count)]


def test_the_cache_evicts_rows_that_were_unused_for_longest():
    cache, drawn, capacity = RowCache(400, 90), batches(80), 90
    held: set[int] = set()
    for batch, unique in enumerate(drawn):
        expected = set(unique) - held
        missing, slots, evicted = cache.admit(batch, unique)
        assert set(missing) == expected and len(set(slots)) == len(slots)
        assert (cache.row_in[cache.slot_of[unique]] == unique).all() and (cache.slot_of[evicted[evicted >= 0]] == -1).all()
        ages = {row: age for age, rows in enumerate(drawn[: batch + 1]) for row in rows}
        kept = cache.row_in[cache.row_in >= 0]
        gone = [row for row in ages if row not in set(kept)]
        assert len(kept) <= capacity and (not gone or min(ages[row] for row in kept) >= max(ages[row] for row in gone))
        held = set(kept)


def test_a_filled_cache_holds_what_one_used_batch_by_batch_holds():
    drawn, filled, used = batches(300), RowCache(400, 90), RowCache(400, 90)
    for batch, unique in enumerate(drawn):
        used.admit(batch, unique)
    filled.fill((batch, drawn[batch]) for batch in reversed(range(len(drawn))))
    ages = {row: batch for batch, unique in enumerate(drawn) for row in unique}
    assert sorted(ages[row] for row in filled.row_in) == sorted(ages[row] for row in used.row_in)


def test_rows_are_copied_to_their_places():
    rows, target = np.arange(12, dtype=np.float32).reshape(4, 3), np.zeros((5, 3), dtype=np.float32)
    copy_rows(rows, np.array([3, 1]), target, np.array([0, 4]))
    assert (target[[0, 4]] == rows[[3, 1]]).all() and not target[1:4].any()


@pytest.mark.slow
@pytest.mark.more  # `make slow` installs PyTorch
def test_a_small_file_is_tried_and_nothing_is_left(measured, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    measured(drive=DRIVE)
    monkeypatch.setattr(mapped_rows, "CACHE_SHARES", (0.2, 0.5))
    (tmp_path / "here").mkdir()
    found = list(mapped_trials(tmp_path / "here", ROWS, steps=6))
    assert [trial.share for trial in found] == pytest.approx([0.2, 0.5], abs=1e-4) and not list((tmp_path / "here").iterdir())
    for trial in found:
        assert trial.measured_hits == pytest.approx(trial.predicted_hits, abs=0.05) and min(trial[1:]) > 0
    assert found[0].measured_hits < found[1].measured_hits and found[0].predicted_seconds > found[1].predicted_seconds


def test_without_a_measured_drive_or_room_nothing_is_tried(measured, tmp_path, monkeypatch):
    measured()
    assert not list(mapped_trials(tmp_path, ROWS))
    measured(drive=DRIVE)
    monkeypatch.setattr(mapped_rows, "LEAST_FREE", 2**80)
    assert not list(mapped_trials(tmp_path, ROWS))


def test_the_sentence_says_both():
    said = MappedTrial(0.2, 0.895, 0.894, 0.0676, 0.072).sentence
    assert "cache of 20 %" in said and "hits 89.5 % predicted, 89.4 % measured" in said and "-6.11 %" in said
