"""Does a frame train as the file of the same columns does, whatever kind of frame it is, and is what is no data refused?"""

import itertools
import os
import re
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
from engine.api.column_mapping import toml
from engine.api.data_files import data_file
from engine.paths import short_path
from tests.cases import each

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
def test_a_frame_trains_as_the_file_of_its_columns(
    kind: str, reference: api.Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # other processes have files in the shared folder
    found = api.run("tiny", data=KINDS[kind](log()), mapping=MAPPING, **SHAPE)[0]
    assert learned(found) == learned(reference) and found.ran
    assert not [*tmp_path.glob("emberpool-*")]


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
    for name, text in (("log.toml", 'label = "click"\nids = "user"\n'), ("log.parquet.toml", "")):
        (tmp_path / name).write_text(text, encoding="utf-8")
        with pytest.raises(api.BadInput, match=f"log.parquet has its mapping in {name}; leave out mapping="):
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


@each(
    ("data", "sentence"),
    [
        (3, "of type int, is not data; give a path, a pandas.DataFrame or an Arrow table"),
        ("  ", "is not the name of a file"),
        (["a.csv"], "give one path, or one pandas.DataFrame"),
        (np.zeros((50, 3)), r"its columns have no names: give pandas.DataFrame\(data, columns="),
        ({"label": [0, 1]}, r"give pandas.DataFrame\(data\)"),
        ("~nobody-here/x.csv", "cannot be read: No such file"),
        (log().rename(columns={"clicked": "outcome"}), "No column of data has a name like label; its columns are outcome, user"),
        (log().assign(y=1), "clicked and y could each be the label"),
        (log().assign(when=pd.Timedelta(0)), r"Column 'when' of data has type duration\[\w+\], which is neither ids nor numbers"),
        (
            log().assign(when=pd.period_range("2020-01", periods=SIZE, freq="D")),
            r"Column 'when' of data has type .*, which is neither ids",
        ),
        (log().assign(a=pd.Timestamp(0), b=pd.Timestamp(0)), "a and b of data could each be the time"),
        (log().assign(user=[2**65] * SIZE), r"cannot be read as a table \(.*too (large|big).*\); give a pandas.DataFrame"),
        (
            log().assign(shop=log()["shop"].where(log()["shop"] > 3)),
            "Column 'shop' of data has whole numbers and missing values, so it may be ids or a de",
        ),
        # pandas 2 does not give a Series to Arrow, and has no type for texts of no rows.
        (
            log()["user"],
            r"cannot be read as a table \(.*\); give a pandas.DataFrame|of type Series, is not data; its columns have no names",
        ),
        (log()[["clicked", "age"]], "has no column of ids except 'clicked'"),
        (pd.concat([log(), log()[["user"]]], axis=1), "has several columns with the name 'user'"),
        (log().assign(item=[{1}, "a"] * (SIZE // 2)), "cannot be read as a table"),
        (log().assign(clicked=7), "data, row 1: clicked=7 is not a label; write 0 or 1"),
        (log().iloc[:0], "data has 0 samples|'item' of data has type null, which is neither ids nor numbers"),
    ],
)
def test_what_is_no_data_is_refused(data: Any, sentence: str) -> None:
    with pytest.raises(api.BadInput, match=sentence):
        api.run("tiny", data=data, **SHAPE)


@each(
    ("mapping", "sentence"),
    [
        ("log.toml", "is not a mapping; write a dict such as"),
        ({"ids": ["usr"], "label": "clicked"}, "names the column 'usr', which data lacks; did you mean user"),
        ({"ids": ["user"], "label": "click"}, "names the label 'click', which data lacks; did you mean clicked"),
        ({"ids": ["user"], "lable": "clicked"}, "mapping: 'lable' is not known; did you mean label"),
        ({"label": "clicked"}, "mapping names no ids"),
        ({}, "mapping names no ids"),
        ({**MAPPING, "rows": "sideways"}, "mapping: rows='sideways' is not known"),
        ({**MAPPING, "rows": None}, "mapping gives 'rows' None"),
        ({**MAPPING, "ids": None}, "mapping gives 'ids' None"),
        ({**MAPPING, "ids": {"user": 1}}, "mapping gives 'ids' {'user': 1}; write a text or a list of texts"),
        ({**MAPPING, "ids": log()["item"]}, "mapping gives 'ids' more than 1,000 values; give fewer columns"),
        ({**MAPPING, "ids": (str(n) for n in itertools.count())}, "mapping gives 'ids' more than 1,000 values"),
        ({**MAPPING, "ids": log()}, "mapping gives 'ids' .*; write a text or a list of texts"),
        ({**MAPPING, "ids": np.array([["user"]])}, "mapping gives 'ids' .*; write a text or a list of texts"),
        ({**MAPPING, "label": {"clicked"}}, "mapping gives 'label' {'clicked'}; write a text"),
        ({**MAPPING, "label": log()["clicked"]}, "mapping gives 'label' .*; write a text"),
        ({**MAPPING, "delimiter": "\ud800"}, "mapping gives 'delimiter' .*; write a text"),
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
    with pytest.raises(api.BadInput, match="has no file to fit"):
        api.fit(None)


def test_a_full_disk_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(parquet.ParquetWriter, "write_table", full)
    with pytest.raises(
        api.BadInput, match=r"The frame cannot be written to .*: No space left on device; free some space, or set"
    ):
        api.run("tiny", data=log(), **SHAPE)


ITERABLES: dict[str, Callable[[list[str]], Any]] = {
    "tuple": tuple,
    "columns of a frame": pd.Index,
    "series": pd.Series,
    "array": np.array,
    "generator": iter,
    "keys": lambda names: dict.fromkeys(names).keys(),
    "set": set,
    "frozen set": frozenset,
    "Arrow": pa.array,
}


def bytes_of(data: Any, mapping: Any) -> list[bytes]:
    with data_file(data, mapping) as file:
        return [one.read_bytes() for one in sorted(file.parent.iterdir())]


@each("kind", ITERABLES)
def test_any_iterable_of_names_maps_columns(kind: str) -> None:
    names = sorted(MAPPING["ids"])
    written = bytes_of(log(), {**MAPPING, "ids": ITERABLES[kind](names), "label": np.str_("clicked")})
    assert written == bytes_of(log(), {**MAPPING, "ids": names})


def test_numbers_of_columns_may_be_numpys() -> None:
    numbered = log().set_axis(range(5), axis=1)
    usual = bytes_of(numbered, {"label": 0, "ids": [1, 2, 3], "dense": [4]})
    assert bytes_of(numbered, {"label": np.int64(0), "ids": np.arange(1, 4), "dense": numbered.columns[4:]}) == usual


def nowhere(folder: Path, kind: str) -> tuple[str, str]:
    """Return a path that cannot be read, and what is said of it."""
    file = folder / "nix.csv"
    if kind == "folder":
        file.mkdir()
    if kind == "pipe":
        os.mkfifo(file)
    said = {"folder": "it is a directory", "pipe": "it is a pipe", "home": "No such file"}
    shown = re.escape(short_path(file))
    return f"~/{file.name}" if kind == "home" else str(file), f"^{shown} cannot be read: {said.get(kind, 'No such file')}"


@pytest.mark.parametrize("kind", ["nothing", "folder", "pipe", "home"])
def test_a_path_that_cannot_be_read_is_named_as_it_was_given(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path, sentence = nowhere(tmp_path, kind)
    for more in ({}, {"mapping": {"label": "click", "ids": ["a"]}}):
        for call in (lambda more: api.run("tiny", data=path, **more), lambda more: api.fit(path, "tiny", **more)):
            with pytest.raises(api.BadInput, match=sentence):
                call(more)


@pytest.mark.parametrize("path", ["a\0.csv", "\ud800.csv", "a" * 5000, " " + "a" * 5000, "~\0/a.csv", "~\ud800/a.csv"])
def test_a_name_that_no_file_can_have_is_a_sentence(path: str, tmp_path: Path) -> None:
    for more in ({}, {"mapping": MAPPING}):
        for call in (lambda more: api.run("tiny", data=path, **more), lambda more: api.fit(path, "tiny", **more)):
            with pytest.raises(api.BadInput, match="cannot be read") as refused:
                call(more)
            str(refused.value).encode()


def test_a_name_that_leaves_no_room_for_a_mapping_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / ("a" * 251 + ".csv")
    path.write_text("clicked,user\n0,1\n1,2\n", encoding="utf-8")
    with pytest.raises(api.BadInput, match="cannot be read with a mapping: File name too long; rename it"):
        api.run("tiny", data=path, mapping={"label": "clicked", "ids": ["user"]})


@pytest.mark.parametrize("kind", ["frame", "file", "mapped file"])
@pytest.mark.filterwarnings("ignore")
def test_a_model_of_another_shape_is_refused_in_words_that_a_script_can_write(kind: str, tmp_path: Path) -> None:
    data, more = log().assign(user=[[one, one + 1] for one in log()["user"]]), {"mapping": MAPPING}
    mapping = "mapping=mapping"
    if kind != "frame":
        data.to_parquet(tmp_path / "log.parquet")
        data = tmp_path / "log.parquet"
    if kind == "file":
        (tmp_path / "log.parquet.toml").write_text(toml(MAPPING), encoding="utf-8")
        more = {}
    with pytest.raises(api.BadInput, match="must suit the data file") as refused:
        api.run("tiny", data=data, **more)
    said = str(refused.value)
    assert "--" not in said and "`" not in said and "data.parquet" not in said and (kind == "frame") == ("data has 1" in said)
    words = said.partition("; write ")[2].partition("; or ")[0]
    way = f"ep.fit(data{', ' + mapping if more else ''})"
    assert way in said
    assert api.run("tiny", data=data, batches=3, **more, **eval(f"dict({words})"))[0].ran
    if kind == "frame":
        fitted = eval(way.replace("data", "data, 'tiny'"), {"ep": api, "data": data, "mapping": MAPPING})
        assert api.run(fitted, data=data, batches=3, **more)[0].ran
