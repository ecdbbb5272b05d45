"""Unpacks a gzipped file of arrays once, so that it can be mapped, and keeps it under the digest of its packed bytes.

A kept file is named `SHA256-CRC-SIZE`: of the packed bytes, and of its own. Names, times and places of packed files mean nothing.
Each use checks the owner, the size and the CRC of the whole kept file (4 GB/s, where unpacking makes .1); what fails is unpacked
anew. The folder is the product's own and only its owner's: `.emberpool/unpacked`, or one in the folder for temporary files.
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

from ....core.figures import figure
from ....errors import BadFile
from ..blocks import changed, shown
from ..samples import Watch, unwatched

FOLDER = Path(".emberpool/unpacked")
HEAD, PIECE = 1 << 20, 1 << 22
EXPANSION = 64  # of the gzip: lengths and offsets shrink well
FREE = 16 << 20  # what a gzip file of any size may hold
SPARE = 64 << 20  # bytes of a disk that stay free
MOST_KEPT = 4  # files; the one that was used longest ago goes first
PART, LOCK = "part-", "lock"
RETRY_SECONDS = 0.1
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class PackedReader:
    """A packed file as gzip reads it: counts and hashes the bytes that went through."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.hashed = file, sha256()

    def read(self, nbytes: int) -> bytes:
        """Return the next packed bytes."""
        piece = self.file.read(nbytes)
        self.hashed.update(piece)
        return piece


def unpacked(packed: BinaryIO, name: str, size: Callable[[bytes], int], watch: Watch = unwatched) -> BinaryIO:
    """Open the plain file of a gzipped one, unpacked once where there is room; raises BadFile and what gzip raises.

    `size` tells from the first bytes unpacked how many there will be, 0 where it cannot; then there are at least those packed.
    """
    digest, folders = _digest(packed, name, watch), list(_folders())
    for folder in folders:
        if kept := _kept(folder, digest, watch):
            return kept
    needed = max(os.fstat(packed.fileno()).st_size, _size(packed, size))
    for folder in folders:
        with _locked(folder, watch) as locked:
            if kept := _kept(folder, digest, watch):  # another process was quicker
                return kept
            if locked and _has_room(folder, needed):
                return _unpack(packed, name, folder, digest, needed, watch)
    free = ", ".join(f"{figure(_free(folder) / 2**30, 'GiB')} in {shown(folder, 60)}" for folder in folders)
    there = f"free and writable are at most {free}" if free else "this user can write to neither"
    raise BadFile(
        f"{name} needs {figure(needed / 2**30, 'GiB')} to be unpacked in {FOLDER} or in the folder for temporary files, "
        f"but {there}; make room, or name another folder as TMPDIR."
    )


def _digest(packed: BinaryIO, name: str, watch: Watch) -> str:
    """Return the SHA-256 of the packed bytes."""
    reader, total = PackedReader(packed), max(os.fstat(packed.fileno()).st_size, 1)
    packed.seek(0)
    while reader.read(PIECE):
        watch(min(packed.tell() / total, 1.0), f"looking for {name} unpacked")
    return reader.hashed.hexdigest()


def _folders() -> Iterator[Path]:
    """Yield the folders that only this user can write to, made where they are missing."""
    for folder in (FOLDER.absolute(), Path(tempfile.gettempdir()) / f"emberpool-{_user()}-{FOLDER.name}"):
        with suppress(OSError):
            for place in (folder.parent, folder):
                place.mkdir(0o700, exist_ok=True)
            there = folder.lstat()
            if stat.S_ISDIR(there.st_mode) and there.st_uid == _user():
                if there.st_mode & 0o077:
                    folder.chmod(0o700)
                yield folder


def _user() -> int:
    return os.getuid()


def _kept(folder: Path, digest: str, watch: Watch) -> BinaryIO | None:
    """Open what was unpacked from packed bytes of this digest; None where that is missing, another user's, or altered."""
    for path in folder.glob(f"{digest}-*"):
        with suppress(OSError), ExitStack() as stack:
            file = stack.enter_context(os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb", buffering=0))
            if _is_whole(file, path.name, watch):
                os.utime(path)  # it was used last
                stack.pop_all()
                return file
        with suppress(OSError):
            path.unlink()
    return None


def _is_whole(file: BinaryIO, name: str, watch: Watch) -> bool:
    """Return whether a kept file is this user's alone, and has the size and the CRC that its name says."""
    there = os.fstat(file.fileno())
    own = stat.S_ISREG(there.st_mode) and there.st_uid == _user() and not there.st_mode & 0o022
    size = f"{there.st_size:x}"
    return own and name.endswith(f"-{size}") and name.endswith(f"-{_checksum(file, there.st_size, watch):08x}-{size}")


def _checksum(file: BinaryIO, size: int, watch: Watch) -> int:
    """Return the CRC-32 of a whole file."""
    found = 0
    while piece := file.read(PIECE):
        found = zlib.crc32(piece, found)
        watch(min(file.tell() / max(size, 1), 1.0), "checking what was unpacked before")
    return found


@contextmanager
def _locked(folder: Path, watch: Watch) -> Iterator[bool]:
    """Keep other processes from unpacking into a folder; False where it cannot be written to."""
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


def _has_room(folder: Path, needed: int) -> bool:
    """Return whether a folder has room; files that were used longest ago go where there are too many, or room is short."""
    kept = sorted((path for path in folder.iterdir() if path.name != LOCK), key=lambda path: path.stat().st_mtime_ns)
    if _free(folder) + sum(path.stat().st_size for path in kept) <= needed + SPARE:
        return False
    while kept and (len(kept) >= MOST_KEPT or _free(folder) <= needed + SPARE):
        kept.pop(0).unlink(missing_ok=True)
    return _free(folder) > needed + SPARE


def _free(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def _unpack(packed: BinaryIO, name: str, folder: Path, digest: str, needed: int, watch: Watch) -> BinaryIO:
    """Unpack into a part, and name it once gzip has checked every trailer and the packed bytes are those of the digest."""
    handle, part = tempfile.mkstemp(prefix=PART, dir=folder)
    try:
        with os.fdopen(handle, "wb", buffering=0) as there:
            reader = PackedReader(packed)
            checksum, size = _copy(reader, there, name, folder, needed, watch)
            if reader.hashed.hexdigest() != digest:
                raise changed(name)
            os.fchmod(there.fileno(), 0o400)
        os.replace(part, path := folder / f"{digest}-{checksum:08x}-{size:x}")
        return path.open("rb", buffering=0)
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise BadFile(f"{name} needs more room than {shown(folder, 60)} has; name another folder as TMPDIR.") from error
    finally:
        Path(part).unlink(missing_ok=True)


def _copy(reader: PackedReader, there: BinaryIO, name: str, folder: Path, needed: int, watch: Watch) -> tuple[int, int]:
    """Unpack to the end of the last trailer, and return CRC-32 and size of what came out."""
    most, checksum = max(EXPANSION * os.fstat(reader.file.fileno()).st_size, FREE), 0
    reader.file.seek(0)
    plain = gzip.GzipFile(fileobj=reader, mode="rb")  # type: ignore[call-overload]
    while piece := plain.read(PIECE):
        if there.tell() + len(piece) > most:
            raise BadFile(f"{name} unpacks to more than {EXPANSION} times its size, as no trace does; unpack it yourself.")
        _write(there, piece, folder, needed)
        checksum = zlib.crc32(piece, checksum)
        watch(min(there.tell() / needed, 1.0), f"unpacking {figure(needed / 2**30, 'GiB')} to {shown(folder, 60)}")
    return checksum, there.tell()


def _write(there: BinaryIO, piece: bytes, folder: Path, needed: int) -> None:
    """Write a piece whole; raises OSError where the disk has no more room."""
    if there.tell() > needed and _free(folder) < SPARE:
        raise OSError(errno.ENOSPC, "No space left on device")
    left = memoryview(piece)
    while left:
        left = left[there.write(left) :]


def _size(packed: BinaryIO, size: Callable[[bytes], int]) -> int:
    packed.seek(0)
    with suppress(Exception):  # what is wrong with it is said when it is read whole
        return size(gzip.GzipFile(fileobj=packed, mode="rb").read(HEAD))
    return 0
