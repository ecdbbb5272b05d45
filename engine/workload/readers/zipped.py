"""Arrays in an .npz archive, mapped when they are needed.

Types and shapes are read first; nothing is unpickled. An array that is stored without compression is mapped in the archive. A
compressed array is unpacked piece by piece into a temporary file, after its size is compared with the archive's and with the free
space on the disk.
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
from ...core.arithmetic import total
from ...errors import BadFile
from ...paths import open_regular
from .mapped import map_array
from .samples import Watch, temporary_file, too_large_refusal, unwatched

LOCAL_HEADER = struct.Struct("<4s22xHH")  # zip: signature, then lengths of name and extra field at its end
EXPANSION, FREE_NBYTES = 64, 64 << 20  # most bytes of all arrays, over those of the archive; or in an archive of any size
SPARE_NBYTES, PIECE = 64 << 20, 1 << 22  # bytes of a disk that stay free, and bytes that are unpacked together
MOST_MEMBERS = 100_000


class HoldsObjects(BadFile):
    """The refusal of an array of Python objects.

    Such an array needs a pickle, which may run code.
    """


class Header(NamedTuple):
    """The header of an array in an archive.

    shape: the shape of the array.
    by_column: True if the array is stored by column.
    kind: the type of its numbers.
    nbytes: the bytes of the header itself.
    """

    shape: tuple[int, ...]
    by_column: bool
    kind: Any
    nbytes: int

    @property
    def size(self) -> int:
        """The bytes of the array, without its header."""
        size = int(self.kind.itemsize)
        for part in self.shape:
            size *= int(part)
        return size


def read_header(file: BinaryIO, name: str) -> Header:
    """Return the .npy header at the current position of a file; raises BadFile."""
    start = file.tell()
    try:
        version = npy.read_magic(file)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"version {version}")
        reader = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, by_column, kind = reader(file, max_header_size=10_000)
    except (ValueError, EOFError, SyntaxError) as error:
        raise BadFile(f"{name} has a .npy header that cannot be read ({str(error)[:80]}); copy it again.") from error
    if kind.hasobject:
        raise HoldsObjects(f"{name} holds Python objects, which are never opened; write whole numbers or floats.")
    if min(shape, default=0) < 0:
        raise BadFile(f"{name} declares {shape} of {kind}, which is impossible; copy it again.")
    return Header(tuple(map(int, shape)), by_column and len(shape) > 1, kind, file.tell() - start)


def archive_headers(path: Path) -> Mapping[str, Header]:
    """Return {name: header} of an archive's arrays.

    Raises BadFile, also if the arrays would be much larger than the archive.
    """
    with _open_archive(path) as archive:
        members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
        size, unpacked = path.stat().st_size, total(member.file_size for member in members)
        if unpacked > max(EXPANSION * size, FREE_NBYTES) or len(members) > MOST_MEMBERS:
            size_text = f"{path.name} says that its {figures.count(size, 'byte')} unpack to {figures.count(unpacked)}"
            size_text += f", more than {EXPANSION} times as many"
            raise BadFile(f"{size_text}, unlike any log of clicks; if it is one, store its arrays uncompressed (numpy.savez).")
        return {member.filename.removesuffix(".npy"): _member(path, archive, member)[0] for member in members}


def archive_array(path: Path, name: str, watch: Watch = unwatched) -> Any:
    """Return an array of an archive, mapped from the archive or from a temporary file.

    Raises BadFile.
    """
    with _open_archive(path) as archive:
        member = archive.getinfo(f"{name}.npy")
        array_header, start = _member(path, archive, member)
        if start is not None:
            return map_member(path, array_header, start)
        with temporary_file() as file:
            _unpack(path, archive, member, file, watch)
            return map_member(file, array_header, array_header.nbytes)


def first_rows(path: Path, name: str, count: int) -> Any:
    """Return the first `count` rows of an array of one or two axes, (n, k).

    Of an array that is stored by column only the first column is returned, (n, 1).
    """
    with _open_archive(path) as archive, archive.open(f"{name}.npy") as file:
        array_header = read_header(file, f"{path.name}/{name}")  # type: ignore[arg-type]
        width = 1 if array_header.by_column else int(np.prod(array_header.shape[1:]))
        text = file.read(min(count, array_header.shape[0]) * width * array_header.kind.itemsize)
        return np.frombuffer(text, array_header.kind).reshape(-1, width)


def map_member(file: Path | BinaryIO, array_header: Header, start: int) -> Any:
    """Return an array whose numbers begin at byte `start` of a file, mapped."""
    shape = array_header.shape[::-1] if array_header.by_column else array_header.shape
    mapped_array = map_array(file, array_header.kind, start, shape)
    return mapped_array.T if array_header.by_column else mapped_array


def _member(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> tuple[Header, int | None]:
    """Return the header of an array, and the position of its numbers in the archive.

    The position is None if the array is compressed.
    """
    name = f"{path.name}/{member.filename}"
    with archive.open(member) as file:
        array_header = read_header(file, name)  # type: ignore[arg-type]
    if array_header.nbytes + array_header.size > member.file_size:
        raise BadFile(
            f"{name} declares {array_header.shape} of {array_header.kind}, but its {figures.count(member.file_size, 'byte')} do "
            "not match; copy it again."
        )
    if member.compress_type != zipfile.ZIP_STORED:
        return array_header, None
    with open_regular(path) as raw:
        raw.seek(member.header_offset)
        signature, name_nbytes, extra_nbytes = LOCAL_HEADER.unpack(raw.read(LOCAL_HEADER.size))
    if signature != b"PK\x03\x04":
        raise zipfile.BadZipFile("a member is not where the directory says")
    return array_header, member.header_offset + LOCAL_HEADER.size + name_nbytes + extra_nbytes + array_header.nbytes


def _unpack(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo, file: BinaryIO, watch: Watch) -> None:
    """Unpack a member into a file; raises BadFile where the disk has no room."""
    folder = tempfile.gettempdir()
    free_nbytes = shutil.disk_usage(folder).free
    if member.file_size + SPARE_NBYTES > free_nbytes:
        needed_text = f"{figures.figure(member.file_size / 2**30, 'GiB')} to unpack {member.filename[:40]} in {folder}"
        raise BadFile(
            f"{path.name} needs {needed_text}, but {figures.figure(free_nbytes / 2**30, 'GiB')} are free; free some space "
            "there, or set TMPDIR to another folder."
        )
    with archive.open(member) as packed:
        while piece := packed.read(PIECE):
            _write(path, file, piece)
            watch(file.tell() / member.file_size, f"unpacking {member.filename[:40]} of {path.name}")
    _write(path, file, b"")


def _write(path: Path, file: BinaryIO, piece: bytes) -> None:
    try:
        file.write(piece)
        if not piece:
            file.flush()
    except OSError as error:
        raise too_large_refusal(path.name) from error


@contextmanager
def _open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            yield archive
    except (zipfile.BadZipFile, OSError, EOFError, struct.error, zlib.error, ValueError, KeyError, RuntimeError) as error:
        raise BadFile(f"{path.name} is a damaged or cut off .npz file: {str(error)[:120]}; copy it again.") from error
