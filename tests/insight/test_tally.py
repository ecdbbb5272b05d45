"""Is every lookup counted, whatever fits in memory, as pandas counts it?"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.__main__ import main
from engine.errors import BadFile
from engine.insight.fitting import tally
from engine.insight.fitting.tally import Tally, UseSpectrum, tallies
from engine.workload.readers.recording import Recording

RANDOM = np.random.default_rng(11)
SAMPLES = 60_000


def a_recording() -> Recording:
    fields = [
        RANDOM.zipf(1.3, SAMPLES),
        RANDOM.integers(0, 2**63, SAMPLES),
        RANDOM.integers(0, 40_000, SAMPLES),
        np.full(SAMPLES, 7),
    ]
    tokens = np.stack(fields, axis=1).astype(np.uint64)
    return Recording("own.csv", np.zeros((SAMPLES, 1), np.float32), tokens, np.zeros(SAMPLES, np.float32), (1, 2, 1))


@pytest.mark.parametrize("room", [50, 3000, 1 << 23], ids=["all but nothing in memory", "some", "all"])
def test_counts_are_those_of_pandas_wherever_they_are_kept(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    file = a_recording()
    monkeypatch.setattr(tally, "SAMPLES_AT_ONCE", 7_001)
    monkeypatch.setattr(tally, "ROOM", room)
    monkeypatch.setattr(tally, "LEAST_ROOM", 20)
    columns = (file.tokens[:, :1], file.tokens[:, 1:3], file.tokens[:, 3:])
    for found, column in zip(tallies(file), columns, strict=True):
        uses = pd.Series(column.reshape(-1)).value_counts()
        assert (found.lookups, found.rows_seen, found.rows_used_once) == (column.size, len(uses), int((uses == 1).sum()))
        of_times = uses.value_counts().sort_index()
        assert found.uses.tolist() == of_times.index.tolist() and found.rows.tolist() == of_times.tolist()
        for rows in {1, 3, 1000, len(uses)}:
            assert found.head_share(np.array([rows]))[0] == pytest.approx(uses.iloc[:rows].sum() / column.size, rel=1e-12)


def test_nothing_is_counted_as_nothing() -> None:
    found = Tally(10).spectrum()
    assert (found.lookups, found.rows_seen, found.rows_used_once, found.top_shares().tolist()) == (0, 0, 0, [0.0, 0.0, 0.0])


def test_rows_that_are_used_alike_share_what_the_hottest_of_them_get() -> None:
    assert UseSpectrum(np.array([2, 5]), np.array([10, 4])).head_share(np.array([2, 4, 9])).tolist() == [
        10 / 40,
        20 / 40,
        30 / 40,
    ]


def test_a_full_disk_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Tally) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Tally, "_put_away", full)
    monkeypatch.setattr(tally, "ROOM", 1)
    monkeypatch.setattr(tally, "LEAST_ROOM", 100)
    with pytest.raises(BadFile, match=r"own\.csv is too large: .* set TMPDIR to another folder"):
        list(tallies(a_recording()))


def test_the_command_counts_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "ratings.csv"
    made = pd.DataFrame({"userId": RANDOM.zipf(1.4, 500), "movieId": RANDOM.integers(1, 30, 500), "rating": 4.0, "timestamp": 1})
    made.loc[:99, "rating"] = 1.0
    made.to_csv(log, index=False)
    assert main(["workload", "count", str(log)]) == 0
    words = capsys.readouterr().out
    users = made["userId"].value_counts()
    assert f"500 samples, 1,000 lookups of {len(users) + made['movieId'].nunique():,} different rows" in words
    assert main(["workload", "count", str(log), "--json", "-"]) == 0
    first = json.loads(capsys.readouterr().out)[0]
    assert first["Rows seen"] == len(users) and first["Hottest row [%]"] == pytest.approx(100 * users.iloc[0] / 500)
