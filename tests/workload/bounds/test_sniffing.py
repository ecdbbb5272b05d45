"""Are a text's delimiter, header and quoted cells judged right where they are just so, and just not?"""

from typing import Any

import pytest

from engine.workload.readers import sniffing
from engine.workload.readers.sniffing import FirstRows, first_rows, is_header, multiline_rows
from tests.cases import each


def sniffed(text: str, whole: bool = True) -> FirstRows:
    return first_rows(text.encode(), whole)


@each(
    ("text", "whole", "rows"),
    [
        ("1,2\n3,4\n5,6", True, 3),
        ("1,2\n3,4\n5,6", False, 2),  # the last line may be cut
        ("1,2\n3,4\n", False, 2),
        ("1,2", False, 1),
        ("", True, 0),
        ("\n \r\n1,2\n\n3,4\n", True, 2),
    ],
)
def test_lines_that_are_whole_are_rows(text: str, whole: bool, rows: int) -> None:
    assert len(sniffed(text, whole).rows) == rows


def test_rows_are_read_up_to_their_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sniffing, "MOST_ROWS", 3)
    assert sniffed("1,2\n" * 2).rows == (("1", "2"),) * 2 and sniffed("1,2\n" * 4).rows == (("1", "2"),) * 3


@each(
    ("text", "delimiter", "width"),
    [
        ("7\n8\n", "", 1),
        ("7,8\n7,8\n", ",", 2),
        ("a:b\nc:d\n", "", 1),  # a web address has two parts
        ("1:2:3\n1:2:4\n", ":", 3),
        ("7 8\n7 9\n", " ", 2),
        ("7 8,9\n7 8,9\n", ",", 2),  # a blank is the last resort
        ("7 8 9,1\n7 8 9,1\n", ",", 2),
        ("7,8;9\n7,8;9\n7,8\n", ",", 2),  # explains more of the rows
        ("7,8;9;1\n7,8;9;1\n", ";", 3),  # makes more columns
        ("7,8,9\n7;8,9\n7;8,9\n", ",", 2),
    ],
)
def test_a_delimiter_explains_most_rows_by_most_columns(text: str, delimiter: str, width: int) -> None:
    assert (sniffed(text).delimiter, sniffed(text).width) == (delimiter, width)


@each(
    ("text", "quotes"),
    [
        ('a,b\n1,"2"\n', ""),
        ('a,b\n1,"2\n3,"4"\n', "none"),  # one quoted cell stays open, another does not
        ('a,b\n1,"x\ny"\n3,4\n', "multiline"),
        ("a,b\n1,2\n", ""),
    ],
)
def test_quotation_marks_mean_what_all_lines_allow(text: str, quotes: str) -> None:
    assert sniffed(text).quotes == quotes


def test_rows_below_a_header_are_all_but_it() -> None:
    assert sniffed("a,b\n1,2\n3,4\n").rows == (("1", "2"), ("3", "4")) and sniffed("a,b\n1,2\n3,4\n").header == ("a", "b")


@each(("text", "share"), [("1,2\n3,4\n", 1.0), ("1,2\n3,4\n5\n6,7\n", 0.75), ("1,2\n3\n", 0.5)])
def test_the_share_of_rows_of_one_width_is_told(text: str, share: float) -> None:
    assert sniffed(text).even_share == share


@each(("text", "aligned"), [("7 8\n7  9\n", True), ("7 8\n7 8 9\n", False), ("7 8\n", True)])
def test_lines_are_aligned_where_blanks_part_them_alike(text: str, aligned: bool) -> None:
    assert sniffed(text).aligned == aligned


LINES: dict[str, tuple[list[str], int]] = {  # lines, and the rows that they make
    "a cell of two lines": (['1,"x', 'y"', "3,4"], 2),
    "a cell of three": (['1,"x', "y", 'z"', "3,4"], 0),
    "no such cell": (["1,2", "3,4"], 0),
    "no such cell in four rows": (["1,2", "3,4", "5,6", "7,8"], 0),
    "one column, twice": (['"x', 'y"', '"z', 'w"'], 0),
    "a cell of two lines and one of three": (['1,"x', 'y"', '3,"x', "y", 'z"'], 0),
    "cells that close": (['1,"2"', "3,4"], 0),
    "one column": (['"x', 'y"'], 0),
    "uneven rows": (['1,"x', 'y",2', "3,4"], 0),
    "a sign of inches": (['1,"x', 'y"', '3,4"'], 0),
    "a sign in a quoted cell": (['1,"x""', 'y"', "3,4"], 2),
    "lines that are rows": (['1,"x', '2,y"'], 0),
    "lines that are rows, twice": (['1,"x', '2,y"', '3,"x', '4,y"'], 2),
    "a last row that is cut": (['1,"x', 'y"', '3,"z'], 1),
    "a last cell of three lines": (['1,"x', 'y"', '3,"z', "z", "z"], 0),
    "a last cell of two lines": (['1,"x', 'y"', '3,"z', "z"], 1),
    "a quotation that goes on": (['1,"x', 'y"z', "3,4"], 0),
}


@each("what", LINES)
def test_quoted_cells_hold_line_ends_where_all_rows_say_so(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sniffing, "MOST_LINES", 2)
    lines, rows = LINES[what]
    assert len(multiline_rows(lines, ",")) == rows


NUMBERS = [str(number) for number in range(10, 20)] * 2  # from 10 to 19, so that strangers lie below 1 and above 28


@each(
    ("cell", "column", "vote"),
    [
        ("", ["7"], 0),
        ("NA", ["7"], 0),
        ("7", ["7", "8"], -5),  # the vote of a number
        ("28", NUMBERS, -5),
        ("29", NUMBERS, 0),
        ("1", NUMBERS, -5),
        ("0", NUMBERS, 0),
        ("29", NUMBERS[:19], -5),
        ("29", [*NUMBERS[:19], "x"], -5),
        ("2021-01-01", NUMBERS, -5),
        ("foo", NUMBERS[:19], 2),
        ("foo", NUMBERS, 3),
        ("foo", [*NUMBERS[:19], "x"], 3),  # one cell in twenty is a text
        ("foo", [*NUMBERS[:18], "x", "y"], 0),
        ("foo", [], 0),
        ("foo", ["x", "y"], 0),
        ("foo", ["x", "foo"], -2),
        ("user_id", ["x", "y"], 1),
        ("user_id", ["x", "user_id"], 0),
        ("user_id", [], 1),
    ],
)
def test_a_cell_votes_for_a_header_by_the_column_below(cell: str, column: list[str], vote: int) -> None:
    assert sniffing._vote(cell, column, -5) == vote


TWO_VALUES, OTHERS = ["7", "8"] * 10, [str(number) for number in range(50, 70)]


@each(
    ("first_row", "columns", "vote"),
    [
        (("0",), [OTHERS], -3),
        (("0",), [TWO_VALUES], -3),
        (("0", "1", "2", "3"), [["4", *OTHERS], ["x", *OTHERS], ["6", *OTHERS], ["7", *OTHERS]], 2),
        (("0", "1"), [TWO_VALUES, OTHERS], 2),
        (("1", "2"), [TWO_VALUES, OTHERS], 2),
        (("2", "3"), [TWO_VALUES, OTHERS], -3),
        (("0", "2"), [TWO_VALUES, OTHERS], -3),
        (("0", "1"), [TWO_VALUES[:19], OTHERS[:19]], -3),
        (("0", "1"), [OTHERS, OTHERS], -3),
        (("0", "1", "2"), [OTHERS] * 3, -3),
        (("0", "1", "2", "3"), [OTHERS] * 4, 2),
        (("0", "1", "2", "3"), [[*OTHERS[:19], number] for number in "0123"], -3),
        (("0", "1", "2", "3"), [["4", *OTHERS], ["5", *OTHERS], ["6", *OTHERS], ["7", *OTHERS]], -3),  # a row counts on
        (("foo", "0", "1"), [OTHERS] * 3, 0),
        (("", "0", "1"), [["5", "6"], ["7", "8"], ["7", "8"]], 2),
        (("", "0", "1"), [["5", "5"], ["7", "8"], ["7", "8"]], -3),
        (("", "0", "1"), [["5"], ["7"], ["7"]], -3),
    ],
)
def test_numbers_are_names_of_columns_where_cells_prove_it(first_row: Any, columns: list[list[str]], vote: int) -> None:
    assert sniffing._numbers_vote(first_row, columns) == vote


@each(
    ("first_row", "body", "is_names"),
    [
        ((), (), False),
        (("a",), (), True),
        (("a", ""), (("1", "2"),), True),
        (("a", "", ""), (("1", "2", "3"),), False),
        (("", ""), (("1", "2"),), False),
        (("a", "b"), (("x", "y"),), True),  # each is a word, and none is there again
        (("a1", "b2"), (("x1", "y2"),), False),
        (("a1", "b2"), (("1x", "y2"),), True),  # at least one has another form
        (("a", "b"), (("a", "y"),), False),
        (("a", "b"), (("a", "b"), ("x", "y")), False),
        (("user_id", "price"), (("x", "y"),), True),
        (("user_id", "7"), (("x", "8"),), False),
        (("foo", "bar"), (("1", "y"),), True),
        (("foo", "bar"), (("1", "bar"),), False),
        (("a", "b", "c"), (("x", "y"),), True),
        (("a", "b", "c"), (("x", "y", "b"),), True),  # the cell stands below another name
        (("a1", "b"), (("x1", "y"),), False),
        (("foo", "0", "1"), (("x5", "5", "6"),), False),
        (("foo", "bar"), tuple((str(n), "bar" if n else "x") for n in range(20)), True),  # 3 for it, 2 against
    ],
)
def test_a_first_row_is_a_header_by_all_of_its_votes(first_row: Any, body: Any, is_names: bool) -> None:
    assert is_header(first_row, body) == is_names


def test_columns_without_a_name_of_their_own_are_told() -> None:
    def notes(header: tuple[str, ...], *rows: tuple[str, ...]) -> tuple[str, ...]:
        return FirstRows(",", header, rows, 1.0).unread_columns

    assert notes(("a", "b"), ("1", "2")) == () == notes(("a", ""), ("1", ""))
    assert notes(("a", "a", "b"), ("1", "2", "3")) == ("2 columns are called 'a', so none of them is read: rename them.",)
    assert notes(("", "a", ""), ("", "1", ""), ("", "", "5")) == (
        "Column 3 has no name in the header, so it is not read: name it.",
    )
    assert notes(("", ""), ("1", "2"))[0].startswith("Column 1, 2 has no name")
