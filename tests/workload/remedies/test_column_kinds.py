"""Do a description and a refusal guess the same of columns of any type, and is a type that cannot be mapped left out by both?"""

import json
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from engine.__main__ import main
from engine.errors import BadFile
from engine.insight.fitting.description import describe, describe_first_block
from engine.workload.readers.formats import read_file
from tests.cases import each

COUNT = 60
CLICKS, USERS = np.arange(COUNT) % 2, np.arange(COUNT) * 7 % 40
RANDOM = np.random.default_rng(4)
DAYS = np.datetime64("2024-01-01") + np.arange(COUNT)


def guess(path: Path) -> str:
    """Return the mapping that the refusal of a file shows, which its description must show too."""
    with pytest.raises(BadFile) as refused:
        read_file(path)
    assert describe(path).mapping.rstrip("\n") == describe_first_block(path).mapping.rstrip("\n") == refused.value.remedy
    return refused.value.remedy


def saved(path: Path, mapping: str) -> Path:
    Path(f"{path}.toml").write_text(mapping, encoding="utf-8")
    return path


ARCHIVES: dict[str, tuple[dict[str, np.ndarray], str]] = {
    "alone": ({"x": USERS}, 'ids = ["x"]'),
    "beside one of three axes": ({"x": USERS, "z": np.zeros((COUNT, 2, 2))}, 'ids = ["x"]'),
    "beside two of three axes": ({"x": USERS[1:], "y": np.zeros((COUNT, 2, 2)), "z": np.zeros((COUNT, 2, 2))}, 'ids = ["x"]'),
    "beside a longer one": ({"x": USERS, "z": np.arange(COUNT + 1)}, 'ids = ["x"]'),
    "beside a complex one": ({"x": USERS, "z": np.zeros(COUNT, complex)}, 'ids = ["x"]'),
    "beside a number": ({"x": USERS, "z": np.array(3)}, 'ids = ["x"]'),
    "beside durations": ({"x": USERS, "z": DAYS - DAYS[0]}, 'ids = ["x"]'),
    "beside dates of no unit": ({"x": USERS, "z": np.zeros(COUNT, "M8")}, 'ids = ["x"]'),
    "one of two axes": ({"x": np.stack([CLICKS, USERS], axis=1)}, 'label = "x.0"\nids = ["x.1"]'),
    "one of two axes by column": ({"x": np.asfortranarray(np.stack([CLICKS, USERS], axis=1))}, 'label = "x.0"\nids = ["x.1"]'),
    "floats are dense": (
        {"y": CLICKS, "a": USERS, "d": RANDOM.random((COUNT, 100))},
        'label = "y"\nids = ["a"]\ndense = ["d"]',
    ),
    "floats by column": (
        {"y": CLICKS, "a": USERS, "d": np.asfortranarray(RANDOM.random((COUNT, 3)))},
        'label = "y"\nids = ["a"]\ndense = ["d"]',
    ),
    "ids by column": ({"y": CLICKS, "a": np.asfortranarray(np.stack([USERS, USERS], axis=1))}, 'label = "y"\nids = ["a"]'),
    "dates side by side": ({"y": CLICKS, "a": USERS, "d": np.stack([DAYS, DAYS], axis=1)}, 'label = "y"\nids = ["a"]'),
    "texts of bytes": ({"y": CLICKS, "a": USERS.astype("S")}, 'label = "y"\nids = ["a"]'),
}


@each("what", ARCHIVES)
def test_arrays_are_guessed_alike_by_refusal_and_description(what: str, tmp_path: Path) -> None:
    arrays, wanted = ARCHIVES[what]
    path = tmp_path / f"{[*ARCHIVES].index(what)}.npz"
    np.savez(path, **arrays)
    assert guess(path) == wanted
    saved(path, wanted)
    assert read_file(path, labels="label" in wanted).samples == len(next(iter(arrays.values())))
    assert describe(path).records == len(next(iter(arrays.values())))


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "15m", "25s"])
def test_dates_of_any_unit_are_times(unit: str, tmp_path: Path) -> None:
    path, places = tmp_path / "own.npz", RANDOM.permutation(COUNT)
    step = {"ns": 10**3, "ps": 10**6, "fs": 10**9, "as": 10**12}.get(unit, 1)  # a microsecond or more
    np.savez(path, y=CLICKS, a=np.arange(COUNT), t=(places * step).astype(f"M8[{unit}]"))
    assert 'time = "t"' in guess(path)
    found = read_file(saved(path, 'label = "y"\nids = ["a"]\ntime = "t"\nrows = "as they are"\n'))
    assert found.lookups(0, 0, COUNT).tolist() == np.argsort(places).tolist()
    assert describe(path).records == COUNT


def test_a_whole_number_file_alone_becomes_one_that_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez(tmp_path / "own.npz", x=USERS)
    saved(tmp_path / "own.npz", 'ids = ["x"]\n')
    for command in ("count", "describe"):
        assert main(["workload", command, str(tmp_path / "own.npz")]) == 0
    assert f"{COUNT} samples" in capsys.readouterr().out


def test_no_usable_array_is_a_sentence(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", z=np.zeros((COUNT, 2, 2)), c=np.zeros(COUNT, complex))
    for opened in (read_file, describe):
        with pytest.raises(BadFile, match=r"give arrays of one length and of one or two axes"):
            opened(tmp_path / "own.npz")


@pytest.mark.parametrize("name", ["own.npz", "own.csv"])
def test_a_format_of_array_files_that_a_file_is_not_is_refused_without_lines_that_fail(name: str, tmp_path: Path) -> None:
    path = saved(tmp_path / name, 'format = "torchrec"\n')
    if name.endswith("npz"):
        np.savez(path, x=USERS)
    else:
        path.write_text("user,click\n1,0\n", encoding="utf-8")
    with pytest.raises(
        BadFile, match=rf"{name} is not such an array file, .*{name}.toml.*remove `format` from the mapping"
    ) as refused:
        read_file(path)
    assert not refused.value.remedy


def test_the_mapping_of_dlrms_own_file_is_shown_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "day.npz"
    np.savez(path, X_int=np.ones((COUNT, 13), int), X_cat=np.ones((COUNT, 26), int), y=CLICKS)
    assert describe(path).mapping == 'format = "dlrm"\n'
    assert describe(saved(path, 'format = "dlrm"\nrows = "hashed"\n')).mapping == 'format = "dlrm"\nrows = "hashed"\n'


LISTS = [[n, n + 1] for n in range(COUNT)]
NESTED = {
    "a list of lists": pyarrow.array([[each] for each in LISTS]),
    "a list of structures": pyarrow.array([[{"a": n}] for n in range(COUNT)]),
    "a structure": pyarrow.array([{"a": n, "b": None} for n in range(COUNT)]),
    "a map": pyarrow.array([[("a", n)] for n in range(COUNT)], pyarrow.map_(pyarrow.string(), pyarrow.int64())),
    "a list view": pyarrow.array(LISTS, pyarrow.list_view(pyarrow.int64())),
    "a list of floats": pyarrow.array([[n + 0.5, 1.0] for n in range(COUNT)]),
    "JSON": pyarrow.ExtensionArray.from_storage(pyarrow.json_(), pyarrow.array([f'{{"a": {n}}}' for n in range(COUNT)])),
    "a tensor": pyarrow.FixedShapeTensorArray.from_numpy_ndarray(RANDOM.random((COUNT, 2, 2))),
}


@each("what", NESTED)
def test_a_column_of_a_nested_type_is_text_and_no_mapping_names_it(what: str, tmp_path: Path) -> None:
    path = tmp_path / f"{[*NESTED].index(what)}.parquet"
    column = NESTED[what]
    columns = {"click": CLICKS, "user": USERS, "x": column, "tags": LISTS}
    parquet.write_table(pyarrow.table(columns), path)
    assert guess(path) == 'label = "click"\nids = ["user", "tags"]'
    described = describe(path).columns[2]
    assert (described.guess, described.distinct, described.missing_cells) == ("text", None, 0)
    assert main(["workload", "describe", str(path), "--json", str(tmp_path / "d.json")]) == 0
    assert json.loads((tmp_path / "d.json").read_text())["columns"][2]["guess"] == "text"
    for mapping in (
        'label = "x"\nids = ["user"]',
        'label = "click"\nids = ["user"]\ntime = "x"',
        'ids = ["user"]\ndense = ["x"]',
    ):
        with pytest.raises(BadFile, match=r"'x' is a column of .*; map a column with one value per sample") as refused:
            read_file(saved(path, mapping), labels=False)
        assert "damaged" not in str(refused.value)
    saved(path, 'label = "click"\nids = ["x"]')
    if what == "a list of floats":
        assert read_file(path).samples == COUNT
    else:
        with pytest.raises(BadFile, match=r"'x' is a column of .*, which has no ids"):
            read_file(path)
    Path(f"{path}.toml").unlink()
    parquet.write_table(pyarrow.table({"x": column, "only": column}), path)
    for opened in (read_file, describe):
        with pytest.raises(BadFile, match=r"has no column of ids"):
            opened(path)


def test_lists_are_no_labels(tmp_path: Path) -> None:
    parquet.write_table(pyarrow.table({"tags": LISTS, "user": USERS}), tmp_path / "own.parquet")
    for label in ("tags", "tags >= 4", "tags == 'a'"):
        with pytest.raises(BadFile, match=r"label 'tags' is a column of list<.*map a column with one value per sample"):
            read_file(saved(tmp_path / "own.parquet", f'label = "{label}"\nids = ["user"]\n'))


def test_a_structure_is_no_id_even_where_nothing_else_seems_to_be_one(tmp_path: Path) -> None:
    columns = {"x": NESTED["a structure"], "click": CLICKS, "c": np.ones(COUNT, int)}
    parquet.write_table(pyarrow.table(columns), tmp_path / "own.parquet")
    assert guess(tmp_path / "own.parquet") == 'label = "click"\nids = ["c"]'
