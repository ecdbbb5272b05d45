"""Does a description say of each file what pandas finds in it, and is its mapping one that reads the file?"""

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pytest
from pyarrow import parquet

from engine.__main__ import main
from engine.errors import BadFile
from engine.insight.fitting import description
from engine.insight.fitting.description import as_json, describe, describe_first_block
from engine.workload.readers import blocks
from engine.workload.readers.formats import read_file
from tests.workload.readers.made_up_criteo import rows, tsv
from tests.workload.readers.test_formats import INDICES, LENGTHS, a_trace

RANDOM = np.random.default_rng(8)
COUNT = 4000
FRAME = pd.DataFrame(
    {
        "user_id": [f"u{n}" for n in RANDOM.zipf(1.3, COUNT) % 400],
        "item_id": RANDOM.zipf(1.2, COUNT) % 900,
        "category": RANDOM.choice(["toys", "books", "games"], COUNT),
        "price": RANDOM.uniform(1, 90, COUNT).round(2),
        "viewed_at": pd.date_range("2024-03-01", periods=COUNT, freq="min").strftime("%Y-%m-%d %H:%M:%S"),
        "clicked": RANDOM.integers(0, 2, COUNT),
    }
)
GUESSES = {
    "user_id": "id",
    "item_id": "id",
    "category": "id",
    "price": "number",
    "viewed_at": "time",
    "clicked": "label",
}


def holed(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with some cells missing."""
    return frame.assign(category=frame["category"].mask(np.arange(COUNT) % 7 == 3))


WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path, index=False),
    "tsv": lambda frame, path: frame.to_csv(path, index=False, sep="\t"),
    "headless.csv": lambda frame, path: frame.to_csv(path, index=False, header=False),
    "csv.gz": lambda frame, path: path.write_bytes(gzip.compress(frame.to_csv(index=False, sep=";").encode())),
    "parquet": lambda frame, path: frame.to_parquet(path, index=False),
    "npz": lambda frame, path: np.savez(
        path, **{name: pd.factorize(frame[name])[0] if name in ("category", "user_id") else frame[name] for name in NUMERIC}
    ),
}
NUMERIC = ("user_id", "item_id", "category", "price", "clicked")


@pytest.mark.parametrize("block", [1 << 22, 1 << 13])
@pytest.mark.parametrize("kind", WRITERS)
def test_columns_are_counted_as_pandas_counts_them_and_the_mapping_reads_the_file(kind, block, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "READ_NBYTES", block)
    frame, path = FRAME if kind == "npz" else holed(FRAME), tmp_path / f"views.{kind}"
    WRITERS[kind](frame, path)
    found = describe(path)
    names = list(NUMERIC if kind == "npz" else frame.columns)
    there = {column.name: column for column in found.columns}
    shown = dict(zip(names, there, strict=True))
    assert found.records == COUNT and not found.is_known
    for name in names:
        column = there[shown[name]]
        assert column.guess == (GUESSES[name] if "headless" not in kind or name != "user_id" else "id"), name
        assert column.missing_cells == frame[name].isna().sum(), name
        assert column.distinct in ((frame[name].nunique(),) if name != "viewed_at" else (COUNT, None)), name
        if kind != "npz":
            assert column.examples[0] == str(frame[name].dropna().iloc[0])
    Path(f"{path}.toml").write_text(found.mapping)
    read_back = read_file(path)
    labels = frame.sort_values("viewed_at", kind="stable")["clicked"] if kind != "npz" else frame["clicked"]
    assert read_back.samples == COUNT and read_back.labels.tolist() == labels.tolist()
    again = describe(path)
    assert again.is_known and again.mapping == found.mapping and again.records == COUNT
    assert roles(again).items() >= {name: role for name, role in roles(found).items() if role not in ("text", "constant")}.items()


def roles(found: description.FileDescription) -> dict[str, str]:
    return {column.name: column.guess for column in found.columns}


def test_a_look_shows_the_first_rows_at_once_and_counts_nothing(tmp_path):
    path = tmp_path / "views.csv"
    holed(FRAME).to_csv(path, index=False)
    seen, whole = describe_first_block(path), describe(path)
    assert seen.rows == whole.rows and seen.mapping == whole.mapping and seen.records == 0
    assert [row[1] for row in seen.rows] == FRAME["item_id"].head(8).astype(str).tolist()


@pytest.mark.parametrize("row", [0, 10, COUNT - 1])
def test_a_stray_mark_makes_a_mapping_that_takes_marks_as_letters(row, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "READ_NBYTES", 1 << 13)
    frame = FRAME.assign(title=[f"film {n}" for n in range(COUNT)])
    frame.loc[row, "title"] = '"45 single'
    path = tmp_path / "views.tsv"
    path.write_text("\t".join(frame.columns) + "\n" + "".join("\t".join(map(str, r)) + "\n" for r in frame.to_numpy()))
    found = describe(path)
    assert found.records == COUNT and 'quotes = "none"' in found.mapping
    Path(f"{path}.toml").write_text(found.mapping)
    assert read_file(path).samples == COUNT


def test_a_line_end_in_a_cell_of_the_last_rows_makes_a_mapping_of_cells_with_line_ends(tmp_path):
    path, rows = tmp_path / "views.csv", [f"{n % 2},u{n % 7},film {n}\n" for n in range(COUNT)]
    path.write_text("label,user_id,title\n" + "".join(rows[:-1]) + '1,u3,"film\nof two lines"\n')
    found = describe(path)
    assert found.records == COUNT and 'quotes = "multiline"' in found.mapping


@pytest.mark.parametrize("closing", [11, 30, COUNT - 1])
@pytest.mark.parametrize("marks", [1, 40])
def test_a_mark_of_inches_does_not_close_what_a_stray_one_opens(marks, closing, tmp_path):
    frame = FRAME.assign(title=[f"film {n}" for n in range(COUNT)])
    frame.loc[10, "title"] = '"45 single'
    frame.loc[range(closing, max(closing - marks, 10), -1), "title"] = 'TV 32"'
    path = tmp_path / "views.tsv"
    path.write_text("\t".join(frame.columns) + "\n" + "".join("\t".join(map(str, r)) + "\n" for r in frame.to_numpy()))
    found = describe(path)
    assert found.records == COUNT and 'quotes = "none"' in found.mapping


def test_lists_are_counted_by_their_ids(tmp_path):
    bags = [RANDOM.integers(0, 50, RANDOM.integers(1, 5)).tolist() for _ in range(500)]
    distinct = len({piece for bag in bags for piece in bag})
    labels = RANDOM.integers(0, 2, 500)
    parquet.write_table(pyarrow.table({"label": labels, "tags": bags}), tmp_path / "a.parquet")
    pd.DataFrame({"label": labels, "tags": [str(bag) for bag in bags]}).to_csv(tmp_path / "b.csv", index=False)
    pd.DataFrame({"label": labels, "tags": ["|".join(map(str, bag)) for bag in bags]}).to_csv(tmp_path / "c.csv", index=False)
    for name in ("a.parquet", "b.csv", "c.csv"):
        column = describe(tmp_path / name).columns[1]
        assert (column.guess, column.distinct, column.missing_cells) == ("list", distinct, 0), name


def test_known_files_and_traces_are_described_too(tmp_path):
    (tmp_path / "day_0").write_bytes(tsv(rows(60)))
    found = describe(tmp_path / "day_0")
    assert found.is_known and found.format == "criteo" and found.records == 60 and len(found.columns) == 40
    assert [column.guess for column in found.columns] == ["label"] + 13 * ["number"] + 26 * ["id"]
    a_trace(tmp_path / "trace.pt", LENGTHS, INDICES)
    trace = describe(tmp_path / "trace.pt")
    assert trace.format == "meta" and trace.records == LENGTHS.shape[1]
    cuts = np.cumsum(LENGTHS.sum(axis=1))[:-1]
    assert [column.distinct for column in trace.columns] == [len(np.unique(part)) for part in np.split(INDICES, cuts)]


def test_what_is_no_table_is_refused_with_its_way(tmp_path):
    (tmp_path / "a.json").write_text('{"user": 1}\n')
    with pytest.raises(BadFile, match="looks like JSON"):
        describe(tmp_path / "a.json")
    (tmp_path / "b.csv").write_text("user,item\n")
    with pytest.raises(BadFile, match="no records"):
        describe(tmp_path / "b.csv")
    (tmp_path / "c.csv").write_text("user,item\n1,2\n3\n")
    with pytest.raises(BadFile, match=r"c\.csv:3: the line has 1 column, but 2"):
        describe(tmp_path / "c.csv")


def test_a_description_can_be_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "READ_NBYTES", 1 << 13)
    FRAME.to_csv(tmp_path / "views.csv", index=False)

    def stop(share: float, text: str) -> None:
        assert 0 <= share <= 1 and "views.csv" in text
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        describe(tmp_path / "views.csv", stop)


def test_the_command_prints_columns_and_mapping_and_writes_json(tmp_path, capsys):
    path = tmp_path / "views.csv"
    FRAME.to_csv(path, index=False)
    assert main(["workload", "describe", str(path)]) == 0
    told = capsys.readouterr().out
    assert "4,000 records" in told and 'label = "clicked"' in told and "views.csv.toml" in told
    assert main(["workload", "describe", str(path), "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == as_json(describe(path)) and found["columns"][0] == {
        "name": "user_id",
        "guess": "id",
        "distinct": FRAME["user_id"].nunique(),
        "missing": 0,
        "examples": list(dict.fromkeys(FRAME["user_id"]))[:5],
    }


def test_days_that_could_be_months_get_a_format(tmp_path):
    frame = pd.DataFrame({"label": [0, 1, 1], "item": [5, 6, 5], "when": ["03/04/2020", "04/05/2020", "05/06/2020"]})
    frame = pd.concat(20 * [frame])
    frame.to_csv(tmp_path / "a.csv", index=False)
    found = describe(tmp_path / "a.csv")
    (tmp_path / "a.csv.toml").write_text(found.mapping)
    assert 'time_format = "%d/%m/%Y"' in found.mapping and read_file(tmp_path / "a.csv").samples == 60


@pytest.mark.parametrize("block", [1 << 22, 1 << 13])
@pytest.mark.parametrize("first", [0, 1500])
def test_cells_of_several_lines_are_described_as_such(first, block, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "READ_NBYTES", block)
    frame = FRAME.assign(title=[f"film {n}" if n < first else f"x\n{n},7,z" for n in range(COUNT)])
    frame.to_csv(tmp_path / "views.csv", index=False)
    found = describe(tmp_path / "views.csv")
    assert found.records == COUNT and 'quotes = "multiline"' in found.mapping
    (tmp_path / "views.csv.toml").write_text(found.mapping)
    frame.assign(**{"a\nnote": 5}).to_csv(tmp_path / "views.csv", index=False)
    assert read_file(tmp_path / "views.csv").labels.sum() == FRAME["clicked"].sum()


def test_columns_of_a_file_that_has_a_header_are_refused(tmp_path):
    path = tmp_path / "views.csv"
    FRAME.to_csv(path, index=False)
    Path(f"{path}.toml").write_text(f"label = 'clicked'\nids = 'item_id'\ncolumns = {list(FRAME.columns)}\n")
    with pytest.raises(BadFile, match=r"views\.csv:1: the line has the names of columns"):
        read_file(path)
