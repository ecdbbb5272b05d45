"""Reads rows and columns of text by a layout: blocks of whole lines, each parsed by Arrow, a bad cell named by file and line."""

import io
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow
from pyarrow import csv

from ...errors import BadFile
from .blocks import MARK, Blocks
from .columns import Rows, samples_of
from .layouts import Layout
from .recording import Recording
from .samples import unwatched


def decode(blocks: Blocks, layout: Layout) -> Recording:
    """Read a text of rows and columns; raises BadFile with file and line."""
    return samples_of(blocks.name, layout, _tables(blocks, layout), blocks.watch or unwatched)


def _tables(blocks: Blocks, layout: Layout) -> Iterator[Rows]:
    columns, blank = layout.columns, 0
    for block in blocks:
        text, line = block.removeprefix(MARK) if blocks.line == 1 else block, blocks.line
        blank = _check(blocks, text, blank)
        if not columns:
            head, _, text = text.partition(b"\n")
            columns, line = named(blocks.name, head, layout), line + 1
        if text := text.rstrip(b"\r\n"):
            yield _parsed(blocks.name, text, line, layout, columns)


def _check(blocks: Blocks, text: bytes, blank: int) -> int:
    """Raise BadFile for what is no plain text, and for a blank line, as at `blank`, that something follows, outside of quotes.

    Return the line of the first one that ends the text so far, or 0.
    """
    ends = text.rstrip(b"\r\n")

    def line(at: int) -> int:
        return blocks.line + text.count(b"\n", 0, at)

    if not text.isascii():
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as error:
            where, byte = f"{blocks.name}:{line(error.start)}", text[error.start]
            raise BadFile(f"{where}: byte 0x{byte:02x} is not UTF-8 text; data files are plain text.") from error
    if (at := ends.find(b"\0")) >= 0:
        raise BadFile(f"{blocks.name}:{line(at)}: the line has a NUL byte; data files are plain text.")
    inside = re.search(rb"\n\r?\n", ends) if b'"' not in ends else None
    if ends and (blank or inside):
        first = blank or (line(inside.start() + 1) if inside else 0)
        raise BadFile(f"{blocks.name}:{first}: the line has 1 columns, but samples follow; take the blank line away.")
    blanks = text.count(b"\n", len(ends)) - bool(ends)
    return blank or (line(len(ends)) + bool(ends) if blanks > 0 else 0)


def named(name: str, head: bytes, layout: Layout) -> tuple[str, ...]:
    """Return the columns that a header names; raises BadFile where one that is read is missing or there twice."""
    found = tuple(word.strip().strip('"') for word in head.decode("utf-8", "replace").rstrip("\r").split(layout.delimiter))
    for column in layout.wanted:
        if found.count(column) != 1:
            what = "twice or more" if column in found else "not"
            there = ", ".join(word[:40] for word in found[:12])
            raise BadFile(f"{name}:1: column {column[:40]!r} is {what} in the header, which has {there}; mend the header.")
    return found


def _parsed(name: str, text: bytes, line: int, layout: Layout, columns: tuple[str, ...]) -> Rows:
    bad: list[Any] = []

    def refuse(row: Any) -> str:
        bad.append(row)
        return "error"

    def table(numbers: Iterable[str]) -> Any:
        kinds = dict.fromkeys(columns, pyarrow.string()) | dict.fromkeys(numbers, pyarrow.float64())
        return csv.read_csv(
            io.BytesIO(text),
            csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=list(columns)),
            csv.ParseOptions(delimiter=layout.delimiter, ignore_empty_lines=False, invalid_row_handler=refuse),
            csv.ConvertOptions(
                column_types=kinds, include_columns=list(layout.wanted), null_values=[""], strings_can_be_null=False
            ),
        )

    try:
        try:
            found = table(layout.dense)
        except pyarrow.ArrowInvalid:  # some are no numbers, or written in another way: each cell is looked at as a text
            found = table(())
    except pyarrow.ArrowInvalid as error:
        if bad:
            at, has = line + (bad[0].number or 1) - 1, bad[0].actual_columns
            what = f"{name}:{at}: the line has {has} columns, but {len(columns)} are expected"
            raise BadFile(f"{what}; mend it, or cut the file off before it.") from error
        raise BadFile(
            f"{name}:{line}: {' '.join(str(error).split())[:150]}; the text is no table of {len(columns)} columns."
        ) from error
    return Rows(name, np.arange(line, line + found.num_rows), {one: found[one].combine_chunks() for one in layout.wanted})
