"""Arrays inside an .npz archive: their types and shapes first, their numbers when asked for, mapped; nothing is unpickled.

A stored array is mapped where it lies. A compressed one is unpacked piece by piece into a temporary file, after its size is held
against the archive's and the room on the disk.
"""

import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy

from ...core import figures
from ...errors import BadFile
from .mapped import mapped
from .samples import Watch, temporary, too_large, unwatched

LOCAL_HEADER = struct.Struct("<4s22xHH")  # zip: signature, then lengths of name and extra field at its end
EXPANSION, FREE = 64, 64 << 20  # what arrays may unpack to: so many times the archive, or so many bytes
SPARE, PIECE = 64 << 20, 1 << 22  # bytes of a disk that stay free, and that are unpacked together
MOST_MEMBERS = 100_000


class HoldsObjects(BadFile):
    """An array holds Python's objects, which only a pickle that may run anything brings back."""


class Header(NamedTuple):
    """What the header of an array says: its shape, whether it is stored column by column, its type, and the header's length."""

    shape: tuple[int, ...]
    by_column: bool
    kind: Any
    nbytes: int

    @property
    def size(self) -> int:
        """The bytes of the array."""
        size = int(self.kind.itemsize)
        for part in self.shape:
            size *= int(part)
        return size


def header(file: BinaryIO, name: str) -> Header:
    """Read the .npy header that a file is at; raises BadFile."""
    start = file.tell()
    try:
        version = npy.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"version {version}")
        reader = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, by_column, kind = reader(file, max_header_size=10_000)
    except (ValueError, EOFError, SyntaxError) as error:
        raise BadFile(f"{name} has no .npy header that can be read ({str(error)[:80]}); copy it again.") from error
    if kind.hasobject:
        raise HoldsObjects(f"{name} holds Python objects, which are never opened; write whole numbers or floats.")
    if min(shape, default=0) < 0:
        raise BadFile(f"{name} says that it holds {shape} of {kind}, which cannot be; copy it again.")
    return Header(tuple(map(int, shape)), by_column and len(shape) > 1, kind, file.tell() - start)


def headers(path: Path) -> Mapping[str, Header]:
    """Return what arrays an archive holds, by name; raises BadFile, also for one that unpacks to far more than it is."""
    with _opened(path) as archive:
        infos = [info for info in archive.infolist() if info.filename.endswith(".npy")]
        size, unpacked = path.stat().st_size, sum(info.file_size for info in infos)
        if unpacked > max(EXPANSION * size, FREE) or len(infos) > MOST_MEMBERS:
            what = f"{path.name} says that its {figures.count(size, 'byte')} unpack to {figures.count(unpacked)}"
            what += f", more than {EXPANSION} times as many"
            raise BadFile(f"{what}, as no log of clicks does; if it is one, store its arrays uncompressed (numpy.savez).")
        return {info.filename.removesuffix(".npy"): _member(path, archive, info)[0] for info in infos}


def array(path: Path, name: str, watch: Watch = unwatched) -> Any:
    """Return an array of an archive, mapped from it or from a temporary file; raises BadFile."""
    with _opened(path) as archive:
        info = archive.getinfo(f"{name}.npy")
        found, start = _member(path, archive, info)
        if start is not None:
            return whole(path, found, start)
        with temporary() as file:
            _unpack(path, archive, info, file, watch)
            return whole(file, found, found.nbytes)


def first(path: Path, name: str, count: int) -> Any:
    """Return the first rows of an array of one or two axes, (n, k); of one stored by column only the first column, (n, 1)."""
    with _opened(path) as archive, archive.open(f"{name}.npy") as file:
        found = header(file, f"{path.name}/{name}")  # type: ignore[arg-type]
        width = 1 if found.by_column else int(np.prod(found.shape[1:]))
        text = file.read(min(count, found.shape[0]) * width * found.kind.itemsize)
        return np.frombuffer(text, found.kind).reshape(-1, width)


def whole(file: Path | BinaryIO, found: Header, start: int) -> Any:
    """Map an array whose numbers begin at `start`."""
    shape = found.shape[::-1] if found.by_column else found.shape
    there = mapped(file, found.kind, start, shape)
    return there.T if found.by_column else there


def _member(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> tuple[Header, int | None]:
    """Return the header of an array, and where in the archive its numbers begin; None where these are compressed."""
    name = f"{path.name}/{info.filename}"
    with archive.open(info) as file:
        found = header(file, name)  # type: ignore[arg-type]
    if found.nbytes + found.size > info.file_size:
        raise BadFile(
            f"{name} says that it holds {found.shape} of {found.kind}, which its {figures.count(info.file_size)} bytes do not; "
            "copy it again."
        )
    if info.compress_type != zipfile.ZIP_STORED:
        return found, None
    with path.open("rb") as raw:
        raw.seek(info.header_offset)
        signature, longer, extra = LOCAL_HEADER.unpack(raw.read(LOCAL_HEADER.size))
    if signature != b"PK\x03\x04":
        raise zipfile.BadZipFile("a member is not where the directory says")
    return found, info.header_offset + LOCAL_HEADER.size + longer + extra + found.nbytes


def _unpack(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo, file: BinaryIO, watch: Watch) -> None:
    """Unpack a member into a file; raises BadFile where there is no room for it."""
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    if info.file_size + SPARE > free:
        needed = f"{figures.figure(info.file_size / 2**30, 'GiB')} to unpack {info.filename[:40]} in {folder}"
        raise BadFile(
            f"{path.name} needs {needed}, where {figures.figure(free / 2**30, 'GiB')} are free; "
            "make room there, or name another folder as TMPDIR."
        )
    with archive.open(info) as packed:
        while piece := packed.read(PIECE):
            _write(path, file, piece)
            watch(file.tell() / max(info.file_size, 1), f"unpacking {info.filename[:40]} of {path.name}")
    _write(path, file, b"")


def _write(path: Path, file: BinaryIO, piece: bytes) -> None:
    try:
        file.write(piece)
        if not piece:
            file.flush()
    except OSError as error:
        raise too_large(path.name) from error


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except (zipfile.BadZipFile, OSError, EOFError, struct.error, zlib.error, ValueError, KeyError, RuntimeError) as error:
        raise BadFile(f"{path.name} is a damaged or cut off .npz file: {str(error)[:120]}; copy it again.") from error
