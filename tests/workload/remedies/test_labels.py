"""Is the label of a table never among its inputs, by any guess, by any mapping, or under another name?"""

import tomllib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from engine import api
from engine.__main__ import main
from engine.errors import BadFile
from engine.insight.fitting.description import FileDescription, describe
from engine.workload.readers.formats import read_file
from engine.workload.readers.labels import copies_of, label_rule
from engine.workload.readers.recording import Recording
from tests.cases import each

COUNT = 120
RANDOM = np.random.default_rng(6)
CLICKS = RANDOM.integers(0, 2, COUNT)
FRAME = pd.DataFrame({"user": RANDOM.integers(0, 20, COUNT), "item": RANDOM.integers(0, 40, COUNT)})

WRITERS: dict[str, Callable[[pd.DataFrame, Path], Any]] = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t", quoting=1),
    "semicolons.csv": lambda frame, path: frame.to_csv(path, index=False, sep=";"),
    "parquet": lambda frame, path: frame.to_parquet(path, index=False),
    "npz": lambda frame, path: np.savez(path, **{name: frame[name].to_numpy().astype(_kind(frame[name])) for name in frame}),
}
# The name of a label, and its values for no click and for a click.
VALUES: dict[str, tuple[str, Any, Any]] = {
    "signs": ("label", -1, 1),
    "signs with a point": ("Label", -1.0, 1.0),
    "classes": ("target", 1, 2),
    "floats": ("y", 0.0, 1.0),
    "a hundred": ("conversion", 0, 100),
    "truth": ("is_click", False, True),
    "English": ("isClicked", "no", "yes"),
    "German": ("geklickt", "nein", "ja"),
    "letters": ("is click", "N", "Y"),
    "words": ("click", "no click", "click"),
    "poles": ("TARGET", "neg", "pos"),
    "plain": ("purchased", 0, 1),
}


def _kind(column: Any) -> Any:
    return column.dtype if column.dtype.kind in "bif" else "U"


def written(frame: pd.DataFrame, path: Path, mapping: str = "") -> Path:
    """Write a frame in the format that the file's name ends with, and its mapping, if any."""
    Path(f"{path}.toml").unlink(missing_ok=True)
    WRITERS[path.name.partition(".")[2]](frame, path)
    if mapping:
        Path(f"{path}.toml").write_text(mapping, encoding="utf-8")
    return path


def accepted(path: Path) -> tuple[FileDescription, Recording]:
    """Save the mapping that a description shows, and read the file by it."""
    description = describe(path)
    Path(f"{path}.toml").write_text(description.mapping, encoding="utf-8")
    return description, read_file(path)


@each("values", VALUES)
@pytest.mark.parametrize("kind", WRITERS)
def test_a_column_named_like_a_label_is_the_label_with_its_rule(kind: str, values: str, tmp_path: Path) -> None:
    name, other, click = VALUES[values]
    frame = FRAME.assign(**{name: [click if one else other for one in CLICKS]})
    description, recording = accepted(written(frame, tmp_path / f"own.{kind}"))
    assert recording.fields == ("user", "item") and not recording.dense.any()
    assert recording.labels.tolist() == CLICKS.tolist()
    plain = {*map(str, (other, click))} in ({"0", "1"}, {"0.0", "1.0"}, {"False", "True"})
    assert plain or f"{name} is taken as the label" in " ".join(description.notes)


ASKED = {
    "letters": [("A", "B")[click] for click in CLICKS],
    "classes": [n % 4 for n in range(COUNT)],
    "a misspelt word": ["yess" if n == 7 else ("no", "yes")[click] for n, click in enumerate(CLICKS)],
    "many numbers": RANDOM.integers(0, 90, COUNT),
    "one value": [1] * COUNT,
}


@each("values", ASKED)
@pytest.mark.parametrize("name", ["label", "Target", "y", "is_click"])
@pytest.mark.parametrize("beside", [(), ("user", "item")])
def test_a_column_named_like_a_label_is_asked_about_where_its_values_do_not_say(
    beside: tuple[str, ...], name: str, values: str, tmp_path: Path
) -> None:
    frame = pd.DataFrame({name: ASKED[values], "price": RANDOM.random(COUNT)}).join(FRAME[[*beside]])
    path = written(frame, tmp_path / "own.csv")
    description, said = describe(path), " ".join(describe(path).notes)
    mapping = tomllib.loads(description.mapping)
    assert name not in (*mapping["ids"], *mapping.get("dense", ())) and "label" not in mapping
    assert f"{name} is named like the label" in said
    with pytest.raises(BadFile, match=f"# {name} is named like the label"):
        read_file(path)
    if 'write label = "' in said and beside:  # what the sentence says to write can be written
        rule = said.partition('write label = "')[2].partition('"')[0].replace("WORD", str(ASKED[values][0]))
        assert read_file(written(frame, path, f'label = "{rule}"\n{description.mapping}')).fields == ("user", "item")


@pytest.mark.parametrize("cell", ["O", "NA", "2", "nul"])
def test_a_misspelt_label_stays_the_label_and_is_refused_by_its_line(cell: str, tmp_path: Path) -> None:
    frame = FRAME.assign(label=[cell if n == 5 else str(click) for n, click in enumerate(CLICKS)])
    path = written(frame, tmp_path / "own.csv")
    description = describe(path)
    assert tomllib.loads(description.mapping) == {"label": "label", "ids": ["user", "item"]}
    assert f"label is the label, but has {cell!r} beside 0 and 1" in description.notes[0]
    with pytest.raises(BadFile, match=rf"own\.csv:7: label={cell if cell == '2' else repr(cell)} is not a"):
        accepted(path)


def test_a_third_value_of_a_label_far_behind_is_told(tmp_path: Path) -> None:
    frame = pd.concat([FRAME.assign(label=2 * CLICKS - 1)] * 12, ignore_index=True)
    assert len(describe(written(frame, tmp_path / "own.csv")).notes) == 1
    frame.loc[1300, "label"] = 11
    assert "label has 3 values in the whole file" in describe(written(frame, tmp_path / "own.csv")).notes[1]


def test_a_second_label_is_no_input_and_another_column_of_two_values_is(tmp_path: Path) -> None:
    frame = FRAME.assign(click=CLICKS, conversion=RANDOM.permutation(CLICKS), gender=RANDOM.permutation(CLICKS))
    description, recording = accepted(written(frame, tmp_path / "own.csv"))
    assert recording.fields == ("user", "item", "gender") and recording.labels.tolist() == CLICKS.tolist()
    assert "conversion is left out: it is named like a label" in description.notes[0]


ROLES = {
    "label and ids": 'label = "label > 0"\nids = ["user", "label"]',
    "label and dense": 'label = "label"\nids = ["user"]\ndense = ["label"]',
    "label and time": 'label = "label"\nids = ["user"]\ntime = "label"',
    "time and ids": 'label = "label"\nids = ["user", "item"]\ntime = "item"',
    "time and dense": 'label = "label"\nids = ["user"]\ndense = ["item"]\ntime = "item"',
    "ids and dense": 'label = "label"\nids = ["user", "item"]\ndense = ["item"]',
}


@each("roles", ROLES)
@pytest.mark.parametrize("kind", ["csv", "parquet", "npz"])
def test_a_column_in_two_roles_is_refused_by_its_name_and_both_roles(kind: str, roles: str, tmp_path: Path) -> None:
    column = "label" if "label" in roles else "item"
    path = written(FRAME.assign(label=2 * CLICKS - 1), tmp_path / f"own.{kind}", ROLES[roles])
    with pytest.raises(BadFile, match=rf"own\.{kind}\.toml: column '{column}' is both {roles}; .*remove it from"):
        read_file(path)


def test_a_format_that_reads_a_column_keeps_it_from_a_second_role(tmp_path: Path) -> None:
    frame = pd.DataFrame({"userId": FRAME["user"], "movieId": FRAME["item"], "rating": CLICKS + 3.0, "timestamp": range(COUNT)})
    path = written(frame, tmp_path / "ratings.csv", 'format = "movielens"\ndense = ["rating"]\n')
    with pytest.raises(BadFile, match="column 'rating' is both label and dense"):
        read_file(path)


@pytest.mark.parametrize("mapping", ['label = "x.0"\nids = ["u"]\ndense = ["x"]', 'label = "y"\nids = ["u", "y.0"]'])
def test_an_array_that_holds_the_label_is_no_input_as_a_whole(mapping: str, tmp_path: Path) -> None:
    path, numbers = tmp_path / "own.npz", np.stack([CLICKS, RANDOM.random(COUNT)], axis=1)
    np.savez(path, x=numbers, y=CLICKS[:, None], u=FRAME["user"].to_numpy())
    Path(f"{path}.toml").write_text(mapping, encoding="utf-8")
    with pytest.raises(BadFile, match=r"own\.npz: column '[xy]\.0' is both label and (ids|dense)"):
        read_file(path)
    Path(f"{path}.toml").write_text('label = "x.0"\nids = ["u"]\ndense = ["x.1"]', encoding="utf-8")
    assert read_file(path).samples == COUNT


COPIES = {
    "the same": CLICKS,
    "signs": 2 * CLICKS - 1,
    "the other way": 1 - CLICKS,
    "words": [("no", "yes")[click] for click in CLICKS],
}


@each("values", COPIES)
@pytest.mark.parametrize("kind", WRITERS)
def test_a_copy_of_the_label_is_left_out_by_the_guess(kind: str, values: str, tmp_path: Path) -> None:
    frame = FRAME.assign(label=CLICKS, answer=COPIES[values])
    description, recording = accepted(written(frame, tmp_path / f"own.{kind}"))
    assert recording.fields == ("user", "item") and recording.label_copies == ()
    assert "answer is left out: in the first rows it is a copy of the label label" in description.notes[0]


def test_signs_at_the_end_of_a_table_without_names_are_its_label(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    FRAME.assign(sign=2 * CLICKS - 1).to_csv(path, index=False, header=False)
    assert accepted(path)[1].labels.tolist() == CLICKS.tolist()


def test_a_column_of_one_value_or_of_almost_the_labels_values_is_no_copy(tmp_path: Path) -> None:
    almost = np.where(np.arange(COUNT) == COUNT - 1, 1 - CLICKS, CLICKS)
    frame = FRAME.assign(country="de", almost=almost, label=CLICKS)
    path = written(frame, tmp_path / "own.csv", 'label = "label"\nids = ["user", "country", "almost"]')
    assert read_file(path).label_copies == () and describe(path).notes == ()


def test_a_copy_of_ratings_is_a_copy_too(tmp_path: Path) -> None:
    stars = RANDOM.integers(1, 6, COUNT)
    mapping = describe(written(FRAME.assign(rating=stars, stars=stars * 20), tmp_path / "own.csv")).mapping
    assert mapping.startswith('label = "rating >=') and 'ids = ["user", "item"]' in mapping and "dense" not in mapping


@pytest.mark.parametrize("role", ["ids", "dense"])
def test_a_copy_of_the_label_that_a_mapping_names_is_told_by_fit_and_run(
    role: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = FRAME.assign(label=CLICKS, answer=2 * CLICKS)
    roles = {"ids": ["user", "item"], "dense": [], role: [*({"ids": ["user", "item"]}.get(role, [])), "answer"]}
    path = written(frame, tmp_path / "own.csv", f'label = "label"\nids = {roles["ids"]}\ndense = {roles["dense"]}\n')
    assert read_file(path).label_copies == ("answer",)
    assert "In own.csv answer is a copy of the label" in describe(path).notes[0]
    assert main(["workload", "fit", str(path), "--preset", "tiny", "--toml", str(tmp_path / "own-model.toml")]) == 0
    assert "Warning: In own.csv answer is a copy of the label" in capsys.readouterr().out
    assert main(["run", "--scenario", str(tmp_path / "own-model.toml"), "--data", str(path), "--set", "run.batches=2"]) == 0
    assert "In own.csv answer is a copy of the label in the first rows" in capsys.readouterr().out


def test_a_frame_in_two_roles_or_with_a_copy_is_told_so() -> None:
    frame = FRAME.assign(item=FRAME["item"].astype(str), label=CLICKS, answer=1 - CLICKS)
    with pytest.raises(api.BadInput, match="mapping: column 'label' is both label and ids"):
        api.fit(frame, "tiny", mapping={"label": "label", "ids": ["user", "label"]})
    with warnings.catch_warnings(record=True, action="always") as said:
        api.fit(frame, "tiny")
    assert "answer of data is left out" in str(said[0].message)


@each(
    ("cells", "rule"),
    [
        ("0 1", ""),
        ("0 1 1 1 1 1 1 1 1 x", ""),  # nine in ten are 0 and 1
        ("0 1 1 1 1 1 1 1 x", None),
        ("0 x", "== 'x'"),
        ("1 2", "== 2"),
        ("no x", "== 'x'"),
        ("x unclicked", "== 'x'"),
        ("2 yes", "== 'yes'"),
        ("1 yes", None),
        ("x z", None),
    ],
)
def test_a_label_has_a_rule_where_its_values_say_one(cells: str, rule: str | None) -> None:
    assert label_rule("label", cells.split()).rule == rule


@each(
    ("cells", "example"),
    [("0 5 7", "label > 0"), ("-1 5 7", "label > 0"), ("1 2 3", "label >= 3"), ("1 a b", "label == 'WORD'")],
)
def test_a_label_in_doubt_is_asked_about_with_a_rule_of_its_values(cells: str, example: str) -> None:
    assert f'write label = "{example}"' in label_rule("label", cells.split()).note


def test_three_values_of_20_letters_are_shown() -> None:
    assert "('a', 'b', 'c')" in label_rule("label", ["a", "b", "c"]).note
    assert "('a', 'b', 'c', ...)" in label_rule("label", ["a", "b", "c", "d"]).note
    assert f"('{'x' * 20}', '{'y' * 20}', 'z')" in label_rule("label", ["x" * 20, "y" * 21, "z"]).note


@each(
    ("classes", "rows", "is_told"),
    [(1, 20, False), (2, 19, False), (2, 20, True), (3, 29, False), (3, 30, True), (20, 200, True), (21, 210, False)],
)
def test_a_copy_of_the_label_shows_in_enough_rows_of_few_values(classes: int, rows: int, is_told: bool) -> None:
    cells = [str(row % classes) for row in range(rows)]
    columns = {"label": cells, "copy": [f"x{cell}" for cell in cells], "other": ["7"] * rows}
    assert copies_of("label", columns) == (("copy",) if is_told else ())
