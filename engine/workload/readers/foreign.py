"""Files of unsupported formats: they are recognised by their first bytes, and refused.

Each refusal says how to convert the file.
"""

import re
import struct
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...errors import BadFile
from ...paths import open_regular, short_path
from ...user_text import json_content
from . import conversions as ways
from .blocks import MARK
from .conversions import Conversion

POINTERS = (
    (rb"version https://git-lfs", "Git LFS", ways.PULL),
    (rb"(\.git|\.\.)?/(\.\./)*(\.git/)?annex/objects/", "git-annex", ways.ANNEX),
)
MAGIC = (
    (rb"ARROW1|FEA1", "an Arrow or Feather file", ways.FEATHER),
    (rb"\xff\xff\xff\xff", "a stream of Arrow", ways.STREAM),
    (rb"ORC[^\w ,;|\"]", "an ORC file", ways.ORC),
    (rb"Obj\x01", "an Avro file", ways.AVRO),
    (rb"\x89HDF\r\n", "an HDF5 file", ways.HDF5),
    (rb"MATLAB 5\.0 MAT-file", "a MATLAB file", ways.MATLAB),
    (rb"<stata_dta>|[q-s][\x01\x02]\x01\0", "a Stata file", ways.STATA),
    (rb"\0{12}\xc2\xea\x81\x60\xb3\x14\x11\xcf", "a SAS file", ways.SAS),
    (rb"SQLite format 3", "an SQLite database", ways.SQLITE),
    (rb"BZh[1-9]1AY", "a bzip2 archive", ways.BUNZIP),
    (rb"\x1f\x8b", "a file that was gzipped twice", ways.GUNZIP),
    (rb"\xfd7zXZ", "an xz archive", ways.UNXZ),
    (rb"\x28\xb5\x2f\xfd", "a zstd archive", ways.UNZSTD),
    (rb"\x04\x22\x4d\x18", "an lz4 archive", ways.UNLZ4),
    (rb"7z\xbc\xaf", "a 7z archive", ways.UN7Z),
    (rb"\xd0\xcf\x11\xe0", "an old Excel workbook", ways.SHEET),
    (rb"%PDF", "a PDF document", ways.ROWS),
    (rb"\x89PNG|\xff\xd8\xff|GIF8", "a picture", ways.ROWS),
    (rb".{257}ustar", "a tar archive", ways.UNTAR),
    (rb"\xf0\xde\xbc\x9a\x78\x56\x34\x12", "libCacheSim's own lcs trace", ways.LCS),
    (
        rb"\x80[\x02-\x05][\x8a\x8c\x95cX\]}(]|\(?[ld]p\d+\n",
        "a Python pickle, which may run anything and is never opened",
        ways.PICKLE,
    ),
)
SHAPES = (
    (r"[+-]?[\d.]+(\s+\d+:\d+:\S+)+", "a libFFM file", ways.LIBFFM),
    (r"[+-]?[\d.]+(\s+(qid|\d+):\S+)+(\s*#.*)?", "a LibSVM file", ways.LIBSVM),
    (r"([-+\d. ]+ ('?\w+)?)?\|\w* +[^|,\t]+( \|[^|,\t]*)*", "a Vowpal Wabbit file", ways.VOWPAL),
    (r"\d+::\d+::[\d.]+::\d+", "MovieLens' older ratings.dat", ways.RATINGS),
    (r"[^:]*(::[^:]*)+|([^:]|:(?!:))*(::([^:]|:(?!:))*){2,}", 'a table separated by "::"', ways.COLONS),
    (r'(?i)"?sep=.?"?', "a table with a line of Excel's above it, which says what parts its cells", ways.TITLE),
    (r"(?i)<(!doctype|html|\?xml).*", "a page of the web, not the file itself", Conversion("load the file again")),
)
ARFF = re.compile(r"(?i)(\s*%[^\n]*\n|\s*\n)*\s*@relation\b")
CONTROL = re.compile(rb"[\0\x02-\x08\x0e-\x1f\x7f]")  # bytes that no text has; \x01 separates the columns of Hive's tables
LONG_LINE = 4096  # characters of the first line that are compared
# Format of a record, position of its version among the record's numbers, the version, and the conversion.
VSCSI = (("<3I2H2Q", 4, 1, ways.VSCSI), ("<2H3I3Q", 1, 2, ways.VSCSI_2))


def check_pointer(path: Path) -> None:
    """Raise BadFile for a file that cannot be opened, or that is only a pointer.

    A pointer stands for content that was not fetched, such as that of Git LFS.
    """
    with open_regular(path) as file:
        head = file.read(1024)
    for mark, system, conversion in POINTERS:
        if re.match(mark, head):
            raise foreign_refusal(short_path(path.name), f"a pointer of {system}, not the file itself", conversion)


def check_format(path: Path, name: str, head: bytes, packed: bool = False) -> None:
    """Raise BadFile for a file whose first bytes are those of an unsupported format.

    `head` are the first bytes; for a gzipped file (`packed`) they are already unpacked.
    """
    for magic, kind, conversion in MAGIC:
        if re.match(magic, head, re.S):
            in_gzip = packed and conversion not in (ways.GUNZIP, ways.UNTAR)
            raise foreign_refusal(
                name, f"{kind} in gzip" if in_gzip else kind, ways.GUNZIP if in_gzip else conversion, _columns(path, head)
            )
    if len(head) > 12 and head[8:12] == masked_crc(head[:8]):
        raise foreign_refusal(name, "a TFRecord file", ways.EXAMPLES)
    for record, place, version, conversion in VSCSI:
        record_count = min(len(head) // struct.calcsize(record), 100)
        records = list(struct.iter_unpack(record, head[: record_count * struct.calcsize(record)]))
        if record_count > 1 and all(numbers[place] >> 8 == version for numbers in records):
            raise foreign_refusal(name, "a VSCSI trace of blocks", ways.GUNZIP if packed else conversion)


def check_zip(path: Path, name: str) -> None:
    """Raise BadFile for a zip archive that has no arrays."""
    with (
        suppress(zipfile.BadZipFile, OSError, ValueError, NotImplementedError),
        open_regular(path) as file,
        zipfile.ZipFile(file) as archive,
    ):
        members = archive.namelist()
        if any(member.startswith("xl/") for member in members):
            raise foreign_refusal(name, "an Excel workbook", ways.SHEET)
        if members and not any(member.endswith((".npy", "data.pkl")) for member in members):
            conversion = ways.UNZIP._replace(words=f"unpack it and give what is inside, such as {short_path(members[0], 60)}:")
            raise foreign_refusal(name, "a zip archive", conversion)


def check_text(name: str, text: str, packed: bool = False) -> None:
    """Raise BadFile for a text whose first lines are those of an unsupported format."""
    text = text.lstrip("\ufeff \t\r\n")
    first_line = text.partition("\n")[0][:LONG_LINE].strip()
    likeness: tuple[str, Conversion, tuple[str, ...]] | None = None
    if first_line.startswith(("{", "[")):
        likeness = _json(first_line, text)
    elif ARFF.match(text):
        likeness = "an ARFF file", ways.ARFF, ()
    else:
        likeness = next(((kind, conversion, ()) for shape, kind, conversion in SHAPES if re.fullmatch(shape, first_line)), None)
    if likeness:
        kind, conversion, columns = likeness
        raise foreign_refusal(name, f"{kind} in gzip" if packed else kind, ways.GUNZIP if packed else conversion, columns)


def check_line_ends(name: str, head: bytes, packed: bool) -> None:
    """Raise BadFile for a text whose lines end with CR only.

    `head` are the first bytes of the text.
    """
    first_line = head.partition(b"\n")[0].decode("utf-8", "replace")[:LONG_LINE].strip("\ufeff\r")
    if "\r" in first_line and first_line.translate({9: "", 13: ""}).isprintable():
        conversion = ways.GUNZIP if packed else ways.LINE_ENDS
        raise foreign_refusal(name, f"a text whose lines end with CR alone{' in gzip' * packed}", conversion)


def encoding_refusal(place: str, name: str, text: bytes, error: UnicodeDecodeError, packed: bool) -> BadFile:
    """Return the refusal of bytes that are not UTF-8, the first of them at `place`.

    The refusal says if the bytes may be Latin-1.
    """
    sentence = f"{place}: byte 0x{text[error.start]:02x} is not UTF-8 text; data files are text, Parquet or arrays"
    if CONTROL.search(text):
        return BadFile(f"{sentence}, and this is of no format that is known.")
    conversion = ways.GUNZIP if packed else ways.LATIN
    return BadFile(f"{sentence}; {conversion.words}", remedy=conversion.remedy(name))


def check_start(name: str, head: bytes, packed: bool) -> None:
    """Raise BadFile for a text that begins with a blank line.

    The line would hide the text's format or its header.
    """
    first_line, end, rest = head.removeprefix(MARK).partition(b"\n")
    if not end or first_line.strip() or not rest.strip():
        return
    if rest.lstrip().startswith((b"{", b"[", b"@", b"%", b"<", MARK)):  # what their advice runs skips blank lines
        check_text(name, head.decode("utf-8", "replace"), packed)
    raise blank_refusal(name, packed)


def blank_refusal(name: str, packed: bool) -> BadFile:
    """Return the refusal of a text whose first line is blank, or has only separators."""
    conversion = ways.GUNZIP if packed else ways.BLANK_START
    return BadFile(f"{name}:1: the line is blank; {conversion.words}", remedy=conversion.remedy(name))


def _json(first_line: str, text: str) -> tuple[str, Conversion, tuple[str, ...]]:
    """Return a JSON-like text's format by its first line, the conversion, and the columns."""
    if re.match(r"\{u?'", first_line):
        return "dictionaries of Python's, a line each, which are no JSON", ways.LITERALS, ()
    with suppress(ValueError, RecursionError, BadFile):
        if not _has_rows(json_content(text, "The file")):
            return "JSON of settings, without rows of equal columns", ways.ROWS, ()
    return "JSON", ways.JSON, tuple(_keys(first_line))


def _has_rows(document: Any) -> bool:
    """Return whether a JSON document has rows: a list, lists of one length by column, or the cells of one row."""
    if not isinstance(document, dict) or isinstance(document.get("data"), list):
        return isinstance(document, dict | list) and bool(document)
    lengths = {len(cells) if isinstance(cells, dict | list) else None for cells in document.values()}
    return len(lengths) == 1 and 0 not in lengths


def masked_crc(payload: bytes) -> bytes:
    """Return the masked CRC-32C of `payload`, as TFRecord files have it after a record's length."""
    crc = 0xFFFFFFFF
    for byte in payload:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF).to_bytes(4, "little")


def foreign_refusal(name: str, kind: str, conversion: Conversion, columns: tuple[str, ...] = ()) -> BadFile:
    """Return the refusal of a file that looks like the format `kind`, with its conversion."""
    columns_text = f"; its columns are {column_list(columns)}" if columns else ""
    end = "" if conversion.words.endswith(":") else "."
    return BadFile(f"{name} looks like {kind}{columns_text}; {conversion.words}{end}", remedy=conversion.remedy(name))


def column_list(columns: tuple[str, ...]) -> str:
    """Return the names of the first columns as a text for a message."""
    names = ("".join(filter(str.isprintable, column))[:24] or '""' for column in columns[:6])
    return ", ".join(names) + (", ..." if len(columns) > 6 else "")


def _columns(path: Path, head: bytes) -> tuple[str, ...]:
    """Return the columns of an Arrow file, () where the columns cannot be read."""
    with suppress(Exception):
        from pyarrow import ipc

        if head.startswith(b"ARROW1"):
            with ipc.open_file(str(path)) as file:
                return tuple(file.schema.names)
    return ()


def _keys(line: str) -> Iterator[str]:
    with suppress(ValueError, RecursionError, BadFile):
        document = json_content(line.removeprefix("[").rstrip(","), "The first line")
        yield from document if isinstance(document, dict) else ()
