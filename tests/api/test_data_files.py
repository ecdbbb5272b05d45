"""Does a frame train as the file of the same columns does, whatever kind of frame it is, and is what is no data refused?"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from engine import api
from engine.api.data_files import data_file

SIZE = 4000
MAPPING = {"label": "clicked", "ids": ["user", "item", "shop"], "dense": ["age"]}
SHAPE: dict[str, Any] = {"batches": 5, "bottom_mlp": [1, 8, 4], "pooling": 1}


def log(seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "clicked": rng.integers(0, 2, SIZE),
            "user": rng.integers(0, 50, SIZE),
            "item": rng.choice(["apple", "pear", "fig"], SIZE),
            "shop": rng.integers(0, 9, SIZE),
            "age": rng.integers(0, 90, SIZE) / 2,
        }
    )


ARROW = [(field.name, field.type) for field in pa.Schema.from_pandas(log(), preserve_index=False)]


class Stranger:
    """A frame of some library that speaks Arrow, cut into small pieces."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return pa.Table.from_batches(self.table.to_batches(max_chunksize=77)).__arrow_c_stream__(requested_schema)


KINDS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "indexed": lambda frame: frame.set_index(frame.index * 3 + 1),
    "categories": lambda frame: frame.assign(item=frame["item"].astype("category")),
    "truth": lambda frame: frame.assign(clicked=frame["clicked"].astype(bool)),
    "Arrow": lambda frame: pa.Table.from_pandas(frame),
    "short texts": lambda frame: pa.Table.from_pandas(frame).cast(
        pa.schema([(name, pa.string() if name == "item" else kind) for name, kind in ARROW])
    ),
    "required": lambda frame: pa.Table.from_pandas(frame, preserve_index=False).cast(
        pa.schema([pa.field(name, kind, nullable=False) for name, kind in ARROW])
    ),
    "batch": lambda frame: pa.RecordBatch.from_pandas(frame),
    "reader": lambda frame: pa.Table.from_pandas(frame).to_reader(max_chunksize=100),
    "stranger": lambda frame: Stranger(pa.Table.from_pandas(frame, preserve_index=False)),
    "beside": lambda frame: frame.assign(odd=[object()] * SIZE)[["odd", "age", "shop", "item", "user", "clicked"]],
}


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> api.Result:
    """The run on a file that pandas wrote, with its mapping beside it."""
    file = tmp_path_factory.mktemp("log") / "log.parquet"
    log().to_parquet(file, index=False)
    Path(f"{file}.toml").write_text('label = "clicked"\nids = ["user", "item", "shop"]\ndense = ["age"]\n', encoding="utf-8")
    return api.run("tiny", data=f" {file} ", **SHAPE)[0]


def learned(result: api.Result) -> Any:
    return result.training, result.results


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_trains_as_the_file_of_its_columns(kind: str, reference: api.Result) -> None:
    before = set(Path(tempfile.gettempdir()).glob("emberpool-*"))
    found = api.run("tiny", data=KINDS[kind](log()), mapping=MAPPING, **SHAPE)[0]
    assert learned(found) == learned(reference) and found.ran
    assert set(Path(tempfile.gettempdir()).glob("emberpool-*")) <= before


def test_equal_frames_have_one_digest_and_others_another() -> None:
    def digest(frame: Any, mapping: Any = MAPPING) -> str:
        with data_file(frame, mapping) as file:
            return "".join(one.read_bytes().hex() for one in sorted(file.parent.iterdir()))

    equal = {digest(KINDS[kind](log())) for kind in KINDS if kind != "truth"}
    assert len(equal) == 1
    assert digest(log(), dict(reversed(MAPPING.items()))) in equal and digest(log(), None) in equal
    assert not {digest(log(2)), digest(log(), {**MAPPING, "dense": []}), digest(log().iloc[::-1])} & equal


def test_a_label_by_name_needs_no_mapping_and_columns_may_be_numbered(reference: api.Result) -> None:
    assert learned(api.run("tiny", data=log(), **SHAPE)[0]) == learned(reference)
    numbered = log().set_axis(range(5), axis=1)
    assert learned(api.run("tiny", data=numbered, mapping={"label": 0, "ids": [1, 2, 3], "dense": (4,)}, **SHAPE)[0]) == learned(
        reference
    )
    rated = log().assign(clicked=lambda frame: 3 + frame["clicked"] * 2)
    assert learned(api.run("tiny", data=rated, mapping={**MAPPING, "label": "clicked >= 4"}, **SHAPE)[0]) == learned(reference)


def test_a_file_takes_a_mapping_too_but_not_two(reference: api.Result, tmp_path: Path) -> None:
    log().to_parquet(tmp_path / "log.parquet")
    assert learned(api.run("tiny", data=tmp_path / "log.parquet", mapping=MAPPING, **SHAPE)[0]) == learned(reference)
    Path(tmp_path / "log.parquet.toml").write_text("", encoding="utf-8")
    with pytest.raises(api.BadInput, match=r"log.parquet has its mapping in log.parquet.toml; leave mapping= out"):
        api.run("tiny", data=tmp_path / "log.parquet", mapping=MAPPING)


def test_home_is_expanded(reference: api.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    log().to_parquet(tmp_path / "log.parquet")
    assert learned(api.run("tiny", data="~/log.parquet", mapping=MAPPING, **SHAPE)[0]) == learned(reference)


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_many_points_train_on_one_frame(jobs: int) -> None:
    table = api.run("tiny", data=log(), jobs=jobs, data__seed=[1, 2], **SHAPE)
    assert len({one.scenario.data.digest for one in table}) == 1 and all(one.ran for one in table)
    assert api.sweep("tiny", "data.seed=1,2", full=True, data=log(), **SHAPE).csv == table.csv


@pytest.mark.filterwarnings("ignore")
def test_a_frame_is_fitted() -> None:
    fitted = api.fit(log(), "tiny", mapping=MAPPING)
    assert fitted.model.num_embeddings == (50, 3, 9) and fitted.model.bottom_mlp[0] == 1 and fitted.data.digest == ""
    assert fitted.data.click_rate == pytest.approx(log()["clicked"].mean(), rel=1e-3)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (3, "of type int, is no data; give a path, a pandas.DataFrame or an Arrow table"),
        ("  ", "names no file"),
        (["a.csv"], "give one path, or one pandas.DataFrame"),
        (np.zeros((50, 3)), r"its columns have no names: give pandas.DataFrame\(data, columns="),
        ({"label": [0, 1]}, r"give pandas.DataFrame\(data\)"),
        ("~nobody-here/x.csv", "cannot be read: No such file"),
        (log().rename(columns={"clicked": "bought"}), "No column of data is named like label; its columns are bought, user"),
        (log().assign(y=1), "clicked and y could each be the label"),
        (log().assign(when=pd.Timestamp(0)), r"Column 'when' of data is of type timestamp\[\w+\], neither ids nor numbers"),
        (
            log().assign(shop=log()["shop"].where(log()["shop"] > 3)),
            "Column 'shop' of data has whole numbers and gaps: ids, or a de",
        ),
        (log()["user"], r"cannot be read as a table \(.*\); give a pandas.DataFrame"),
        (log()[["clicked", "age"]], "has no column of ids beside 'clicked'"),
        (pd.concat([log(), log()[["user"]]], axis=1), "has several columns 'user'; name each column once"),
        (log().assign(item=[{1}, "a"] * (SIZE // 2)), "cannot be read as a table"),
        (log().assign(clicked=7), "data, row 1: clicked=7 is not a label; write 0 or 1"),
        (log().iloc[:0], "data has 0 samples"),
    ],
)
def test_what_is_no_data_is_refused(data: Any, sentence: str) -> None:
    with pytest.raises(api.BadInput, match=sentence):
        api.run("tiny", data=data, **SHAPE)


@pytest.mark.parametrize(
    ("mapping", "sentence"),
    [
        ("log.toml", "is no mapping; write a dict such as"),
        ({"ids": ["usr"], "label": "clicked"}, "names the column 'usr', which data lacks; did you mean user"),
        ({"ids": ["user"], "label": "click"}, "names the label 'click', which data lacks; did you mean clicked"),
        ({"ids": ["user"], "lable": "clicked"}, "mapping: 'lable' is not known; did you mean label"),
        ({"label": "clicked"}, "mapping names no ids"),
        ({}, "mapping names no ids"),
        ({**MAPPING, "rows": "sideways"}, "mapping: rows='sideways' is not known"),
        ({**MAPPING, "rows": None}, "mapping gives 'rows' None"),
    ],
)
def test_a_mapping_that_does_not_suit_is_refused(mapping: Any, sentence: str) -> None:
    with pytest.raises(api.BadInput, match=sentence):
        api.run("tiny", data=log(), mapping=mapping, **SHAPE)


def test_data_where_none_is_read_is_refused() -> None:
    with pytest.raises(api.BadInput, match="give both"):
        api.run("tiny", mapping=MAPPING)
    with pytest.raises(api.BadInput, match="an estimate reads no file"):
        api.estimate("tiny", data=log())
    with pytest.raises(api.BadInput, match="write full=True"):
        api.sweep("tiny", "system=pmem", data=log())
    with pytest.raises(api.BadInput, match="has no file to fit to"):
        api.fit(None)


def test_a_full_disk_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parquet.ParquetWriter, "write_table", full)
    with pytest.raises(
        api.BadInput, match=r"The frame cannot be written to .*: No space left on device; free some space, or set"
    ):
        api.run("tiny", data=log(), **SHAPE)
