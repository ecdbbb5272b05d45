"""Is a file longer than the memory read in bounded memory, sorted on the disk, and is told how far it is?"""

import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from engine.commands import progress_bar
from engine.errors import Cancelled
from engine.run.progress import reading_watcher
from engine.workload.readers import blocks, mapped, samples
from engine.workload.readers.formats import read_file
from engine.workload.readers.samples import Samples
from tests import ROOT
from tests.workload.readers.test_formats import a_day

RANDOM = np.random.default_rng(21)
TIMES = {
    "drawn": RANDOM.integers(0, 10**9, 9_001).astype(float),
    "few values": RANDOM.integers(0, 3, 9_001).astype(float),
    "one value": np.full(9_001, 7.0),
    "falling": -np.arange(9_001.0),
    "one value among many": np.where(RANDOM.random(9_001) < 0.6, 5.5, RANDOM.normal(5.5, 3, 9_001)),
    "nanoseconds": 1_700_000_000_000_000_000 + RANDOM.integers(0, 3_000, 9_001),
    "the largest keys": 2**63 - 1 - RANDOM.integers(0, 3, 9_001),
}


def arrays(fields: int, key: Any) -> list[np.ndarray]:
    """Return arrays without a sample: a dense feature, tokens, a label and a time of the type `key`."""
    kinds = ((np.float32, (1,)), (np.uint64, (fields,)), (np.float32, ()), (key, ()))
    return [np.zeros((0, *shape), kind) for kind, shape in kinds]


@pytest.mark.parametrize("kind", TIMES)
@pytest.mark.parametrize("kept", [1, 40_000, 1 << 30], ids=["a row in memory", "some", "all"])
def test_samples_sorted_on_the_disk_are_those_of_a_stable_sort(kind: str, kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "max_nbytes", lambda: kept)
    monkeypatch.setattr(samples, "SORT_SAMPLES", 64)
    monkeypatch.setattr(samples, "STRIDE", 8)
    times, tokens = TIMES[kind], RANDOM.integers(0, 2**63, (9_001, 2)).astype(np.uint64)
    held = Samples(arrays(2, times.dtype), 3)
    for low in range(0, len(times), 700):
        part = slice(low, low + 700)
        held.add(
            np.zeros((len(times[part]), 1), np.float32), tokens[part], np.arange(9_001.0, dtype=np.float32)[part], times[part]
        )
    told: list[float] = []
    _, found, order, sorted_times = held.finish(lambda share, words: told.append(share))
    wanted = np.argsort(times, kind="stable")
    assert np.array_equal(order, wanted) and np.array_equal(found, tokens[wanted]) and np.array_equal(sorted_times, times[wanted])
    assert kept > 10**6 or (told == sorted(told) and told[-1] == 1.0)


def test_no_range_that_is_sorted_at_once_is_much_longer_than_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "max_nbytes", lambda: 40_000)
    monkeypatch.setattr(samples, "SORT_SAMPLES", 256)
    monkeypatch.setattr(samples, "STRIDE", 8)
    longest = []
    take = Samples._take
    monkeypatch.setattr(Samples, "_take", lambda self, *rest: longest.append(sum(b - a for a, b in rest[1])) or take(self, *rest))
    for times in TIMES.values():
        held = Samples(arrays(1, times.dtype), 3)
        for part in np.array_split(times, 20):
            held.add(np.zeros((len(part), 1)), np.zeros((len(part), 1)), np.zeros(len(part)), part)
        held.finish()
    assert max(longest) <= 256 + 8 * 9_001 * 28 // 40_000 + 8 * 20


def test_pages_of_mapped_arrays_are_given_back_as_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/proc/self/smaps").exists():
        pytest.skip("the pages of a process are counted where Linux tells them")
    numbers = np.zeros((1 << 20, 16), np.int32)
    np.save(tmp_path / "n.npy", numbers)
    whole = np.load(tmp_path / "n.npy", mmap_mode="r")
    array = mapped.map_array(tmp_path / "n.npy", np.int32, whole.offset, whole.shape)
    del whole
    gc.collect()

    def resident() -> int:
        text = Path("/proc/self/smaps").read_text(encoding="utf-8").partition(str(tmp_path / "n.npy"))[2]
        return int(text.partition("Rss:")[2].split()[0]) << 10

    assert array.sum() == 0 and resident() > numbers.nbytes // 2
    monkeypatch.setattr(mapped, "MOST_NBYTES", 1)
    mapped.count_touched(numbers.nbytes)
    assert resident() == 0 and array[-1].sum() == 0


def test_how_far_a_reading_is_is_told_with_the_time_left_and_stops_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ratings.csv"
    frame = pd.DataFrame({"userId": 1, "movieId": range(90_000), "rating": 4.0, "timestamp": range(90_000)})
    frame.assign(rating=np.arange(90_000) % 5).to_csv(path, index=False)
    told: list[tuple[float, str]] = []
    monkeypatch.setattr(blocks, "READ_NBYTES", 1 << 20)
    read_file(path, lambda share, words: told.append((share, words)))
    assert told[-1] == (1.0, "reading ratings.csv") and 0 < told[0][0] < 1
    frame.to_parquet(tmp_path / "p.parquet", row_group_size=20_000)
    clock = iter(np.arange(0.0, 100.0, 0.5))
    monkeypatch.setattr(progress_bar, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    paced = progress_bar.PacedBar()
    for share in np.linspace(0, 1, 11):
        paced(float(share), "reading x")
    assert "reading x, 3 s left" in capsys.readouterr().err
    monkeypatch.setattr("engine.run.progress.INTERVAL", -1.0)
    with pytest.raises(Cancelled, match=r"reading ratings\.csv"):
        read_file(path, reading_watcher(lambda progress: progress.total == 1000))


LONG = """
import sys
from pathlib import Path
from engine.insight.fitting.fit import lookups_of
from engine.insight.fitting.tally import tallies
file = lookups_of(Path(sys.argv[1]))
lookups = sum(one.lookups for one in tallies(file))
print(lookups, int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) // 1024)
"""


@pytest.mark.slow
def test_a_day_of_two_gigabytes_is_counted_in_less_memory_than_it_has(tmp_path: Path) -> None:
    count = 20_000_000
    a_day(tmp_path)
    for name, kind, wide in (("sparse_contig_freq", np.int32, 26), ("dense", np.float32, 1), ("labels", np.int32, 1)):
        held = np.lib.format.open_memmap(tmp_path / f"day_3_{name}.npy", "w+", kind, (count, wide))
        for low in range(0, count, 1_000_000):
            held[low : low + 1_000_000] = RANDOM.integers(0, 2 if name == "labels" else 50_000, (1_000_000, wide))
        held.flush()
        del held
    path = tmp_path / "day_3_sparse_contig_freq.npy"
    assert path.stat().st_size > 2e9
    said = subprocess.run([sys.executable, "-c", LONG, path], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lookups, most = map(int, said.split())
    assert lookups == 26 * count and most < 1_400
