"""Reads texts with rows and columns, by a layout, in blocks of whole records.

Arrow parses the blocks. A bad cell is reported with file and line. `records` counts the records again, and a text for which Arrow
has another count is refused.
"""

import io
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from csv import Error, reader
from typing import Any

import numpy as np
import pyarrow
from pyarrow import csv

from ...core.figures import count
from ...errors import BadFile
from . import foreign
from .blocks import LONGEST_LINE, MARK, Blocks
from .layouts import Layout
from .recording import Recording
from .records import LITERAL, MULTILINE, QUOTED, records, stray_mark
from .samples import unwatched
from .samples_from_columns import Rows, read_samples


def text_recording(blocks: Blocks, layout: Layout) -> Recording:
    """Return the recording of a text with rows and columns.

    Raises BadFile with file and line.
    """
    return read_samples(blocks.name, layout, rows_of(blocks, layout), blocks.watch or unwatched)


def rows_of(blocks: Blocks, layout: Layout) -> Iterator[Rows]:
    """Yield a text's columns that a layout names, a block of rows at a time.

    Raises BadFile with the line.
    """
    columns, blank, text, line = layout.columns, 0, b"", 1
    for block in blocks:
        if blocks.line == 1:
            block = block.removeprefix(MARK)
        _check_plain(blocks, block)
        whole_block = block
        if not columns:
            head, block = _header(block, layout, blocks.name)
            columns, line = _header_columns(blocks, whole_block, head, layout), 2 + head.count(b"\n")
        elif blocks.line == 1:
            _check_no_header(blocks.name, block, layout)
        text += block
        if not text.strip(b"\r\n"):  # blank to its end, or to a line that _blank refuses
            blank, line, text = _blank(blocks, whole_block, blank), line + text.count(b"\n"), b""
            continue
        block_records = records(text, blocks.name, line, layout.delimiter, layout.quotes)
        blank = 0 if layout.quotes == MULTILINE else _blank(blocks, whole_block, blank)
        if table := text[: block_records.end].rstrip(b"\r\n"):
            lines = block_records.lines[: np.searchsorted(block_records.begins, len(table))] + np.int32(line)
            yield _parsed(blocks.name, table, lines, layout, columns)
        line += text.count(b"\n", 0, block_records.end)
        text = text[block_records.end :]
        if len(text) > LONGEST_LINE:
            raise stray_mark(blocks.name, line)
    if text:
        raise stray_mark(blocks.name, line)


def _header(block: bytes, layout: Layout, name: str) -> tuple[bytes, bytes]:
    """Return the header of a text, and the text after the header; raises BadFile."""
    end = block.find(b"\n") + 1 or len(block)
    if layout.quotes == MULTILINE:
        header_records = records(block, name, 1, layout.delimiter, MULTILINE)
        end = int(header_records.begins[1]) if len(header_records.begins) > 1 else header_records.end
    return block[:end].rstrip(b"\r\n"), block[end:]


def _check_no_header(name: str, block: bytes, layout: Layout) -> None:
    """Raise BadFile where the first line is the header that a mapping says is not there."""
    first_cells = header_cells(block.partition(b"\n")[0].decode("utf-8", "replace"), layout.delimiter, layout.quotes)
    if first_cells == layout.columns:
        raise BadFile(
            f"{name}:1: the line has the names of columns, so the file has a header; remove `columns` from the mapping."
        )


def _check_plain(blocks: Blocks, text: bytes) -> None:
    """Raise BadFile for bytes that are no plain text."""
    if not text.isascii():
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as error:
            place_text = f"{blocks.name}:{_line(blocks, text, error.start)}"
            raise foreign.encoding_refusal(place_text, blocks.name, text, error, blocks.packed) from error
    if (position := text.rstrip(b"\r\n").find(b"\0")) >= 0:
        raise BadFile(f"{blocks.name}:{_line(blocks, text, position)}: the line has a NUL byte; data files are plain text.")


def _blank(blocks: Blocks, text: bytes, blank: int) -> int:
    """Return the first of the blank lines that end the text so far, or 0.

    `blank` is the first blank line at the end of the text before. Raises BadFile for a blank line that records follow.
    """
    ends = text.rstrip(b"\r\n")
    blank_line = re.search(rb"\n\r?\n", ends)
    if ends and (blank or blank_line):
        first_blank = blank or (_line(blocks, text, blank_line.start() + 1) if blank_line else 0)
        raise BadFile(f"{blocks.name}:{first_blank}: the line has 1 column, but samples follow; remove the blank line.")
    blanks = text.count(b"\n", len(ends)) - bool(ends)
    return blank or (_line(blocks, text, len(ends)) + bool(ends) if blanks > 0 else 0)


def _line(blocks: Blocks, text: bytes, position: int) -> int:
    return blocks.line + text.count(b"\n", 0, position)


def _header_columns(blocks: Blocks, text: bytes, head: bytes, layout: Layout) -> tuple[str, ...]:
    """Return the columns that the header of a `text` names; raises BadFile, also for another format."""
    try:
        return header_columns(blocks.name, head, layout)
    except BadFile:
        foreign.check_text(blocks.name, text[:LONGEST_LINE].decode("utf-8", "replace"), blocks.packed)
        raise


def header_columns(name: str, head: bytes, layout: Layout) -> tuple[str, ...]:
    """Return the columns that a header names.

    Raises BadFile if a column that the layout needs is missing or occurs twice.
    """
    names = header_cells(head.decode("utf-8", "replace"), layout.delimiter, layout.quotes)
    for column in layout.read_columns:
        if names.count(column) != 1:
            fault = "twice or more" if column in names else "not"
            names_text = ", ".join(word[:40] for word in names[:12])
            other_mark = next(
                (mark for mark in "\t;|," if mark != layout.delimiter and mark in head.decode("utf-8", "replace")), ""
            )
            advice = (
                f"say delimiter = {json.dumps(other_mark)} in {name}.toml"
                if len(names) == 1 and other_mark
                else "correct the header"
            )
            raise BadFile(f"{name}:1: column {column[:40]!r} is {fault} in the header, which has {names_text}; {advice}.")
    return names


def header_cells(line: str, delimiter: str, quotes: str = QUOTED) -> tuple[str, ...]:
    """Return the column names of a header line, without outer blanks and quotation marks."""
    cells = line.rstrip("\r\n").split(delimiter)
    if quotes != LITERAL and '"' in line:
        with suppress(Error):  # a line that is no CSV keeps the cells of the split
            cells = next(reader(io.StringIO(line.strip("\r\n"), newline=""), delimiter=delimiter, skipinitialspace=True), cells)
    return tuple(cell.strip().strip('"') for cell in cells)


def _parsed(name: str, text: bytes, lines: Any, layout: Layout, columns: tuple[str, ...]) -> Rows:
    bad_rows: list[Any] = []

    def refuse(row: Any) -> str:
        bad_rows.append(row)
        return "error"

    def table(numbers: Iterable[str]) -> Any:
        kinds = dict.fromkeys(columns, pyarrow.string()) | dict.fromkeys(numbers, pyarrow.float64())
        return csv.read_csv(
            io.BytesIO(text),
            csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=list(columns)),
            csv.ParseOptions(
                delimiter=layout.delimiter,
                quote_char=False if layout.quotes == LITERAL else '"',
                newlines_in_values=layout.quotes == MULTILINE,
                ignore_empty_lines=False,
                invalid_row_handler=refuse,
            ),
            csv.ConvertOptions(
                column_types=kinds, include_columns=list(layout.read_columns), null_values=[""], strings_can_be_null=False
            ),
        )

    try:
        try:
            parsed_table = table(layout.numbers_alone)
        except pyarrow.ArrowInvalid:  # some cells are no plain numbers: all cells are read as texts
            parsed_table = table(())
    except pyarrow.ArrowInvalid as error:
        if bad_rows:
            bad_line, width = lines[min((bad_rows[0].number or 1), len(lines)) - 1], bad_rows[0].actual_columns
            fault = f"{name}:{bad_line}: the line has {count(width, 'column')}, but {len(columns)} are expected"
            raise BadFile(f"{fault}; correct it, or cut the file off before it.") from error
        raise BadFile(
            f"{name}:{lines[0]}: {' '.join(str(error).split())[:150]}; the text is not a table of "
            f"{count(len(columns), 'column')}."
        ) from error
    if parsed_table.num_rows != len(lines):
        raise BadFile(
            f"{name}:{lines[0]}: {count(len(lines), 'record')} begin here, but {count(parsed_table.num_rows)} were parsed; "
            f'say quotes = "{LITERAL}" in {name}.toml, or write the text again without quotation marks and carriage returns.'
        )
    return Rows(name, lines, {column: parsed_table[column].combine_chunks() for column in layout.read_columns})
