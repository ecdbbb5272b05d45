"""The CSV table of results: a row per scenario, the same bytes whoever computed them and in whatever order."""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, groupby, repeat
from operator import is_
from pathlib import Path
from typing import NamedTuple

from .. import version
from ..core.memo import UNKNOWN
from ..errors import BadFile
from ..hardware.device import fields_of, name_of
from ..hardware.hosts import HOSTS, LIBRARIES
from ..scenario.keys import How, key_of, written
from ..scenario.scenario import GROUPS, Scenario
from ..systems.system import powered, unread_constants
from .result import Result

SPECIAL = {",", '"', "\n"}  # what a cell cannot have without quotes
FORMULA = ("=", "+", "-", "@", "\t", "\r")
BETWEEN = "\x1f"  # cells of rows that wait
Cell = str | float | None
Row = tuple[Mapping[str, Cell], ...]  # its sections: knobs by group, results, answers, address, constants, outcome
SECTIONS = 1 + len(GROUPS) + 5
Waiting = tuple[tuple[str, ...], str]  # a section's names and its cells, between them BETWEEN
Shape = tuple[tuple[str, ...], ...]  # the names of its sections' cells
Header = tuple[dict[str, None], ...]


class SectionText(NamedTuple):
    """A section as it was written last: itself, its cells' values and texts, and what waits: their names, and all texts."""

    of: Mapping[str, Cell]
    values: Sequence[object]
    cells: Sequence[str]
    waits: Waiting


def csv_text(results: Iterable[Result], how: How) -> str:
    """Write results as CSV with LF ends: knobs by dotted path, results with their units, key, version, constants, outcome.

    Rows keep the given order; result and constant columns come in the order in which they first appear. An empty
    cell is a result that does not apply, or a constant of a part that the row's machine does not use.
    Text that a spreadsheet would take for a formula gets a leading '.
    """
    return csv_of(map(row, results, repeat(how)))


def csv_of(rows: Iterable[Row]) -> str:
    """Write rows of the table as CSV. They are taken one by one and wait as text, as the header is known after the last."""
    waiting = [*_texts(rows)]
    shapes = groupby(tuple([names for names, _ in sections]) for sections in waiting)
    return "".join(_lines(header(shape for shape, _ in shapes), waiting))


def csv_lines(columns: Header, rows: Iterable[Row]) -> Iterator[str]:
    """Yield the table as CSV, line by line, so that a long one need not be held."""
    return _lines(columns, _texts(rows))


def _lines(columns: Header, rows: Iterable[Sequence[Waiting]]) -> Iterator[str]:
    wanted = [(part, tuple(names)) for part, names in enumerate(columns) if names]
    yield _line([name for _, names in wanted for name in names])
    placed: list[tuple[Waiting | None, str]] = [(None, "")] * len(wanted)
    for sections in rows:
        now = [(sections[part], names) for part, names in wanted]
        placed = [last if one is last[0] else (one, _placed(one, names)) for (one, names), last in zip(now, placed, strict=True)]
        yield ",".join([text for _, text in placed]) + "\n"


def _texts(rows: Iterable[Row]) -> Iterator[list[Waiting]]:
    """Yield what waits of each row: the names and texts of its sections, those of the row before where they are the same."""
    before = [SectionText({}, (), (), ((), ""))] * SECTIONS
    for one in rows:
        before = [last if section is last.of else _text(section, last) for section, last in zip(one, before, strict=True)]
        yield [section.waits for section in before]


def _text(section: Mapping[str, Cell], last: SectionText) -> SectionText:
    """Write a section; often most cells are the very ones of the row before, or all of them."""
    names, values = tuple(section), tuple(section.values())
    if names != last.waits[0]:
        last = SectionText(section, (UNKNOWN,) * len(names), names, (names, ""))
    elif all(map(is_, values, last.values)):
        return last
    each = zip(values, last.values, last.cells, strict=True)
    cells = [cell if value is old else repr(value) if type(value) is float else _cell(value) for value, old, cell in each]
    return SectionText(section, values, cells, (last.waits[0], BETWEEN.join(cells)))


def _placed(waits: Waiting, wanted: tuple[str, ...]) -> str:
    """Return a section's cells, each in the place of its name; a cell that it lacks is empty."""
    names, text = waits
    if names == wanted:
        return text.replace(BETWEEN, ",")
    cells = dict(zip(names, text.split(BETWEEN), strict=False))
    return ",".join([cells.get(name, "") for name in wanted])


def row(result: Result, how: How, answers: Mapping[str, Cell] | None = None) -> Row:
    """Return a result as a row of the table; `answers` are what a sweep found out about it among the others."""
    groups = written(result.scenario)
    address = {"scenario key": key_of(groups, how), "model version": version.MODEL, "arithmetic": result.arithmetic}
    beside = answers or {}, address, in_use(result.scenario), {"outcome": result.outcome}
    return *(group.texts for group in groups), result.results, *beside


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


def in_use(scenario: Scenario) -> dict[str, float]:
    """Return the value of every constant in use, by its name with its unit, as in `pmem.read-rate [GB/s]`."""
    found: dict[str, float] = {}
    for device in powered(scenario.system, scenario.machine).values():
        found |= device.stated
    for label in _unread_columns(scenario.system, scenario.machine.host, scenario.machine.host_software):
        found.pop(label, None)
    return found


@cache
def _unread_columns(system: str, host: str, software: str) -> tuple[str, ...]:
    """Return the columns of constants that no work of a system reads."""
    every = (*fields_of(HOSTS[host]), *fields_of(LIBRARIES[software]))
    return tuple(f"{name_of('host', one)} [{one.unit}]" for one in every if name_of("host", one) in unread_constants(system))


def rows_text(header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Write rows as CSV with LF ends: numbers with every digit, None as an empty cell, text safe for spreadsheets."""
    return "".join(map(_line, chain((header,), rows)))


def _line(cells: Iterable[Cell]) -> str:
    return (",".join(map(_cell, cells)) or '""') + "\n"


def _cell(value: Cell) -> str:
    return _quoted(value) if isinstance(value, str) else "" if value is None else repr(value)


@lru_cache(maxsize=2**14)
def _quoted(text: str) -> str:
    """Return text as a cell: disarmed where it begins like a formula, which a number does not; lines end in LF alone."""
    disarmed = "'" + text if text.startswith(FORMULA) and not _is_number(text) else text
    cell = disarmed.replace("\r", " ").replace(BETWEEN, " ")
    return '"' + cell.replace('"', '""') + '"' if SPECIAL.intersection(cell) else cell


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def write_atomically(path: Path, text: str | bytes | Iterable[str]) -> None:
    """Write a file whole or not at all, durably; a pipe or a device is written as it is. Raises BadFile."""
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
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with fresh.open("wb") as file:
            file.writelines(pieces)
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
