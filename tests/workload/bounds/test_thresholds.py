"""Is a file that just reaches a threshold of recognition judged as one that does, and one just below it as one that does not?"""

import struct
import zipfile
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from engine.errors import BadFile
from engine.workload.readers import criteo, first_cells, foreign
from engine.workload.readers.foreign import check_format, check_line_ends, check_text, check_zip, column_list, masked_crc
from engine.workload.readers.sniffing import FirstRows
from tests.cases import each

FEATURES = criteo.FEATURES


@each(
    ("features", "others", "is_criteo"),
    [(20, 0, True), (19, 0, False), (20, 19, True), (20, 20, False), (39, 1, True), (39, 39, False)],
)
def test_a_header_is_criteos_by_most_of_the_names(features: int, others: int, is_criteo: bool) -> None:
    words = (*(name.lower() for name in FEATURES[:features]), *(f"x{number}" for number in range(others)))
    assert criteo.is_headed(words) == is_criteo


def sample(label: str = "1", dense: str = "7", ids: str = "a1", **cells: str) -> tuple[str, ...]:
    """Return a row of Criteo's; single cells by name."""
    names = ("label", *FEATURES)
    row = (label, *[dense] * 13, *[ids] * 26)
    return tuple(cells.get(name, cell) for name, cell in zip(names, row, strict=True))


GOOD, BAD = sample(), sample("2")
SAMPLES: list[tuple[list[tuple[str, ...]], float, bool]] = [
    ([GOOD], 1.0, True),
    ([GOOD], 0.51, True),
    ([GOOD], 0.5, False),
    ([GOOD, GOOD, BAD, BAD], 1.0, False),
    ([GOOD, GOOD, GOOD, BAD, BAD], 1.0, True),
    ([GOOD, BAD, BAD, BAD], 1.0, False),
    ([BAD], 1.0, False),
    ([sample("0.0")], 1.0, True),
    ([sample(I1="x")], 1.0, False),
    ([sample(I13="x")], 1.0, False),
    ([sample(I1="")], 1.0, True),
    ([sample(C1="xy")], 1.0, False),
    ([sample(C26="xy")], 1.0, False),
    ([sample(ids="f" * 32)], 1.0, True),
    ([sample(ids="f" * 33)], 1.0, False),
    ([sample(ids="")], 1.0, True),
    ([sample(ids="12")], 1.0, False),
    ([sample(ids="12", C1="ab")], 1.0, True),
    ([sample(ids="12", C26="12345678")], 1.0, True),
    ([sample(ids="12", C26="1234567")], 1.0, False),
    ([GOOD[1:]], 1.0, False),
]


@each(("rows", "even_share", "is_criteo"), SAMPLES)
def test_rows_are_criteos_where_most_of_them_are(rows: list[tuple[str, ...]], even_share: float, is_criteo: bool) -> None:
    assert criteo.is_sampled(FirstRows("\t", (), tuple(rows), even_share)) == is_criteo
    assert not criteo.is_sampled(FirstRows("\t", rows[0], tuple(rows), even_share))


@each(("row", "is_criteo"), [(GOOD[1:], True), (sample(I1="x")[1:], False), (sample(C1="xy")[1:], False), (GOOD, False)])
def test_rows_without_labels_are_criteos_too(row: tuple[str, ...], is_criteo: bool) -> None:
    assert criteo.is_unlabelled(FirstRows("\t", (), (row, row), 1.0)) == is_criteo


@each(
    ("header", "is_criteo"),
    [
        (FEATURES, True),
        (("Id", *FEATURES), True),
        (FEATURES[:-1], False),
        (("label", *FEATURES), False),
        (("C26", *FEATURES[:-1]), False),
        (("i1", *["x"] * 38), False),
    ],
)
def test_a_header_without_the_label_is_criteos_too(header: tuple[str, ...], is_criteo: bool) -> None:
    assert criteo.is_unlabelled(FirstRows(",", header, (), 1.0)) == is_criteo


def kind_of(head: bytes) -> str:
    """Return the format that first bytes are refused for, "" for none."""
    try:
        check_format(Path("none"), "t", head)
    except BadFile as refused:
        return str(refused).partition(" looks like ")[2].partition(";")[0]
    return ""


LENGTH = (5).to_bytes(8, "little")
HEADS = {
    LENGTH + masked_crc(LENGTH): "",
    LENGTH + masked_crc(LENGTH) + b"x": "a TFRecord file",
    LENGTH + b"....x": "",
    LENGTH + b"." + masked_crc(LENGTH): "",
}


@each("head", HEADS)
def test_a_tfrecord_has_the_check_of_its_length_and_more(head: bytes) -> None:
    assert kind_of(head) == HEADS[head]


def vscsi(*versions: int) -> bytes:
    return b"".join(struct.pack("<3I2H2Q", 1, 2, 3, 4, version << 8, 5, 6) for version in versions)


VSCSI = {"one": (vscsi(1), False), "two": (vscsi(1, 1), True), "another": (vscsi(1, 2), False)}
VSCSI |= {"the first 100": (vscsi(*[1] * 100, 2), True), "99": (vscsi(*[1] * 99, 2), False)}
VSCSI |= {"two and a half": (vscsi(1, 1) + b"\x09" * 16, True)}


@each("what", VSCSI)
def test_a_trace_of_blocks_has_one_version_in_its_first_records(what: str) -> None:
    head, is_vscsi = VSCSI[what]
    assert (kind_of(head) == "a VSCSI trace of blocks") == is_vscsi


@each(
    ("members", "words"),
    [
        (["xl/a", "b"], "an Excel workbook"),
        (["a.npy", "b"], ""),
        (["a/data.pkl", "b"], ""),
        (["a", "b"], "a zip archive"),
        ([], ""),
    ],
)
def test_an_archive_is_known_by_any_of_its_members(members: list[str], words: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        for member in members:
            archive.writestr(member, "1")
    if words:
        with pytest.raises(BadFile, match=f"looks like {words}"):
            check_zip(tmp_path / "t.zip", "t.zip")
    else:
        check_zip(tmp_path / "t.zip", "t.zip")


@each(("letters", "words"), [(9, 'separated by "::"'), (10, "MovieLens' older ratings.dat"), (11, 'separated by "::"')])
def test_a_long_first_line_is_compared_by_its_beginning(letters: int, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "LONG_LINE", letters)
    with pytest.raises(BadFile, match=words):
        check_text("t", "1::2::3::4x\n" if letters != 9 else "1::2::3::\n")


@each(("letters", "is_refused"), [(1, False), (3, True), (4, False)])
def test_line_ends_are_looked_for_in_a_lines_beginning(letters: int, is_refused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "LONG_LINE", letters)
    if is_refused:
        with pytest.raises(BadFile, match="lines end with CR alone"):
            check_line_ends("t", b"a\rb\x02", packed=False)
    else:
        check_line_ends("t", b"a\rb\x02", packed=False)


DOCUMENTS: list[tuple[Any, bool]] = [
    ([], False),
    ([1], True),
    (5, False),
    ({}, False),
    ({"data": []}, True),
    ({"data": 5}, True),
    ({"a": [1, 2], "b": {"0": 1, "1": 2}}, True),
    ({"a": [1], "b": [1, 2]}, False),
    ({"a": 1, "b": 2}, True),
    ({"a": 1, "b": [2]}, False),
    ({"a": []}, False),
]


@each(("document", "has_rows"), DOCUMENTS)
def test_json_has_rows_where_its_lists_are_alike(document: Any, has_rows: bool) -> None:
    assert foreign._has_rows(document) == has_rows


def test_columns_are_listed_up_to_six_of_24_letters() -> None:
    names = tuple("abcdefg")
    assert column_list(names[:6]) == "a, b, c, d, e, f" and column_list(names) == "a, b, c, d, e, f, ..."
    assert column_list(("x" * 24, "y" * 25, "")) == f'{"x" * 24}, {"y" * 24}, ""'


@each(("cells", "texts"), [(1, 1), (2, 2), (3, 2)])
def test_first_cells_are_no_more_than_a_sample(cells: int, texts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_cells, "SAMPLE", 2)
    far = pyarrow.array([10**17] * cells, pyarrow.timestamp("s"))  # years that Python has no date for
    assert first_cells.texts_of(far) == [""] * texts
    assert first_cells.texts_of(pyarrow.array([7] * cells)) == ["7"] * texts
    lists = pyarrow.array([[*range(5)], [*range(6)]])
    assert first_cells.texts_of(lists) == ["[0, 1, 2, 3, 4]", "[0, 1, 2, 3, 4, ...]"]
