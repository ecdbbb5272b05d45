"""Are the knobs that fit a model to a file those that differ, and are its sentences right at their bounds?"""

from typing import Any

import numpy as np
import pyarrow
import pytest

from engine.errors import UnlikeModel
from engine.scenario.presets import preset
from engine.scenario.scenario import Scenario, with_values
from engine.workload.readers import file_tables
from engine.workload.readers.file_tables import RowUse, SampleShape, check_fits, knob_changes, numbering_note, settings_text
from engine.workload.readers.first_cells import is_mappable
from engine.workload.readers.numbering import IdIndex
from engine.workload.readers.recording import Recording
from tests.cases import each

MODEL = {"num_tables": 2, "num_embeddings": (50,), "pooling": (1,), "bottom_mlp": (13, 8), "embedding_dim": (8,)}


def scenario(data: dict[str, Any] | None = None, **model: Any) -> Scenario:
    knobs = {f"model.{name}": setting for name, setting in (MODEL | model).items()}
    return with_values(preset("tiny").scenario, {**knobs, **{f"data.{name}": setting for name, setting in (data or {}).items()}})


def shape(
    pooling: tuple[int, ...] = (1, 1), cv: float = 0.0, distinct: tuple[int | None, ...] = (), dense: int = 13
) -> SampleShape:
    return SampleShape("t.csv", dense, pooling, (cv,) * len(pooling), distinct or (None,) * len(pooling))


HISTORY = {"feature_kind": ("bag", "sequence"), "interaction": "hstu", "pooling": (1, 3), "features": 1}
CHANGES: list[tuple[Scenario, SampleShape, dict[str, Any]]] = [
    (scenario(), shape(), {}),
    (scenario(), shape(dense=12), {"model.bottom_mlp": (12, 8)}),
    (scenario(pooling=(1, 1)), shape(), {}),
    (scenario(), shape((1, 2)), {"model.pooling": (1, 2)}),
    (scenario(pooling=(1, 2)), shape(), {"model.pooling": (1,)}),
    (scenario(field_copies=2, num_tables=4), shape((1, 2)), {"model.pooling": (1, 2, 1, 2)}),
    (scenario(), shape((2, 2), cv=0.5), {"model.pooling": (2, 2), "data.bag_length_cv": (0.5, 0.5)}),
    (scenario({"bag_length_cv": (0.3,)}, pooling=(2,)), shape((2, 2), cv=0.5), {}),
    (scenario({"bag_length_cv": (0.3,)}, pooling=(2,)), shape((2, 2)), {"data.bag_length_cv": ()}),
]  # fmt: skip


@each(("asked", "file", "changes"), CHANGES)
def test_knobs_change_where_file_and_model_differ(asked: Scenario, file: SampleShape, changes: dict[str, Any]) -> None:
    assert knob_changes(asked, file) == changes


@each(
    ("model", "distinct", "rows"),
    [
        ({}, (), None),
        ({"num_embeddings": (50, 70)}, (), (70,)),
        ({"num_embeddings": (70, 50)}, (9, None, 3), (70,)),
        ({}, (9, None, 3), None),
        ({}, (9, 8, 3), (9, 8, 3)),
        ({}, (9, 0, 3), None),
    ],
)
def test_other_tables_have_the_rows_of_their_ids_where_all_are_counted(
    model: dict[str, Any], distinct: tuple[int | None, ...], rows: tuple[int, ...] | None
) -> None:
    changes = knob_changes(scenario(**model), shape((1, 1, 1), distinct=distinct))
    assert changes.get("model.num_embeddings") == rows and changes["model.num_tables"] == 3


@each(("copies", "reset"), [(1, None), (2, 1)])
def test_other_tables_are_no_copies(copies: int, reset: int | None) -> None:
    changes = knob_changes(scenario(field_copies=copies, num_tables=2 * copies), shape((1, 1, 1)))
    assert changes.get("model.field_copies") == reset and changes["model.num_tables"] == 3


@each(("cv", "reset"), [((0.5,), None), ((0.5, 0.6), ())])
def test_lists_by_table_go_with_their_tables(cv: tuple[float, ...], reset: tuple[float, ...] | None) -> None:
    changes = knob_changes(scenario({"bag_length_cv": cv}, pooling=(2,)), shape((2, 2, 2), cv=0.5))
    assert changes.get("data.bag_length_cv") in (reset, (0.5,) * 3) and ("data.bag_length_cv" in changes) == (reset is not None)


@each(("pooling", "is_kept"), [((1, 3), True), ((1, 2), True), ((1, 1), False), ((3, 1), False), ((1, 3, 3), False)])
def test_a_model_reads_histories_where_the_file_has_lists(pooling: tuple[int, ...], is_kept: bool) -> None:
    changes = knob_changes(scenario({"history_cap": 8}, **HISTORY), shape(pooling, cv=0.5))
    assert ("model.feature_kind" not in changes) == is_kept


@each(
    ("file", "words"),
    [
        (shape((1, 1, 1)), "3 categorical fields with one id each, but"),
        (shape((1, 1, 2)), "with bags of 1;1;2 ids, but"),
        (SampleShape("t.csv", 13, (1, 1, 1), (0.0, 0.5, 0.0), (None,) * 3), "with bags of 1;1;1 ids, of uneven length, but"),
        (shape((1,) * 7 + (2,)), "with bags of 1;1;1;1;1;1;1;2 ids, but"),
        (shape((1,) * 7 + (2, 3)), "with bags of 1;1;1;1;1;1;1;2;... ids, but"),
    ],
)
def test_a_file_unlike_the_model_is_said(file: SampleShape, words: str) -> None:
    with pytest.raises(UnlikeModel) as refused:
        check_fits(scenario(), file)
    assert words in str(refused.value) and "cop" not in str(refused.value)
    with pytest.raises(UnlikeModel, match=r"4 tables \(2 copies of each field\)"):
        check_fits(scenario(field_copies=2, num_tables=4), file)


@each("excess", [0, 1])
def test_knobs_stand_in_the_refusal_where_they_are_short(excess: int, monkeypatch: pytest.MonkeyPatch) -> None:
    line = settings_text(knob_changes(scenario(), shape(dense=12)))
    monkeypatch.setattr(file_tables, "MOST_SETTINGS", len(line) - excess)
    with pytest.raises(UnlikeModel) as refused:
        check_fits(scenario(), shape(dense=12))
    assert (f"set {line}; or `" in str(refused.value)) == (not excess)


def index_of(ids: int) -> IdIndex:
    index = IdIndex()
    index.add(np.arange(ids, dtype=np.uint64))
    return index


@each("ids", [49, 50, 51])
def test_ids_are_numbered_in_tables_that_hold_them_all(ids: int) -> None:
    fields: dict[str, Any] = {"indexes": (index_of(ids), index_of(3)), "where_they_fit": True}
    file = Recording("t.csv", np.zeros((60, 13)), np.zeros((60, 2), np.uint64), np.arange(60) % 2, (1, 1), **fields)
    found, other = file_tables.row_use(scenario(), file)
    assert (found.rows, found.distinct_ids, found.numbered) == (50, ids, ids <= 50)
    assert found.used_rows == ids if ids <= 50 else 20 < (found.used_rows or 0) < 50
    assert other == RowUse(50, 3, True, 3)


def test_ids_in_rows_are_said_of_all_tables_and_of_some() -> None:
    def note(*indexes: IdIndex | None, **fields: Any) -> str:
        columns: dict[str, Any] = {"indexes": indexes, "where_they_fit": True, **fields}
        tokens = np.zeros((60, len(indexes)), np.uint64)
        file = Recording("t.csv", np.zeros((60, 13)), tokens, np.arange(60) % 2, (1,) * len(indexes), **columns)
        return numbering_note(scenario(num_tables=len(indexes)), file)

    first = "Ids are numbered as rows in the order first seen in"
    assert note(index_of(40), index_of(30)) == f"{first} all tables; 30 of 100 rows stay empty."
    assert note(index_of(40)) == f"{first} 1 of 1 tables; 10 of 50 rows stay empty."
    some = note(index_of(40), index_of(70))
    assert some.startswith(f"{first} 1 of 2 tables; they are hashed into rows in 1 of 2 tables; ")
    assert " of 110 ids share another id's row; " in some
    assert (
        note(index_of(70), hashed=False)
        == f"{first} 1 of 1 tables; 20 of 70 ids share another id's row; 0 of 50 rows stay empty."
    )
    assert note(index_of(40), where_they_fit=False).startswith("Ids are hashed into rows in 1 of 1 tables")
    assert note(index_of(40), None).endswith("; 1 of 2 tables have more ids than are counted; 10 of 50 rows stay empty.")
    assert note(index_of(40), None, None).endswith("; 2 of 3 tables have more ids than are counted; 10 of 50 rows stay empty.")
    assert note(None, None).endswith("; all tables have more ids than are counted.")


INT, TEXT, FLOAT = pyarrow.int64(), pyarrow.string(), pyarrow.float32()
STRUCT, TIME, DECIMAL = pyarrow.struct([("a", INT)]), pyarrow.timestamp("s"), pyarrow.decimal128(5)


@each(
    ("kind", "is_read", "in_arrays"),
    [
        (INT, True, True),
        (TEXT, True, True),
        (FLOAT, True, True),
        (TIME, True, True),
        (STRUCT, False, False),
        (pyarrow.list_(INT), True, True),
        (pyarrow.large_list(TEXT), True, True),
        (pyarrow.list_(FLOAT), False, True),
        (pyarrow.list_(STRUCT), False, False),
        (pyarrow.list_(pyarrow.list_(INT)), False, False),
        (pyarrow.list_(TIME), False, False),
        (pyarrow.list_(DECIMAL), False, False),
        (pyarrow.list_(pyarrow.uuid()), False, False),
        (pyarrow.uuid(), False, False),
        (pyarrow.map_(TEXT, INT), False, False),
    ],
)
def test_columns_of_ids_numbers_and_lists_of_them_can_be_named(kind: Any, is_read: bool, in_arrays: bool) -> None:
    assert (is_mappable(kind), is_mappable(kind, of_arrays=True)) == (is_read, in_arrays)
