"""The CSV table of results: a row per scenario.

The table has the same bytes for any number of workers and any order of computing.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, groupby, repeat
from operator import is_
from pathlib import Path
from typing import Any, NamedTuple

from .. import version
from ..core.points.answers import UNKNOWN
from ..errors import BadFile
from ..hardware.device import fields_of, name_of
from ..hardware.hosts import HOSTS, LIBRARIES
from ..scenario.keys import Fidelity, group_texts, key_of
from ..scenario.scenario import GROUPS, Scenario, is_sequential
from ..systems.system import ATTENTION_CONSTANTS, powered_devices, unread_constants
from .result import Result

SPECIAL = {",", '"', "\n"}  # what a cell cannot have without quotes
FORMULA = ("=", "+", "-", "@", "\t", "\r")
CELL_SEPARATOR = "\x1f"  # cells of rows that wait
Cell = str | float | None
SectionCells = tuple[tuple[str, ...], str]  # a section's names and its cells as text, with CELL_SEPARATOR between cells
Section = Mapping[str, Cell] | SectionCells
Row = tuple[Mapping[str, Cell], ...]  # its sections: knobs by group, results, answers, address, constants, outcome
MAX_MERGED = 1024  # sets of devices whose constants are kept together
ATTENTION_COLUMNS = frozenset(f"{name} [{unit}]" for name in ATTENTION_CONSTANTS for unit in ("of peak", "GFLOPS"))
_MERGED: dict[tuple[Any, ...], tuple[Sequence[Mapping[str, float]], Mapping[str, float]]] = {}
SECTIONS = 1 + len(GROUPS) + 5
RowText = Sequence[SectionCells]
ANSWERS = 2 + len(GROUPS)  # the index of the section
Shape = tuple[tuple[str, ...], ...]  # the names of its sections' cells
Header = tuple[dict[str, None], ...]


class SectionText(NamedTuple):
    """A section of the row that was written last, as text.

    section: the section's cells by column name.
    values: the cells' values.
    cells: the cells' texts.
    joined_cells: the column names, and the cells' texts joined to one string.
    """

    section: Section
    values: Sequence[object]
    cells: Sequence[str]
    joined_cells: SectionCells


def csv_text(results: Iterable[Result], fidelity: Fidelity) -> str:
    """Return results as CSV with LF line ends.

    The columns are the knobs by dotted path, the results with units, key, version, constants and outcome. Rows keep the given
    order; the columns of results and constants come in the order in which they first appear. A cell is empty if the result does
    not apply, or if the row's machine does not use the constant. Text that a spreadsheet would read as a formula gets a leading
    apostrophe.
    """
    return csv_of(map(result_row, results, repeat(fidelity)))


def csv_of(rows: Iterable[Sequence[Section]]) -> str:
    """Return rows of the table as CSV.

    Rows are read one by one. All of them are kept as text until the last row is read, because it can add columns.
    """
    waiting = [*row_texts(rows)]
    return "".join(csv_lines(header_of_texts(waiting), waiting))


def csv_lines(columns: Header, rows: Iterable[RowText]) -> Iterator[str]:
    """Yield the table's lines as CSV, beginning with the header `columns`.

    Only one row is in memory at a time.
    """
    section_columns = [(part, tuple(names)) for part, names in enumerate(columns) if names]
    yield _line([name for _, names in section_columns for name in names])
    written_sections: list[tuple[SectionCells | None, str]] = [(None, "")] * len(section_columns)
    for sections in rows:
        row_sections = [(sections[part], names) for part, names in section_columns]
        written_sections = [
            previous if section is previous[0] else (section, _in_columns(section, names))
            for (section, names), previous in zip(row_sections, written_sections, strict=True)
        ]
        yield ",".join([text for _, text in written_sections]) + "\n"


def row_texts(rows: Iterable[Sequence[Section]]) -> Iterator[RowText]:
    """Yield names and texts of each row's sections.

    They are those of the row before where a section is the same.
    """
    section_texts = [SectionText({}, (), (), ((), ""))] * SECTIONS
    for row in rows:
        section_texts = [
            previous if section is previous.section else _text(section, previous)
            for section, previous in zip(row, section_texts, strict=True)
        ]
        yield [section.joined_cells for section in section_texts]


def _text(section: Section, previous: SectionText) -> SectionText:
    """Return a section's text; often most of its cells, or all, are those of the row before."""
    if isinstance(section, tuple):
        return SectionText(section, (), (), section)
    names, values = tuple(section), tuple(section.values())
    if names != previous.joined_cells[0] or len(names) != len(previous.values):
        previous = SectionText(section, (UNKNOWN,) * len(names), names, (names, ""))
    elif all(map(is_, values, previous.values)):
        return previous
    cell_triples = zip(values, previous.values, previous.cells, strict=True)
    cells = [
        cell if cell_value is previous_value else repr(cell_value) if type(cell_value) is float else cell_text(cell_value)
        for cell_value, previous_value, cell in cell_triples
    ]
    return SectionText(section, values, cells, (previous.joined_cells[0], CELL_SEPARATOR.join(cells)))


def _in_columns(waits: SectionCells, columns: tuple[str, ...]) -> str:
    """Return a section's cells in the order of `columns`; a cell that the section lacks is empty."""
    names, text = waits
    if names == columns:
        return text.replace(CELL_SEPARATOR, ",")
    cells = dict(zip(names, text.split(CELL_SEPARATOR), strict=False))
    return ",".join([cells.get(name, "") for name in columns])


def result_row(result: Result, fidelity: Fidelity, answers: Mapping[str, Cell] | None = None) -> Row:
    """Return a result as a row of the table.

    `answers` are further cells from a sweep, such as the result's rank among all results.
    """
    groups = group_texts(result.scenario)
    address = {"scenario key": key_of(groups, fidelity), "model version": version.MODEL, "arithmetic": result.arithmetic}
    other_sections = answers or {}, address, constants_in_use(result.scenario), {"outcome": result.outcome}
    return *(group.texts for group in groups), result.results, *other_sections


def refused_row(knobs: Mapping[str, str], sentence: str) -> Row:
    """Return the row of a scenario that was refused: its knobs and the refusal.

    The row has no results and no key.
    """
    groups = ({path: text for path, text in knobs.items() if path.rpartition(".")[0] == group} for group in ("", *GROUPS))
    return *groups, {}, {}, {"model version": version.MODEL}, {}, {"outcome": sentence}


def header_of_rows(rows: Iterable[Row | Shape]) -> Header:
    """Return the column names of each section, in the order in which they first appear.

    Rows are read one by one.
    """
    section_columns: Header = tuple({} for _ in range(SECTIONS))
    for row in rows:
        for columns, section in zip(section_columns, row, strict=True):
            columns.update(dict.fromkeys(section))
    return section_columns


def header_of_texts(rows: Iterable[RowText]) -> Header:
    """Return the column names of rows as text, as `header_of_rows` does."""
    shapes = groupby(tuple([names for names, _ in sections]) for sections in rows)
    return header_of_rows(shape for shape, _ in shapes)


def with_answers(row: RowText, answers: Mapping[str, Cell]) -> RowText:
    """Return a row as text with other answers."""
    cells = CELL_SEPARATOR.join(map(cell_text, answers.values()))
    return *row[:ANSWERS], (tuple(answers), cells), *row[ANSWERS + 1 :]


def constants_in_use(scenario: Scenario) -> Mapping[str, float]:
    """Return {name and unit: value} for each constant that a scenario uses.

    Example of a name: `pmem.read-rate [GB/s]`. Scenarios with equal constants often get the very same mapping.
    """
    values_by_device = [device.constant_values for device in powered_devices(scenario.system, scenario.machine).values()]
    unread = _unread_columns(scenario.system, scenario.machine.host, scenario.machine.host_software)
    if not is_sequential(scenario.model):
        unread |= ATTENTION_COLUMNS
    identity = (unread, *map(id, values_by_device))
    if identity not in _MERGED:
        if len(_MERGED) >= MAX_MERGED:
            _MERGED.clear()
        merged = {name: number for values in values_by_device for name, number in values.items() if name not in unread}
        _MERGED[identity] = values_by_device, merged
    return _MERGED[identity][1]


@cache
def _unread_columns(system: str, host: str, software: str) -> frozenset[str]:
    """Return the columns of constants that no work of a system reads."""
    constants = (*fields_of(HOSTS[host]), *fields_of(LIBRARIES[software]))
    return frozenset(
        f"{name_of('host', constant)} [{constant.unit}]"
        for constant in constants
        if name_of("host", constant) in unread_constants(system)
    )


def rows_text(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Return a header and rows as CSV with LF line ends.

    Numbers have all digits, None is an empty cell, and text that a spreadsheet would read as a formula gets a leading apostrophe.
    """
    return "".join(map(_line, chain((header,), rows)))


def _line(cells: Iterable[Cell]) -> str:
    return (",".join(map(cell_text, cells)) or '""') + "\n"


def cell_text(cell: Cell) -> str:
    """Return a cell as it stands in a CSV file."""
    return _quoted(cell) if isinstance(cell, str) else "" if cell is None else repr(cell)


@lru_cache(maxsize=2**14)
def _quoted(text: str) -> str:
    """Return text as a cell: quoted, with ' before a formula (numbers are none), with LF as the only end of a line."""
    disarmed = "'" + text if text.startswith(FORMULA) and not _is_number(text) else text
    cell = disarmed.replace("\r", " ").replace(CELL_SEPARATOR, " ")
    return '"' + cell.replace('"', '""') + '"' if SPECIAL.intersection(cell) else cell


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def write_atomically(path: Path, text: str | bytes | Iterable[str]) -> None:
    """Write a file durably: after a crash, the file is whole or unchanged.

    A pipe or a device is written directly. Raises BadFile.
    """
    pieces = [text] if isinstance(text, str | bytes) else text
    try:
        path = path.resolve()
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            with path.open("wb") as file:
                file.writelines(map(_encoded, pieces))
        else:
            _replace(path, map(_encoded, pieces))
    except OSError as error:
        raise BadFile(f"{path} cannot be written: {error.strerror}; choose another file or free some space.") from error


def _encoded(piece: str | bytes) -> bytes:
    return piece if isinstance(piece, bytes) else piece.encode("utf-8")


def _replace(path: Path, pieces: Iterable[bytes]) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def check_can_write(path: Path) -> None:
    """Raise BadFile if `write_atomically` could not write this file.

    Call it before a long computation.
    """
    folder = path.resolve().parent
    if path.is_dir():
        raise BadFile(f"{path} is a folder; name a file in it.")
    if not folder.is_dir():
        raise BadFile(f"{path} cannot be written: there is no folder {folder}; make it first.")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise BadFile(f"{path} cannot be written: permission denied; choose another file.")
