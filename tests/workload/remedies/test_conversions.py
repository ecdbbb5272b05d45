"""Does a file that is converted as its refusal says keep every id, text and gap that it had, whatever shape it is written in?"""

import contextlib
import io
import json
import pickle
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pytest
from pyarrow import feather, ipc, orc, parquet

from engine.errors import BadFile
from engine.workload.readers import conversions
from engine.workload.readers.formats import read_file
from tests.cases import each

LARGE = 2**53
RECORDS = [
    {"click": 0, "user": LARGE, "code": "1e5", "big": 2**63 + 1},
    {"click": 1, "user": LARGE + 1, "code": "100000", "big": 2**63 + 2},
    {"click": 1, "user": None, "code": "1234567890123456789", "big": 3},
    {"click": 0, "user": 7, "code": "2020-01-02", "big": 4},
]
TABLE = pyarrow.table({name: [record[name] for record in RECORDS] for name in ("click", "user", "code")})
FRAME = pd.DataFrame({name: pd.Series([record[name] for record in RECORDS], dtype=object) for name in RECORDS[0]})
BY_NAME = {name: [record[name] for record in RECORDS] for name in RECORDS[0]}


def refusal(path: Path) -> BadFile:
    with pytest.raises(BadFile) as refused:
        read_file(path)
    return refused.value


def converted(path: Path) -> list[dict[str, object]]:
    """Run what the refusal of a file says, and return the records of the Parquet or CSV that it writes, a CSV's as texts."""
    path = path.rename(Path(tempfile.mkdtemp(dir=path.parent)) / path.name)
    remedy = str(refusal(path)).partition("\n")[2]
    with contextlib.chdir(path.parent), contextlib.redirect_stdout(io.StringIO()):
        exec(remedy, {})
    (new,) = {*path.parent.iterdir()} - {path}
    if new.suffix == ".csv":
        return list(pd.read_csv(new, dtype=str, keep_default_na=False, encoding="latin-1").to_dict("records"))
    return list(parquet.read_table(new).to_pylist())


def as_texts(records: list[dict[str, object]]) -> list[dict[str, str | None]]:
    return [{name: None if cell is None else str(cell) for name, cell in record.items()} for record in records]


def without_index(records: list[dict[str, object]]) -> list[dict[str, object]]:
    return [{name: cell for name, cell in record.items() if not name.startswith("__index")} for record in records]


def by_cell(names: list[str]) -> list[list[object]]:
    return [[record[name] for name in names] for record in RECORDS]


NAMES = [*RECORDS[0]]
LINES = "".join(f"{json.dumps(record)}\n" for record in RECORDS)
DOCUMENTS = {
    "lines": LINES,
    "lines with a mark of byte order": "\ufeff" + LINES,
    "lines parted by CR and LF": LINES.replace("\n", "\r\n"),
    "one line": json.dumps(RECORDS),
    "a line a record": f"[{LINES.strip().replace(chr(10), ',' + chr(10))}]",
    "indented": json.dumps(RECORDS, indent=2),
    "split": json.dumps({"columns": NAMES, "index": [0, 1, 2, 3], "data": by_cell(NAMES)}),
    "columns": json.dumps({name: {str(n): cell for n, cell in enumerate(cells)} for name, cells in BY_NAME.items()}),
    "columns by list": json.dumps(BY_NAME),
    "table": json.dumps({"schema": {"fields": [{"name": name} for name in NAMES[:2]]}, "data": RECORDS}),
    "data": json.dumps({"data": RECORDS}),
    "lines of lists": "".join(f"{json.dumps(row)}\n" for row in by_cell(NAMES)),
    "a name that comes late": "".join(f"{json.dumps(r)}\n" for r in ({"user": 1}, {"user": 2, "late": LARGE + 1})),
    "whole numbers and others": json.dumps([{"user": LARGE + 1}, {"user": 0.5}, {"user": True}]),
}
OTHER = {
    "whole numbers and others": [{"user": LARGE + 1}, {"user": 0.5}, {"user": True}],
    "lines of lists": [{str(n): cell for n, cell in enumerate(row)} for row in by_cell(NAMES)],
    "a name that comes late": [{"user": 1, "late": None}, {"user": 2, "late": LARGE + 1}],
}


@each("what", DOCUMENTS)
def test_json_of_any_shape_keeps_ids_texts_and_gaps(what: str, tmp_path: Path) -> None:
    (tmp_path / "own.json").write_bytes(DOCUMENTS[what].encode())
    found = converted(tmp_path / "own.json")
    assert as_texts(without_index(found)) == as_texts(OTHER.get(what, RECORDS))


def a_stream(path: Path) -> None:
    with ipc.new_stream(path, TABLE.schema) as sink:
        sink.write_table(TABLE)


def a_database(path: Path, name: str = "clicks") -> None:
    with contextlib.closing(sqlite3.connect(path)) as held, held:
        quoted = name.replace('"', '""')
        held.execute('CREATE TABLE "small one" (x INTEGER)')
        held.execute(f'CREATE TABLE "{quoted}" (click INTEGER, user INTEGER, code TEXT)')
        rows = [[record[column] for column in ("click", "user", "code")] for record in RECORDS]
        held.executemany(f'INSERT INTO "{quoted}" VALUES (?, ?, ?)', rows)


def pickled(held: object) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(pickle.dumps(held))


BINARY: dict[str, Callable[[Path], object]] = {
    "Feather": lambda path: feather.write_feather(TABLE, path),
    "stream": a_stream,
    "ORC": lambda path: orc.write_table(TABLE, path),
    "a pickled frame": pickled(FRAME[["click", "user", "code"]]),
    "a pickled frame with an index": pickled(FRAME[["click", "user", "code"]].set_index("click")),
    "a pickled dictionary": pickled({name: BY_NAME[name] for name in ("click", "user", "code")}),
    "a pickled list": pickled([{name: record[name] for name in ("click", "user", "code")} for record in RECORDS]),
    "literals": lambda path: path.write_text("".join(f"{record}\n" for record in TABLE.to_pylist())),
    "objects": lambda path: np.save(path.with_suffix(".npy"), np.array([*map(dict, TABLE.to_pylist())], dtype=object)),
}


@each("what", BINARY)
def test_binary_tables_keep_ids_texts_and_gaps(what: str, tmp_path: Path) -> None:
    BINARY[what](tmp_path / "own.bin")
    (path,) = (each for each in tmp_path.iterdir() if each.is_file())
    assert as_texts(converted(path)) == as_texts(TABLE.to_pylist())


@pytest.mark.parametrize("name", ["clicks", "click log", "click-log", "order", "2020", "klicks_ä", 'a "b"'])
def test_of_a_database_the_longest_table_is_written_whatever_its_name(name: str, tmp_path: Path) -> None:
    a_database(tmp_path / "own.db", name)
    assert as_texts(converted(tmp_path / "own.db")) == as_texts(TABLE.to_pylist())


MOVIES = [["1", "Toy Story, The (1995)", 'Animation|"Comedy"'], ["2", "Café, Le: a film", "Drama\tNoir"], ["3", "Heat", "Action"]]
ARFF = """% Clicks of May
@RELATION clicks

@attribute click {0,1}
@ATTRIBUTE 'user id' numeric
@attribute "title" string
@data
% of us
0, 12, 'Heat, The'
1, ?, "It's"
"""


def test_cells_with_commas_stay_one_cell(tmp_path: Path) -> None:
    for name, mark, rows in (
        ("own.dat", "::", MOVIES),
        ("own", " ", [[f"{n}", "a,b" if n == 5 else "c" * (n % 3 + 1), "x"] for n in range(9)]),
    ):
        table = [["id", "title", "genre"], *rows]
        text = "".join(mark.join(cell.ljust(5) if mark == " " else cell for cell in row) + "\n" for row in table)
        (tmp_path / name).write_bytes(text.encode("latin-1"))
        found = converted(tmp_path / name)
        assert [[*record.values()] for record in found] == rows


def test_an_arff_file_is_named_and_becomes_csv(tmp_path: Path) -> None:
    (tmp_path / "own.arff").write_text(ARFF, encoding="utf-8")
    assert "own.arff looks like an ARFF file" in str(refusal(tmp_path / "own.arff"))
    assert converted(tmp_path / "own.arff") == [
        {"click": "0", "user id": "12", "title": "Heat, The"},
        {"click": "1", "user id": "", "title": "It's"},
    ]


MAPPING = 'label = "click"\nids = ["user"]\n'
CSV = "user,click\n" + "".join(f"u{n % 7},{n % 2}\n" for n in range(60))
TEXTS = {
    "CR alone": (CSV.replace("\n", "\r"), "lines end with CR alone; write it again with lines that end with LF:"),
    "CR alone and long": (CSV.replace("\n", "\r") * 2500, "lines end with CR alone"),
    "Excel's line": ("sep=;\n" + CSV.replace(",", ";"), "a line of Excel's above it.*take the first line away:"),
    "Excel's line with a mark": ('\ufeff"sep=,"\r\n' + CSV, "a line of Excel's above it.*take the first line away:"),
    "JSON": (LINES, "looks like JSON"),
    "ARFF": (ARFF, "an ARFF file"),
}


@pytest.mark.parametrize("mapped", [False, True])
@each("what", TEXTS)
def test_what_a_text_is_is_said_with_a_mapping_too(what: str, mapped: bool, tmp_path: Path) -> None:
    text, words = TEXTS[what]
    (tmp_path / "own.csv").write_bytes(text.encode())
    if mapped:
        (tmp_path / "own.csv.toml").write_text(MAPPING, encoding="utf-8")
    with pytest.raises(BadFile, match=words):
        read_file(tmp_path / "own.csv")


@pytest.mark.parametrize("early", [True, False])
def test_latin_letters_hear_how_to_write_utf8_wherever_the_first_of_them_is(early: bool, tmp_path: Path) -> None:
    rows = [f"u{n},{n % 2}\n" for n in range(12_000)]
    rows[5 if early else -5] = "us\xe9r,1\n"
    (tmp_path / "own.csv").write_bytes(("user,click\n" + "".join(rows)).encode("latin-1"))
    if not early:
        (tmp_path / "own.csv.toml").write_text(MAPPING, encoding="utf-8")
    refused = refusal(tmp_path / "own.csv")
    line = 7 if early else 11_997
    assert f"own.csv:{line}: byte 0xe9 is not UTF-8" in str(refused) and refused.remedy.startswith("iconv -f ISO-8859-1")


def test_no_advice_reads_whole_numbers_by_a_way_that_makes_them_floats() -> None:
    ways = [way.lines for way in vars(conversions).values() if isinstance(way, conversions.Conversion)]
    assert not [lines for lines in ways if "pandas.read_json" in lines or "pandas.read_sql" in lines or "DataFrame(map" in lines]
