"""Is a file at the limit of a reader read, and one just beyond it refused?"""

import gzip
import io
import re
import zipfile
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow
import pytest
from numpy.lib import format as npy
from pyarrow import parquet as arrow_parquet

from engine.errors import BadFile
from engine.workload.readers import arrays, blocks, cells, dialects, parquet, records, text_table, zipped
from engine.workload.readers.blocks import Blocks
from engine.workload.readers.dialects import Dialect, quotes_meaning
from engine.workload.readers.formats import read_file
from engine.workload.readers.layouts import Layout
from tests.cases import each
from tests.workload.readers.test_formats import a_day

LINES = b"1,2\n" * 300


def text_of(path: Path, size: int | None = None) -> bytes:
    with path.open("rb") as file:
        return b"".join(Blocks(path.name, file, size))


@each("excess", [0, 1])
def test_gzip_may_unpack_to_its_limit_and_no_further(excess: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.gz"
    path.write_bytes(gzip.compress(LINES))
    monkeypatch.setattr(blocks, "FREE_TEXT", len(LINES) - blocks.EXPANSION * path.stat().st_size - excess)
    if excess:
        with pytest.raises(BadFile, match=r"t\.gz unpacks to more than 16 times its size"):
            text_of(path)
    else:
        assert text_of(path) == LINES


@each("excess", [0, 1])
def test_a_line_may_have_its_longest_and_no_more(excess: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"1\n" + b"a" * 40)  # the last line lacks its end, so nothing else stops it
    monkeypatch.setattr(blocks, "LONGEST_LINE", 40 - excess)
    if excess:
        with pytest.raises(BadFile, match=r"t\.csv:2: the line is longer than 39 bytes"):
            text_of(path)
    else:
        assert text_of(path) == path.read_bytes()


@each("excess", [0, 1])
def test_a_file_that_grows_while_it_is_read_is_refused(excess: int, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(LINES)
    if excess:
        with pytest.raises(BadFile, match=r"t\.csv changed while it was read"):
            text_of(path, len(LINES) - 1)
    else:
        assert text_of(path, len(LINES)) == LINES


def test_progress_is_the_share_of_the_files_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shares: list[float] = []
    (tmp_path / "t.csv").write_bytes(LINES)
    monkeypatch.setattr(blocks, "READ_NBYTES", len(LINES) // 4)
    with (tmp_path / "t.csv").open("rb") as file:
        list(Blocks("t.csv", file, len(LINES), watch=lambda share, _: shares.append(share)))
    assert [*dict.fromkeys(shares)] == [0.25, 0.5, 0.75, 1.0]
    for size, content, share in ((None, b"1,2\n", 1), (0, b"", 0)):
        (tmp_path / "t.csv").write_bytes(content)
        with (tmp_path / "t.csv").open("rb") as file:
            list(Blocks("t.csv", file, size, watch=lambda share, _: shares.append(share)))
        assert shares[-1] == share


OPEN_CELL = b'a,b\n1,"' + b"x" * 33  # 36 bytes of a record that stays open


@each("excess", [0, 1])
def test_an_open_record_may_be_as_long_as_a_line(excess: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(OPEN_CELL + b'\n"\n')
    monkeypatch.setattr(blocks, "READ_NBYTES", len(OPEN_CELL) + 1)
    monkeypatch.setattr(text_table, "LONGEST_LINE", 37 - excess)
    layout = Layout("unknown", "", ("a", "b"), quotes=records.MULTILINE)
    with path.open("rb") as file:
        rows = text_table.rows_of(Blocks("t.csv", file), layout)
        if excess:
            with pytest.raises(BadFile, match=r"t\.csv:2: a quotation mark opens a field"):
                list(rows)
        else:
            assert [row.columns["b"].to_pylist() for row in rows] == [["x" * 33 + "\n"]]


@each(
    ("end", "line", "meaning"),
    [
        (b"", 3, records.MULTILINE),
        (b"\n5,6", 3, records.MULTILINE),
        (b"\n5,6\n", 5, records.LITERAL),
        (b'\n5,"6', 5, records.LITERAL),
    ],
)
def test_an_open_cell_is_looked_for_on_its_own_line(end: bytes, line: int, meaning: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'a,b\n1,2\n3,"x\ny"' + end)
    assert quotes_meaning(path, Dialect("text", None, ("a", "b")), line) == meaning


@each("block", [4, 9, 13, 1 << 22])
@each(("end", "meaning"), [(b'y"\n5,6', records.MULTILINE), (b"3,4\n5,6", records.LITERAL)])
def test_an_open_cell_is_found_and_closed_in_whichever_block(
    end: bytes, meaning: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'a,b\n1,2\n3,"x\n' + end)
    monkeypatch.setattr(blocks, "READ_NBYTES", block)
    assert quotes_meaning(path, Dialect("text", None, ("a", "b")), 3) == meaning


@each(("most", "meaning"), [(4, records.MULTILINE), (5, records.LITERAL)])
def test_lines_after_an_open_cell_are_looked_at_up_to_their_most(
    most: int, meaning: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'a,b\n3,"x\ny"\n\r\n5,6\n7,8\n9,1"\n')  # a sign of inches in the fifth line
    monkeypatch.setattr(dialects, "MOST_ROWS", most)
    assert quotes_meaning(path, Dialect("text", None, ("a", "b")), 2) == meaning


@each(("names", "meaning"), [(("a",), records.MULTILINE), (("a", "b"), records.MULTILINE), (("a", "b", "c"), records.LITERAL)])
def test_an_open_cell_with_line_ends_leaves_a_cell_for_each_column(names: tuple[str, ...], meaning: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b'a,b\n3,"x\ny"\n')
    assert quotes_meaning(tmp_path / "t.csv", Dialect("text", None, names), 2) == meaning


def test_a_column_without_a_name_of_its_own_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("user,,item,item,price\n" + "".join(f"u{n},{n},{n},{n},0.5\n" for n in range(50)))
    assert dialects.dialect_of(tmp_path / "t.csv").names == ("user", "price")


def table_of_rows(path: Path, rows: int) -> Path:
    arrow_parquet.write_table(pyarrow.table({"id": np.arange(rows), "label": np.arange(rows) % 2}), path)
    return path


PARQUET_LIMITS: dict[str, Any] = {
    "rows": ("FREE_ROWS", "declares 500 rows", lambda rows, nbytes, group: rows - nbytes),
    "a group": ("MOST_GROUP_NBYTES", "has a row group", lambda rows, nbytes, group: group),
    "a group over the file": ("FREE_TEXT", "has a row group", lambda rows, nbytes, group: group - parquet.EXPANSION * nbytes),
}


@each("what", PARQUET_LIMITS)
@each("excess", [0, 1])
def test_parquet_may_hold_its_limit_and_no_more(what: str, excess: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit, words, least = PARQUET_LIMITS[what]
    path = table_of_rows(tmp_path / "t.parquet", 500)
    group_nbytes = arrow_parquet.read_metadata(path).row_group(0).total_byte_size
    with monkeypatch.context() as patch:
        patch.setattr(parquet, limit, least(500, path.stat().st_size, group_nbytes) - excess)
        if excess:
            with pytest.raises(BadFile, match=words):
                list(parquet.rows_of(path, "t.parquet"))
        else:
            assert sum(len(rows.lines) for rows in parquet.rows_of(path, "t.parquet")) == 500


@each(
    ("column", "is_read"),
    [([7], True), ([[7]], True), (["a"], True), ([[[7]]], False), ([{"a": 7}], False), ([[{"a": 7}]], False), ([[0.5]], True)],
)
def test_a_column_of_ids_has_ids_or_lists_of_them(column: list[Any], is_read: bool, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    arrow_parquet.write_table(pyarrow.table({"id": column * 60, "label": [0, 1] * 30}), path)
    Path(f"{path}.toml").write_text('label = "label"\nids = ["id"]\n')
    if is_read:
        assert read_file(path).samples == 60
    else:
        with pytest.raises(BadFile, match="which has no ids; map a column"):
            read_file(path)


@each(
    ("rows", "nbytes", "together"),
    [(10**6, 1 << 20, 1 << 16), (1000, 2 << 26, 500), (3, 8 << 26, 1), (1, 2 << 26, 1), (5, 0, 1 << 16)],
)
def test_rows_of_long_lists_are_read_few_together(rows: int, nbytes: int, together: int) -> None:
    groups = [SimpleNamespace(total_byte_size=nbytes - nbytes // 3), SimpleNamespace(total_byte_size=nbytes // 3)]
    metadata = SimpleNamespace(num_rows=rows, num_row_groups=2, row_group=groups.__getitem__)
    assert parquet._batch_rows(metadata) == together


NUMBERS = np.arange(60)
ARCHIVE_LIMITS: dict[str, Any] = {
    "bytes of any archive": lambda size, unpacked, excess: {"EXPANSION": 0, "FREE_NBYTES": unpacked - excess},
    "bytes over the archive's": lambda size, unpacked, excess: {
        "EXPANSION": Fraction(unpacked - excess, size),
        "FREE_NBYTES": 0,
    },
    "members": lambda size, unpacked, excess: {"MOST_MEMBERS": 2 - excess},
}


@each("what", ARCHIVE_LIMITS)
@each("excess", [0, 1])
def test_an_archive_may_unpack_to_its_limit_and_no_further(
    what: str, excess: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.npz"
    np.savez_compressed(path, a=NUMBERS, b=NUMBERS)
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    with monkeypatch.context() as patch:
        for name, limit in ARCHIVE_LIMITS[what](path.stat().st_size, unpacked, excess).items():
            patch.setattr(zipped, name, limit)
        if excess:
            with pytest.raises(BadFile, match="unlike any log of clicks"):
                zipped.archive_headers(path)
        else:
            assert {*zipped.archive_headers(path)} == {"a", "b"}


@each("cut", [0, 1])
@each("stored", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_an_array_ends_at_the_end_of_its_member(cut: int, stored: int, tmp_path: Path) -> None:
    path, text = tmp_path / "t.npz", io.BytesIO()
    np.save(text, NUMBERS)
    with zipfile.ZipFile(path, "w", stored) as archive:
        archive.writestr("a.npy", text.getvalue()[: len(text.getvalue()) - cut])
    if cut:
        with pytest.raises(BadFile, match=r"t\.npz/a\.npy declares \(60,\) of int64"):
            zipped.archive_headers(path)
    else:
        assert zipped.archive_array(path, "a").tolist() == NUMBERS.tolist()


@each("excess", [0, 1])
def test_a_disk_may_have_just_the_room_for_an_array(excess: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.npz"
    np.savez_compressed(path, a=NUMBERS)
    with zipfile.ZipFile(path) as archive:
        free = archive.getinfo("a.npy").file_size + zipped.SPARE_NBYTES - excess
    monkeypatch.setattr(zipped.shutil, "disk_usage", lambda folder: SimpleNamespace(free=free))
    if excess:
        with pytest.raises(BadFile, match="free some space there"):
            zipped.archive_array(path, "a")
    else:
        assert zipped.archive_array(path, "a").tolist() == NUMBERS.tolist()


@each(("count", "rows"), [(59, 59), (60, 60), (61, 60)])
def test_first_rows_are_no_more_than_there_are(count: int, rows: int, tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", a=NUMBERS)
    assert zipped.first_rows(tmp_path / "t.npz", "a", count).tolist() == NUMBERS[:rows, None].tolist()


def test_first_rows_have_all_columns_but_for_an_array_by_column(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", a=NUMBERS.reshape(20, 3), b=np.asfortranarray(NUMBERS.reshape(20, 3)))
    assert zipped.first_rows(tmp_path / "t.npz", "a", 2).tolist() == [[0, 1, 2], [3, 4, 5]]
    assert zipped.first_rows(tmp_path / "t.npz", "b", 2).tolist() == [[0], [3]]


@each(
    ("shape", "order", "by_column"),
    [((3,), False, False), ((3,), True, False), ((3, 2), True, True), ((3, 2), False, False), ((), False, False)],
)
def test_a_header_says_the_order_of_two_axes(shape: tuple[int, ...], order: bool, by_column: bool) -> None:
    text = io.BytesIO()
    npy.write_array_header_1_0(text, {"descr": "<i8", "fortran_order": order, "shape": shape})
    text.seek(0)
    found = zipped.read_header(text, "t")
    assert (found.shape, found.by_column, found.size) == (shape, by_column, 8 * int(np.prod(shape)))
    assert found.nbytes == len(text.getvalue())


@each(("shape", "is_read"), [((0,), True), ((-1,), False), ((3, -1), False), ((-1, 3), False)])
def test_an_array_has_no_negative_axis(shape: tuple[int, ...], is_read: bool) -> None:
    text = io.BytesIO()
    npy.write_array_header_1_0(text, {"descr": "<i8", "fortran_order": False, "shape": shape})
    text.seek(0)
    if is_read:
        assert zipped.read_header(text, "t").size == 0
    else:
        with pytest.raises(BadFile, match="which is impossible"):
            zipped.read_header(text, "t")


def test_unpacking_tells_its_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipped, "PIECE", 152)  # a quarter of the header and 60 numbers
    np.savez_compressed(tmp_path / "t.npz", a=NUMBERS)
    shares: list[float] = []
    zipped.archive_array(tmp_path / "t.npz", "a", lambda share, words: shares.append(share))
    assert shares == [0.25, 0.5, 0.75, 1.0]


DAY_LIMITS = {"MOST_FIELDS": 4, "MOST_LOOKUPS": 18}  # of the day's four fields of 3, 2, 1 and 12 ids


@each("limit", DAY_LIMITS)
@each("excess", [0, 1])
def test_a_day_may_have_its_most_fields_and_ids(limit: str, excess: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = a_day(tmp_path, multi_hot=True)
    with monkeypatch.context() as patch:
        patch.setattr(arrays, limit, DAY_LIMITS[limit] - excess)
        if excess:
            with pytest.raises(BadFile, match="has samples of 4 fields with 18 ids; give arrays of at most"):
                read_file(path)
        else:
            assert read_file(path).pooling == (3, 2, 1, 12)


@each(("sample", "part"), [(63, "dense"), (64, "dense"), (200, "dense"), (64, "labels")])
def test_a_bad_value_of_a_day_is_named_in_whichever_block(
    sample: int, part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "BLOCK_SAMPLES", 64)
    path = a_day(tmp_path)
    values = np.load(tmp_path / f"day_3_{part}.npy")
    values[sample, -1] = np.inf if part == "dense" else 2
    np.save(tmp_path / f"day_3_{part}.npy", values)
    with pytest.raises(BadFile, match=rf"day_3_{part}.npy: sample {sample} has a"):
        read_file(path)


LABELS: dict[str, Any] = {
    "in a column": (lambda labels: labels, True),
    "alone": (lambda labels: labels[:, 0], True),
    "in two columns": (lambda labels: np.repeat(labels, 2, axis=1), False),
    "in three axes": (lambda labels: labels[:, :, None], False),
    "one more": (lambda labels: np.append(labels, 1), False),
}


@each("what", LABELS)
def test_a_day_has_one_label_a_sample(what: str, tmp_path: Path) -> None:
    path, (changed, is_read) = a_day(tmp_path), LABELS[what]
    labels = np.load(tmp_path / "day_3_labels.npy")
    np.save(tmp_path / "day_3_labels.npy", changed(labels))
    if is_read:
        assert read_file(path).labels.tolist() == labels[:, 0].tolist()
    else:
        with pytest.raises(BadFile, match="have different numbers of samples"):
            read_file(path)


@each("axes", [(1, 2), (2, 1), (2, 3)])
def test_each_field_of_a_day_has_two_axes(axes: tuple[int, int], tmp_path: Path) -> None:
    path = a_day(tmp_path, multi_hot=True)
    np.savez(path, **{str(field): np.zeros((300, *[1] * (number - 1)), np.int32) for field, number in enumerate(axes)})
    with pytest.raises(BadFile, match="has arrays with one axis or more than two"):
        read_file(path)


@each("cut", [0, 1])
def test_an_array_of_a_day_is_whole(cut: int, tmp_path: Path) -> None:
    path = a_day(tmp_path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size - cut])
    if cut:
        with pytest.raises(BadFile, match="do not match; copy it again"):
            read_file(path)
    else:
        assert read_file(path).tables == 26


@each("files", [0, 2, 4, 5])
def test_a_day_has_one_file_of_ids(files: int, tmp_path: Path) -> None:
    a_day(tmp_path).unlink()
    for number in range(files):
        (tmp_path / f"day_3_sparse{number}.npy").touch()
    names = ", ".join(f"day_3_sparse{number}.npy" for number in range(min(files, 4))) or "none is there"
    with pytest.raises(BadFile, match=rf"needs one file of ids beside it, such as day_3_sparse.npy \({re.escape(names)}\)"):
        arrays.day_files(tmp_path / "day_3_dense.npy")


@each("kind", [pyarrow.string_view(), pyarrow.string(), pyarrow.large_string()])
def test_texts_of_any_type_are_trimmed_and_null_is_missing(kind: Any) -> None:
    assert cells.plain_column(pyarrow.array([" a ", None], kind)).to_pylist() == ["a", None]
    assert cells.missing_cells(pyarrow.nulls(2)).tolist() == [True, True]
    assert cells.missing_cells(pyarrow.array(["a", " ", None], kind)).tolist() == [False, True, True]
