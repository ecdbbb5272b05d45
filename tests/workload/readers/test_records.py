"""Does each record that was written come back, whatever quotation marks and line ends its cells hold?"""

import csv
import io
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadFile
from engine.workload.readers import blocks
from engine.workload.readers.formats import read_file
from engine.workload.readers.records import records

COUNT = 900
MARKED = ('"45 single', '"', '"unclosed, with comma', '""', '"a""', '" ')


def cells(row: int, place: int, title: str) -> list[str]:
    """Return a record of click, user and a title at `place`."""
    record = [str(row % 2), f"u{row % 61}"]
    record.insert(place, title)
    return record


def log(folder: Path, delimiter: str, place: int, titles: dict[int, str], more: str = "", name: str = "clicks.csv") -> Path:
    """Write COUNT records without any quoting, some titles as given, and a mapping."""
    header = ["click", "user"]
    header.insert(place, "title")
    lines = [header, *(cells(row, place, titles.get(row, f"song {row % 97}")) for row in range(COUNT))]
    path = folder / name
    path.write_text("".join(delimiter.join(line) + "\n" for line in lines), encoding="utf-8")
    mark = "\\t" if delimiter == "\t" else delimiter
    Path(f"{path}.toml").write_text(f'label = "click"\nids = ["user"]\ndelimiter = "{mark}"\n{more}')
    return path


@pytest.fixture(params=[1 << 22, 1 << 10], ids=["one block", "many blocks"])
def block_size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "READ_NBYTES", request.param)


@pytest.mark.parametrize("delimiter", [",", "\t", "|"])
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("closing", [None, 700, 11], ids=["never closes", "closes far away", "closes in the next record"])
def test_a_quotation_mark_that_closes_in_another_record_is_refused_with_its_line(tmp_path, block_size, delimiter, place, closing):
    titles = {10: '"45 single'} | ({closing: '12"'} if closing else {})
    path = log(tmp_path, delimiter, place, titles)
    with pytest.raises(BadFile, match=r"clicks\.csv:12: a quotation mark opens a field") as refused:
        read_file(path)
    assert 'quotes = "none" in clicks.csv.toml' in str(refused.value)
    second = read_file(log(tmp_path, delimiter, place, titles, 'quotes = "none"\n'))
    assert second.samples == COUNT and second.labels.tolist() == [row % 2 for row in range(COUNT)]


@pytest.mark.parametrize("title", MARKED)
def test_marks_that_are_text_cost_no_record(tmp_path, block_size, title):
    for place in (0, 1, 2):
        found = read_file(log(tmp_path, "\t", place, {3: title, 899: title, 450: title}, 'quotes = "none"\n'))
        assert found.samples == COUNT


def quoted(rows: list[list[str]]) -> str:
    sink = io.StringIO()
    csv.writer(sink, lineterminator="\n").writerows(rows)
    return sink.getvalue()


@pytest.mark.parametrize("place", [0, 2])
def test_line_ends_in_quoted_cells_are_read_where_the_mapping_says_so_in_files_of_any_size(tmp_path, block_size, place):
    titles = [random.Random(row).choice(["one", 'a "b"\n\nc', "x,\ny", '"', "\n", ""]) for row in range(COUNT)]
    rows = [cells(row, place, title) for row, title in enumerate(titles)]
    header = ["click", "user"]
    header.insert(place, "title")
    (tmp_path / "clicks.csv").write_text(quoted([header, *rows]))
    mapping = tmp_path / "clicks.csv.toml"
    mapping.write_text('label = "click"\nids = ["user", "title"]\n')
    first = next(row for row, title in enumerate(titles) if "\n" in title)
    line = 2 + sum(len(quoted([row]).splitlines()) for row in rows[:first])
    with pytest.raises(BadFile, match=rf"clicks\.csv:{line}: a quotation mark opens"):
        read_file(tmp_path / "clicks.csv")
    mapping.write_text('label = "click"\nids = ["user", "title"]\nquotes = "multiline"\n')
    found = read_file(tmp_path / "clicks.csv")
    assert found.samples == COUNT and found.labels.tolist() == [row % 2 for row in range(COUNT)]
    assert len(set(found.tokens[:, 1].tolist())) == len({title.strip() for title in titles})


def test_a_quoted_cell_without_an_end_is_refused_where_cells_may_hold_line_ends(tmp_path, block_size):
    with pytest.raises(BadFile, match=r"clicks\.csv:402: a quotation mark"):
        read_file(log(tmp_path, ",", 2, {400: '"open'}, 'quotes = "multiline"\n'))


def test_a_carriage_return_inside_a_line_is_no_record_of_its_own(tmp_path, block_size):
    with pytest.raises(BadFile, match=r"clicks\.csv:52: the line has a carriage return in its middle"):
        read_file(log(tmp_path, ",", 2, {50: "x\r1,u1,y"}))


@given(st.lists(st.lists(st.text('ab",\n ', max_size=6), min_size=2, max_size=2), min_size=1, max_size=8))
def test_records_are_those_that_csv_wrote(rows):
    for line_end in ("\n", "\r\n"):
        sink = io.StringIO()
        csv.writer(sink, lineterminator=line_end).writerows(rows)
        text = sink.getvalue().encode()
        found = records(text, "x.csv", 1, ",", "multiline")
        assert (len(found.begins), found.end) == (len(rows), len(text))
        starts = [len("".join(_lines(rows[:n], line_end)).encode()) for n in range(len(rows))]
        assert found.begins.tolist() == starts
        assert found.lines.tolist() == [text[:start].count(b"\n") for start in starts]


def _lines(rows: list[list[str]], line_end: str) -> list[str]:
    sink = io.StringIO()
    csv.writer(sink, lineterminator=line_end).writerows(rows)
    return [sink.getvalue()]
