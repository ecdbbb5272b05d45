"""Is every format read as pandas, numpy and torch read it, recognised or named, and a broken file refused with a sentence?"""

import gzip
import pickle
import random
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.errors import BadFile, BadInput
from engine.scenario.presets import preset
from engine.scenario.scenario import with_values
from engine.simulate import simulate
from engine.workload.batch import bag_layout, offsets
from engine.workload.readers import blocks, formats, layouts
from engine.workload.readers.formats import digest_of, read_file
from engine.workload.readers.traces import torch_save
from engine.workload.source import source
from tests.cases import each
from tests.machines import TINY

ROWS = 300
RANDOM = np.random.default_rng(7)


def fnv(text: str) -> int:
    word = 0xCBF29CE484222325
    for byte in text.encode():
        word = (word ^ byte) * 0x100000001B3 % 2**64
    return word


def avazu() -> pd.DataFrame:
    frame = pd.DataFrame({name: RANDOM.integers(0, 50, ROWS) for name in ("id", "hour", *layouts.AVAZU.read_columns)})
    for name in ("site_id", "app_id", "device_id", "device_ip"):
        frame[name] = [f"{number:08x}" for number in RANDOM.integers(0, 2**32, ROWS)]
    return frame.assign(click=RANDOM.integers(0, 2, ROWS), id=np.arange(ROWS) + 10**18)


def taobao() -> pd.DataFrame:
    events = RANDOM.choice(["pv", "pv", "pv", "buy", "cart", "fav"], ROWS)
    numbers = {name: RANDOM.integers(1, 10**7, ROWS) for name in ("user", "item", "category")}
    return pd.DataFrame({**numbers, "behaviour": events, "timestamp": RANDOM.permutation(ROWS) + 1511500000}).sort_values("user")


def ads() -> pd.DataFrame:
    frame = pd.DataFrame({name: RANDOM.integers(1, 10**6, ROWS) for name in ("nonclk", *layouts.TAOBAO_ADS.read_columns)})
    clicks = RANDOM.integers(0, 2, ROWS)
    return frame.assign(time_stamp=RANDOM.permutation(ROWS) + 1494000000, pid="430548_1007", nonclk=1 - clicks, clk=clicks)


def movielens() -> pd.DataFrame:
    frame = pd.DataFrame({name: RANDOM.integers(1, 10**5, ROWS) for name in ("userId", "movieId")})
    times = RANDOM.permutation(ROWS) + 964982703
    return frame.assign(rating=RANDOM.choice([0.5, 3.5, 4.0, 5.0], ROWS), timestamp=times).sort_values("userId")


def yambda() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "uid": RANDOM.integers(0, 10**6, ROWS).astype(np.uint32),
            "timestamp": RANDOM.permutation(ROWS).astype(np.uint32),
            "item_id": RANDOM.integers(0, 10**6, ROWS).astype(np.uint32),
            "is_organic": RANDOM.integers(0, 2, ROWS).astype(np.uint8),
            "played_ratio_pct": RANDOM.integers(0, 101, ROWS).astype(np.uint16),
            "track_length_seconds": RANDOM.integers(30, 400, ROWS).astype(np.uint32),
        }
    ).sort_values("uid")


TABLES = {
    "avazu": (avazu(), lambda frame: frame["click"] == 1),
    "taobao": (taobao(), lambda frame: frame["behaviour"] != "pv"),
    "taobao-ads": (ads(), lambda frame: frame["clk"] == 1),
    "movielens": (movielens(), lambda frame: frame["rating"] >= 4),
    "yambda": (yambda(), lambda frame: frame["played_ratio_pct"] >= 50),
}


def written(folder: Path, name: str) -> Path:
    """Write a made-up file of a format under a name that says nothing."""
    frame, layout = TABLES[name][0], formats.BY_NAME[name]
    path = folder / ("some.parquet" if name == "yambda" else "some.csv")
    if name == "yambda":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False, header=not layout.columns)
    return path


def token(cell: object) -> int:
    """Return what stands for an id: a whole number for itself, anything else for its hash."""
    return int(str(cell)) if str(cell).isdecimal() else fnv(str(cell))


@each("name", TABLES)
def test_a_published_table_reads_as_pandas_reads_it_in_the_order_of_time(name: str, tmp_path: Path) -> None:
    layout, (frame, clicked) = formats.BY_NAME[name], TABLES[name]
    found = read_file(written(tmp_path, name))
    assert found.format == name and found.digest == digest_of(tmp_path / ("some.parquet" if name == "yambda" else "some.csv"))
    frame = frame.sort_values(layout.time, kind="stable") if layout.time else frame
    assert found.labels.tolist() == clicked(frame).astype(float).tolist()
    assert found.tokens.tolist() == [[token(cell) for cell in row] for row in frame[list(layout.ids)].itertuples(index=False)]
    dense = np.log1p(frame[list(layout.dense)].to_numpy(float)) if layout.dense else np.zeros((ROWS, 1))
    assert found.dense == pytest.approx(dense, rel=1e-6)
    assert ("user" in found.order) == bool(layout.time)


def test_text_is_the_same_plain_gzipped_in_small_blocks_and_with_windows_line_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = written(tmp_path, "movielens").read_bytes()
    plain = read_file(tmp_path / "some.csv")
    monkeypatch.setattr(blocks, "READ_NBYTES", 97)
    for name, other in (("z.gz", gzip.compress(text)), ("w", text.replace(b"\n", b"\r\n")), ("bom", b"\xef\xbb\xbf" + text)):
        (tmp_path / name).write_bytes(other)
        found = read_file(tmp_path / name)
        assert found.tokens.tolist() == plain.tokens.tolist() and found.labels.tolist() == plain.labels.tolist()


def test_events_of_yambda_that_are_no_listens_are_left_out(tmp_path: Path) -> None:
    frame = yambda().assign(event_type=RANDOM.choice(["listen", "like", "dislike"], ROWS))
    frame["played_ratio_pct"] = frame["played_ratio_pct"].where(frame["event_type"] == "listen").astype("UInt16")
    frame.to_parquet(tmp_path / "multi_event.parquet", index=False)
    assert len(read_file(tmp_path / "multi_event.parquet").labels) == (frame["event_type"] == "listen").sum()
    frame[["uid", "item_id", "timestamp", "is_organic"]].to_parquet(tmp_path / "likes.parquet", index=False)
    with pytest.raises(BadFile, match=r"listens.parquet or multi_event.parquet"):
        read_file(tmp_path / "likes.parquet")


def a_day(folder: Path, multi_hot: bool = False) -> Path:
    """Write a day as TorchRec or MLPerf does."""
    labels = RANDOM.integers(0, 2, (ROWS, 1)).astype(np.int32)
    np.save(folder / "day_3_labels.npy", labels)
    np.save(folder / "day_3_dense.npy", np.log(RANDOM.integers(0, 99, (ROWS, 13)) + 3).astype(np.float32))
    if multi_hot:
        sizes = (3, 2, 1, 12)
        arrays = {str(at): RANDOM.integers(0, 10**6, (ROWS, size), np.int32) for at, size in enumerate(sizes)}
        np.savez(folder / "day_3_sparse_multi_hot.npz", **arrays)
        return folder / "day_3_sparse_multi_hot.npz"
    np.save(folder / "day_3_sparse_contig_freq.npy", RANDOM.integers(0, 10**6, (ROWS, 26), np.int32))
    return folder / "day_3_sparse_contig_freq.npy"


@pytest.mark.parametrize("part", ["sparse_contig_freq", "dense", "labels"])
def test_a_day_of_arrays_is_mapped_whichever_of_its_files_is_given(part: str, tmp_path: Path) -> None:
    ids = np.load(a_day(tmp_path))
    found = read_file(tmp_path / f"day_3_{part}.npy")
    scenario = with_values(preset("optane-kaggle").scenario, {"data.digest": found.digest, "data.batch_size": 16})
    batch, first = source(scenario, found).batch(1), offsets(scenario.model)
    rows = np.arange(16, 32)
    wanted = first[:-1, None] + ids[rows].T % np.diff(first)[:, None]
    assert batch.ids.tolist() == wanted.reshape(-1).tolist()
    assert np.array_equal(batch.dense, np.load(tmp_path / "day_3_dense.npy")[rows])
    assert np.array_equal(batch.labels, np.load(tmp_path / "day_3_labels.npy")[rows, 0])
    assert isinstance(found.tokens[0].base, np.memmap) and found.format == "torchrec"


def test_multi_hot_ids_are_mapped_inside_the_archive_and_keep_their_bags(tmp_path: Path) -> None:
    path = a_day(tmp_path, multi_hot=True)
    found, inside = read_file(path), np.load(path)
    assert found.pooling == (3, 2, 1, 12) and found.format == "mlperf"
    shape = {"model.num_tables": 4, "model.pooling": found.pooling, "model.num_embeddings": (1000, 7, 10**6, 50)}
    scenario = with_values(TINY, {**shape, "model.bottom_mlp": (13, 8, 4), "data.digest": found.digest})
    scenario = with_values(scenario, {"data.batch_size": 8, "run.batches": 5})
    ids, layout, first = source(scenario, found).ids(2), bag_layout(scenario.model, 8), offsets(scenario.model)
    for table in range(4):
        wanted = inside[str(table)][16:24].reshape(-1) % (first[table + 1] - first[table])
        assert (ids[layout[table] : layout[table + 1]] - first[table]).tolist() == wanted.tolist()
    assert simulate(scenario, path).ran
    with pytest.raises(BadInput, match=r"set --set 'model\.pooling=3;2;1;12'"):
        source(with_values(scenario, {"model.pooling": (1,)}), found)


def test_a_mapping_beside_a_file_says_what_its_columns_mean(tmp_path: Path) -> None:
    frame = movielens().assign(age=RANDOM.integers(1, 90, ROWS))
    frame.to_csv(tmp_path / "own.csv", index=False, sep="|")
    frame.to_parquet(tmp_path / "own.parquet", index=False)
    frame.to_csv(tmp_path / "bare.csv", index=False, header=False)
    plain = 'label = "rating >= 4"\nids = ["movieId"]\ndense = "age"\nrows = "as they are"\n'
    for name, more in (("own.csv", 'delimiter = "|"\n'), ("own.parquet", ""), ("bare.csv", f"columns = {[*frame]}\n")):
        before = digest_of(tmp_path / name)
        (tmp_path / f"{name}.toml").write_text(plain + more, encoding="utf-8")
        found = read_file(tmp_path / name)
        assert found.tokens[:, 0].tolist() == frame["movieId"].tolist() and not found.hashed
        assert found.labels.tolist() == (frame["rating"] >= 4).astype(float).tolist()
        assert found.dense[:, 0] == pytest.approx(np.log1p(frame["age"]), rel=1e-6)
        assert found.digest == digest_of(tmp_path / name) != before
    (tmp_path / "own.csv.toml").write_text('label = "rating > 4.5"\nids = "userId"\ntime = "timestamp"\ndelimiter = "|"\n')
    found = read_file(tmp_path / "own.csv")
    assert found.tokens[:, 0].tolist() == frame.sort_values("timestamp")["userId"].tolist()


BROKEN = {
    "no number": (b"\n17,3,4.0,", b"\n17,3,x4,", ":{line}: rating='x4' is not a finite number"),
    "infinite": (b"\n17,3,4.0,", b"\n17,3,inf,", ":{line}: rating='inf' is not a finite number"),
    "a column more": (b"\n17,3,4.0,", b"\n17,3,4.0,9,", ":{line}: the line has 5 columns, but 4"),
    "not UTF-8": (b"\n17,3,4.0,", b"\n17,\xff\xfe,4.0,", "the text is not a table|not UTF-8"),
    "a column twice": (b"userId,movieId", b"movieId,movieId", "columns are movieId|twice or more in the header"),
    "another header": (b"userId,movieId", b"userId,movie", "looks like MovieLens' ratings.csv but lacks movieId; its 4 columns"),
    "another table": (
        b"userId,movieId",
        b"user,movie",
        "looks like a table in CSV; its 4 columns are user, movie, rating, timestamp",
    ),
}


@each("what", BROKEN)
def test_a_broken_table_is_refused_by_file_and_line(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new, words = BROKEN[what]
    frame = movielens().reset_index(drop=True)
    frame.loc[212, ["userId", "movieId", "rating"]] = [17, 3, 4.0]
    text = frame.astype({"userId": int, "movieId": int}).to_csv(index=False).encode()
    assert text.count(old) == 1
    (tmp_path / "ratings.csv").write_bytes(text.replace(old, new))
    monkeypatch.setattr(blocks, "READ_NBYTES", 1000)
    with pytest.raises(BadFile, match=words.format(line=214)) as refused:
        read_file(tmp_path / "ratings.csv")
    assert "ratings.csv" in str(refused.value) and len(refused.value.args[0]) <= 300


MAPPINGS = {
    "no TOML": ("label = ", "not valid TOML"),
    "unknown key": ('labels = "rating"', "label"),
    "no ids": ('label = "rating >= 4"', "names no ids"),
    "no label": ('ids = "movieId"', "names no label"),
    "no such column": ('label = "rating >= 4"\nids = "film"', "column 'film' is not in the header"),
    "ids of numbers": ('label = "rating >= 4"\nids = [1]', "ids is not a list"),
    "label of two values": ('label = "rating"\nids = "movieId"', "is not a label; write 0 or 1, or give a rule"),
    "text compared": ('label = "rating >= good"\nids = "movieId"', "compares with something that is not a number"),
    "unknown format": ('format = "movielense"', "movielens"),
    "odd delimiter": ('label = "rating >= 4"\nids = "movieId"\ndelimiter = "||"', "not one character"),
    "odd rows": ('label = "rating >= 4"\nids = "movieId"\nrows = "sorted"', "'hashed', 'as they are'"),
}


@each("what", MAPPINGS)
def test_a_mapping_that_cannot_be_is_refused(what: str, tmp_path: Path) -> None:
    text, words = MAPPINGS[what]
    path = written(tmp_path, "movielens")
    (tmp_path / "some.csv.toml").write_text(text, encoding="utf-8")
    with pytest.raises(BadFile, match=words) as refused:
        read_file(path)
    assert len(str(refused.value)) <= 300


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def pickled(path: Path) -> None:
    np.save(path, np.array([[{}] * 26] * ROWS, dtype=object), allow_pickle=True)


def zero(path: Path) -> None:
    path.write_bytes(np.lib.format.MAGIC_PREFIX + b"\x01\x00" + b"\0" * 60)


ARRAYS = {
    "cut off": (False, cut, "do not match; copy it again"),
    "objects": (False, pickled, "whole numbers"),
    "too short": (False, lambda path: np.save(path, np.zeros((9, 26), np.int32)), r"different numbers of samples, \[9, 300\]"),
    "floats": (False, lambda path: np.save(path, np.zeros((ROWS, 26))), "whole numbers"),
    "one axis": (False, lambda path: np.save(path, np.zeros(ROWS, np.int32)), "arrays with one axis"),
    "no header": (False, zero, "a .npy header that cannot be read"),
    "no labels": (False, lambda path: path.with_name("day_3_labels.npy").unlink(), "needs the file day_3_labels.npy beside it"),
    "archive cut off": (True, cut, "damaged or cut off .npz"),
    "archive of others": (True, lambda path: np.savez(path, ids=np.zeros((ROWS, 1), np.int32)), "members other than 0.npy"),
}


@each("what", ARRAYS)
def test_broken_arrays_are_refused(what: str, tmp_path: Path) -> None:
    multi_hot, broken, words = ARRAYS[what]
    path = a_day(tmp_path, multi_hot)
    broken(path)
    with pytest.raises(BadFile, match=words) as refused:
        read_file(path)
    assert len(str(refused.value)) <= 300


def test_a_parquet_file_of_a_few_values_again_and_again_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.parquet"
    frame = yambda().iloc[:1].loc[lambda one: one.index.repeat(3_000_000)]
    frame.to_parquet(path, index=False, row_group_size=500_000)
    assert path.stat().st_size < 1e6
    tracemalloc.start()
    with pytest.raises(BadFile, match=r"declares 3,000,000 rows in"):
        read_file(path)
    assert tracemalloc.get_traced_memory()[1] < 5e6
    tracemalloc.stop()


def test_a_damaged_parquet_file_is_a_sentence(tmp_path: Path) -> None:
    path, drawn = written(tmp_path, "yambda"), random.Random(3)
    whole = path.read_bytes()
    path.write_bytes(whole[:1000])
    with pytest.raises(BadFile, match="Parquet file"):
        read_file(path)
    for _ in range(60):
        at = drawn.randrange(4, len(whole))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << drawn.randrange(8)]) + whole[at + 1 :])
        try:
            read_file(path)
        except BadFile as refused:
            assert len(str(refused)) <= 300


def a_trace(path: Path, lengths: np.ndarray, indices: np.ndarray) -> None:
    """Write a trace with the opcodes that torch's own pickler writes, without torch."""
    ends = np.concatenate(([0], np.cumsum(lengths.reshape(-1)))).astype(np.int64)
    arrays = [indices.astype(np.int64), ends, lengths.astype(np.int64)]

    def tensor(key: int, array: np.ndarray) -> bytes:
        def number(value: int) -> bytes:
            return b"J" + int(value).to_bytes(4, "little")

        def words(*texts: str) -> bytes:
            return b"".join(b"X" + len(text).to_bytes(4, "little") + text.encode() for text in texts)

        storage = b"(" + words("storage") + b"ctorch\nLongStorage\n" + words(str(key), "cpu") + number(array.size) + b"tQ"
        shape = b"(" + b"".join(map(number, array.shape)) + b"t"
        strides = b"(" + b"".join(number(step // 8) for step in array.strides) + b"t"
        return (
            b"ctorch._utils\n_rebuild_tensor_v2\n("
            + storage
            + number(0)
            + shape
            + strides
            + b"\x89ccollections\nOrderedDict\n)RtR"
        )

    text = b"\x80\x02(" + b"".join(tensor(key, array) for key, array in enumerate(arrays)) + b"t."
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo("trace/data.pkl"), text)
        for key, array in enumerate(arrays):
            archive.writestr(zipfile.ZipInfo(f"trace/data/{key}"), array.tobytes())
        archive.writestr(zipfile.ZipInfo("trace/version"), "3")


LENGTHS = RANDOM.integers(0, 5, (3, 40))
INDICES = RANDOM.integers(0, 1000, int(LENGTHS.sum()))


def test_a_trace_is_mapped_table_by_table_also_gzipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where it is unpacked
    a_trace(tmp_path / "t.pt", LENGTHS, INDICES)
    (tmp_path / "z.pt.gz").write_bytes(gzip.compress((tmp_path / "t.pt").read_bytes()))
    for name in ("t.pt", "z.pt.gz", "z.pt.gz"):
        found = torch_save.read_lookups(tmp_path / name)
        assert isinstance(found.indices, np.memmap) and found.tables == 3
        assert np.concatenate([found.lookups(t, 0, found.samples) for t in range(3)]).tolist() == INDICES.tolist()
        assert [len(found.lookups(t, 0, found.samples)) for t in range(3)] == LENGTHS.sum(axis=1).tolist()
    with pytest.raises(BadFile, match="workload fit"):
        read_file(tmp_path / "t.pt")


@pytest.mark.slow
def test_a_trace_that_torch_wrote_is_what_torch_reads(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    ends = np.concatenate(([0], np.cumsum(LENGTHS.reshape(-1))))
    given = (torch.from_numpy(INDICES), torch.from_numpy(ends), torch.from_numpy(LENGTHS))
    torch.save(given, tmp_path / "t.pt")
    found = torch_save.read_lookups(tmp_path / "t.pt")
    for ours, theirs in zip((found.indices, found.offsets, found.lengths), torch.load(tmp_path / "t.pt"), strict=True):
        assert np.array_equal(ours, theirs.numpy())
    a_trace(tmp_path / "own.pt", LENGTHS, INDICES)
    assert all(torch.equal(one, other) for one, other in zip(given, torch.load(tmp_path / "own.pt"), strict=True))


class Evil:
    def __reduce__(self) -> object:
        return (print, ("run",))


def test_nothing_but_tensors_is_ever_built_from_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "evil.pt"
    for content, words in (
        (pickle.dumps(Evil()), "builtins.print; only tensors are read"),
        (pickle.dumps((1, 2, 3)), "does not hold three tensors"),
        (b"\x80\x02garbage", "pickle that cannot be read"),
        (b"ctorch\nload\n.", "torch.load; only tensors"),
    ):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("trace/data.pkl", content)
        with pytest.raises(BadFile, match=words):
            torch_save.read_lookups(path)
    assert capsys.readouterr().out == ""
    path.write_bytes(pickle.dumps([1]))
    with pytest.raises(BadFile, match="was not saved by torch"):
        torch_save.read_lookups(path)


@pytest.mark.parametrize("change", ["lengths", "negative", "cut"])
def test_a_trace_whose_parts_do_not_belong_together_is_refused(change: str, tmp_path: Path) -> None:
    path = tmp_path / "t.pt"
    a_trace(path, LENGTHS, INDICES[:-1] if change == "lengths" else -INDICES if change == "negative" else INDICES)
    if change == "cut":
        path.write_bytes(path.read_bytes()[:-300])
    with pytest.raises(BadFile, match=r"t\.pt"):
        torch_save.read_lookups(path)


def test_any_bytes_are_a_sentence(tmp_path: Path) -> None:
    drawn = random.Random(1)
    heads = (b"", b"PAR1", b"PK\x03\x04", b"\x93NUMPY\x01\x00", b"\x1f\x8b", b"a,b,c\n", b"id,click\n", b"1\t2\n", b"{}")
    names = ("x.csv", "x.npy", "day_0_sparse.npy", "day_0_sparse_multi_hot.npz", "x.pt", "x.pt.gz", "x.parquet")
    for head in heads:
        for name in names:
            (tmp_path / name).write_bytes(head + drawn.randbytes(drawn.choice((0, 10, 3000))))
            with pytest.raises(BadFile) as refused:
                read_file(tmp_path / name)
            assert len(refused.value.args[0]) <= 300 and str(refused.value).replace("\n", "").isprintable(), refused.value


def test_a_run_trains_on_a_file_of_another_format(tmp_path: Path) -> None:
    path = written(tmp_path, "avazu")
    shape = {"model.num_tables": 13, "model.pooling": (1,), "model.bottom_mlp": (8, 8, 4), "model.num_embeddings": (1000,)}
    scenario = with_values(TINY, {**shape, "data.batch_size": 16, "run.batches": 10})
    result = simulate(scenario, path)
    assert result.ran and result.training[-1]["AUC"] is not None
    assert result.scenario.data.digest == digest_of(path)
