"""Unpacks a gzipped file once into a plain file, which can be mapped.

The plain file is kept under the name `SHA256-CRC-SIZE`: the SHA-256 of the packed bytes, then the CRC and the size of the plain
file. So names, times and places of packed files do not matter. Each use checks the owner, the size and the CRC of the whole plain
file (4 GB/s; unpacking makes 0.1 GB/s); if a check fails, the file is unpacked again. The folder is `.emberpool/unpacked`, or a
folder for temporary files; only its owner can write to it.
"""

import errno
import fcntl
import gzip
import os
import shutil
import stat
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from ....core.arithmetic import total
from ....core.figures import figure
from ....errors import BadFile
from ....paths import short_path
from ..blocks import changed_refusal
from ..samples import Watch, unwatched

FOLDER = Path(".emberpool/unpacked")
HEAD, PIECE = 1 << 20, 1 << 22
EXPANSION = 64  # most bytes unpacked over bytes packed: lengths and offsets shrink well
FREE_NBYTES = 16 << 20  # bytes that a gzip file of any size may hold
SPARE_NBYTES = 64 << 20  # bytes of a disk that stay free
MAX_KEPT_FILES = 4  # files; the one that was used longest ago goes first
PART, LOCK = "part-", "lock"
RETRY_SECONDS = 0.1
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class PackedReader:
    """A packed file that computes the hash of the bytes that are read from it."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.hasher = file, sha256()

    def read(self, nbytes: int) -> bytes:
        """Return the next bytes of the packed file."""
        piece = self.file.read(nbytes)
        self.hasher.update(piece)
        return piece


def open_unpacked(packed: BinaryIO, name: str, size: Callable[[bytes], int], watch: Watch = unwatched) -> BinaryIO:
    """Return the plain file of a gzipped file, opened.

    The file is unpacked if no plain file is kept. `size` takes the first plain bytes and returns the size of the plain file, or 0
    if these bytes do not tell the size; then at least the packed size is assumed. Raises BadFile, for example without room on the
    disk, and the errors of gzip.
    """
    digest, folders = _digest(packed, name, watch), list(_folders())
    for folder in folders:
        if kept_file := _kept_file(folder, digest, watch):
            return kept_file
    needed_nbytes = max(os.fstat(packed.fileno()).st_size, _size(packed, size))
    for folder in folders:
        with _locked(folder, watch) as locked:
            if kept_file := _kept_file(folder, digest, watch):  # another process was quicker
                return kept_file
            if locked and _has_room(folder, needed_nbytes):
                return _unpack(packed, name, folder, digest, needed_nbytes, watch)
    free_text = ", ".join(f"{figure(_free_nbytes(folder) / 2**30, 'GiB')} in {short_path(folder, 60)}" for folder in folders)
    room_text = f"free and writable are at most {free_text}" if free_text else "this user can write to neither"
    raise BadFile(
        f"{name} needs {figure(needed_nbytes / 2**30, 'GiB')} to be unpacked in {FOLDER} or in the folder for temporary "
        f"files, but {room_text}; free some space, or set TMPDIR to another folder."
    )


def _digest(packed: BinaryIO, name: str, watch: Watch) -> str:
    """Return the SHA-256 of the packed bytes."""
    reader, total = PackedReader(packed), os.fstat(packed.fileno()).st_size
    packed.seek(0)
    while reader.read(PIECE):
        watch(min(packed.tell() / total, 1.0), f"looking for {name} unpacked")
    return reader.hasher.hexdigest()


def _folders() -> Iterator[Path]:
    """Yield the folders for unpacked files, which only this user can write to.

    Missing folders are made.
    """
    for folder in (FOLDER.absolute(), Path(tempfile.gettempdir()) / f"emberpool-{_user()}-{FOLDER.name}"):
        with suppress(OSError):
            for place in (folder.parent, folder):
                place.mkdir(0o700, exist_ok=True)
            folder_stat = folder.lstat()
            if stat.S_ISDIR(folder_stat.st_mode) and folder_stat.st_uid == _user():
                if folder_stat.st_mode & 0o077:
                    folder.chmod(0o700)
                yield folder


def _user() -> int:
    return os.getuid()


def _kept_file(folder: Path, digest: str, watch: Watch) -> BinaryIO | None:
    """Open the file unpacked from bytes of this digest.

    The result is None if that file is missing, another user's, or altered.
    """
    for path in folder.glob(f"{digest}-*"):
        with suppress(OSError), ExitStack() as stack:
            file = stack.enter_context(os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb", buffering=0))
            if _is_whole(file, path.name, watch):
                os.utime(path)  # marks the latest use
                stack.pop_all()
                return file
        with suppress(OSError):
            path.unlink()
    return None


def _is_whole(file: BinaryIO, name: str, watch: Watch) -> bool:
    """Return whether a kept file is this user's, with the size and CRC in its name."""
    file_stat = os.fstat(file.fileno())
    is_own = stat.S_ISREG(file_stat.st_mode) and file_stat.st_uid == _user() and not file_stat.st_mode & 0o022
    size = f"{file_stat.st_size:x}"
    return is_own and name.endswith(f"-{size}") and name.endswith(f"-{_checksum(file, file_stat.st_size, watch):08x}-{size}")


def _checksum(file: BinaryIO, size: int, watch: Watch) -> int:
    """Return the CRC-32 of a whole file."""
    checksum = 0
    while piece := file.read(PIECE):
        checksum = zlib.crc32(piece, checksum)
        watch(min(file.tell() / size, 1.0), "checking what was unpacked before")
    return checksum


@contextmanager
def _locked(folder: Path, watch: Watch) -> Iterator[bool]:
    """Lock a folder against other processes that unpack; yield False where it is not writable."""
    with ExitStack() as stack:
        try:
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            stack.callback(os.close, lock)
            _lock(lock, watch)
            for part in folder.glob(f"{PART}*"):  # of a process that was killed
                part.unlink(missing_ok=True)
        except OSError:
            yield False
            return
        yield True


def _lock(lock: int, watch: Watch) -> None:
    """Wait until no other process holds a lock; `watch` may end the waiting."""
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            watch(0.0, "waiting for another process that unpacks a file")
            time.sleep(RETRY_SECONDS)


def _has_room(folder: Path, needed_nbytes: int) -> bool:
    """Return whether a folder has room, after removing the files used longest ago where needed.

    Files are removed where there are too many, or where room is short.
    """
    kept_files = sorted((path for path in folder.iterdir() if path.name != LOCK), key=lambda path: path.stat().st_mtime_ns)
    if _free_nbytes(folder) + total(path.stat().st_size for path in kept_files) <= needed_nbytes + SPARE_NBYTES:
        return False
    while kept_files and (len(kept_files) >= MAX_KEPT_FILES or _free_nbytes(folder) <= needed_nbytes + SPARE_NBYTES):
        kept_files.pop(0).unlink(missing_ok=True)
    return _free_nbytes(folder) > needed_nbytes + SPARE_NBYTES


def _free_nbytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def _unpack(packed: BinaryIO, name: str, folder: Path, digest: str, needed_nbytes: int, watch: Watch) -> BinaryIO:
    """Unpack into a partial file, and give the file its name once it is checked.

    gzip has then checked every trailer, and the packed bytes are those of the digest.
    """
    handle, part = tempfile.mkstemp(prefix=PART, dir=folder)
    try:
        with os.fdopen(handle, "wb", buffering=0) as plain_file:
            reader = PackedReader(packed)
            checksum, size = _copy(reader, plain_file, name, folder, needed_nbytes, watch)
            if reader.hasher.hexdigest() != digest:
                raise changed_refusal(name)
            os.fchmod(plain_file.fileno(), 0o400)
        os.replace(part, path := folder / f"{digest}-{checksum:08x}-{size:x}")
        return path.open("rb", buffering=0)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise BadFile(f"{name} needs more space than {short_path(folder, 60)} has; set TMPDIR to another folder.") from error
    finally:
        Path(part).unlink(missing_ok=True)


def _copy(
    reader: PackedReader, plain_file: BinaryIO, name: str, folder: Path, needed_nbytes: int, watch: Watch
) -> tuple[int, int]:
    """Unpack to the end of the last trailer, and return CRC-32 and size of the plain file."""
    max_nbytes, checksum = max(EXPANSION * os.fstat(reader.file.fileno()).st_size, FREE_NBYTES), 0
    reader.file.seek(0)
    gzip_file = gzip.GzipFile(fileobj=reader, mode="rb")  # type: ignore[call-overload]
    while piece := gzip_file.read(PIECE):
        if plain_file.tell() + len(piece) > max_nbytes:
            raise BadFile(f"{name} unpacks to more than {EXPANSION} times its size, unlike any trace; unpack it yourself.")
        _write(plain_file, piece, folder, needed_nbytes)
        checksum = zlib.crc32(piece, checksum)
        watch(
            min(plain_file.tell() / needed_nbytes, 1.0),
            f"unpacking {figure(needed_nbytes / 2**30, 'GiB')} to {short_path(folder, 60)}",
        )
    return checksum, plain_file.tell()


def _write(plain_file: BinaryIO, piece: bytes, folder: Path, needed_nbytes: int) -> None:
    """Write a piece whole; raises OSError where the disk has no more room."""
    if plain_file.tell() > needed_nbytes and _free_nbytes(folder) < SPARE_NBYTES:
        raise OSError(errno.ENOSPC, "No space left on device")
    unwritten = memoryview(piece)
    while unwritten:
        unwritten = unwritten[plain_file.write(unwritten) :]


def _size(packed: BinaryIO, size: Callable[[bytes], int]) -> int:
    packed.seek(0)
    with suppress(Exception):  # faults are reported when the whole file is read
        return size(gzip.GzipFile(fileobj=packed, mode="rb").read(HEAD))
    return 0
