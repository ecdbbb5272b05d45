"""Is a table that just looks like a published one taken for it, one that just does not for another, and a time for a time?"""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow
import pytest

from engine.errors import BadFile, UndescribedTable
from engine.workload.readers import recognition, text_table, time_formats, times
from engine.workload.readers.blocks import Blocks
from engine.workload.readers.layouts import MOVIELENS, TAOBAO, TAOBAO_ADS
from engine.workload.readers.published import check_published
from engine.workload.readers.records import is_number, records, text_number
from engine.workload.readers.sniffing import FirstRows, first_rows
from engine.workload.readers.time_formats import candidate_formats
from engine.workload.readers.times import AmbiguousTimes, Times
from tests.cases import each


def refusal(rows: FirstRows) -> str:
    """Return the format that first rows are refused for, "" for none."""
    try:
        check_published("t", rows, packed=False)
    except BadFile as refused:
        return str(refused).partition("looks like ")[2]
    return ""


def tabbed(*rows: str, header: tuple[str, ...] = ()) -> FirstRows:
    return FirstRows("\t", header, tuple(tuple(row.split()) for row in rows), 1.0)


PUBLISHED: list[tuple[FirstRows, str]] = [
    (tabbed("1 2 3 964982703"), "MovieLens' u.data"),
    (tabbed("1 2 3 964982703", "x 2 3 964982703"), ""),
    (tabbed("1 2 3 99999999"), ""),  # a time of eight digits
    (tabbed("1 2 3 999999999"), "MovieLens' u.data"),
    (tabbed("1 2 12 964982703"), ""),
    (tabbed("1 2 0 964982703"), ""),
    (tabbed("1 2 6 964982703"), ""),
    (tabbed("x 2 3 964982703"), ""),
    (tabbed("1 x 3 964982703"), ""),
    (tabbed("1 2 3 x64982703"), ""),
    (tabbed("1 2 3 964982703 5"), ""),
    (replace(tabbed("1 2 3 964982703"), delimiter=","), ""),
    (tabbed("1 2 3 964982703", header=("a", "b", "c", "d")), ""),
    (tabbed("1 U7 t h N1-0", "2 U8 t h N1-1"), "MIND's behaviors.tsv;"),
    (tabbed("1 U7 t h N1-0", "2 X8 t h N1-1"), ""),
    (tabbed("1 U7 t h N1", "2 U8 t h N1"), "MIND's behaviors.tsv of its test set"),
    (tabbed("1 U7 t h X1", "2 U8 t h X1"), ""),
    (tabbed("N1 a b c d e f", "N2 a b c d e f"), "MIND's news.tsv"),
    (tabbed("N1 a b c d e f g", "N2 a b c d e f g"), "MIND's news.tsv"),
    (tabbed("N1 a b c d e f g h"), ""),
    (tabbed("N1 a b c d e"), ""),
    (tabbed("N1 a b c d e f", "X2 a b c d e f"), ""),
    (FirstRows(",", ("1:",), (("7", "5", "2005"),), 1.0), "the Netflix Prize's ratings"),
    (FirstRows(",", ("1:",), (("7", "5"),), 1.0), ""),
    (FirstRows("\t", ("1:",), (("7", "5", "2005"),), 1.0), ""),
    (FirstRows(",", ("user_id", "video_id", "watch_ratio"), (("7", "5", "1.0"),), 1.0), "KuaiRec's log"),
    (FirstRows(",", ("user_id", "video_id"), (("7", "5"),), 1.0), ""),
    (FirstRows(",", ("video_id", "feat"), (("7", "5"),), 1.0), "KuaiRec's table of categories"),
    (FirstRows(",", ("feat",), (("7",),), 1.0), ""),
]


@each(("rows", "words"), PUBLISHED)
def test_a_published_table_is_known_by_all_of_its_rows(rows: FirstRows, words: str) -> None:
    found = refusal(rows)
    assert found.startswith(words) and bool(found) == bool(words)


@each(
    ("name", "header", "row", "is_timed"),
    [
        ("big_matrix.csv", "timestamp", "5", True),
        ("small_matrix.csv", "timestamp", "5", False),
        ("big_matrix.csv", "timestamp", "", False),
        ("big_matrix.csv", "other", "5", False),
    ],
)
def test_kuairecs_log_is_sorted_by_time_where_each_row_has_one(name: str, header: str, row: str, is_timed: bool) -> None:
    rows = FirstRows(",", ("user_id", "video_id", "watch_ratio", header), (("7", "5", "1.0", "4"), ("7", "5", "1.0", row)), 1.0)
    with pytest.raises(BadFile) as refused:
        check_published(name, rows, packed=False)
    assert ('time = "timestamp"' in str(refused.value.remedy)) == is_timed


TAOBAO_ROW = ("1", "2", "3", "pv", "5")


@each(
    ("row", "is_taobao"),
    [
        (TAOBAO_ROW, True),
        (("x", *TAOBAO_ROW[1:]), False),
        ((*TAOBAO_ROW[:4], "x"), False),
        ((*TAOBAO_ROW[:3], "view", "5"), False),
        ((*TAOBAO_ROW, "6"), False),
    ],
)
def test_a_log_without_a_header_is_taobaos_by_each_of_its_cells(row: tuple[str, ...], is_taobao: bool) -> None:
    found = recognition._published_layout(FirstRows(";", (), (row,), 1.0))
    assert found == (replace(TAOBAO, delimiter=";") if is_taobao else None)
    assert recognition._published_layout(FirstRows(";", row, (row,), 1.0)) is None


def test_a_header_has_all_columns_of_a_published_table_or_most_of_them() -> None:
    columns = MOVIELENS.read_columns
    assert recognition._published_layout(FirstRows(";", columns, (), 1.0)) == replace(MOVIELENS, delimiter=";")
    assert recognition._published_layout(FirstRows(",", columns[1:], (), 1.0)) is None
    most, half = len(TAOBAO_ADS.read_columns) // 2 + 1, len(TAOBAO_ADS.read_columns) // 2
    assert recognition._is_near(TAOBAO_ADS, FirstRows(",", TAOBAO_ADS.read_columns[:most], (), 1.0))
    assert not recognition._is_near(TAOBAO_ADS, FirstRows(",", TAOBAO_ADS.read_columns[:half], (), 1.0))
    assert not recognition._is_near(TAOBAO, FirstRows(",", TAOBAO.read_columns, (), 1.0)), "it has no header"


@each(
    ("rows", "words"),
    [
        (FirstRows(",", (), (("1", "2"),), 0.61), ""),
        (FirstRows(",", (), (("1", "2"),), 0.6), "first lines have different numbers of columns"),
        (FirstRows(" ", (), (("1", "2"),), 0.9, aligned=True), "a table in columns of blanks"),
        (FirstRows(" ", (), (("1", "2"),), 1.0, aligned=True), ""),
        (FirstRows(" ", (), (("1", "2"),), 0.9), ""),
        (FirstRows(",", (), (("1", "2"),), 0.9, aligned=True), ""),
        (FirstRows(",", ("a", "b"), (("1", "2"),), 1.0), ""),
        (FirstRows(",", ("a", "b"), (("1", "2", "3"),), 1.0), "the line has 2 columns, but those below have 3"),
        (FirstRows(",", ("a",), (("1", "2", "3"),), 1.0), "the line has 1 column, but those below have 3"),
        (FirstRows(",", ("a",), (), 1.0), ""),
    ],
)
def test_rows_of_one_width_are_a_table(rows: FirstRows, words: str) -> None:
    found = recognition._uneven("t", rows, packed=False)
    assert words in str(found) and (found is None) == (not words)


HEAD = 64
TEXTS: dict[str, tuple[bytes, str]] = {
    "one line of numbers": (b"7 8", "has one line, of 2 numbers;"),
    "one number": (b"7", "starts neither"),
    "two lines": (b"7 8\n7 8", "looks like"),
    "a word among numbers": (b"7 x 8 9", "looks like"),
    "a word at the end": (b"7 8 x", "has one line, of 3 numbers;"),  # which may be cut
    "numbers without an end": (b"7 8 " * (HEAD // 4), f"has one line, of {HEAD // 2} numbers or more;"),
    "a long line": (b"a,b," * (HEAD // 4), "the line is longer than 64 bytes; write one sample per line"),
    "a line just as long": (b"z," + b"a,b," * (HEAD // 4 - 1) + b"a", "looks like"),
    "a long word": (b"a" * HEAD, "starts neither"),
    "a NUL": (b"a,b\n1,\x00\n", "t:2: the line has a NUL byte"),
    "NULs without an end": (b"\x00" * HEAD, "t:1: the line has NUL bytes, which are no text, and is longer than 64 bytes"),
    "a letter that is cut": (b"a,b\n1," + b"x" * (HEAD - 7) + "é".encode(), "looks like"),
    "a byte that is no letter at the end": (b"a,b\n1," + b"x" * (HEAD - 8) + b"\xe9", "t:2: byte 0xe9 is not UTF-8"),
    "a long line of two cells": (b"a," + b"b" * (HEAD - 2), "the line is longer than 64 bytes; write one sample per line"),
    "no name alone": (b",a,a\n1,2,3\n", "no column name in the header is unique"),
    "a byte that is no letter": (b"a,b\n1,\xe9\n", "t:2: byte 0xe9 is not UTF-8"),
    "separators": (b",,\n1,2,3\n", "t:1: the line is blank"),
}  # fmt: skip


@each("what", TEXTS)
def test_a_text_is_refused_by_its_first_bytes(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognition, "HEAD", HEAD)
    text, words = TEXTS[what]
    with pytest.raises(BadFile) as refused:
        recognition.text_layout("t", text)
    assert words in str(refused.value)


@each("letter", ["é", "д", "点", "😀"])
@each("before", range(4))
def test_a_letter_cut_at_the_first_bytes_end_is_no_fault(letter: str, before: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognition, "HEAD", HEAD)
    text = ("a" * before + f"{letter}a,b\n" + f"{letter},{letter}{letter}\n" * HEAD).encode()
    with pytest.raises(UndescribedTable):
        recognition.text_layout("t", text)
    with pytest.raises(BadFile, match="is not UTF-8"):
        recognition.text_layout("t", text[:40] + b"\xff" + text[40:])


@each(("text", "is_criteo"), [(b"", False), (b"a,b\n1,2\n", True), (b"1\t2\n", True)])
def test_an_empty_text_or_one_that_a_mapping_names_is_read_as_criteos(text: bytes, is_criteo: bool) -> None:
    try:
        assert recognition.text_layout("t", text, is_criteo=is_criteo).name == "criteo"
    except BadFile as refused:
        assert "Criteo's has 40" in str(refused)


@each(
    ("cell", "number"),
    [("7", 7), ("+7", 7), ("-7.", -7), (".5", 0.5), ("1e3", 1000), ("1e", None), (".", None), ("0x1", None), ("nan", None)],
)
def test_a_text_is_a_number_in_plain_digits(cell: str, number: float | None) -> None:
    assert is_number(cell) == (number is not None)
    assert number is None or text_number(cell) == number


RECORDS: dict[str, tuple[bytes, str, list[int]]] = {  # text, meaning of marks, and the begin of each record
    "plain": (b"a,b\nc,d\n", "", [0, 4]),
    "without an end": (b"a,b\nc,d", "", [0, 4]),
    "quoted": (b'a,"b"\nc,d\n', "", [0, 6]),
    "a mark at the end": (b'a,b\nc,"d"', "", [0, 4]),
    "two marks": (b'a,"b"""\nc,d\n', "", [0, 8]),
    "two marks at the end": (b'a,b\nc,""', "", [0, 4]),
    "a mark in a word": (b'a,b"\nc,d\n', "", [0, 5]),
    "carriage returns": (b"a,b\r\nc,d\r\n", "", [0, 5]),
    "a return at the end": (b"a,b\nc,d\r", "", [0, 4]),
    "a return in quotes": (b'a,"b\rb"\nc,d\n', "", [0, 8]),
    "a line end in quotes": (b'a,"b\nb"\nc,d\n', "multiline", [0, 8]),
    "a mark that stays open": (b'a,b\nc,"d\n', "multiline", [0]),
    "marks that are letters": (b'a,"b\nc,d\n', "none", [0, 5]),
    "returns and marks that are letters": (b'a,"b\r\nc,d\n', "none", [0, 6]),
}


@each("what", RECORDS)
def test_records_begin_where_lines_do_but_for_quoted_ones(what: str) -> None:
    text, quotes, begins = RECORDS[what]
    found = records(text, "t", 1, ",", quotes)
    assert found.begins.tolist() == begins
    assert found.end == (4 if what == "a mark that stays open" else len(text))


@each(
    ("text", "words"),
    [
        (b'a,b\nc,"d\n', "t:2: a quotation mark opens a field"),
        (b'a,b\nc,"d', "t:2: a quotation mark opens a field"),
        (b'a,b\nc,"d""', "t:2: a quotation mark opens a field"),
        (b"a,b\nc\rc,d\n", "t:2: the line has a carriage return in its middle"),
        (b'"a",b\nc\rc,d\n', "t:2: the line has a carriage return in its middle"),
    ],
)
def test_a_stray_mark_or_return_is_refused_by_its_line(text: bytes, words: str) -> None:
    with pytest.raises(BadFile, match=words):
        records(text, "t", 1, ",", "")


BLANKS: list[tuple[bytes, int, int]] = [  # text, the blank line before it, and the one at its end
    (b"a\nb\n", 0, 0),
    (b"a\n\n", 0, 2),
    (b"a\r\n\r\n", 0, 2),
    (b"\n", 0, 1),
    (b"\n\n", 0, 1),
    (b"\n", 5, 5),
    (b"a", 0, 0),
    (b"a\n\n\n", 0, 2),
]


@each(("text", "before", "after"), BLANKS)
def test_blank_lines_may_end_a_text(text: bytes, before: int, after: int) -> None:
    assert text_table._blank(Blocks("t", None), text, before) == after  # type: ignore[arg-type]


@each(("text", "before", "line"), [(b"a\n\nb\n", 0, 2), (b"a\n\r\nb\n", 0, 2), (b"a\n", 5, 5)])
def test_a_blank_line_before_samples_is_refused(text: bytes, before: int, line: int) -> None:
    with pytest.raises(BadFile, match=f"t:{line}: the line has 1 column, but samples follow"):
        text_table._blank(Blocks("t", None), text, before)  # type: ignore[arg-type]


FORMATS = {
    "03/04/2024": ["%d/%m/%Y", "%m/%d/%Y"],
    "2024/03/04": ["%Y/%m/%d"],
    "03/2024/04": [],
    "03/04/24": ["%d/%m/%y", "%m/%d/%y", "%y/%m/%d"],
    "003/04/24": [],
    "20240304": ["%d%m%Y", "%m%d%Y", "%Y%m%d"],
    "240304": ["%d%m%y", "%m%d%y", "%y%m%d"],
    "2024030": [],
    "4 Mar 2024": ["%d %b %Y"],
    "4 March 2024": ["%d %B %Y"],
    "Mon 4 May 24": ["%a %d %b %y", "%a %d %B %y", "%a %y %b %d", "%a %y %B %d"],
    "4 Mar": [],
    "4 5 Mar 2024": [],
    "4.3.2024 7:05": ["%d.%m.%Y %H:%M", "%m.%d.%Y %H:%M"],
    "4.3.2024 7:05:09": ["%d.%m.%Y %H:%M:%S", "%m.%d.%Y %H:%M:%S"],
    "4.3.2024 7:05:09.5 PM": ["%d.%m.%Y %I:%M:%S.%f %p", "%m.%d.%Y %I:%M:%S.%f %p"],
    "4.3.2024 7:05:09,5": ["%d.%m.%Y %H:%M:%S,%f", "%m.%d.%Y %H:%M:%S,%f"],
    "2024-03-04 7:05 +0200": ["%Y-%m-%d %H:%M %z"],
    "4-3-2024+0200": [],
    "7:05": [],
    "foo": [],
    "100%4.3.2024": [],
}


@each("cell", FORMATS)
def test_a_cell_has_the_formats_of_its_groups(cell: str) -> None:
    assert list(candidate_formats(cell)) == FORMATS[cell]


@each(("letters", "is_read"), [(64, True), (65, False)])
def test_a_time_has_64_letters_at_most(letters: int, is_read: bool) -> None:
    assert bool(list(candidate_formats("20240304".ljust(letters, "x")))) == is_read


def test_formats_are_tried_on_all_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_formats, "TRIAL_CELLS", 1)
    open_cell, day = pyarrow.array(["03/04/2024", "05/04/2024"]), pyarrow.array(["03/04/2024", "30/04/2024"])
    both = ["%d/%m/%Y", "%m/%d/%Y"]
    assert time_formats.formats_for_all(both, open_cell) == both
    assert time_formats.formats_for_all(both, day) == time_formats.formats_for_all(both, open_cell, day) == both[:1]
    assert time_formats.formats_for_all(both[1:], day) == []
    assert time_formats.format_for_each_reading(both, pyarrow.array(["04/04/2024"])) == both[:1]


def keys(cells: list[str], reader: Times | None = None) -> Any:
    return (reader or Times())(pyarrow.array(cells), lambda row: f"t:{row + 1}: time")


@each(
    ("cells", "words"),
    [
        (["1.5", f"0.{'1' * 17}"], ""),
        (["1.5", f"0.{'1' * 18}"], "t:2: time='0.1{18}' has too many digits"),
        (["1.5", f"-{'1' * 17}e5"], ""),
        (["1.5", f"{'1' * 9}.{'1' * 9}"], "t:2: .*has too many digits"),
        (["1.5", f"0.5{'0' * 30}"], ""),
        (["2024-01-01 00:00:00.123456789"], ""),
        (["2024-01-01 00:00:00.1234567890"], ""),
        (["2024-01-01", "2024-01-01 00:00:00.1234567891"], "t:2: .*has more digits than nanoseconds"),
        (["2024-01-01", "x"], "t:2: time='x' .*is neither a number nor a time"),
        (["2024-01-01", "01/02/2024"], "t:2: time='01/02/2024'"),
        (["01/02/2024", "2024-01-01"], "t:2: time='2024-01-01' does not have the format"),
    ],
)
def test_times_have_digits_that_can_be_told_apart(cells: list[str], words: str) -> None:
    if words:
        with pytest.raises(BadFile, match=words):
            keys(cells)
    else:
        assert len(keys(cells)) == len(cells)


@each(("formats", "shown"), [(2, "f1 or f2;"), (4, "f1 or f2 or f3 or f4;"), (5, "f1 or f2 or f3 or f4;")])
def test_four_formats_of_an_open_time_are_named(formats: int, shown: str) -> None:
    refusal = AmbiguousTimes.for_cell("cell", [f"f{number}" for number in range(1, formats + 1)])
    assert f"may be {shown}" in str(refusal) and refusal.formats[-1] == f"f{formats}"


@each(("most", "is_advised"), [(1, False), (2, True), (3, True)])
def test_cells_of_each_day_tell_a_format_for_all_up_to_their_most(
    most: int, is_advised: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(times, "MOST_DAYS", most)
    reader = Times("%d/%m/%Y")
    keys(["03/04/2024"], reader)
    keys(["03/04/2024", "05/04/2024"], reader)
    assert len(reader._days) == 2
    with pytest.raises(BadFile) as refused:
        keys(["05/04/2024", "04/30/2024"], reader)
    assert "t:2: time='04/30/2024' does not have the format %d/%m/%Y" in str(refused.value)
    assert ("but %m/%d/%Y reads it and all before" in str(refused.value)) == is_advised


def test_an_empty_block_has_no_times_and_numbers_stay_numbers() -> None:
    reader = Times()
    assert keys([], reader).tolist() == [] and keys(["7", "8"], reader).tolist() == [7, 8]
    with pytest.raises(BadFile):
        keys(["2024-01-01"], reader)
    assert np.diff(keys(["0.5", "7"])).tolist()[0] > 0


def test_a_text_without_samples_has_no_width() -> None:
    assert first_rows(b"", True).width == 0
