"""The description of a data file that has no mapping yet: records, columns, guesses.

A guess says which role a column has. The guesses of all columns make a mapping that a user can save.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from pyarrow import array

from ...errors import BadFile
from ...paths import short_path
from ...user_text import decoded_file, toml_table
from ...workload.readers import mapping
from ...workload.readers.cells import missing_cells
from ...workload.readers.dialects import ARRAYS, Dialect, dialect_of, is_of_arrays, quotes_meaning, read_blocks
from ...workload.readers.first_cells import guesses_of, is_mappable, texts_of
from ...workload.readers.guess import Guess
from ...workload.readers.ids import Place, id_tokens
from ...workload.readers.layouts import Layout
from ...workload.readers.lists import ListTexts, is_list
from ...workload.readers.mapping_text import as_toml, left_out_notes, mappable_guesses
from ...workload.readers.numbering import IdIndex, drop_largest
from ...workload.readers.recording import Recording, copies_note
from ...workload.readers.records import StrayMark
from ...workload.readers.samples import Watch, unwatched
from ...workload.readers.samples_from_columns import Rows, check_block, label_copies
from .fit import lookups_of
from .tally import tallies

EXAMPLES, FIRST_ROWS, LONGEST_EXAMPLE = 5, 8, 60  # of a column; records; characters
FEW_LOOKUPS = 1000  # in which examples are looked for


@dataclass(frozen=True, slots=True)
class ColumnDescription:
    """A column of a data file.

    name, guess: the column's name, and the role that it seems to have.
    distinct: its distinct values; None where they were not counted.
    missing_cells: its missing cells.
    examples: its first values.
    separator: the text between the ids of a list.
    rule: the rule of a label, or the format of a time, if there is one.
    """

    name: str
    guess: str
    distinct: int | None
    missing_cells: int
    examples: tuple[str, ...]
    separator: str = ""
    rule: str = ""


@dataclass(frozen=True, slots=True)
class FileDescription:
    """A data file.

    name, records: the file's name, and its number of records.
    format: the format; "text", "Parquet" or "arrays" where none is known.
    columns: the columns.
    mapping: the TOML of a mapping.
    rows: the first records as texts.
    is_known: whether the file can be read without a mapping.
    notes: columns that are left out of the mapping, and why.
    dialect: the dialect of a table.
    """

    name: str
    records: int
    format: str
    columns: tuple[ColumnDescription, ...]
    mapping: str
    rows: tuple[tuple[str, ...], ...] = ()
    is_known: bool = True
    notes: tuple[str, ...] = ()
    dialect: Dialect | None = None


class ColumnCounts:
    """The distinct values and missing cells of a column, counted block by block.

    A list's ids are counted one by one.
    """

    def __init__(self, separator: str, usable: bool = True) -> None:
        """Start with nothing counted; `separator` stands between the ids of a cell of text, if it has several.

        Of a column that is not `usable` only missing cells are counted.
        """
        self.index, self.missing, self._usable = IdIndex(), 0, usable
        if not usable:
            self.index.drop()
        self._lists = ListTexts(separator) if separator else None

    def add(self, column: Any, place: Place) -> None:
        """Count a block of the column's cells.

        `place` returns the place of a cell for a refusal. Cells of a type that cannot be an id are not counted.
        """
        if not self._usable:
            self.missing += column.null_count
            return
        lacks = column.is_null() if is_list(column.type) else missing_cells(column)
        lacks = np.asarray(lacks, np.bool_) if isinstance(lacks, np.ndarray) else lacks.to_numpy(zero_copy_only=False)
        self.missing += int(lacks.sum())
        if lacks.any():
            column = column.filter(array(~lacks))
        if self._lists:
            rows = np.flatnonzero(~lacks)
            column = self._lists(column, lambda row: place(int(rows[row])))
        while is_list(column.type):
            column = column.flatten()
        try:
            self.index.add(id_tokens(column, str))
        except BadFile:  # times, structures and the like
            self.index.drop()

    @property
    def distinct(self) -> int | None:
        """The number of distinct values without missing cells; None beyond the room of an index."""
        return None if self.index.is_full else self.index.count


def describe(path: Path, watch: Watch = unwatched) -> FileDescription:
    """Return the description of a whole file.

    Raises BadFile for a file that is neither a table nor a trace of a known format.
    `watch` is told the share that is read, from 0 to 1, and may stop the reading by an exception.
    """
    if is_of_arrays(path):
        return _of_lookups(path, watch)
    return _with_marks(path, lambda dialect: _described(path, dialect, read_blocks(path, dialect, watch), is_counted=True))


def describe_first_block(path: Path) -> FileDescription:
    """Return the description of a table by its first block.

    Nothing is counted, so `records` is 0. Raises BadFile.
    """
    return _with_marks(
        path, lambda dialect: _described(path, dialect, islice(read_blocks(path, dialect, unwatched), 1), is_counted=False)
    )


def _with_marks(path: Path, described: Callable[[Dialect], FileDescription]) -> FileDescription:
    """Return a description; the first quotation mark that its line does not close decides how marks are read."""
    dialect = dialect_of(path)
    try:
        return described(dialect)
    except StrayMark as mark:
        if dialect.layout is not None:
            raise
        return described(replace(dialect, quotes=quotes_meaning(path, dialect, mark.line)))


def _described(path: Path, dialect: Dialect, blocks: Iterator[Rows], is_counted: bool) -> FileDescription:
    """Describe a table by its blocks."""
    first_block = next(blocks, None)
    if first_block is None:
        raise BadFile(f"{short_path(path.name)} has no records; give a file with records.")
    cells = {name: texts_of(column) for name, column in first_block.columns.items()}
    notes: tuple[str, ...] = ()
    of_arrays = dialect.format == ARRAYS
    guessed = guesses_of(first_block.columns, cells, bool(dialect.header), of_arrays)
    if dialect.layout is not None:
        guessed = [_guess_by_layout(dialect.layout, column) for column in guessed]
        warning = copies_note(short_path(path.name), label_copies(dialect.layout, first_block))
        notes = (warning,) if warning else ()
    else:
        usable = [column for column in guessed if is_mappable(first_block.columns[column.name].type, of_arrays)]
        mapped_columns = {column.name: column for column in mappable_guesses(usable)}
        notes = (*dialect.notes, *left_out_notes(usable))
        guessed = [mapped_columns.get(column.name, column) for column in guessed]
    parts = {column.name: "" if is_list(first_block.columns[column.name].type) else column.separator for column in guessed}
    counts = {
        name: ColumnCounts(separator, is_mappable(first_block.columns[name].type, of_arrays)) for name, separator in parts.items()
    }
    records = 0
    for rows in chain([first_block], blocks) if is_counted else ():
        records += len(rows.lines)
        for name, column in rows.columns.items():
            counts[name].add(column, partial(rows.place, name))
        drop_largest([count.index for count in counts.values()])
    columns = tuple(
        ColumnDescription(
            column.name,
            column.role,
            counts[column.name].distinct if is_counted else None,
            counts[column.name].missing,
            _examples(cells[column.name]),
            column.separator,
            column.rule,
        )
        for column in guessed
    )
    first_records = tuple(zip(*(column[:FIRST_ROWS] for column in cells.values()), strict=True))
    notes += _late_values(guessed, counts) if is_counted else ()
    format_name = dialect.format if dialect.layout is None else dialect.layout.name
    text = mapping_of(columns, dialect) if dialect.layout is None else _own_mapping(path, dialect.layout.name)
    is_known = dialect.layout is not None
    return FileDescription(short_path(path.name), records, format_name, columns, text, first_records, is_known, notes, dialect)


def _late_values(guessed: Sequence[Guess], counts: Mapping[str, ColumnCounts]) -> tuple[str, ...]:
    """Return a note if a label that has two values in the first rows has more in the whole file."""
    columns = [column for column in guessed if column.role == "label" and column.rule.startswith("==") and column.withheld]
    numbers = [(column, counts[column.name].distinct or 0) for column in columns]
    return tuple(
        f"{column.name} has {number} values in the whole file, of which only one is a click: correct the others or the rule."
        for column, number in numbers
        if number > 2
    )


def mapping_of(columns: Sequence[ColumnDescription], dialect: Dialect) -> str:
    """Return the mapping of columns by their guesses, which a user may have changed."""
    guessed = [Guess(column.name, column.guess, column.separator, column.rule) for column in columns]  # type: ignore[arg-type]
    return as_toml(guessed, dialect.delimiter, dialect.header, dialect.quotes)


def try_mapping(path: str, text: str) -> None:
    """Read a table's first block by a mapping that is not saved yet.

    Raises BadFile where a run would refuse the block.
    """
    mapping_content = toml_table(text, "The mapping", "name one label and one time")
    layout, dialect = mapping.layout(Path(path), mapping_content), dialect_of(Path(path))
    layout = replace(layout, keeps_order=bool(layout.history))
    dialect = replace(dialect, header=layout.columns, delimiter=layout.delimiter, quotes=layout.quotes)
    for rows in islice(read_blocks(Path(path), dialect, unwatched), 1):
        check_block(short_path(Path(path).name), layout, rows)


def _guess_by_layout(layout: Layout, guess: Guess) -> Guess:
    """Return the guess of a column that the layout of its file states."""
    roles = {layout.time: "time"} | dict.fromkeys(layout.dense, "number")
    roles |= dict.fromkeys(layout.ids, "list" if layout.lists else "id") | {layout.label: "label"}
    role = roles.get(guess.name, "text")
    rule = f"{layout.rule} {layout.label_value}" if role == "label" and layout.rule else ""
    return Guess(guess.name, role, layout.lists if role == "list" else "", rule)  # type: ignore[arg-type]


def _own_mapping(path: Path, format_name: str) -> str:
    """Return the text of a known file's mapping, or of one that names its format."""
    mapping_file = mapping.place(path)
    return decoded_file(mapping_file, mapping_file.name) if mapping_file else f'format = "{format_name}"\n'


def _examples(cells: Sequence[str]) -> tuple[str, ...]:
    shortened = (cell.strip()[:LONGEST_EXAMPLE] for cell in cells)
    return tuple(dict.fromkeys(filter(None, shortened)))[:EXAMPLES]


def _of_lookups(path: Path, watch: Watch) -> FileDescription:
    """Describe a trace, or arrays by their fields: a column for each table of lookups."""
    file = lookups_of(path, watch)
    columns = []
    for table, counts in enumerate(tallies(file, watch)):
        first_lookups = file.lookups(table, 0, min(file.samples, FEW_LOOKUPS))
        examples = (
            () if file.hashed else tuple(dict.fromkeys(str(word) for word in first_lookups[:FEW_LOOKUPS].tolist()))[:EXAMPLES]
        )
        role = "list" if np.any(np.asarray(file.bag_lengths(table)) != 1) else "id"
        columns.append(ColumnDescription(f"table {table + 1}", role, counts.rows_seen, 0, examples))
    text = _own_mapping(path, file.format) if isinstance(file, Recording) else ""
    return FileDescription(file.name, file.samples, file.format, tuple(columns), text)


def as_json(description: FileDescription) -> Mapping[str, Any]:
    """Return a description as `workload describe --json` writes it."""
    columns = [
        {
            "name": column.name,
            "guess": column.guess,
            "distinct": column.distinct,
            "missing": column.missing_cells,
            "examples": list(column.examples),
        }
        for column in description.columns
    ]
    return {
        "name": description.name,
        "records": description.records,
        "format": description.format,
        "columns": columns,
        "mapping": description.mapping,
    }
