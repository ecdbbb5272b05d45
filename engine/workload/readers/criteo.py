"""Reads Criteo click logs: TSV without a header, or CSV with one, plain or gzipped.

A line is `label, I1..I13, C1..C26`, in CSV with an optional leading `Id`. Missing and negative counts are 0, a missing
category is an id of its own. The text is read in blocks; its samples are kept, 264 bytes each.
"""

import re
from dataclasses import dataclass
from math import isfinite

import numpy as np

from ...errors import BadFile
from .blocks import Blocks
from .criteo_parse import DENSE, FIELDS, LONGEST_ID, parse_lines
from .recording import Recording, check_samples
from .samples import Samples, too_large

NAMES = ("label", *(f"I{i}" for i in range(1, DENSE + 1)), *(f"C{i}" for i in range(1, FIELDS + 1)))
MARK = b"\xef\xbb\xbf"
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
HEXADECIMAL = re.compile(r"[0-9A-Fa-f]*")


@dataclass(frozen=True, slots=True)
class Form:
    """How a text is laid out: the delimiter, leading columns to ignore, where the first sample starts."""

    delimiter: str
    skip: int
    start: int

    @property
    def columns(self) -> int:
        """Columns of every line."""
        return self.skip + len(NAMES)


def decode(blocks: Blocks) -> Recording:
    """Read a Criteo file's text, block by block; raises BadFile."""
    name, samples, form, blank = blocks.name, Samples(DENSE, FIELDS), None, 0
    try:
        for text in blocks:
            start = len(MARK) if blocks.line == 1 and text.startswith(MARK) else 0
            end = len(text.rstrip(b"\r\n"))
            if end > start or form:
                blank = blocks.check(text, end, blank)
            if form is None and end > start:
                form = _form(name, text, start)
                start = form.start
            if form and end > start:
                _parse(blocks, text, start, end, form, samples)
    except MemoryError as error:
        raise too_large(name) from error
    if form is None:
        raise BadFile(f"{name} is empty; a Criteo file has one sample per line.")
    dense, tokens, labels = samples.whole()
    check_samples(name, labels)
    return Recording(name, blocks.digest(), dense, tokens, labels, (1,) * FIELDS)


def _parse(blocks: Blocks, text: bytes, start: int, end: int, form: Form, samples: Samples) -> None:
    # No good line is shorter than its delimiters, label and line end, so blank lines cannot ask for memory.
    most = min(text.count(b"\n", start, end) + 1, (end - start) // (form.columns + 1) + 1)
    array = np.frombuffer(text, dtype=np.uint8)
    row, bad = parse_lines(array, start, end, ord(form.delimiter), form.skip, *samples.room(most))
    samples.count += row
    if bad >= 0:
        stop = text.find(b"\n", bad)
        line = text[bad : stop if stop >= 0 else end].removesuffix(b"\r").decode()
        at = blocks.line + text.count(b"\n", 0, bad)
        raise BadFile(f"{blocks.name}:{at}: {diagnose(line, form, stop < 0)}")


def diagnose(line: str, form: Form, last: bool = False) -> str:
    """Return a sentence on what is wrong with a line that could not be read."""
    cells = line.split(form.delimiter)
    control = next((character for character in line if ord(character) < 32 or ord(character) == 127), "")
    if control and control != form.delimiter:
        return f"the line contains the control character {control!r}; Criteo files are plain text."
    if len(cells) != form.columns:
        hint = "the file may be cut off here" if last else "write one sample per line"
        return f"the line has {len(cells)} columns, but {form.columns} are expected; {hint}."
    for name, cell in zip(NAMES[: 1 + DENSE], cells[form.skip :], strict=False):
        value = _float(cell)
        if name == "label" and value not in (0.0, 1.0):
            return f"label={cell[:40]!r} is not a label; write 0 or 1."
        if name != "label" and cell and (value is None or not isfinite(value)):
            return f"{name}={cell[:40]!r} is not a number; write a finite count, or nothing where it is missing."
    for name, cell in zip(NAMES[1 + DENSE :], cells[form.skip + 1 + DENSE :], strict=False):
        if len(cell) > LONGEST_ID or not HEXADECIMAL.fullmatch(cell):
            long = f" of {len(cell):,} characters" if len(cell) > 40 else ""
            return f"{name}={cell[:40]!r}{long} is not an id; write up to {LONGEST_ID} hexadecimal digits, or nothing."
    return "the line cannot be read; write label, 13 counts and 26 categories."


def _float(cell: str) -> float | None:
    return float(cell) if NUMBER.fullmatch(cell) else None


def _form(name: str, text: bytes, start: int) -> Form:
    stop = text.find(b"\n", start)
    first = text[start : stop if stop >= 0 else len(text)].decode().rstrip("\r")
    after = stop + 1 if stop >= 0 else len(text)
    delimiter = "\t" if "\t" in first else ","
    words = [word.strip().lower() for word in first.split(delimiter)]
    if words[0] in ("id", "label"):
        skip = int(words[0] == "id")
        _check_header(name, words[skip:])
        return Form(delimiter, skip, after)
    if delimiter == "\t":
        return Form(delimiter, 0, start)
    raise BadFile(
        f"{name}:1: {first[:40]!r} starts neither a tab-separated sample nor a CSV header; "
        "a Criteo CSV starts with Id,Label,I1,... or label,I1,..."
    )


def _check_header(name: str, words: list[str]) -> None:
    if len(words) != len(NAMES):
        raise BadFile(f"{name}:1: the header names {len(words)} columns besides Id; write {len(NAMES)}: label, I1..I13, C1..C26.")
    for word, wanted in zip(words, NAMES, strict=True):
        if word != wanted.lower():
            raise BadFile(f"{name}:1: the header has {word[:40]!r} where {wanted} is expected: label, I1..I13, C1..C26.")
