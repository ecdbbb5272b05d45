"""Are numbers of other countries and JSON in cells asked about, and lists of ids still lists?"""

import json
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engine.errors import BadFile
from engine.insight.fitting.description import describe
from engine.workload.readers.formats import read_file
from engine.workload.readers.notations import foreign_notation
from tests.cases import each

COUNT = 150
RANDOM = np.random.default_rng(3)
PRICES = RANDOM.random(COUNT) * 90
FRAME = pd.DataFrame({"user": RANDOM.integers(0, 20, COUNT), "label": RANDOM.integers(0, 2, COUNT)})
LENGTHS = RANDOM.integers(1, 5, COUNT)


def swapped(text: str) -> str:
    """Return a number with point and comma exchanged."""
    return text.translate(str.maketrans(",.", ".,"))


NUMBERS = {
    "two decimals": [swapped(f"{price:.2f}") for price in PRICES],
    "decimals without a zero at the end": [swapped(f"{price:.2f}".rstrip("0").rstrip(".")) for price in PRICES],
    "one decimal, signed": [swapped(f"{price - 40:+.1f}") for price in PRICES],
    "points for thousands": [swapped(f"{300 * price:,.2f}") for price in PRICES],
    "commas for thousands": [f"{300 * price:,.0f}" for price in PRICES],
    "commas for thousands and millions": [f"{price**4:,.2f}" for price in PRICES],
    "blanks for thousands": [f"{300 * price:,.0f}".replace(",", " ") for price in PRICES],
    "hard blanks for thousands": [f"{300 * price:,.0f}".replace(",", "\u00a0") for price in PRICES],
    "dollars": [f"${price:,.2f}" for price in PRICES],
    "euros": [f"{swapped(f'{price:.2f}')} €" for price in PRICES],
    "percent": [f"{price:.1f}%" for price in PRICES],
    "codes": [f"{price:.2f} EUR" for price in PRICES],
}
JSON = {
    "an object": [json.dumps({"a": n % 5, "b": "x, y"}) for n in range(COUNT)],
    "a list of objects": [json.dumps([{"id": n % 5}, {"id": n % 3}]) for n in range(COUNT)],
    "a dictionary of Python's": [str({"a": n % 5}) for n in range(COUNT)],
}
LISTS = {
    "commas": [",".join(map(str, RANDOM.integers(0, 150, length))) for length in LENGTHS],
    "pairs of any length": [",".join(map(str, RANDOM.integers(0, 150, 2))) for _ in range(COUNT)],
    "three digits each": [",".join(map(str, RANDOM.integers(100, 150, length))) for length in LENGTHS],
    "three digits and blanks": [" ".join(map(str, RANDOM.integers(100, 150, length))) for length in LENGTHS],
    "brackets": [str(RANDOM.integers(0, 50, length).tolist()) for length in LENGTHS],
}


def written(path: Path, cells: list[str]) -> Path:
    frame = FRAME.assign(extra=cells)
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ";")
    return path


@each("what", NUMBERS | JSON)
@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_numbers_in_another_notation_and_json_are_left_out_and_told(suffix: str, what: str, tmp_path: Path) -> None:
    cells = (NUMBERS | JSON)[what]
    path = written(tmp_path / f"own.{suffix}", cells)
    description = describe(path)
    assert [column.guess for column in description.columns] == ["id", "label", "text"] and description.records == COUNT
    kind = "are JSON" if what in JSON else "are numbers"
    assert f"extra is left out: its cells, such as {cells[0][:24]!r}, {kind}" in description.notes[0]
    mapping = tomllib.loads(description.mapping)
    assert mapping["ids"] == ["user"] and "dense" not in mapping and "lists" not in mapping
    with pytest.raises(BadFile, match=r"\n# extra is left out"):
        read_file(path)


@each("what", LISTS)
@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_lists_of_ids_stay_lists(suffix: str, what: str, tmp_path: Path) -> None:
    description = describe(written(tmp_path / f"own.{suffix}", LISTS[what]))
    ids = {number for cell in LISTS[what] for number in cell.strip("[]").replace(",", " ").split()}
    assert (description.columns[2].guess, description.columns[2].distinct) == ("list", len(ids))


def test_a_list_that_cannot_be_read_is_named_by_file_and_line(tmp_path: Path) -> None:
    cells = [f"[{n}, {n + 1}]" for n in range(9 * COUNT)]
    cells[1100] = '["a, b", 3]'
    frame = pd.DataFrame({"label": [n % 2 for n in range(9 * COUNT)], "extra": cells})
    frame.loc[[4, 9], "extra"] = ""
    frame.to_csv(tmp_path / "own.csv", index=False)
    with pytest.raises(BadFile, match=r"own\.csv:1102: extra="):
        describe(tmp_path / "own.csv")


NOTATIONS = {
    ('{"a":1}', '{"b":2}'): "are JSON",
    ('{"a":1}', "x"): "",
    ("$5", "$6"): "are numbers with a sign",
    ("$5", "6"): "",
    ("1,5", "2,5"): "are numbers with a comma",
    ("1,5", "2,25"): "are numbers with a comma",
    ("1,5", "x"): "",
    ("1,5", "2,10"): "",  # a decimal has no zero at its end, an id may
    ("1,0", "2,25"): "are numbers with a comma",
    ("1,234,567", "1,000"): "are numbers with thousands apart",
    ("1,234,567", "x"): "",
    ("123,456,789", "23,456,789"): "are numbers with thousands apart",
    ("123,456,789", "234,567,890"): "",  # ids of three digits in each place
}


@each("texts", NOTATIONS)
def test_all_cells_have_a_notation_or_none(texts: tuple[str, ...]) -> None:
    found = foreign_notation(texts)
    assert found.startswith(NOTATIONS[texts]) and bool(found) == bool(NOTATIONS[texts])
