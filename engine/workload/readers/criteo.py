"""Reads Criteo click logs: TSV without a header, or CSV with one, plain or gzipped.

A line is `label, I1..I13, C1..C26`, in CSV with an optional leading `Id`. Missing and negative counts are 0, a missing
category is an id of its own. The file is read whole: about 270 bytes of memory per sample, and its text while reading.
"""

import gzip
import io
import re
import zlib
from dataclasses import dataclass
from hashlib import sha256
from math import isfinite
from pathlib import Path

import numpy as np

from ...core.arrays import Singles, Words
from ...core.process import physical
from ...errors import BadFile
from .criteo_parse import DENSE, FIELDS, parse_lines

NAMES = ("label", *(f"I{i}" for i in range(1, DENSE + 1)), *(f"C{i}" for i in range(1, FIELDS + 1)))
MARK = b"\xef\xbb\xbf"
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
FEWEST = 40
MOST_OF_MEMORY = 0.25  # for a file's text, beside which a copy of it and its samples take about three times as much
HELD_OUT_LEAST = 20


@dataclass(frozen=True, slots=True, eq=False)
class CriteoFile:
    """A Criteo file in memory, in its own order.

    `digest` is the SHA-256 of the bytes on disk; `dense` is (N, 13), log(1 + x); `tokens` is (N, 26), the FNV-1a 64
    hash of each category's text; `labels` is (N,).
    """

    name: str
    digest: str
    dense: Singles
    tokens: Words
    labels: Singles

    @property
    def held_out_samples(self) -> int:
        """The last tenth of the samples, and at least 20, are never trained on."""
        return max(HELD_OUT_LEAST, len(self.labels) // 10)

    @property
    def training_samples(self) -> int:
        """The samples of one pass."""
        return len(self.labels) - self.held_out_samples


@dataclass(frozen=True, slots=True)
class Form:
    """How a text is laid out: the delimiter, leading columns to ignore, where the first sample starts, lines before it."""

    delimiter: str
    skip: int
    start: int
    lines: int

    @property
    def columns(self) -> int:
        """Columns of every line."""
        return self.skip + len(NAMES)


def read(path: Path | str) -> CriteoFile:
    """Read a Criteo file from disk; raises BadFile with the file's name and, where there is one, the line."""
    try:
        if Path(path).is_char_device():
            raise BadFile(f"{path} cannot be read: it is a device, which has no end; give a readable Criteo file.")
        if Path(path).stat().st_size > _most():
            raise _too_large(str(path))
        raw = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise BadFile(f"{path} cannot be read: {error}; give a readable Criteo file.") from error
    except MemoryError as error:
        raise _too_large(str(path)) from error
    return decode(Path(path).name, raw)


def decode(name: str, raw: bytes) -> CriteoFile:
    """Read the bytes of a Criteo file, as uploaded; `name` is for messages; raises BadFile."""
    try:
        return _decode(name, raw)
    except MemoryError as error:
        raise _too_large(name) from error


def _most() -> int:
    return int(physical() * MOST_OF_MEMORY)


def _too_large(name: str) -> BadFile:
    return BadFile(f"{name} does not fit in memory; Criteo files are read whole, so give a part of it.")


def _decode(name: str, raw: bytes) -> CriteoFile:
    text = _plain(name, raw)
    start = len(MARK) if text.startswith(MARK) else 0
    end = len(text.rstrip(b"\r\n"))
    if end <= start:
        raise BadFile(f"{name} is empty; a Criteo file has one sample per line.")
    _check_encoding(name, text)
    form = _form(name, text, start)
    # No good line is shorter than its delimiters, label and line end, so blank lines cannot ask for memory.
    count = min(text.count(b"\n", form.start, end) + 1, (end - form.start) // (form.columns + 1) + 1)
    count = count if form.start < end else 0
    dense, labels = np.zeros((count, DENSE), dtype=np.float32), np.zeros(count, dtype=np.float32)
    tokens = np.zeros((count, FIELDS), dtype=np.uint64)
    array = np.frombuffer(text, dtype=np.uint8)
    row, bad = parse_lines(array, form.start, end, ord(form.delimiter), form.skip, dense, tokens, labels)
    if bad >= 0:
        stop = text.find(b"\n", bad, end)
        line = text[bad : stop if stop >= 0 else end].removesuffix(b"\r").decode()
        raise BadFile(f"{name}:{form.lines + row + 1}: {diagnose(line, form, stop < 0)}")
    if count < FEWEST:
        raise BadFile(f"{name} has {count} samples; at least {FEWEST} are needed, of which the last 20 or more are held out.")
    return CriteoFile(name, sha256(raw).hexdigest(), dense, tokens, labels)


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
    return "the line cannot be read; write label, 13 counts and 26 categories."


def _float(cell: str) -> float | None:
    return float(cell) if NUMBER.fullmatch(cell) else None


def _plain(name: str, raw: bytes) -> bytes:
    if not raw.startswith(b"\x1f\x8b"):
        return raw
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as packed:
            text = packed.read(_most() + 1)  # a few MB can hold a thousand times as much
        if len(text) > _most():
            raise _too_large(name)
        return text
    except (OSError, EOFError, zlib.error) as error:
        raise BadFile(f"{name} is a damaged or cut off gzip file: {error}; copy it again.") from error


def _check_encoding(name: str, text: bytes) -> None:
    if text.isascii():
        return
    try:
        text.decode("utf-8")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        raise BadFile(f"{name}:{line}: byte 0x{text[error.start]:02x} is not UTF-8 text; Criteo files are plain text.") from error


def _form(name: str, text: bytes, start: int) -> Form:
    stop = text.find(b"\n", start)
    first = text[start : stop if stop >= 0 else len(text)].decode().rstrip("\r")
    after = stop + 1 if stop >= 0 else len(text)
    delimiter = "\t" if "\t" in first else ","
    words = [word.strip().lower() for word in first.split(delimiter)]
    if words[0] in ("id", "label"):
        skip = int(words[0] == "id")
        _check_header(name, words[skip:])
        return Form(delimiter, skip, after, 1)
    if delimiter == "\t":
        return Form(delimiter, 0, start, 0)
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
