"""Are arrays of an archive columns, blocks and guesses up to their bounds, and files of a data file one thing?"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow
import pytest

from engine.errors import BadFile, UndescribedTable
from engine.workload.readers import array_table, blocks, cells, formats, mapping, recognition
from engine.workload.readers.layouts import Layout
from engine.workload.readers.zipped import Header
from tests.cases import each
from tests.workload.readers.test_formats import a_day

COUNT = 60
LABELS = np.arange(COUNT) % 2


def saved(folder: Path, **arrays: Any) -> Path:
    np.savez(folder / "t.npz", **arrays)
    return folder / "t.npz"


def refusal(path: Path) -> BadFile:
    with pytest.raises(BadFile) as refused:
        formats.read_file(path)
    return refused.value


@each(("most", "is_read"), [(3, True), (2, False)])
def test_a_file_of_dlrms_has_its_most_columns(most: int, is_read: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, X_cat=np.zeros((COUNT, 3), int), X_int=np.zeros((COUNT, 2), int), y=LABELS)
    monkeypatch.setattr(array_table, "MOST_COLUMNS", most)
    if is_read:
        assert formats.read_file(path).tables == 3
    else:
        assert "has 3 columns of ids in X_cat; give at most 2" in str(refusal(path))


def test_samples_are_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_table, "BLOCK_ROWS", 25)
    path = saved(tmp_path, a=np.arange(COUNT), b=np.arange(2 * COUNT).reshape(COUNT, 2))
    found = list(array_table.rows_of(path, "t", ("a", "b")))
    assert [(block.lines[0], len(block.lines)) for block in found] == [(1, 25), (26, 25), (51, 10)]
    assert all(len(column) == len(block.lines) for block in found for column in block.columns.values())
    assert np.concatenate([block.columns["a"].to_pylist() for block in found]).tolist() == [*range(COUNT)]


@each(("kind", "native"), [("f2", "f4"), ("f4", "f4"), ("f8", "f8"), (">f4", "f4"), (">f8", "f8"), ("bool", "u1"), (">i2", "i2")])
def test_numbers_are_read_in_a_type_of_arrows_of_their_width(kind: str, native: str) -> None:
    assert array_table._native(np.zeros(2, kind)).dtype == np.dtype(native)


@each("arrays", [6, 7])
def test_six_arrays_are_named(arrays: int, tmp_path: Path) -> None:
    path = saved(tmp_path, **{f"a{number}": np.arange(COUNT + number) for number in range(arrays)})
    Path(f"{path}.toml").write_text(f'label = "a0"\nids = {[f"a{number}" for number in range(1, arrays)]}\n')
    lengths = str(refusal(path))
    assert f"a5 {COUNT + 5}" in lengths and "a6" not in lengths
    Path(f"{path}.toml").unlink()
    contents = str(refusal(path))
    assert f"a5 ({COUNT + 5} of int64)" in contents and (", ..." in contents) == (arrays == 7)


@each("arrays", [12, 13])
def test_twelve_arrays_are_named_for_one_that_is_missing(arrays: int, tmp_path: Path) -> None:
    path = saved(tmp_path, **{f"a{number:02d}": LABELS for number in range(arrays)})
    Path(f"{path}.toml").write_text('label = "a00"\nids = ["none"]\n')
    assert "its arrays are a00, " in str(refusal(path)) and "a11" in str(refusal(path)) and "a12" not in str(refusal(path))


COLUMNS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {  # arrays, and the columns of a guess
    "one length": ({"a": LABELS, "b": LABELS + 5}, ("a", "b")),
    "another length": ({"a": LABELS, "b": LABELS + 5, "c": np.arange(5)}, ("a", "b")),
    "two axes": ({"a": LABELS, "b": np.arange(3 * COUNT).reshape(COUNT, 3)}, ("a", "b")),
    "three axes": ({"a": LABELS, "b": np.zeros((COUNT, 2, 2), int)}, ("a",)),
    "one array": ({"b": np.arange(3 * COUNT).reshape(COUNT, 3)}, ("b.0", "b.1", "b.2")),
    "one column": ({"b": np.arange(COUNT)}, ("b",)),
    "more arrays": ({"a": LABELS, "b": LABELS + 5, "c": LABELS + 6, "d": LABELS}, ("a", "b", "c")),
    "more columns": ({"b": np.arange(4 * COUNT).reshape(COUNT, 4)}, ("b.0", "b.1", "b.2")),
}


@each("what", COLUMNS)
def test_arrays_of_the_commonest_length_are_columns(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_table, "MOST_GUESSED", 3)
    arrays, columns = COLUMNS[what]
    found = refusal(saved(tmp_path, **arrays))
    assert isinstance(found, UndescribedTable) and tuple(found.columns) == columns


@each(
    ("arrays", "words"),
    [
        ({"indices": LABELS, "indptr": LABELS, "format": LABELS}, "a sparse matrix of scipy's"),
        ({"row": LABELS, "col": LABELS, "format": LABELS, "data": LABELS}, "a sparse matrix of scipy's"),
        ({"row": LABELS, "col": LABELS, "format": LABELS}, "a sparse matrix of scipy's"),
        ({"row": LABELS, "col": LABELS}, "looks like an archive of arrays"),
        ({"counts": LABELS}, "holds counts that DLRM keeps"),
        ({"counts": LABELS, "total_per_file": LABELS}, "holds counts that DLRM keeps"),
        ({"counts": LABELS, "a": LABELS}, "looks like an archive of arrays"),
        ({"a": np.zeros((COUNT, 2, 2))}, "which are not samples"),
        ({"a": np.zeros((0,), int)}, "which are not samples"),
        ({"X_int": LABELS, "X_cat_t": LABELS, "y": LABELS}, "has not processed yet"),
    ],
)
def test_arrays_without_a_mapping_are_refused_by_what_they_are(arrays: dict[str, Any], words: str, tmp_path: Path) -> None:
    assert words in str(refusal(saved(tmp_path, **arrays)))


@each(("size", "fits"), [((0,), False), ((1,), True), ((1, 1), True), ((), False), ((1, 1, 1), False)])
def test_an_array_of_a_byte_is_a_column(size: tuple[int, ...], fits: bool) -> None:
    assert array_table._fits(Header(size, False, np.dtype(np.uint8), 0)) == fits
    assert not array_table._fits(Header(size, False, np.dtype(np.complex128), 0))


@each("field", blocks.STAT_FIELDS)
def test_a_change_of_any_of_a_files_marks_is_seen(field: str) -> None:
    before: Any = SimpleNamespace(**dict.fromkeys(blocks.STAT_FIELDS, 1))
    after: Any = SimpleNamespace(**{**vars(before), field: 2})
    blocks.check_unchanged(before, before, "t")
    with pytest.raises(BadFile, match="t changed while it was read"):
        blocks.check_unchanged(before, after, "t")


@each("letters", [40, 41])
def test_a_cell_is_shown_by_forty_letters(letters: int) -> None:
    with pytest.raises(BadFile, match=f"t='{'x' * 40}' is not a finite number"):
        cells.column_numbers(pyarrow.array(["x" * letters]), lambda row: "t")


@each(("piece", "nbytes"), [(8, 16), (5, 20), (16, 16), (17, 17), (99, 40)])
def test_first_bytes_are_read_until_there_are_enough(
    piece: int, nbytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "READ_NBYTES", piece)
    monkeypatch.setattr(recognition, "HEAD", 16)
    (tmp_path / "t").write_bytes(b"x" * 40)
    assert formats.first_bytes(tmp_path / "t") == (b"x" * nbytes, False)


def test_the_files_of_a_day_are_one_data_file(tmp_path: Path) -> None:
    assert len(formats.parts_of_file(a_day(tmp_path))) == 3
    assert len(formats.parts_of_file(a_day(tmp_path, multi_hot=True))) == 3
    (tmp_path / "t.csv").touch()
    assert formats.parts_of_file(tmp_path / "t.csv") == (tmp_path / "t.csv",)


@each("key", mapping.KEYS[1:])
def test_a_day_has_no_use_for_a_mappings_keys(key: str, tmp_path: Path) -> None:
    path = a_day(tmp_path)
    Path(f"{path}.toml").write_text(f'{key} = "x"\n')
    assert f"{key} has no effect for arrays" in str(refusal(path))


@each(("history", "asked", "is_kept"), [(("b",), True, True), (("b",), False, False), ((), True, False)])
def test_the_files_order_is_kept_for_histories_that_are_asked(history: tuple[str, ...], asked: bool, is_kept: bool) -> None:
    layout = Layout("t", "label", ("a",), history=history)
    assert formats._labelled(Path("t"), layout, labels=True, histories=asked).keeps_order == is_kept
