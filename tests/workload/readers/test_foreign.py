"""Does a foreign file hear what it looks like, has what is missing its line, and do ids become rows as a mapping says?"""

import gzip
import io
import json
import os
import pickle
import shutil
import struct
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pytest
from pyarrow import feather, orc, parquet

from engine.core.figures import figure
from engine.errors import BadFile, BadInput
from engine.scenario.scenario import with_values
from engine.simulate import simulate
from engine.workload import readers
from engine.workload.batch import offsets, table_ends
from engine.workload.readers import blocks, foreign, numbering
from engine.workload.readers.formats import read_file
from engine.workload.readers.numbering import IdIndex
from engine.workload.readers.traces import torch_save, unpacking
from engine.workload.source import global_ids, source
from tests.cases import each
from tests.machines import TINY
from tests.workload.readers.test_formats import INDICES, LENGTHS, a_day, a_trace, movielens, yambda

LINES = range(60)
TABLE = pyarrow.table({"user": [1, 2], "click": [0, 1]})
CRITEO = b"0\t" + b"\t" * 38 + b"\n"


def written(write: object) -> bytes:
    sink = io.BytesIO()
    write(TABLE, sink)  # type: ignore[operator]
    return sink.getvalue()


def archive(name: str) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as held:
        held.writestr(name, "x")
    return sink.getvalue()


def tfrecord() -> bytes:
    """Return a record as TensorFlow frames it; the check of nine digits is the one that CRC-32C is published with."""
    data = b"\x0a\x10" + b"features" * 2
    return struct.pack("<Q", len(data)) + foreign.masked_crc(struct.pack("<Q", len(data))) + data + b"\0\0\0\0"


FOREIGN = {
    "LibSVM": ("".join(f"{n % 2} 1:0.5 {n + 3}:1\n" for n in LINES).encode(), "a LibSVM file"),
    "libFFM": ("".join(f"{n % 2} 0:1:0.5 1:{n + 3}:1\n" for n in LINES).encode(), "a libFFM file"),
    "Vowpal Wabbit": (b"-1 |a x:1 |b y_3\n" * 60, "a Vowpal Wabbit file"),
    "JSON lines": (json.dumps({"user": 1, "click": 0}).encode() + b"\n", "JSON; its columns are user, click"),
    "TFRecord": (tfrecord(), "a TFRecord file"),
    "Feather": (written(feather.write_feather), "Feather file; its columns are user, click"),
    "ORC": (written(orc.write_table), "an ORC file"),
    "pickle": (pickle.dumps({"user": np.arange(3)}), "a Python pickle, which may run anything and is never opened"),
    "workbook": (archive("xl/workbook.xml"), "an Excel workbook"),
    "zip": (archive("train.txt"), "a zip archive; unpack it and give what is inside, such as train.txt"),
    "gzip twice": (gzip.compress(gzip.compress(CRITEO * 60)), "gzipped twice"),
    "Parquet in gzip": (gzip.compress(b"PAR1" + bytes(100)), "unpack it with gunzip"),
    "other delimiter": (b"user;item;click\n" + b"1;2;0\n" * 60, 'table separated by ";"; its 3 columns are user, item, click'),
    "no header": (b"1,2,0\n" * 60, "without a header; it has 3 columns"),
    "older MovieLens": (b"1::1193::5::978300760\n" * 60, "MovieLens' older ratings.dat"),
    "lines of CR": (CRITEO.replace(b"\n", b"\r") * 60, "lines end with CR alone"),
    "a page": (b"<!DOCTYPE html><html>\n", "a page of the web"),
    "Criteo without labels": (
        b"Id," + b",".join(b"%c%d" % (w, n) for w, m in ((73, 13), (67, 26)) for n in range(1, m + 1)),
        "without labels",
    ),
    "KuaiRec's users": (b"user_id,user_active_degree,is_lowactive_period\n0,high,1\n", "no clicks; give big_matrix.csv"),
    "MIND's news": (b'N1\tlifestyle\troyals\tThe "Brands\tx\thttps://a/b\t[]\t[]\n' * 60, "articles without clicks"),
    "MIND's test set": (b"1\tU7\t11/11/2019 9:05:58 AM\tN1 N2\tN3 N4\n" * 60, "without clicks; give that of train or dev"),
    "pipes and blanks": (b"1|Toy Story (1995)|01-Jan-1995\n2|GoldenEye (1995)|01-Jan-1995\n" * 60, 'separated by "|" without'),
    "uneven header": (
        b"user,item\n" + b"1,2,0\n" * 60,
        "own:1: the line has 2 columns, but those below have 3; correct the header",
    ),
    "prose": (
        b"Lorem ipsum dolor sit amet\nconsectetur adipiscing\n" * 60,
        "own is not a table: its first lines have different numbers",
    ),
    "Avro": (b"Obj\x01" + bytes(90), "an Avro file"),
    "HDF5": (b"\x89HDF\r\n\x1a\n" + bytes(90), "an HDF5 file"),
    "7z": (b"7z\xbc\xaf\x27\x1c" + bytes(90), "a 7z archive"),
    "lcs": (bytes.fromhex("f0debc9a78563412") + bytes(1100), "libCacheSim's own lcs trace"),
    "git-annex": (b"/annex/objects/SHA256E-s12--1f.csv\n", "a pointer of git-annex"),
}


@each("what", FOREIGN)
def test_a_foreign_file_hears_what_it_looks_like(what: str, tmp_path: Path) -> None:
    content, words = FOREIGN[what]
    (tmp_path / "own").write_bytes(content)
    with pytest.raises(BadFile) as refused:
        read_file(tmp_path / "own")
    sentence, _, remedy = str(refused.value).partition("\n")
    assert words in sentence and "own" in sentence and len(sentence) <= 300
    assert bool(remedy) == sentence.endswith(":")


def test_the_check_of_records_is_the_published_one() -> None:
    whole = (int.from_bytes(foreign.masked_crc(b"123456789"), "little") - 0xA282EAD8) % 2**32
    assert (whole << 15 | whole >> 17) % 2**32 == 0xE3069283


def test_a_text_that_only_begins_like_another_format_is_read(tmp_path: Path) -> None:
    frame = movielens().rename(columns={"userId": "ORC", "movieId": "Obj"})
    frame.to_csv(tmp_path / "o.csv", index=False)
    (tmp_path / "o.csv.toml").write_text('label = "rating >= 4"\nids = ["ORC", "Obj"]\n', encoding="utf-8")
    assert read_file(tmp_path / "o.csv").samples == len(frame)


ODD = {
    "no rating": (b"17,3,4.0,", b"17,3,,", ":214: rating is missing"),
    "no time": (b",777\n", b",\n", ":214: timestamp is missing"),
    "NUL": (b"17,3,4.0,", b"17,3\0,4.0,", ":214: the line has a NUL byte"),
    "blank line": (b"\n17,3,4.0,", b"\n\n17,3,4.0,", ":214: the line has 1 column, but samples follow"),
}


@each("what", ODD)
def test_what_is_missing_in_a_table_has_its_line(what: str, tmp_path: Path) -> None:
    old, new, words = ODD[what]
    frame = movielens().reset_index(drop=True)
    frame.loc[212, [*frame.columns]] = [17, 3, 4.0, 777]
    text = frame.astype({"userId": int, "movieId": int, "timestamp": int})[["userId", "movieId", "rating", "timestamp"]]
    whole = text.to_csv(index=False).encode()
    assert whole.count(old) == 1
    (tmp_path / "ratings.csv").write_bytes(whole.replace(old, new))
    with pytest.raises(BadFile, match=words):
        read_file(tmp_path / "ratings.csv")
    (tmp_path / "ratings.csv").write_bytes(whole + b"\r\n\n\n")
    assert read_file(tmp_path / "ratings.csv").samples == len(frame)


def test_an_unknown_event_and_a_column_that_is_there_twice_are_refused(tmp_path: Path) -> None:
    lines = [f"{n},{n * 7},3,{'buy' if n % 3 else 'pv'},{1511500000 + n}\n" for n in LINES]
    (tmp_path / "u.csv").write_text("".join(lines).replace("21,147,3,pv", "21,147,3,view"), encoding="utf-8")
    with pytest.raises(BadFile, match=r"u.csv:22: behaviour='view' is not known; known are pv, cart"):
        read_file(tmp_path / "u.csv")
    twice = pyarrow.table([[0, 1], [1, 2], [3, 4]], names=["click", "user", "user"])
    parquet.write_table(twice, tmp_path / "t.parquet")
    (tmp_path / "t.parquet.toml").write_text('label = "click"\nids = "user"\n', encoding="utf-8")
    with pytest.raises(BadFile, match="has several columns 'user'"):
        read_file(tmp_path / "t.parquet")


def test_events_without_a_played_share_are_left_out_and_dates_are_times(tmp_path: Path) -> None:
    frame = yambda().assign(event_type=pd.Categorical(["listen"] * 299 + ["like"])).astype({"played_ratio_pct": "UInt16"})
    frame.iloc[:5, list(frame.columns).index("played_ratio_pct")] = pd.NA
    frame.to_parquet(tmp_path / "m.parquet", index=False)
    assert read_file(tmp_path / "m.parquet").samples == 294
    table = movielens()
    read_as_number = {}
    for name, times in (("n.csv", table["timestamp"]), ("d.csv", pd.to_datetime(table["timestamp"], unit="s"))):
        table.assign(timestamp=times).to_csv(tmp_path / name, index=False)
        (tmp_path / f"{name}.toml").write_text('label = "rating >= 4"\nids = "movieId"\ntime = "timestamp"\n', encoding="utf-8")
        read_as_number[name] = read_file(tmp_path / name).tokens.tolist()
    assert read_as_number["n.csv"] == read_as_number["d.csv"]


def test_arrays_with_a_feature_that_is_no_number_or_of_other_computers_are_refused(tmp_path: Path) -> None:
    path = a_day(tmp_path)
    dense = np.load(tmp_path / "day_3_dense.npy")
    np.save(path, np.load(path).astype(">i4"))
    with pytest.raises(BadFile, match="byte order of other computers"):
        read_file(path)
    np.save(path, -np.load(path).astype(np.int32))
    dense[212, 4] = np.nan
    np.save(tmp_path / "day_3_dense.npy", dense)
    with pytest.raises(BadFile, match=r"day_3_dense.npy: sample 212 has a feature that is not finite"):
        read_file(path)


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_negative_row_numbers_wrap_as_numpys_remainder_does(kind: type, tmp_path: Path) -> None:
    path = a_day(tmp_path)
    numbers = np.random.default_rng(3).integers(-(2**31), 2**31, (300, 26)).astype(kind)
    np.save(path, numbers)
    found, first = read_file(path), offsets_of(26, 1009)
    ours = global_ids(*found.tokens_of(np.arange(300)), first, found.hashed).reshape(26, 300) - first[:-1, None]
    assert np.array_equal(ours, (numbers % 1009).T)


def offsets_of(tables: int, rows: int) -> np.ndarray:
    return np.arange(tables + 1, dtype=np.int64) * rows


def number(value: object) -> bytes:
    return pickle.dumps(value, 2)[2:-1]


@each("odd", {"text": ("a",), "half": (3.5,), "nothing": (None,), "negative": (-1,), "endless": (2**70,)})
def test_a_trace_whose_pickle_says_odd_shapes_is_a_sentence(odd: str, tmp_path: Path) -> None:
    shape = {"text": ("a",), "half": (3.5,), "nothing": (None,), "negative": (-1,), "endless": (2**70,)}[odd]
    words = b"".join(b"X" + len(text).to_bytes(4, "little") + text for text in (b"0", b"cpu"))
    storage = b"(X\x07\0\0\0storagectorch\nLongStorage\n" + words + number(10) + b"tQ"
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + number(0) + number(shape) + number((1,)) + b"\x89Nt" + b"R"
    with zipfile.ZipFile(tmp_path / "o.pt", "w") as held:
        held.writestr("archive/data.pkl", b"\x80\x02(" + tensor * 3 + b"t.")
        held.writestr("archive/data/0", bytes(80))
    with pytest.raises(BadFile, match=r"o\.pt"):
        torch_save.read_lookups(tmp_path / "o.pt")


def test_a_trace_is_known_by_what_it_holds_and_never_waited_for(tmp_path: Path) -> None:
    a_trace(tmp_path / "t.pt", LENGTHS, INDICES)
    shutil.copy(tmp_path / "t.pt", tmp_path / "own")
    assert torch_save.is_trace(tmp_path / "own") and torch_save.read_lookups(tmp_path / "own").tables == 3
    (tmp_path / "old.pt").write_bytes(b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.")
    (tmp_path / "cut.pt").write_bytes((tmp_path / "t.pt").read_bytes()[:900])
    os.mkfifo(tmp_path / "pipe.pt")
    (tmp_path / "folder.pt").mkdir()
    for name, words in (("old.pt", "before 1.6"), ("cut.pt", "cut off"), ("pipe.pt", "a pipe"), ("folder.pt", "a directory")):
        with pytest.raises(BadFile, match=words):
            torch_save.read_lookups(tmp_path / name)


def test_room_for_a_trace_is_named_before_anything_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a_trace(tmp_path / "t.pt", LENGTHS, INDICES)
    path = tmp_path / "t.pt.gz"
    path.write_bytes(gzip.compress((tmp_path / "t.pt").read_bytes()))
    monkeypatch.chdir(tmp_path)
    sizes = []
    monkeypatch.setattr(unpacking, "_free_nbytes", lambda one: sizes.append(one) or unpacking.SPARE_NBYTES + 1)
    needed = 8 * (INDICES.size + 2 * LENGTHS.size + 1)
    with pytest.raises(BadFile, match=rf"needs {figure(needed / 2**30, 'GiB')} to be unpacked"):
        torch_save.read_lookups(path)
    assert not list((tmp_path / ".emberpool" / "unpacked").glob("*-*"))
    monkeypatch.setattr(
        unpacking, "_free_nbytes", lambda one: unpacking.SPARE_NBYTES + needed + (1 if "emberpool-" in one.name else -1)
    )
    monkeypatch.setattr(unpacking.tempfile, "gettempdir", lambda: str(tmp_path / "away"))
    (tmp_path / "away").mkdir()
    assert torch_save.read_lookups(path).samples == LENGTHS.shape[1] and len(list((tmp_path / "away").iterdir())) == 1


RANDOM = np.random.default_rng(31)
FRAME = pd.DataFrame(
    {"click": RANDOM.integers(0, 2, 900), "user": RANDOM.integers(0, 400, 900), "word": RANDOM.choice([*"abc"], 900)}
)
LISTS = RANDOM.integers(0, 50, (900, 3))
WHEN = np.arange(900) * 37 % 900 // 2
MIXED = 2**64 - 1


def splitmix(word: int) -> int:
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & MIXED
    word = (word ^ word >> 27) * 0x94D049BB133111EB & MIXED
    return word ^ word >> 31


def mapped(path: Path, more: str) -> Path:
    Path(f"{path}.toml").write_text(f'label = "click"\n{more}\n', encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_ids_are_numbered_as_they_are_first_seen_as_pandas_factorizes_them(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "READ_NBYTES", 500)
    path = tmp_path / f"own.{kind}"
    FRAME.to_csv(path, index=False) if kind == "csv" else FRAME.to_parquet(path, index=False)
    found = read_file(mapped(path, 'ids = ["user", "word"]\nrows = "first seen first"'))
    for table, column in enumerate(("user", "word")):
        assert found.lookups(table, 0, 900).tolist() == pd.factorize(FRAME[column])[0].tolist()
    assert not found.hashed


def test_first_seen_first_grows_and_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = RANDOM.integers(0, 2**63, 9_000).astype(np.uint64)[RANDOM.integers(0, 9_000, 40_000)]
    index, parts = IdIndex(), []
    for part in np.array_split(tokens, 13):
        index.add(part)
        parts.append(index.numbers_or_refusal(part, "own.csv: user"))
    assert np.concatenate(parts).tolist() == pd.factorize(tokens)[0].tolist()
    monkeypatch.setattr(numbering, "MOST_SEEN", 1000)
    with pytest.raises(BadFile, match=r'own.csv: user has more than 1,000 different ids.* rows = "hashed"'):
        index.add(tokens[:1]) or index.numbers_or_refusal(tokens, "own.csv: user")


def test_ids_are_hashed_into_as_many_rows_as_are_named(tmp_path: Path) -> None:
    FRAME.to_parquet(tmp_path / "own.parquet", index=False)
    found = read_file(mapped(tmp_path / "own.parquet", 'ids = "user"\nrows = "hashed into 97"'))
    wanted = [splitmix((user + 0x9E3779B97F4A7C15) & MIXED) % 97 for user in FRAME["user"].tolist()]
    assert found.lookups(0, 0, 900).tolist() == wanted and not found.hashed


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_cell_may_hold_a_bag_of_ids_that_is_trained_on(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"own.{kind}"
    if kind == "csv":
        FRAME.assign(seen=[" ".join(map(str, row)) for row in LISTS]).to_csv(path, index=False)
    else:
        FRAME.assign(seen=LISTS.tolist()).to_parquet(path, index=False)
    found = read_file(mapped(path, 'ids = ["user", "seen"]\nrows = "as they are"' + ('\nlists = " "' if kind == "csv" else "")))
    assert found.pooling == (1, 3) and found.lookups(1, 0, 900).tolist() == LISTS.reshape(-1).tolist()
    shape = {"model.num_tables": 2, "model.pooling": (1, 3), "model.num_embeddings": (400, 50), "model.bottom_mlp": (1, 8, 4)}
    assert simulate(with_values(TINY, {**shape, "data.batch_size": 16, "run.batches": 5}), path).ran


def uneven(path: Path, lists: list[list[int]], more: str = "") -> Path:
    """Write rows with lists of ids beside a user, and their mapping; a CSV parts ids by spaces."""
    frame = FRAME.assign(when=WHEN)
    if path.suffix == ".csv":
        frame.assign(seen=[" ".join(map(str, row)) for row in lists]).to_csv(path, index=False)
        more += '\nlists = " "'
    else:
        frame.assign(seen=lists).to_parquet(path, index=False, row_group_size=100)
    return mapped(path, f'ids = ["user", "seen"]\nrows = "as they are"\n{more}')


@pytest.mark.parametrize("spilled", [False, True])
@pytest.mark.parametrize("order", ["", 'time = "when"'])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_lists_of_uneven_length_keep_their_own_in_any_order_beyond_memory_too(
    kind: str, order: str, spilled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lists = [RANDOM.integers(0, 50, size).tolist() for size in RANDOM.poisson(1.5, 900)]
    path = uneven(tmp_path / f"own.{kind}", lists, order)
    monkeypatch.setattr(readers.parquet, "ROWS", 128)  # blocks are small
    monkeypatch.setattr(blocks, "READ_NBYTES", 2048)
    if spilled:
        monkeypatch.setattr(readers.samples, "max_nbytes", lambda: 3000)
    found, rows = read_file(path), np.argsort(WHEN, kind="stable") if order else np.arange(900)
    assert isinstance(found.tokens.base, np.memmap) == spilled or isinstance(found.tokens, np.memmap) == spilled
    assert found.bag_lengths(1).tolist() == [len(lists[row]) for row in rows] and found.bag_lengths(0).tolist() == [1] * 900
    for low, high in ((0, 900), (17, 18), (250, 700)):
        assert found.lookups(1, low, high).tolist() == [one for row in rows[low:high] for one in lists[row]]
        assert found.lookups(0, low, high).tolist() == FRAME["user"].to_numpy()[rows[low:high]].tolist()
    sizes = np.array(list(map(len, lists)))
    assert found.pooling == (1, round(sizes.mean()))
    assert found.length_cv == (0.0, pytest.approx(sizes.std() / sizes.mean(), rel=0.01))


def test_batches_of_uneven_lists_are_rows_tables_copies_and_all(tmp_path: Path) -> None:
    lists = [RANDOM.integers(0, 50, size).tolist() for size in RANDOM.geometric(0.4, 900) - 1]
    file = read_file(uneven(tmp_path / "own.parquet", lists))
    shape = {"model.num_tables": 4, "model.num_embeddings": (400, 60, 300, 70), "model.bottom_mlp": (1, 4)}
    with pytest.raises(BadInput, match=r"model.num_tables, .* must suit the data file: own.parquet has .* of uneven length, but"):
        source(with_values(TINY, {**shape, "model.pooling": file.pooling * 2}), file)
    shape["model.field_copies"] = 2
    asked = with_values(TINY, {**shape, "model.pooling": file.pooling * 2, "data.batch_size": 64})
    with pytest.raises(BadInput, match=r"--set 'data.bag_length_cv=0.0;.*;0.0;"):
        source(asked, file)
    given = source(with_values(asked, {"data.bag_length_cv": file.length_cv * 2}), file)
    first, most = offsets(asked.model), np.zeros(4)
    for n in (0, 5, 14):  # the last one goes over the end of a pass of 810 samples
        batch, samples = given.batch(n), (64 * n + np.arange(64)) % 810
        assert batch.ids.tobytes() == given.ids(n).tobytes() and batch.starts.tobytes() == given.starts(n).tobytes()
        for table, sample in np.ndindex(4, 64):
            held = FRAME["user"][samples[sample]].reshape(1) if table % 2 == 0 else np.array(lists[samples[sample]], np.int64)
            low, high = batch.starts[table * 64 + sample : table * 64 + sample + 2]
            rows = batch.ids[low:high] - first[table]
            assert len(rows) == len(held) and ((rows >= 0) & (rows < first[table + 1] - first[table])).all()
            assert table > 1 or rows.tolist() == (held % (400, 60)[table]).tolist()
        assert np.diff(table_ends(batch.ids, first)).tolist() == np.diff(batch.starts[::64]).tolist()
    for n in range(30):
        most = np.maximum(most, np.diff(given.starts(n)[::64]))
    assert (given.max_lookups >= most).all() and (given.max_lookups <= 1.5 * most).all()
    assert len(given.held_out().starts) == 4 * 90 + 1
    asked, even = with_values(asked, {"data.bag_length_cv": (1.0,), "model.pooling": (1, 3) * 2}), tmp_path / "even.parquet"
    with pytest.raises(BadInput, match=r"set --set 'data\.bag_length_cv='"):
        source(asked, read_file(uneven(even, LISTS.tolist())))


def test_bags_too_long_and_odd_numberings_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "own.parquet"
    FRAME.assign(seen=[[1, 2]] * 700 + [[1] * 10_001] + [[1]] * 199).to_parquet(path, index=False)
    with pytest.raises(BadFile, match=r"own.parquet:701: seen has 10,001 ids, but a sample has at most 10,000; shorten the list"):
        read_file(mapped(path, 'ids = "seen"'))
    FRAME.assign(seen=[[1, 2]] * 700 + [[1, 7, -3]] + [[]] * 199).to_parquet(path, index=False)
    with pytest.raises(BadFile, match=r"own.parquet:701: seen=-3 is not the number of a row"):
        read_file(mapped(path, 'ids = "seen"\nrows = "as they are"'))
    for more, words in (
        ('rows = "hashed into 0"', "or 'hashed into 100000'"),
        ('rows = "sorted"', "is not known; write 'hashed'"),
        ("lists = '\"'", "cannot separate ids"),
        ('lists = ","', "has no text in its columns of ids .*remove it from the mapping"),
    ):
        with pytest.raises(BadFile, match=words):
            read_file(mapped(path, f'ids = "seen"\n{more}'))
