"""The CSV table of results: a row per scenario, the same bytes whoever computed them and in whatever order."""

import csv
import io
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, repeat
from operator import itemgetter
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO

from .. import version
from ..errors import BadFile
from ..scenario.keys import How, key, written
from ..scenario.scenario import GROUPS, Scenario
from ..systems.system import constants
from .result import Result

FORMULA = ("=", "+", "-", "@", "\t", "\r")
BETWEEN = "\x1f"  # cells of rows that wait
MOST_IN_MEMORY = 2**24  # bytes of rows that wait for the header
Cell = str | float | None
Row = tuple[Mapping[str, Cell], ...]  # its sections: knobs by group, results, answers, address, constants, outcome
SECTIONS = 1 + len(GROUPS) + 5
Shape = tuple[tuple[str, ...], ...]  # the names of its sections' cells
Header = tuple[dict[str, None], ...]


def csv_text(results: Iterable[Result], how: How) -> str:
    """Write results as CSV with LF ends: knobs by dotted path, results with their units, key, version, constants, outcome.

    Rows keep the given order; result and constant columns come in the order in which they first appear. An empty
    cell is a result that does not apply, or a constant of a part that the row's machine does not use.
    Text that a spreadsheet would take for a formula gets a leading '.
    """
    return csv_of(map(row, results, repeat(how)))


def csv_of(rows: Iterable[Row]) -> str:
    """Write rows of the table as CSV. They are taken one by one and wait in a file, as the header is known after the last."""
    shapes: dict[Shape, int] = {}
    before: list[tuple[Mapping[str, Cell], str]] = [({}, "")] * SECTIONS  # rows share many sections with the one before
    with SpooledTemporaryFile(MOST_IN_MEMORY, "w+", encoding="utf-8", newline="") as waiting:
        for one in rows:
            pairs = zip(one, before, strict=True)
            before = [
                last if section is last[0] else (section, BETWEEN.join(_cells(section.values()))) for section, last in pairs
            ]
            cells = BETWEEN.join([text for section, text in before if section])
            waiting.write(f"{shapes.setdefault(tuple(map(tuple, one)), len(shapes))} {len(cells)}\n{cells}")
        columns = header(shapes)
        waiting.seek(0)
        out = io.StringIO()
        table = csv.writer(out, lineterminator="\n")
        table.writerow(_cells([name for names in columns for name in names]))
        table.writerows(_in_columns(waiting, shapes, columns))
        return out.getvalue()


def _in_columns(waiting: IO[str], shapes: Iterable[Shape], columns: Header) -> Iterator[Sequence[str]]:
    """Yield the rows that wait, each cell in the place of its name; what a row lacks is the empty cell behind its last."""
    wanted = [(part, name) for part, names in enumerate(columns) for name in names]
    own = ([(part, name) for part, names in enumerate(shape) for name in names] for shape in shapes)
    places = [{name: place for place, name in enumerate(names)} for names in own]
    chosen = [itemgetter(*(found.get(name, -1) for name in wanted)) for found in places]
    while start := waiting.readline():
        shape, length = map(int, start.split())
        yield chosen[shape]([*waiting.read(length).split(BETWEEN), ""])


def row(result: Result, how: How, answers: Mapping[str, Cell] | None = None) -> Row:
    """Return a result as a row of the table; `answers` are what a sweep found out about it among the others."""
    address = {"scenario key": key(result.scenario, how), "model version": version.MODEL}
    knobs = (group.texts for group in written(result.scenario))
    return *knobs, result.results, answers or {}, address, in_use(result.scenario), {"outcome": result.outcome}


def refused_row(knobs: Mapping[str, str], sentence: str) -> Row:
    """Return the row of a point that no scenario can have: no numbers and no key, and why."""
    of = ({path: text for path, text in knobs.items() if path.rpartition(".")[0] == group} for group in ("", *GROUPS))
    return *of, {}, {}, {"model version": version.MODEL}, {}, {"outcome": sentence}


def header(rows: Iterable[Row | Shape]) -> Header:
    """Return every section's columns in the order in which they first appear; rows are looked at one by one."""
    found: Header = tuple({} for _ in range(SECTIONS))
    for one in rows:
        for columns, section in zip(found, one, strict=True):
            columns.update(dict.fromkeys(section))
    return found


def csv_lines(columns: Header, rows: Iterable[Row]) -> Iterator[str]:
    """Yield the table as CSV, line by line, so that a long one need not be held."""
    yield rows_text([name for names in columns for name in names], ())
    for one in rows:
        yield _line([section.get(name) for section, names in zip(one, columns, strict=True) for name in names])


def in_use(scenario: Scenario) -> dict[str, float]:
    """Return the value of every constant in use, by its name with its unit, as in `pmem.read-rate [GB/s]`."""
    return {f"{name} [{one.unit}]": one.value for name, one in constants(scenario).items()}


def rows_text(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Write rows as CSV with LF ends: numbers with every digit, None as an empty cell, text safe for spreadsheets."""
    return "".join(map(_line, chain((header,), rows)))


def _line(cells: Iterable[Cell]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(_cells(cells))
    return out.getvalue()


def _cells(values: Iterable[Cell]) -> list[str]:
    return [safe(value) if isinstance(value, str) else "" if value is None else repr(value) for value in values]


@lru_cache(maxsize=2**14)
def safe(text: str) -> str:
    """Disarm text that begins like a formula; a number, signed or not, stays as it is. Lines end in LF alone."""
    disarmed = "'" + text if text.startswith(FORMULA) and not _is_number(text) else text
    return disarmed.replace("\r", " ").replace(BETWEEN, " ")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def write_atomically(path: Path, text: str | Iterable[str]) -> None:
    """Write a file whole or not at all, durably; a pipe or a device is written as it is. Raises BadFile."""
    try:
        path = path.resolve()
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            with path.open("w", encoding="utf-8", newline="") as file:
                file.writelines([text] if isinstance(text, str) else text)
        else:
            _replace(path, [text] if isinstance(text, str) else text)
    except OSError as error:
        raise BadFile(f"{path} cannot be written: {error.strerror}; choose another file or free some space.") from error


def _replace(path: Path, text: Iterable[str]) -> None:
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with fresh.open("w", encoding="utf-8", newline="") as file:
            file.writelines(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Refuse early what `write_atomically` would have to refuse after a long run; raises BadFile."""
    folder = path.resolve().parent
    if path.is_dir():
        raise BadFile(f"{path} is a folder; name a file in it.")
    if not folder.is_dir():
        raise BadFile(f"{path} cannot be written: there is no folder {folder}; make it first.")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise BadFile(f"{path} cannot be written: permission denied; choose another file.")
