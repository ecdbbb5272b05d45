"""Reads rows and columns of text by a layout: blocks of whole lines, each parsed by Arrow, a bad cell named by file and line."""

import io
import re
from collections.abc import Iterator
from contextlib import suppress
from math import isfinite
from typing import Any

import numpy as np

from ...core.arrays import Bytes, Ints, Words
from ...core.jit import entry
from ...errors import BadFile
from .blocks import Blocks
from .columns import Rows, samples_of
from .criteo_parse import BASIS, PRIME
from .layouts import Layout
from .recording import Recording
from .samples import unwatched

MARK = b"\xef\xbb\xbf"


def decode(blocks: Blocks, layout: Layout, delimiter: str = ",") -> Recording:
    """Read a text of rows and columns; raises BadFile with file and line."""
    return samples_of(blocks.name, layout, _tables(blocks, layout, delimiter), blocks.digest, blocks.watch or unwatched)


def _tables(blocks: Blocks, layout: Layout, delimiter: str) -> Iterator[Rows]:
    columns, begun, blank = layout.columns, not layout.header, 0
    for block in blocks:
        text, line = block.removeprefix(MARK) if blocks.line == 1 else block, blocks.line
        blank = blocks.check(text, len(text.rstrip(b"\r\n")), blank)
        _check(blocks, text)
        if not begun:
            head, _, text = text.partition(b"\n")
            columns, line, begun = named(blocks.name, head, layout, delimiter), line + 1, True
        if text := text.rstrip(b"\r\n"):
            yield _parsed(blocks.name, text, line, layout, columns, delimiter)


def _check(blocks: Blocks, text: bytes) -> None:
    """Raise BadFile for a NUL byte, and for a blank line that something follows, outside of quotes."""
    ends = text.rstrip(b"\r\n")
    at = ends.find(b"\0")
    if at >= 0:
        line = blocks.line + text.count(b"\n", 0, at)
        raise BadFile(f"{blocks.name}:{line}: the line has a NUL byte; data files are plain text.")
    blank = re.search(rb"\n\r?\n", ends) if b'"' not in ends else None
    if blank:
        line = blocks.line + ends.count(b"\n", 0, blank.start() + 1)
        raise BadFile(f"{blocks.name}:{line}: the line has 1 columns, but samples follow; take the blank line away.")


def named(name: str, head: bytes, layout: Layout, delimiter: str) -> tuple[str, ...]:
    """Return the columns that a header names; raises BadFile where one that is read is missing or there twice."""
    found = tuple(word.strip().strip('"') for word in head.decode("utf-8", "replace").rstrip("\r").split(delimiter))
    for column in layout.wanted:
        if found.count(column) != 1:
            what = "twice or more" if column in found else "not"
            there = ", ".join(word[:40] for word in found[:12])
            raise BadFile(f"{name}:1: column {column[:40]!r} is {what} in the header, which has {there}; mend the header.")
    return found


def _parsed(name: str, text: bytes, line: int, layout: Layout, columns: tuple[str, ...], delimiter: str) -> Rows:
    import pyarrow
    from pyarrow import csv

    bad: list[Any] = []

    def refuse(row: Any) -> str:
        bad.append(row)
        return "error"

    try:
        table = csv.read_csv(
            io.BytesIO(text),
            csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=list(columns)),
            csv.ParseOptions(delimiter=delimiter, ignore_empty_lines=False, invalid_row_handler=refuse),
            csv.ConvertOptions(
                column_types=dict.fromkeys(columns, pyarrow.string()),
                include_columns=list(layout.wanted),
                strings_can_be_null=False,
            ),
        )
    except pyarrow.ArrowInvalid as error:
        if bad:
            at, has = line + (bad[0].number or 1) - 1, bad[0].actual_columns
            raise BadFile(f"{name}:{at}: the line has {has} columns, but {len(columns)} are expected; mend or cut it.") from error
        raise BadFile(
            f"{name}:{line}: {' '.join(str(error).split())[:150]}; the text is no table of {len(columns)} columns."
        ) from error
    return Rows(
        line,
        {column: table[column].combine_chunks() for column in layout.wanted},
        tokens=text_tokens,
        numbers=lambda held: _numbers(name, line, held),
        times=lambda held: _times(name, line, held),
    )


def text_tokens(texts: Any) -> Words:
    """Return the FNV-1a hash of each text."""
    held = texts.cast("large_string")
    _, offsets, data = held.buffers()
    first = np.frombuffer(offsets, np.int64)[held.offset : held.offset + len(held) + 1]
    found = np.empty(len(held), np.uint64)
    _hash(np.frombuffer(data or b"", np.uint8), first, found)
    return found


def _numbers(name: str, line: int, texts: Any) -> Any:
    """Return each cell as a number, nothing as 0; raises BadFile naming the line of one that is none."""
    from pyarrow import ArrowInvalid, compute

    try:
        found = compute.cast(compute.if_else(compute.equal(texts, ""), "0", texts), "float64").to_numpy(zero_copy_only=False)
        if np.isfinite(found).all():
            return found
    except ArrowInvalid:
        pass
    for row, cell in enumerate(texts.to_pylist()):
        if cell and not _is_number(cell):
            raise BadFile(
                f"{name}:{line + row}: {cell[:40]!r} is not a finite number; write one, or nothing where it is missing."
            )
    raise BadFile(f"{name}:{line}: the numbers from this line on cannot be read; write finite ones.")


def _times(name: str, line: int, texts: Any) -> Any:
    """Return times as numbers, of ISO dates the microseconds; raises BadFile."""
    from pyarrow import ArrowInvalid, compute

    if len(texts) and not _is_number(texts[0].as_py()):
        with suppress(ArrowInvalid):
            return compute.cast(compute.cast(texts, "timestamp[us]"), "int64").to_numpy(zero_copy_only=False).astype(np.float64)
    return _numbers(name, line, texts)


def _is_number(cell: str) -> bool:
    try:
        return isfinite(float(cell)) and cell == cell.strip()
    except ValueError:
        return False


@entry
def _hash(data: Bytes, offsets: Ints, found: Words) -> None:
    for i in range(len(found)):
        word = BASIS
        for at in range(offsets[i], offsets[i + 1]):
            word = (word ^ np.uint64(data[at])) * PRIME
        found[i] = word
