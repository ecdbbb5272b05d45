"""Files of histories: do rows of a user's lists read as the log that pandas explodes them to, and are faults named?"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.errors import BadFile
from engine.workload.readers import parquet
from engine.workload.readers.formats import read_file
from engine.workload.readers.recording import HistoryFields
from tests.cases import each

LISTS = ["timestamp", "item_id", "is_organic", "played_ratio_pct"]


def listens(users: int = 9, seed: int = 3) -> pd.DataFrame:
    """Return a frame with a row for each user, and the events of the user as lists."""
    random = np.random.default_rng(seed)
    sizes = random.integers(0, 30, users)
    columns = {
        "timestamp": [np.sort(random.integers(0, 500, size)) for size in sizes],
        "item_id": [random.integers(0, 99, size) for size in sizes],
        "is_organic": [random.integers(0, 2, size) for size in sizes],
        "played_ratio_pct": [random.integers(0, 101, size) for size in sizes],
    }
    return pd.DataFrame({"uid": np.arange(users) + 40, **columns})


def write(frame: pd.DataFrame, path: Path, mapping: str = "") -> Path:
    frame.to_parquet(path, index=False) if path.suffix == ".parquet" else frame.to_csv(path, index=False)
    if mapping:
        Path(f"{path}.toml").write_text(mapping, encoding="utf-8")
    return path


@pytest.mark.parametrize("nbytes", [parquet.MOST_BATCH_NBYTES, 1])
def test_rows_of_users_read_as_their_events_in_the_files_order_or_by_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nbytes: int
) -> None:
    monkeypatch.setattr(parquet, "MOST_BATCH_NBYTES", nbytes)
    path = write(listens(), tmp_path / "listens.parquet")
    log = listens().explode(LISTS).dropna()
    found = read_file(path, histories=True)
    assert found.tokens.tolist() == log[["uid", "item_id", "is_organic"]].to_numpy().tolist()
    assert found.labels.tolist() == (log["played_ratio_pct"] >= 50).astype(float).tolist()
    assert found.times.tolist() == log["timestamp"].tolist() and found.order == "the file's own order"
    assert found.histories == HistoryFields(0, (1,), in_rows=False, exploded=True)
    trained, log = read_file(path), log.sort_values("timestamp", kind="stable")
    assert trained.tokens.tolist() == log[["uid", "item_id", "is_organic"]].to_numpy().tolist()
    assert trained.histories is None and trained.times is None


def test_a_log_of_kuairand_is_known_by_its_header(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    numbers = {name: random.integers(0, 50, 60) for name in ("user_id", "video_id", "date", "hourmin", "is_like", "tab")}
    log = pd.DataFrame({**numbers, "time_ms": random.permutation(60), "is_click": random.integers(0, 2, 60)})
    found = read_file(write(log, tmp_path / "log_standard.csv"), histories=True)
    assert found.format == "kuairand" and found.histories == HistoryFields(0, (1,), in_rows=False)
    assert found.tokens.tolist() == log[["user_id", "video_id"]].to_numpy().tolist()
    assert read_file(tmp_path / "log_standard.csv").labels.tolist() == log.sort_values("time_ms")["is_click"].tolist()


def test_a_row_with_a_list_is_a_sample_unless_the_mapping_says_that_its_events_are(tmp_path: Path) -> None:
    frame = listens()[["uid", "item_id"]]
    mapping = 'user = "uid"\nhistory = ["item_id"]\n'
    several = pd.concat([frame] * 6, ignore_index=True)
    rows = read_file(write(several, tmp_path / "a.parquet", mapping), labels=False, histories=True)
    assert rows.histories == HistoryFields(0, (1,), in_rows=True) and rows.samples == len(several)
    assert rows.bag_lengths(1).tolist() == several["item_id"].map(len).tolist()
    events = read_file(write(frame, tmp_path / "b.parquet", mapping + 'anchors = "events"\n'), labels=False, histories=True)
    assert events.histories == HistoryFields(0, (1,), in_rows=False, exploded=True)
    assert events.tokens.tolist() == frame.explode("item_id").dropna().to_numpy().tolist()


LOG = pd.DataFrame({"user": np.arange(60) // 10, "item": np.arange(60), "tag": 1})
PAIRS = pd.DataFrame({"user": np.arange(60), "liked": [[1, 2]] * 60, "skipped": [[3, 4]] * 60})
OF_LOG, OF_PAIRS = 'user = "user"\nhistory = ["item"]\n', 'user = "user"\nhistory = ["liked", "skipped"]\n'
FAULTS = {
    "no user": (
        LOG,
        'history = ["item"]',
        "x.parquet:1: item is one event a row, but no column of its user is named; write user",
    ),
    "no history": (LOG, 'user = "user"\nids = ["item"]', "user has no effect without a history; write history ="),
    "anchors": (LOG, OF_LOG + 'anchors = "users"', "anchors='users' is not known; write 'events' or 'rows'"),
    "both": (LOG, 'user = "item"\nhistory = ["item"]', "'item' is both user and history"),
    "user is label": (LOG, 'label = "tag"\nuser = "tag"\nhistory = ["item"]', "'tag' is both user and label"),
    "user is time": (LOG, 'time = "tag"\nuser = "tag"\nhistory = ["item"]', "'tag' is both user and time"),
    "event is label": (LOG, 'label = "tag"\nuser = "user"\nhistory = ["item", "tag"]', "'tag' is both history and label"),
    "no list": (LOG, OF_LOG + 'anchors = "rows"', "x.parquet:1: item has no list, so a row is no history"),
    "null user": (
        LOG.assign(user=LOG["user"].astype("Int64").where(LOG["item"] != 7)),
        OF_LOG,
        "x.parquet:8: user is missing, so nobody has this history",
    ),
    "null item": (
        LOG.assign(item=LOG["item"].astype("Int64").where(LOG["item"] != 7)),
        OF_LOG,
        "x.parquet:8: item: the id of an event is missing",
    ),
    "negative": (LOG.assign(item=LOG["item"] - 3).iloc[::-1], OF_LOG, "x.parquet:58: item: the id of an event is negative"),
    "text": (LOG.assign(item=[*map(str, LOG["item"][:-1]), "-4"]), OF_LOG, "x.parquet:60: item: the id of an event is negative"),
    "users": (PAIRS.assign(user=[[7]] * 4 + [[7, 8]] * 56), OF_PAIRS, "x.parquet:5: user has 2 ids, but a history has one user"),
    "users of events": (
        LOG.assign(user=[[7]] * 4 + [[7, 8]] * 56),
        OF_LOG,
        "x.parquet:5: user has 2 ids, but a history has one user",
    ),
    "twice": (LOG, 'user = "user"\nhistory = ["item", "item"]\n', "history names 'item' twice"),
    "padding": (
        PAIRS.assign(skipped=[[3, 4]] * 4 + [[3, -1]] * 56),
        OF_PAIRS,
        "x.parquet:5: skipped: the id of an event is negative, as padding is",
    ),
    "unlike": (
        PAIRS.assign(skipped=[[3, 4]] * 4 + [[3]] * 56),
        OF_PAIRS,
        "x.parquet:5: skipped has 1 id, but liked has 2; an event has one id in each column of a history; name only one",
    ),
    "unlike events": (
        PAIRS.assign(skipped=[[3, 4]] * 4 + [[3]] * 56),
        OF_PAIRS + 'anchors = "events"',
        "x.parquet:5: skipped has 1 id, but liked has 2; a row of a user has one of each for every event",
    ),
}


@each("name", FAULTS)
def test_a_fault_of_histories_is_refused_with_its_place_and_a_remedy(name: str, tmp_path: Path) -> None:
    frame, mapping, words = FAULTS[name]
    with pytest.raises(BadFile) as refused:
        read_file(write(frame, tmp_path / "x.parquet", mapping), labels=False, histories=True)
    assert words in str(refused.value)


def test_one_of_two_lists_of_unlike_length_can_be_a_history_and_the_other_a_bag(tmp_path: Path) -> None:
    frame = PAIRS.assign(skipped=[[3, 4]] * 4 + [[3]] * 56)
    mapping = 'user = "user"\nhistory = ["liked"]\nids = ["skipped"]\n'
    found = read_file(write(frame, tmp_path / "x.parquet", mapping), labels=False, histories=True)
    assert found.fields == ("skipped", "user", "liked") and found.histories == HistoryFields(1, (2,), in_rows=True)
