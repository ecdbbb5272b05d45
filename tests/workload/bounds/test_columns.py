"""Do columns become the samples that they hold, whichever of them have lists, times, gaps or copies of the label?"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from engine.errors import BadFile
from engine.workload.readers import recognition, samples_from_columns
from engine.workload.readers.formats import read_file
from engine.workload.readers.layouts import Layout
from engine.workload.readers.recording import Recording
from engine.workload.readers.samples_from_columns import Rows, label_copies
from engine.workload.readers.text_table import header_columns
from engine.workload.readers.user_histories import HistoryFields, check_events, event_columns, has_events_in_lists, history_fields
from tests.cases import each

COUNT = 60
LABELS = [row % 2 for row in range(COUNT)]
USERS, ITEMS = [row % 7 for row in range(COUNT)], [[row, row + 1] for row in range(COUNT)]


def written(folder: Path, mapping: str, **columns: Any) -> Path:
    path = folder / "t.parquet"
    parquet.write_table(pyarrow.table(columns), path)
    Path(f"{path}.toml").write_text(f'label = "label"\n{mapping}')
    return path


def test_a_column_of_lists_may_stand_beside_one_of_ids(tmp_path: Path) -> None:
    path = written(tmp_path, 'ids = ["user", "items"]', label=LABELS, user=USERS, items=ITEMS)
    found = read_file(path)
    assert found.pooling == (1, 2) and found.lookups(0, 3, 5).tolist() == USERS[3:5]
    assert found.lookups(1, 3, 5).tolist() == [3, 4, 4, 5] == found.lookups(1, 0, COUNT)[6:10].tolist()


def test_dense_features_are_logarithms_from_0_on(tmp_path: Path) -> None:
    path = written(tmp_path, 'ids = ["user"]\ndense = ["a", "b"]', label=LABELS, user=USERS, a=USERS, b=[-1.0] * COUNT)
    found = read_file(path)
    assert found.dense[:, 0].tolist() == np.log1p(np.array(USERS, float)).astype(np.float32).tolist()
    assert found.dense.shape == (COUNT, 2) and not found.dense[:, 1].any()


@each("column", ["label", "time"])
def test_a_missing_label_or_time_is_refused_by_its_line(column: str, tmp_path: Path) -> None:
    columns: dict[str, Any] = {"label": [*LABELS], "user": USERS, "time": [*range(COUNT)]}
    columns[column][5] = None
    with pytest.raises(BadFile, match=rf"t\.parquet:6: {column} is missing"):
        read_file(written(tmp_path, 'ids = ["user"]\ntime = "time"', **columns))


@each(("lists", "is_read"), [([["a;b"], [1]], True), ([[1], ["a;b"]], True), ([[1], [2]], False)])
def test_a_separator_has_an_effect_on_one_column_of_text(lists: list[list[Any]], is_read: bool, tmp_path: Path) -> None:
    path = written(tmp_path, 'ids = ["a", "b"]\nlists = ";"', label=LABELS, a=lists[0] * COUNT, b=lists[1] * COUNT)
    if is_read:
        assert sorted(read_file(path).pooling) == [1, 2]
    else:
        with pytest.raises(BadFile, match=r"no text in its columns of ids \(a of int64, b of int64\)"):
            read_file(path)


def test_times_are_kept_beside_samples_in_the_files_order(tmp_path: Path) -> None:
    mapping = 'ids = ["user", "item"]\ntime = "time"\nuser = "user"\nhistory = ["item"]\n'
    path = written(tmp_path, mapping, label=LABELS, user=USERS, item=USERS, time=[*range(COUNT)][::-1])
    asked, other = read_file(path, histories=True), read_file(path)
    assert asked.times.tolist() == [*range(COUNT)][::-1] and asked.labels.tolist() == LABELS
    assert other.times is None and other.labels.tolist() == LABELS[::-1] and other.histories is None


def test_histories_without_times_have_none(tmp_path: Path) -> None:
    path = written(tmp_path, 'ids = ["user", "item"]\nuser = "user"\nhistory = ["item"]\n', label=LABELS, user=USERS, item=USERS)
    assert read_file(path, histories=True).times is None


@each(
    ("head", "words"),
    [
        (b"a;b", 'is not in the header, which has a;b; say delimiter = ";" in t.toml'),
        (b"ab", "is not in the header, which has ab; correct the header"),
        (b"a,c;d", "column 'b' is not in the header, which has a, c;d; correct the header"),
        (b"a,b,b", "column 'b' is twice or more in the header"),
        (",".join(f"n{n:02d}" for n in range(13)).encode(), "n11; correct the header"),
        (b"x" * 41, f"which has {'x' * 40}; correct the header"),
    ],
)
def test_a_header_without_a_column_is_refused_with_its_names(head: bytes, words: str) -> None:
    with pytest.raises(BadFile) as refused:
        header_columns("t", head, Layout("t", "a", ("b",)))
    assert words in str(refused.value)
    assert header_columns("t", b' a , "b"\r', Layout("t", "a", ("b",))) == ("a", "b")


def test_a_nul_byte_is_refused_at_the_begin_of_a_text_too(tmp_path: Path) -> None:
    for text in (b"\0label,user\n", b"label,user\n0,\0\n"):
        (tmp_path / "t.csv").write_bytes(text)
        (tmp_path / "t.csv.toml").write_text('label = "label"\nids = ["user"]\n')
        with pytest.raises(BadFile, match=rf"t.csv:{text.count(10, 0, text.index(0)) + 1}: the line has a NUL byte"):
            read_file(tmp_path / "t.csv")


def recording(lengths: list[list[int]]) -> tuple[Recording, np.ndarray, np.ndarray]:
    sizes = np.array(lengths)
    begins = np.concatenate(([0], np.cumsum(sizes.sum(axis=1))))[:-1]
    tokens, rows = np.arange(sizes.sum(), dtype=np.uint64), len(lengths)
    return Recording("t", np.zeros((rows, 1)), tokens, np.zeros(rows), ()), begins, sizes


@each(
    ("lengths", "pooling", "is_even"),
    [
        ([[1, 2], [1, 2]], (1, 2), True),
        ([[0, 2], [0, 2]], (1, 2), False),  # a list without ids is no bag
        ([[1, 2], [1, 3]], (1, 2), False),
        ([[0, 2], [0, 2], [1, 2]], (1, 2), False),
        ([[5, 2], [5, 2], [4, 2]], (5, 2), False),
    ],
)
def test_lists_of_one_length_are_bags_of_it(lengths: list[list[int]], pooling: tuple[int, ...], is_even: bool) -> None:
    found = samples_from_columns._of_lists(*recording(lengths))
    assert found.pooling == pooling and (found.lengths is None) == is_even
    tokens = iter(range(sum(map(sum, lengths))))
    wanted = [[[next(tokens) for _ in range(size)] for size in row] for row in lengths]
    for field in range(2):
        assert found.lookups(field, 1, len(lengths)).tolist() == [token for row in wanted[1:] for token in row[field]]


def test_lookups_of_mapped_arrays_are_those_of_their_samples() -> None:
    fields = tuple(np.arange(20 * width, dtype=np.int64).reshape(20, width) for width in (1, 3))
    found = Recording("t", np.zeros((20, 1)), fields, np.zeros(20), (1, 3))
    for low, high in ((0, 20), (3, 5), (19, 20)):
        assert [found.lookups(field, low, high).tolist() for field in range(2)] == [
            fields[field][low:high].reshape(-1).tolist() for field in range(2)
        ]
    tokens, begins, lengths = found.tokens_of(np.array([4, 2]))
    assert tokens[begins[0, 1] : begins[0, 1] + lengths[0, 1]].tolist() == [12, 13, 14]
    assert tokens[begins[1, 0]] == 2


def rows(**columns: Any) -> Rows:
    return Rows("t", np.arange(1, 1 + len(next(iter(columns.values())))), {name: pyarrow.array(c) for name, c in columns.items()})


def test_a_copy_of_the_label_is_an_input_with_its_values() -> None:
    layout = Layout("t", "label", ("a", "b", "c"), time="time")
    block = rows(label=LABELS, a=LABELS, b=USERS, c=ITEMS, time=LABELS)
    assert label_copies(layout, block) == ("a",)
    assert label_copies(replace(layout, label=""), block) == () == label_copies(replace(layout, label="c", ids=("a", "b")), block)


LISTS, ONES = [[1, 2], [3], []], [1, 2, 3]
LAYOUT = Layout("t", "label", ("user", "item", "shop"), user="user", history=("item", "shop"))


@each(
    ("kinds", "anchors", "time", "is_exploded"),
    [
        ((LISTS, LISTS), "", "time", True),
        ((LISTS, ONES), "", "time", True),
        ((ONES, LISTS), "", "time", True),
        ((ONES, ONES), "events", "time", False),
        ((LISTS, LISTS), "", "when", False),  # whose times are no lists
        ((LISTS, LISTS), "", "", False),
        ((LISTS, LISTS), "events", "", True),
        ((LISTS, LISTS), "rows", "time", False),
    ],
)
def test_lists_of_events_are_a_users_where_times_are_lists_too(kinds: Any, anchors: str, time: str, is_exploded: bool) -> None:
    columns = {"item": kinds[0], "shop": kinds[1], "time": LISTS, "when": ONES}
    types = {name: pyarrow.array(column).type for name, column in columns.items()}
    assert has_events_in_lists(replace(LAYOUT, anchors=anchors, time=time), types) == is_exploded


HISTORIES: list[tuple[dict[str, Any], Layout, HistoryFields | str]] = [
    ({"item": ONES, "shop": ONES}, LAYOUT, HistoryFields(0, (1, 2), False)),
    ({"item": LISTS, "shop": LISTS}, LAYOUT, HistoryFields(0, (1, 2), True)),
    ({"item": ONES, "shop": LISTS}, LAYOUT, HistoryFields(0, (1, 2), True)),
    ({"item": LISTS, "shop": LISTS}, replace(LAYOUT, user=""), HistoryFields(None, (1, 2), True)),
    ({"item": LISTS, "shop": LISTS}, replace(LAYOUT, anchors="events"), HistoryFields(0, (1, 2), False)),
    ({"item": ["a"], "shop": ["a"]}, replace(LAYOUT, lists=";"), HistoryFields(0, (1, 2), True)),
    ({"item": ["a"], "shop": ["a"]}, LAYOUT, HistoryFields(0, (1, 2), False)),
    ({"item": ONES, "shop": ONES}, replace(LAYOUT, anchors="rows"), "has no list, so a row is no history"),
    ({"item": ONES, "shop": ONES}, replace(LAYOUT, user=""), "is one event a row, but no column of its user"),
]


@each(("columns", "layout", "found"), HISTORIES)
def test_a_history_is_a_list_in_a_row_or_the_rows_of_a_user(columns: Any, layout: Layout, found: Any) -> None:
    if isinstance(found, str):
        with pytest.raises(BadFile, match=found):
            history_fields(layout, rows(**columns), exploded=False)
    else:
        assert history_fields(layout, rows(**columns), exploded=False) == found


EVENTS: list[tuple[dict[str, Any], bool, str]] = [
    ({"user": ONES, "item": ONES, "shop": ONES}, False, ""),
    ({"user": ONES, "item": [[1, 2], [3], [4]], "shop": [[1, 2], [3], [4]]}, True, ""),
    ({"user": [1, None, 3], "item": ONES, "shop": ONES}, False, "t:2: user is missing"),
    ({"user": [[1], [1, 2], [3]], "item": ONES, "shop": ONES}, False, "t:2: user has 2 ids, but a history has one user"),
    ({"user": ONES, "item": ONES, "shop": [[1], [2, 3], [4]]}, False, "t:2: shop has 2 ids, but item has 1"),
    (
        {"user": ONES, "item": [[1], [2, 3], [4]], "shop": [[1], [2, 3], [4]]},
        False,
        "t:2: item has 2 ids, but each row is one event",
    ),
    ({"user": ONES, "item": [1, None, 3], "shop": ONES}, False, "t:2: item: the id of an event is missing"),
    ({"user": ONES, "item": [1, -1, 3], "shop": ONES}, False, "t:2: item: the id of an event is negative"),
    ({"user": ONES, "item": [1, 0, 3], "shop": ONES}, False, ""),
    ({"user": ONES, "item": ["1", "-1", "3"], "shop": ONES}, False, "t:2: item: the id of an event is negative"),
    ({"user": ONES, "item": ["1", "-0", "-x"], "shop": ONES}, False, ""),
    ({"user": ONES, "item": [1.0, -1.0, 3.0], "shop": ONES}, False, "t:2: item: the id of an event is negative"),
    ({"user": ONES, "item": ONES, "shop": [1, -1, 3]}, False, "t:2: shop: the id of an event is negative"),
    (
        {"user": ONES, "item": [[1, 2], [3, -1], [4]], "shop": [[1, 2], [3, 5], [4]]},
        True,
        "t:2: item: the id of an event is negative",
    ),
]


@each(("columns", "in_rows", "words"), EVENTS)
def test_each_event_has_a_user_and_an_id(columns: Any, in_rows: bool, words: str) -> None:
    block = rows(**columns)
    sizes = [np.array([len(cell) if isinstance(cell, list) else 1 for cell in columns[name]]) for name in LAYOUT.ids]
    if words:
        with pytest.raises(BadFile, match=words):
            check_events(LAYOUT, block, sizes, in_rows)
    else:
        check_events(LAYOUT, block, sizes, in_rows)


def test_pieces_of_a_text_are_ids_as_they_are() -> None:
    block, ones = rows(user=ONES, item=["1;2", "-1", "3"], shop=["1;2", "-1", "3"]), np.ones(3, int)
    check_events(LAYOUT, block, [ones, np.array([2, 1, 1]), np.array([2, 1, 1])], in_rows=True)


def test_lists_of_a_row_are_equally_long_and_other_cells_hold_for_all() -> None:
    block = rows(user=ONES, item=[[1, 2], [3], [4]], shop=[[5, 6], [7], [8]])
    columns, lines = event_columns(LAYOUT, block, block.lines)
    assert {name: column.to_pylist() for name, column in columns.items()} == {
        "user": [1, 1, 2, 3], "item": [1, 2, 3, 4], "shop": [5, 6, 7, 8],
    }  # fmt: skip
    assert lines.tolist() == [1, 1, 2, 3]
    with pytest.raises(BadFile, match="t:2: shop has 2 ids, but item has 1"):
        event_columns(LAYOUT, rows(user=ONES, item=[[1], [3], [4]], shop=[[5], [7, 8], [8]]), block.lines)


def test_times_that_follow_an_open_one_are_texts_without_gaps() -> None:
    layout = Layout("t", "label", ("user",), time="time")
    texts, gaps = ["03/04/2024"] * 3, ["03/04/2024", None, ""]
    tables = [rows(time=texts), rows(time=gaps), rows(time=ONES), rows(time=pyarrow.array([], "string"))]
    assert [found.to_pylist() for found, _ in samples_from_columns._times(layout, tables)] == [texts]


@each("columns", [3, 4])
def test_three_columns_without_ids_are_named(columns: int, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    cells = pyarrow.array([[0.5]] * 3, pyarrow.list_(pyarrow.float32()))
    parquet.write_table(pyarrow.table(dict.fromkeys("abcd"[:columns], cells)), path)
    with pytest.raises(BadFile, match=r"has no column of ids \(a of list<.*>, b of list<.*>, c of list<[^,]*>\)"):
        recognition._parquet_mapping(path, "t.parquet")
