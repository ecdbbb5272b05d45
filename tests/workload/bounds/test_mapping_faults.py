"""Is a mapping refused for each of its faults alone, and taken where it just has none?"""

import re
from pathlib import Path
from typing import Any

import pytest

from engine.errors import BadFile
from engine.workload.readers import mapped, mapping, mapping_text
from engine.workload.readers.guess import Guess
from engine.workload.readers.layouts import Layout
from engine.workload.readers.lists import ListTexts
from engine.workload.readers.mapping import layout
from tests.cases import each

CELLS = {"ids": ["a"]}
HISTORY = {"history": ["b"], "user": "a"}
MAPPINGS: list[tuple[dict[str, Any], str]] = [
    (CELLS, ""),
    ({"ids": "a"}, ""),
    ({}, "names no ids"),
    (CELLS | {"lists": ";"}, ""),
    (CELLS | {"lists": '"'}, "cannot separate ids"),
    (CELLS | {"lists": ",", "delimiter": ","}, ""),  # in quoted cells
    (CELLS | {"lists": ",", "quotes": "none"}, "cannot separate ids"),
    (CELLS | {"lists": ",", "delimiter": ";", "quotes": "none"}, ""),
    (CELLS | {"delimiter": "\t"}, ""),
    (CELLS | {"delimiter": ""}, "is not one character"),
    (CELLS | {"delimiter": ";;"}, "is not one character"),
    (CELLS | {"delimiter": "§"}, "is not one character"),
    (CELLS | {"delimiter": '"'}, "is not one character"),
    (CELLS | {"delimiter": "\n"}, "is not one character"),
    (CELLS | {"time": "t", "time_format": "%d"}, ""),
    (CELLS | {"time_format": "%d"}, "names no time"),
    (CELLS | {"time": "t", "time_format": "d"}, "is no format of strptime"),
    (CELLS | HISTORY, ""),
    (CELLS | HISTORY | {"anchors": "events"}, ""),
    (CELLS | {"user": "a"}, "user has no effect without a history"),
    (CELLS | {"anchors": "rows"}, "anchors has no effect without a history"),
    (CELLS | {"history": ["a"], "user": "a"}, "is both user and history"),
    (CELLS | HISTORY | {"label": "a"}, "is both user and label"),
    (CELLS | HISTORY | {"time": "b"}, "is both history and time"),
    ({"ids": ["a", "a"]}, "names 'a' twice"),
    (CELLS | {"columns": ["a", "b"]}, ""),
    (CELLS | {"columns": ["b", "c"]}, "does not stand exactly once"),
    (CELLS | {"columns": ["a", "a"]}, "does not stand exactly once"),
    (CELLS | {"dense": ["a"]}, "is both ids and dense"),
    ({"ids": ["a", ""]}, "is not a list of at most 3 column names"),
    ({"ids": ["a", 5]}, "is not a list of at most 3 column names"),
    ({"ids": 5}, "is not a list of at most 3 column names"),
    ({"ids": {"a": 1}}, "is not a list of at most 3 column names"),
    ({"ids": ["a", "b", "c"]}, ""),
    ({"ids": ["a", "b", "c", "d"]}, "is not a list of at most 3 column names"),
    (CELLS | {"label": "click >= 4"}, ""),
    (CELLS | {"label": "click == yes"}, ""),
    (CELLS | {"label": "click != yes"}, ""),
    (CELLS | {"label": "click >= yes"}, "texts can only be compared by == or !="),
]  # fmt: skip


@each(("content", "words"), MAPPINGS)
def test_each_fault_of_a_mapping_is_refused_alone(
    content: dict[str, Any], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mapping, "MOST_COLUMNS", 3)
    if words:
        with pytest.raises(BadFile, match=re.escape(words)):
            layout(tmp_path / "t.csv", content)
    else:
        assert layout(tmp_path / "t.csv", content).ids[0] == "a"


def test_a_refusal_names_the_mapping_that_a_file_has(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    assert mapping.mapping_name(path) == "t.csv.toml"
    (tmp_path / "t.toml").write_text('ids = ["a"]')
    assert mapping.mapping_name(path) == "t.toml"


def test_a_mapping_is_kept_for_files_outside_of_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping, "KEPT_MAPPINGS", tmp_path / "kept" / "mappings")
    (tmp_path / "t.csv").write_text("a\n")
    assert mapping._kept_place(tmp_path / "t.csv") is None, "no folder"
    (tmp_path / "kept" / "mappings").mkdir(parents=True)
    (tmp_path / "kept" / "t.csv").write_text("a\n")
    assert mapping._kept_place(tmp_path / "none.csv") is None
    assert mapping._kept_place(tmp_path / "kept" / "t.csv") is None
    assert mapping._kept_place(tmp_path / "t.csv") is not None


@each(("letters", "role"), [(0, "text"), (1, "id"), (120, "id"), (121, "text")])
def test_a_mapping_names_columns_of_120_letters(letters: int, role: str) -> None:
    found = mapping_text.mappable_guesses([Guess("first", "id"), Guess("x" * letters, "id")])
    assert [guess.role for guess in found] == ["id", role]


def test_a_mapping_names_its_most_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapping_text, "MOST_COLUMNS", 2)
    found = mapping_text.mappable_guesses([Guess(name, "id") for name in "abc"])
    assert [guess.role for guess in found] == ["id", "id", "text"]
    notes = list(mapping_text.left_out_notes([Guess(name, "id") for name in "abc"]))
    assert notes == ["'c' is left out: a mapping names at most 2 columns, of at most 120 letters each."]


@each(
    ("separators", "found"),
    [
        ((";", ";"), ("list", "list")),
        ((";", "|"), ("list", "text")),
        (("", "|"), ("list", "list")),
        (("|", ""), ("list", "list")),
    ],
)
def test_lists_of_one_separator_are_named(separators: tuple[str, str], found: tuple[str, str]) -> None:
    guesses = [Guess("a", "list", separators[0]), Guess("b", "list", separators[1]), Guess("c", "text", "!")]
    assert tuple(guess.role for guess in mapping_text.mappable_guesses(guesses)) == (*found, "text")


def test_a_mapping_has_one_separator() -> None:
    text = mapping_text.as_toml([Guess("a", "list", ";"), Guess("b", "event", "|")])
    assert text.count("lists = ") == 1 and 'lists = ";"' in text


def test_criteos_names_say_roles_where_there_are_both_kinds() -> None:
    def roles(*names: str) -> list[str]:
        return [guess.role for guess in mapping_text.guess_roles({name: ["0.5", "0.7"] for name in names})]

    assert roles("I1", "C1", "x") == ["number", "id", "number"]
    assert roles("I1", "I2") == ["number", "number"] and roles("C1", "C2") == ["number", "number"]


LISTS = {
    "[1,2]": "",
    "1,2": "",
    "[1,2": "",
    "[[1,2],3]": "has lists or calls inside the list",
    "f(1,2)": "has lists or calls inside the list",
    "['a','b']": "",
    "['a,b']": "has a separator inside an id's quotation marks",
    "['a]": "has a separator inside an id's quotation marks",
    "[',b]": "has a separator inside an id's quotation marks",
    "['','']": "",
    "['a,b": "",
    "[1;,2]": "has its ids between ';', where lists=','",
    "[1|]": "has its ids between '|', where lists=','",
    "[]": "",
}


@each("cell", LISTS)
def test_a_cell_has_a_syntax_of_its_own_by_its_brackets_and_marks(cell: str) -> None:
    assert ListTexts(",")._fault(cell) == LISTS[cell]


def test_a_layout_reads_the_column_that_filters_as_text() -> None:
    filtered = Layout("t", "label", ("id",), ("kind", "view"), row_filter=("kind", "view"))
    assert filtered.numbers_alone == ("view",) and filtered.read_columns == ("label", "kind", "view", "id")
    assert Layout("t", "label", ("id",), row_filter=("kind", "view")).read_columns == ("label", "id", "kind")


@each(("time", "keeps_order", "by_time"), [("", False, False), ("", True, False), ("t", True, False), ("t", False, True)])
def test_samples_are_sorted_by_time_unless_the_files_order_is_kept(time: str, keeps_order: bool, by_time: bool) -> None:
    order = Layout("t", "label", ("id",), time=time, keeps_order=keeps_order).order
    assert order.startswith("by t, " if by_time else "the file's own order")


def test_pages_of_maps_are_given_back_beyond_their_most_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped, "MOST_NBYTES", 10)
    monkeypatch.setattr(mapped, "_touched_nbytes", 0)
    for nbytes, left in ((4, 4), (6, 10), (1, 0), (11, 0), (10, 10)):
        mapped.count_touched(nbytes)
        assert mapped._touched_nbytes == left
