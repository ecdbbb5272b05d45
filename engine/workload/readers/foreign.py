"""Files that are none of the formats: what one looks like by its first bytes, and how it becomes one that is read."""

import json
import re
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ...errors import BadFile

COLUMNAR = "write it as Parquet, and say in FILE.parquet.toml what its columns mean"
ROWS = "write its rows as CSV or Parquet with a label and ids"
RATINGS = "write it as CSV under the header userId,movieId,rating,timestamp"
UNPACK = "unpack it and give what is inside"
MAGIC = (
    (rb"ARROW1", "an Arrow or Feather file", COLUMNAR),
    (rb"\xff\xff\xff\xff", "a stream of Arrow", COLUMNAR),
    (rb"ORC[^\w ,;|\"]", "an ORC file", COLUMNAR),
    (rb"Obj\x01", "an Avro file", COLUMNAR),
    (rb"\x89HDF\r\n", "an HDF5 file", "write its arrays with numpy.save under TorchRec's names, such as day_0_sparse.npy"),
    (rb"SQLite format 3", "an SQLite database", ROWS),
    (rb"BZh[1-9]1AY", "a bzip2 archive", UNPACK),
    (rb"\x1f\x8b", "a file that was gzipped twice", UNPACK),
    (rb"\xfd7zXZ", "an xz archive", UNPACK),
    (rb"\x28\xb5\x2f\xfd", "a zstd archive", UNPACK),
    (rb"\x04\x22\x4d\x18", "an lz4 archive", UNPACK),
    (rb"7z\xbc\xaf", "a 7z archive", UNPACK),
    (rb"\xd0\xcf\x11\xe0", "an old Excel workbook", "save its sheet as CSV"),
    (rb"%PDF", "a PDF document", ROWS),
    (rb"\x89PNG", "a picture", ROWS),
    (rb"version https://git-lfs", "a pointer of Git LFS, not the file itself", "fetch it with git lfs pull"),
    (rb".{257}ustar", "a tar archive", UNPACK),
    (
        rb"\x80[\x02-\x05][\x8a\x8c\x95cX\]}(]|\(?[ld]p\d+\n",
        "a Python pickle, which may run anything and is never opened",
        "write its data as CSV or Parquet",
    ),
)
SHAPES = (
    (r"[+-]?[\d.]+(\s+\d+:\d+:\S+)+", "a libFFM file", ROWS),
    (r"[+-]?[\d.]+(\s+(qid|\d+):\S+)+", "a LibSVM file", ROWS),
    (r"[-+\d. ]*\|\w* *\S+ \S[^,\t]*", "a Vowpal Wabbit file", ROWS),
    (
        r"\d+::\d+::[\d.]+::\d+",
        "MovieLens' older ratings.dat",
        RATINGS,
    ),
    (r"\d+\t\d+\t[\d.]+\t\d+", "MovieLens' older u.data", RATINGS),
    (r"(?i)<(!doctype|html|\?xml).*", "a page of the web, not the file itself", "load the file again"),
)


def check(path: Path, name: str, head: bytes) -> None:
    """Raise BadFile for a file whose first bytes are those of a format that is not read."""
    for magic, what, remedy in MAGIC:
        if re.match(magic, head, re.S):
            raise _looks(name, what, remedy, _columns(path, head))
    if len(head) > 12 and head[8:12] == masked_crc(head[:8]):
        raise _looks(name, "a TFRecord file", ROWS)


def check_zip(path: Path, name: str) -> None:
    """Raise BadFile for a zip archive that holds no arrays."""
    with suppress(zipfile.BadZipFile, OSError, ValueError, NotImplementedError), zipfile.ZipFile(path) as archive:
        inside = archive.namelist()
        if any(one.startswith("xl/") for one in inside):
            raise _looks(name, "an Excel workbook", "save its sheet as CSV")
        if inside and not any(one.endswith((".npy", "data.pkl")) for one in inside):
            raise _looks(name, "a zip archive", f"{UNPACK}: {inside[0][:60]}")


def check_text(name: str, first: str) -> None:
    """Raise BadFile for a text whose first line is that of a format that is not read."""
    first = first[:4096].strip()
    if first.startswith(("{", "[")):
        raise _looks(name, "JSON", ROWS, tuple(_keys(first)))
    if "\r" in first and first.translate({9: "", 13: ""}).isprintable():
        raise _looks(name, "a text whose lines end with CR alone", "write it again with lines that end with LF")
    for shape, what, remedy in SHAPES:
        if re.fullmatch(shape, first):
            raise _looks(name, what, remedy)
    for mark in ";|\t":
        cells = tuple(cell.strip('"') for cell in first.split(mark))
        if "," not in first and len(cells) > 1 and all(cell[:1].isalpha() for cell in cells) and cells[0].lower() != "label":
            told = repr(mark).replace("'", '"')
            remedy = f'say what they mean in {name}.toml: delimiter = {told}, label = "COLUMN", ids = ["COLUMN", ...]'
            raise _looks(name, f"a table separated by {told}", remedy, cells)


def masked_crc(data: bytes) -> bytes:
    """Return the masked CRC-32C that follows the length of a record in TFRecord files."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF).to_bytes(4, "little")


def _looks(name: str, what: str, remedy: str, columns: tuple[str, ...] = ()) -> BadFile:
    there = f"; its columns are {named(columns)}" if columns else ""
    return BadFile(f"{name} looks like {what}{there}; {remedy}.")


def named(columns: tuple[str, ...]) -> str:
    """Return some columns as a message lists them."""
    shown = ("".join(filter(str.isprintable, one))[:24] for one in columns[:6])
    return ", ".join(shown) + (", ..." if len(columns) > 6 else "")


def _columns(path: Path, head: bytes) -> tuple[str, ...]:
    """Return the columns of a file of Arrow, none where they cannot be read."""
    with suppress(Exception):
        from pyarrow import ipc

        if head.startswith(b"ARROW1"):
            with ipc.open_file(str(path)) as file:
                return tuple(file.schema.names)
    return ()


def _keys(line: str) -> Iterator[str]:
    with suppress(ValueError, RecursionError):
        found = json.loads(line.removeprefix("[").rstrip(","))
        yield from found if isinstance(found, dict) else ()
