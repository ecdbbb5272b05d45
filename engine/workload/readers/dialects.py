"""The dialect of a table: its format, columns, delimiter and quotation marks.

The dialect is found for files with and without a mapping.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from ...errors import UndescribedTable
from ...paths import open_regular, short_path
from . import array_table, arrays, foreign, formats, mapping, parquet
from .blocks import Blocks
from .layouts import Layout
from .recognition import HEAD
from .records import LITERAL, MULTILINE
from .samples import Watch
from .samples_from_columns import Rows
from .sniffing import MOST_ROWS, first_rows, multiline_rows
from .text_table import header_cells, rows_of
from .traces import kinds

TEXT, PARQUET, ARRAYS = "text", "Parquet", "arrays"
OF_ARRAYS = "torchrec", "mlperf", "dlrm"  # formats without columns


@dataclass(frozen=True, slots=True)
class Dialect:
    """The way in which a table must be read.

    format: text, Parquet or arrays.
    layout: the meaning of the columns; None if it is not known.
    names: the columns that can be read.
    header: the names of all columns if the file has no header, else ().
    delimiter: the character between the cells of a text.
    quotes: the meaning of quotation marks in a text; see `records`.
    notes: a sentence for each column that cannot be read.
    """

    format: str
    layout: Layout | None
    names: tuple[str, ...]
    header: tuple[str, ...] = ()
    delimiter: str = ","
    quotes: str = ""
    notes: tuple[str, ...] = ()


def is_of_arrays(path: Path) -> bool:
    """Return whether a file has named arrays or a trace.

    Such a file has no columns to describe.
    """
    if kinds.is_trace(path):
        return True
    (head, _), mapping_content = formats.first_bytes(path), mapping.read_mapping(path)
    if head.startswith(formats.NPY) or arrays.PARTS.fullmatch(path.name) or mapping_content.get("format") in OF_ARRAYS:
        return True
    if mapping_content or not head.startswith(formats.ZIP):
        return False
    foreign.check_zip(path, short_path(path.name))
    return array_table.is_dlrm(path)


def dialect_of(path: Path) -> Dialect:
    """Return the dialect of a file; raises BadFile for a file that is no table."""
    mapping_content, (head, packed) = mapping.read_mapping(path), formats.first_bytes(path)
    name = short_path(path.name)
    foreign.check_format(path, name, head, packed)
    if head.startswith(formats.ZIP):
        return _archive(path, mapping_content, name)
    if head.startswith(formats.PARQUET):
        return _parquet(path, mapping_content, name)
    try:
        layout = formats.text_layout(path, mapping_content, head, packed)
    except UndescribedTable:
        layout = None
    rows = first_rows(head[:HEAD], len(head) < HEAD)
    if layout is None:
        columns, delimiter, quotes = () if rows.header else rows.columns, rows.delimiter, rows.quotes
    else:
        columns, delimiter, quotes = layout.columns, layout.delimiter, layout.quotes
    header_line = head.partition(b"\n")[0].decode("utf-8-sig", "replace")
    names = columns or header_cells(header_line, delimiter, quotes)
    unique_names = tuple(column for column in names if column and names.count(column) == 1)
    return Dialect(TEXT, layout, unique_names, columns, delimiter, quotes, () if layout else rows.unread_columns)


def quotes_meaning(path: Path, dialect: Dialect, line: int) -> str:
    """Return the meaning of quotation marks in a text.

    A quoted cell of the text stays open on `line`: either cells may hold line ends, or quotation marks are plain letters.
    """
    rows = multiline_rows(list(islice(_lines(path, line), MOST_ROWS)), dialect.delimiter)
    return MULTILINE if rows and len(rows[0]) >= len(dialect.names) else LITERAL


def _lines(path: Path, first: int) -> Iterator[str]:
    """Yield the lines of a text that are not blank, from line `first` on."""
    with open_regular(path) as file:
        blocks = Blocks(short_path(path.name), file)
        for block in blocks:
            lines = block.decode("utf-8", "replace").split("\n")[max(first - blocks.line, 0) :]
            yield from (text.rstrip("\r") for text in lines if text.strip())


def _archive(path: Path, mapping_content: dict[str, Any], name: str) -> Dialect:
    """Return the dialect of an archive of arrays."""
    if mapping_content:
        layout = mapping.layout(path, mapping_content)
        return Dialect(ARRAYS, layout, layout.read_columns)
    return Dialect(ARRAYS, None, array_table.archive_columns(path, name))


def _parquet(path: Path, mapping_content: dict[str, Any], name: str) -> Dialect:
    """Return the dialect of a Parquet file."""
    names = parquet.names(path, name)
    try:
        return Dialect(PARQUET, formats.parquet_layout(path, mapping_content, names), names)
    except UndescribedTable:
        return Dialect(PARQUET, None, names)


def read_blocks(path: Path, dialect: Dialect, watch: Watch) -> Iterator[Rows]:
    """Yield the columns of a table, a block of rows at a time."""
    name = short_path(path.name)
    if dialect.format == PARQUET:
        yield from parquet.rows_of(path, name, watch)
    elif dialect.format == ARRAYS:
        yield from array_table.rows_of(path, name, dialect.names, watch)
    else:
        layout = Layout(
            "unknown", "", dialect.names, columns=dialect.header, delimiter=dialect.delimiter or "\x1f", quotes=dialect.quotes
        )
        with open_regular(path) as file:
            yield from rows_of(Blocks(name, file, path.stat().st_size, watch=watch), layout)
