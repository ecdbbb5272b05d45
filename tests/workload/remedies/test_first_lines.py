"""Is the beginning of a file read as it is meant: odd headers, blank lines before it, one line alone, columns that vanish?"""

import gzip
import json
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.errors import BadFile
from engine.insight.fitting.description import describe, describe_first_block
from engine.insight.fitting.fit import lookups_of
from engine.workload.readers.formats import read_file
from engine.workload.readers.sniffing import first_rows
from tests.cases import each

COUNT = 120
RANDOM = np.random.default_rng(9)
FRAME = pd.DataFrame(
    {"user": RANDOM.integers(0, 20, COUNT), "item": RANDOM.integers(0, 40, COUNT), "label": RANDOM.integers(0, 2, COUNT)}
)
BODY = FRAME.to_csv(index=False, header=False)
NUMBERED = FRAME.set_axis([0, 1, 2], axis=1)
ROLES = FRAME.assign(user=RANDOM.choice(["bot", "admin", "user"], COUNT))


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


# A text, and the names of its header.
HEADED = {
    "a comma behind": ("user,item,label,\n" + BODY.replace("\n", ",\n"), "user item label"),
    "a semicolon behind": (
        ("Benutzer;Artikel;geklickt;\n" + BODY.replace("\n", ";\n")).replace(",", ";"),
        "Benutzer Artikel geklickt",
    ),
    "a value that is a name": (ROLES.to_csv(index=False), "user item label"),
    "a value that is a name, in tabs": (ROLES.to_csv(index=False, sep="\t"), "user item label"),
    "a value that is a name, quoted": (ROLES.to_csv(index=False, quoting=1), "user item label"),
    "numbers above an index": (NUMBERED.to_csv(), "0 1 2"),
    "numbers above an index from 1": (FRAME.set_axis([1, 2, 3], axis=1).to_csv(sep=";"), "1 2 3"),
    "numbers without an index": (NUMBERED.to_csv(index=False), "0 1 2"),
    "numbers and a name": (NUMBERED.assign(clicked=FRAME["label"]).to_csv(index=False), "0 1 2 clicked"),
    "a year": (
        FRAME.assign(n=1)[["user", "item", "n", "label"]].to_csv(index=False).replace(",n,", ",2020,"),
        "user item 2020 label",
    ),
    "a value that is a name, beside one column": (
        pd.DataFrame({"kind": RANDOM.choice(["a", "kind"], COUNT), "n": FRAME["item"]}).to_csv(index=False),
        "kind n",
    ),
    "several years": ("user,2019,2020,2021\n" + FRAME.assign(a=1).to_csv(index=False, header=False), "user 2019 2020 2021"),
    "the header again": ("user,item,label\n" + BODY + "user,item,label\n" + BODY, "user item label"),
}
HEADLESS = {
    "numbers": BODY,
    "a gap first": "u1,NA,0\n" + "".join(f"u{line}\n" for line in BODY.split()),
    "texts": "".join(f"u{line.replace(',', ',shoes', 1)}\n" for line in BODY.split()),
    "numbers that count on": "".join(f"{n},{n + 1},{n + 2},{n + 3}\n" for n in range(COUNT)),
    "a missing cell first": "".join(f",{n},{n + 1}\n" for n in range(COUNT)),
    "an id, then numbers that count on": "".join(f"u{n},{n % 2},{n % 3 + 1}\n" for n in range(COUNT)),
    "words that come back": "".join(f"{('click', 'view')[n % 2]},{('toys', 'books')[n % 2]},a{n}\n" for n in range(COUNT)),
    "one odd cell": "x" + BODY,
    "an odd cell beside one column": "x,5\n" + FRAME[["user", "item"]].to_csv(index=False, header=False),
}


@each("what", HEADED)
def test_one_odd_name_does_not_make_a_header_a_sample(what: str, tmp_path: Path) -> None:
    text, names = HEADED[what]
    assert " ".join(filter(None, first_rows(text.encode(), whole=True).header)) == names
    description = describe(written(tmp_path / "own.csv", text))
    assert description.records == text.count("\n") - 1
    assert " ".join(column.name for column in description.columns) == names


@each("what", HEADLESS)
def test_a_first_sample_is_no_header(what: str) -> None:
    assert first_rows(HEADLESS[what].encode(), whole=True).header == ()


def test_the_guess_below_an_odd_header_reads_what_was_written(tmp_path: Path) -> None:
    for what in ("a comma behind", "a value that is a name", "numbers above an index", "numbers without an index"):
        path = written(tmp_path / "own.csv", HEADED[what][0])
        Path(f"{path}.toml").unlink(missing_ok=True)
        Path(f"{path}.toml").write_text(describe(path).mapping, encoding="utf-8")
        recording = read_file(path)
        assert recording.labels.tolist() == FRAME["label"].tolist() and recording.tables == 2
        assert recording.distinct[1] == FRAME["item"].nunique()


UNREAD = {
    "two names": ("user,item,item,label", "2 columns are called 'item', so none of them is read: rename them"),
    "two names with blanks": ('user," item",item ,label', "2 columns are called 'item'"),
    "two labels": ("user,label,item,label", "2 columns are called 'label'"),
    "no name": ("user,,item,label", "Column 2 has no name in the header, so it is not read: name it"),
    "no names": ("user,item,,", "Column 3, 4 has no name in the header"),
}


@each("what", UNREAD)
@pytest.mark.parametrize("mark", [",", "\t", ";"])
def test_a_column_that_no_name_leads_to_is_told(mark: str, what: str, tmp_path: Path) -> None:
    header, note = UNREAD[what]
    rows = "".join(f"{user},{item},{label},{n % 2}\n" for n, (user, item, label) in enumerate(FRAME.to_numpy()))
    path = written(tmp_path / "own.csv", f"{header}\n{rows}".replace(",", mark))
    assert note in describe(path).notes[0] and note in describe_first_block(path).notes[0]
    with pytest.raises(BadFile, match=rf"\n# {note}"):
        read_file(path)


def test_blank_columns_without_a_name_are_no_loss(tmp_path: Path) -> None:
    assert describe(written(tmp_path / "own.csv", HEADED["a comma behind"][0])).notes == ()


LINES = "".join(f"{json.dumps(row)}\n" for row in FRAME.to_dict("records"))
STARTS = ("\n", "\n\n\n", "\r\n", "  \n", "\t\r\n", "\ufeff\n", "\ufeff \r\n")


@each("start", STARTS)
def test_json_behind_blank_lines_is_json(start: str, tmp_path: Path) -> None:
    for text in (LINES, json.dumps(FRAME.to_dict("records")), f"  {LINES}"):
        path = written(tmp_path / "own.json", start + text)
        for opened in (read_file, describe):
            with pytest.raises(BadFile, match=r"own\.json looks like JSON"):
                opened(path)


def test_the_lines_to_copy_write_json_behind_a_blank_line_as_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for start in (*STARTS, "\n\ufeff"):
        with pytest.raises(BadFile) as refusal:
            describe(written(tmp_path / "own.json", start + LINES))
        exec(refusal.value.remedy, {})
        assert pd.read_parquet("own.parquet").astype(int).equals(FRAME)


@each("start", STARTS)
@pytest.mark.parametrize("text", [FRAME.to_csv(index=False), FRAME.to_csv(index=False, sep="\t"), BODY])
def test_blank_lines_before_a_table_are_named_and_taken_away(text: str, start: str, tmp_path: Path) -> None:
    path = written(tmp_path / "own.csv", start + text)
    for mapping in ("", 'label = "label"\nids = ["user"]\n'):
        Path(f"{path}.toml").write_text(mapping or 'label = "c3"\nids = ["c1"]\n', encoding="utf-8")
        if not mapping:
            Path(f"{path}.toml").unlink()
        for opened in (read_file, describe):
            with pytest.raises(
                BadFile, match=r"own\.csv:1: the line is blank; take the blank lines at its start away:"
            ) as refusal:
                opened(path)
    subprocess.run(["bash", "-c", refusal.value.remedy], cwd=tmp_path, check=True)
    (tmp_path / "own.csv.toml").unlink()
    assert describe(tmp_path / "new-own.csv").records == COUNT


def test_a_first_line_of_separators_alone_is_blank_too(tmp_path: Path) -> None:
    for mark in (",", ";", "\t"):
        path = written(tmp_path / "own.csv", f"{2 * mark}\n" + FRAME.to_csv(index=False, sep=mark))
        with pytest.raises(BadFile, match=r"own\.csv:1: the line is blank") as refusal:
            describe(path)
        subprocess.run(["bash", "-c", refusal.value.remedy], cwd=tmp_path, check=True)
        assert describe(tmp_path / "new-own.csv").records == COUNT


def test_other_formats_behind_blank_lines_are_told_once_these_are_away(tmp_path: Path) -> None:
    path = written(tmp_path / "own.txt", "\n" + "".join(f"{label} {user}:1 {item}:1\n" for user, item, label in FRAME.to_numpy()))
    with pytest.raises(BadFile, match=r"own\.txt:1: the line is blank") as refusal:
        describe(path)
    subprocess.run(["bash", "-c", refusal.value.remedy], cwd=tmp_path, check=True)
    with pytest.raises(BadFile, match=r"looks like a LibSVM file"):
        describe(tmp_path / "own.csv")


def test_a_packed_file_behind_a_blank_line_is_unpacked_first(tmp_path: Path) -> None:
    (tmp_path / "own.csv.gz").write_bytes(gzip.compress(f"\n{FRAME.to_csv(index=False)}".encode()))
    with pytest.raises(BadFile, match=r"own\.csv\.gz:1: the line is blank.*unpack it"):
        describe(tmp_path / "own.csv.gz")


def test_blank_lines_before_ids_alone_are_no_matter(tmp_path: Path) -> None:
    path = written(tmp_path / "ids.txt", "\n\n" + "".join(f"{user}\n" for user in FRAME["user"]))
    assert describe(path).records == COUNT


@pytest.mark.parametrize("mark", [",", ", ", ";", " ", "\t"])
@pytest.mark.parametrize("length", [11, COUNT, 200 * COUNT])
def test_a_trace_on_one_line_is_no_sample_of_many_tables(length: int, mark: str, tmp_path: Path) -> None:
    ids = np.resize(FRAME["user"], length)
    path = written(tmp_path / "trace.log", mark.join(map(str, ids)) + "\n" * (length == 11))
    for opened in (read_file, describe):
        with pytest.raises(BadFile, match=r"trace\.log has one line, of [\d,]+ numbers.*write an id a line") as refusal:
            opened(path)
    subprocess.run(["bash", "-c", refusal.value.remedy], cwd=tmp_path, check=True)
    trace = lookups_of(tmp_path / "trace.txt")
    assert trace.lookups(0, 0, length).tolist() == ids.tolist()


SETTINGS = {
    "nested": {"solver": {"lr": 0.1, "gpu": [0, 1]}, "layers": [{"name": "a"}, {"name": "b"}, {"name": "c"}]},
    "mixed": {"lr": 0.1, "layers": [1, 2]},
    "empty": {},
}


@each("what", SETTINGS)
def test_json_without_rows_gets_no_lines_that_fail(what: str, tmp_path: Path) -> None:
    for indent in (None, 2):
        path = written(tmp_path / "own.json", json.dumps(SETTINGS[what], indent=indent))
        with pytest.raises(BadFile, match=r"own\.json looks like JSON of settings, without rows of equal columns") as refusal:
            read_file(path)
        assert not refusal.value.remedy
    for orient in ("records", "columns", "split"):
        with pytest.raises(BadFile, match=r"own\.json looks like JSON.*in Python") as refusal:
            read_file(written(tmp_path / "own.json", FRAME.to_json(orient=orient)))
        assert refusal.value.remedy


def test_the_character_that_cuts_header_and_rows_alike_is_the_separator(tmp_path: Path) -> None:
    lists = [",".join(map(str, RANDOM.integers(0, 30, 3))) for _ in range(COUNT)]
    for mark in (";", "|", "\t"):
        FRAME.assign(items=lists).to_csv(tmp_path / "own.csv", index=False, sep=mark)
        description = describe(tmp_path / "own.csv")
        assert [column.guess for column in description.columns] == ["id", "id", "label", "list"]
        assert description.columns[3].distinct == len({cell for items in lists for cell in items.split(",")})
